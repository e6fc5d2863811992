"""Bad programs and inputs: the error's class, the line, the operand, the remedy; nothing left."""

from __future__ import annotations

import gc
import threading
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import lineal as la
from lineal.errors import (
    DTypeError,
    InputError,
    LinealError,
    LinealWarning,
    OptionError,
    ProgramError,
    ReadError,
    ShapeError,
    SourceError,
    UnsupportedError,
)

from .bad_programs import PROGRAMS, A, x, y


def _marked_line(function: Any) -> int:
    first = function.__code__.co_firstlineno
    lines = Path(function.__code__.co_filename).read_text().splitlines()
    return next(k for k in range(first, len(lines)) if "# here" in lines[k - 1])


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path, monkeypatch):
    """No thread, no file, and the next program runs."""
    monkeypatch.chdir(tmp_path)
    threads = set(threading.enumerate())
    yield
    gc.collect()
    started = [t for t in threading.enumerate() if t not in threads and not t.daemon]
    assert started == []

    def fine(x):
        return x + 1

    assert la.program(fine)(x).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("function", "args", "kind", "operand"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS]
)
def test_bad_program(function, args, kind, operand, tmp_path):
    with pytest.raises(kind) as caught:
        la.program(function)(*args)
    error = caught.value
    text = str(error)
    assert error.span is not None, text
    assert error.span.file == function.__code__.co_filename
    assert error.span.line == _marked_line(function), text
    assert f"line {error.span.line}" in text
    assert "^" in text
    assert operand in text, text
    assert "Try: " in text, text
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------ inputs


def identity(v):
    return v + 0


def _unknown_chunks() -> Any:
    import dask.array as da

    v = da.from_array(np.arange(6.0), chunks=2)
    return v[v > 1]


def _frame_of_text() -> Any:
    import pandas as pd

    return pd.DataFrame({"a": ["x", "y"]})


def _mixed_frame() -> Any:
    import pandas as pd

    return pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})


def _unsorted() -> Any:
    made = sp.csr_array(np.eye(3))
    made.indptr = np.array([0, 2, 1, 3], dtype=made.indptr.dtype)
    return made


INPUTS = [
    ("text", lambda: np.array(["a", "b"]), LinealError, "v"),
    ("objects", lambda: np.array([1, None], dtype=object), LinealError, "v"),
    ("complex array", lambda: np.ones(3, complex), LinealError, "complex"),
    ("complex number", lambda: 1 + 2j, LinealError, "complex"),
    ("half", lambda: np.ones(3, np.float16), LinealError, "float16"),
    ("dates", lambda: np.array(["2020-01-01"], "M8[D]"), LinealError, "v"),
    ("three dimensions", lambda: np.ones((2, 2, 2)), LinealError, "v"),
    ("dict", lambda: {"a": 1}, InputError, "v"),
    ("set", lambda: {1, 2}, InputError, "v"),
    ("a class's object", object, InputError, "v"),
    ("tuple of arrays", lambda: (np.ones(2), np.ones(2)), InputError, "v"),
    ("unknown chunks", _unknown_chunks, InputError, "v"),
    ("frame of text", _frame_of_text, LinealError, "a"),
    ("frame partly of text", _mixed_frame, LinealError, "b"),
    ("broken csr", _unsorted, InputError, "v"),
    ("record array", lambda: np.zeros(2, [("a", float)]), LinealError, "v"),
    ("description without data", lambda: la.spec((3,)), InputError, "v"),
]


@pytest.mark.parametrize(
    ("make", "kind", "named"), [i[1:] for i in INPUTS], ids=[i[0] for i in INPUTS]
)
def test_bad_input(make, kind, named, tmp_path):
    value = make()
    with pytest.raises(kind) as caught:
        la.program(identity)(value)
    text = str(caught.value)
    assert named in text
    assert "Try: " in text
    assert list(tmp_path.iterdir()) == []


@dataclass
class Call:
    """A call that must fail: what is called, and what its error must say."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    kind: type[LinealError] = InputError
    said: str = ""


@pytest.mark.parametrize(
    "call",
    [
        Call((), {}, InputError, "v"),
        Call((x, x), {}, InputError, "identity"),
        Call((x,), {"w": 1}, InputError, "w"),
    ],
    ids=["missing", "too many", "unknown"],
)
def test_bad_call(call):
    with pytest.raises(call.kind, match=call.said):
        la.program(identity)(*call.args, **call.kwargs)


def test_bad_options():
    with pytest.raises(OptionError):
        la.program(identity).run(x, algebra="complex")
    with pytest.raises(OptionError):
        la.program(identity).run(x, redundancy="none at all")
    with pytest.raises(OptionError):
        la.program(identity).run(x, result="pandas")


def _named_like_an_option(v, tolerance):
    return v


def test_parameter_named_like_an_option():
    with pytest.raises(OptionError, match="tolerance"):
        la.program(_named_like_an_option)


@pytest.mark.parametrize(
    ("facts", "value"),
    [
        ({"symmetric": True}, np.arange(9.0).reshape(3, 3)),
        ({"lower": True}, np.ones((3, 3))),
        ({"diagonal": True}, np.ones((3, 3))),
        ({"finite": True}, np.array([1.0, np.nan])),
        ({"nonnegative": True}, np.array([1.0, -1.0])),
        ({"orthogonal": True}, 2 * np.eye(3)),
        ({"permutation": True}, np.ones((2, 2))),
        ({"bandwidth": (0, 0)}, np.ones((3, 3))),
        ({"symmetric": True}, np.ones((2, 3))),
        ({"spd": True}, -np.eye(3)),
    ],
    ids=lambda v: str(v) if isinstance(v, dict) else "",
)
def test_mismatched_declared_facts(facts, value):
    with pytest.raises(LinealError) as caught:
        la.program(identity)(la.declare(value, **facts))
    assert next(iter(facts)) in str(caught.value)


def test_unreadable_and_truncated_files(tmp_path):
    cases = {
        "missing.npy": None,
        "truncated.npy": (
            b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9,), }\n1234"
        ),
        "text.npy": b"hello",
        "bad.npz": b"PK\x03\x04garbage",
        "bad.mtx": b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.0\n",
        "other.xyz": b"1 2 3",
    }
    for name, content in cases.items():
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises((ReadError, InputError, FileNotFoundError)) as caught:
            la.read(path)
        assert name in str(caught.value)


# --------------------------------------------------------------------- faults of the run itself


def singular(A, y):
    M = A - A
    return np.linalg.solve(M @ M.T, y)  # here


def not_definite(A):
    return np.linalg.cholesky(-(A.T @ A) - np.eye(3))  # here


def index_at_run_time(x, i):
    return x[i]  # here


def index_array_at_run_time(x, i):
    return x[i]  # here


def int_of_nan(x):
    return int(x[0] / x[0])  # here


def modulo_zero(x, n):
    return x * (3 % n)  # here


def range_step_at_run_time(x, n):
    for i in range(0, 5, n):  # here
        x = x + i
    return x


def bincount_negative(v):
    return np.bincount(v)  # here


def empty_after_filter(x):
    return x[x > 99].max()  # here


def store_at_run_time(x, i):
    v = x * 1.0
    v[i] = 3  # here
    return v


@pytest.mark.parametrize(
    ("function", "args", "kind", "said"),
    [
        (singular, (A, y), np.linalg.LinAlgError, "[Ss]ingular"),
        (not_definite, (A,), np.linalg.LinAlgError, "definite"),
        (index_at_run_time, (x, 7), (IndexError, ShapeError), "out of bounds"),
        (index_at_run_time, (x, -4), (IndexError, ShapeError), "out of bounds"),
        (index_array_at_run_time, (x, np.array([0, 9])), IndexError, "out of bounds"),
        (int_of_nan, (x,), ValueError, "NaN"),
        (modulo_zero, (x, 0), (ZeroDivisionError, ProgramError), "zero"),
        (range_step_at_run_time, (x, 0), (ValueError, ProgramError), "zero"),
        (bincount_negative, (np.array([-1, 2]),), ValueError, "negative"),
        (empty_after_filter, (x,), ValueError, "zero-size"),
        (store_at_run_time, (x, 7), (IndexError, ShapeError), "out of bounds"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_fault_at_run_time_keeps_numpys_class_and_names_the_line(function, args, kind, said):
    program = la.program(function)
    with np.errstate(all="ignore"), pytest.raises(kind, match=said) as caught:
        program(*args)
    text = str(caught.value) + "\n".join(getattr(caught.value, "__notes__", ()))
    assert f"line {_marked_line(function)}" in text, text
    assert "^" in text


ASSERTING = """
def asserting(x, n):
    assert n > 0
    total = 0.0
    for i in range(n):
        assert x.sum() < 10, "the sum must stay below ten"
        x = x + 1
    assert x.shape == (3,), "never"
    return x
"""


def test_asserts_hold_or_name_their_line(tmp_path):
    path = tmp_path / "asserting.py"
    path.write_text(ASSERTING)
    space: dict[str, Any] = {}
    exec(compile(ASSERTING, str(path), "exec"), space)
    program = la.program(space["asserting"])
    assert program(x, 2).tolist() == [2, 3, 4]
    with pytest.raises(AssertionError, match="the sum must stay below ten") as caught:
        program(x, 5)
    assert "line 6" in "\n".join(caught.value.__notes__)
    with pytest.raises((AssertionError, ProgramError)) as caught:
        program(x, -1)
    assert "line 3" in str(caught.value) + "\n".join(getattr(caught.value, "__notes__", ()))
    path.unlink()


def test_assert_rewritten_by_pytest_says_so():
    def f(x):
        assert x.sum() < 10
        return x

    with pytest.raises(SourceError, match="pytest has rewritten"):
        la.program(f)


# -------------------------------------------------------------------------------- A10's residual


def residual(X, beta, target):
    r = X @ beta - target  # here
    return (r * r).sum(), r


def test_outer_residual_warns_with_the_line():
    X, beta, target = np.ones((20, 2)), np.ones(2), np.ones((20, 1))
    program = la.program(residual)
    with pytest.warns(LinealWarning, match=r"\(20, 20\)") as caught:
        found = program(X, beta, target)
    assert found[1].shape == (20, 20)
    assert [w.lineno for w in caught] == [_marked_line(residual)]
    assert caught[0].filename == __file__
    text = str(caught[0].message)
    assert "X @ beta - target" in text
    assert "1-D" in text


def test_meant_shapes_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        la.program(residual)(np.ones((20, 2)), np.ones(2), np.ones(20))
        la.program(residual)(np.ones((20, 2)), np.ones((2, 1)), np.ones((20, 1)))


def test_lazy_outer_residual_warns_with_the_line():
    X, target = la.asarray(np.ones((20, 2))), la.asarray(np.ones((20, 1)))
    with pytest.warns(LinealWarning, match=r"\(20, 20\)") as caught:
        r = X @ np.ones(2) - target
    assert caught[0].filename == __file__
    assert r.shape == (20, 20)


# ------------------------------------------------------------------------------- lazy arrays


@pytest.mark.parametrize(
    ("build", "kind", "said"),
    [
        (lambda X: X @ np.ones(7), ShapeError, "inner sizes"),
        (lambda X: X + np.ones(7), ShapeError, "broadcast"),
        (lambda X: np.fft.fft(X), UnsupportedError, "fft"),
        (lambda X: X.__setitem__(0, 1), UnsupportedError, "np.where"),
        (lambda X: list(X), UnsupportedError, "iteration"),
        (lambda X: np.add.reduce(X), UnsupportedError, "reduce"),
        (lambda X: X[9], ShapeError, "out of bounds"),
        (lambda X: np.sum(X, where=X > 0), UnsupportedError, "where"),
        (lambda X: X * 2j, LinealError, "complex"),
        (lambda X: X.astype(complex), DTypeError, "complex"),
        (lambda X: X.reshape(5, 5), ShapeError, "reshape"),
        (lambda X: la.asarray("text"), LinealError, "text|str"),
    ],
)
def test_bad_lazy_expression(build, kind, said):
    X = la.asarray(A)
    with pytest.raises(kind, match=said) as caught:
        build(X)
    assert "Try: " in str(caught.value) or kind is ShapeError


def test_lazy_error_names_the_users_line():
    X = la.asarray(A)
    with pytest.raises(ShapeError) as caught:
        X @ X
    assert caught.value.span is not None
    assert caught.value.span.file == __file__


def test_table_is_long_enough():
    assert len(PROGRAMS) + len(INPUTS) >= 45
