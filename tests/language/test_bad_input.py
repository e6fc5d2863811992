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
    AliasError,
    DTypeError,
    InputError,
    LinealError,
    LinealWarning,
    OptionError,
    ProgramError,
    ReadError,
    ShapeError,
    SourceError,
    StaticValueError,
    UnboundNameError,
    UnsupportedError,
)

A = np.arange(12.0).reshape(4, 3)
B = np.arange(20.0).reshape(4, 5)
x = np.arange(3.0)
y = np.arange(4.0)


# ------------------------------------------------------------------------ programs, by line
# The line that must be named carries the comment `# here`.


def matmul_inner(A, B):
    C = A @ B  # here
    return C


def matmul_vector(A, x):
    return A @ x[:2]  # here


def matmul_scalar(A):
    return 2 @ A  # here


def add_shapes(A, y):
    return A + y  # here


def solve_rectangular(A, y):
    return np.linalg.solve(A, y)  # here


def solve_right_side(A, y):
    M = A.T @ A
    return np.linalg.solve(M, y)  # here


def inverse_rectangular(A):
    return np.linalg.inv(A)  # here


def trace_of_vector(x):
    return np.trace(x)  # here


def axis_too_large(A):
    return A.sum(axis=2)  # here


def argmin_axis(A):
    return A.argmin(axis=2)  # here


def duplicate_axis(A):
    return A.sum(axis=(0, 0))  # here


def reshape_wrong(A):
    return A.reshape(5, 2)  # here


def reshape_3d(A):
    return A.reshape(2, 2, 3)  # here


def index_too_large(A):
    return A[7]  # here


def index_negative(A):
    return A[0, -4]  # here


def list_index(A):
    return A[[0, 9]]  # here


def too_many_indices(x):
    return x[0, 1]  # here


def float_index(x):
    return x[1.5]  # here


def mask_length(A, x):
    return A[x > 0]  # here


def step_zero(x):
    return x[::0]  # here


def concatenate_shapes(A, B):
    return np.concatenate([A, B])  # here


def three_dimensions(A):
    return A[:, :, None]  # here


def reduce_empty(x):
    return x[:0].max()  # here


def truth_of_array(x):
    if x > 0:  # here
        return x
    return -x


def while_of_array(x):
    while x > 0:  # here
        x = x - 1
    return x


def float_of_array(x):
    return float(x)  # here


def range_of_float(x):
    for _ in range(2.5):  # here
        x = x + 1
    return x


def range_step_zero(x):
    for _ in range(0, 5, 0):  # here
        x = x + 1
    return x


def loop_over_rows(A):
    t = 0.0
    for row in A:  # here
        t = t + row.sum()
    return t


def shape_changes_in_loop(x, n):
    for _ in range(n):  # here
        x = np.concatenate([x, x])
    return x


def types_on_paths(x):
    if x.sum() > 0:
        v = x
    else:
        v = x[:2]
    return v + 1  # here


def append(x):
    out = []
    for i in range(3):
        out.append(x[i])  # here
    return np.array(out)


def comprehension(x):
    return np.array([v * 2 for v in x])  # here


def fancy_function(x):
    return np.fft.fft(x)  # here


def unknown_method(x):
    return x.tolist()  # here


def unknown_keyword(x):
    return np.sum(x, where=x > 0)  # here


def printing(x):
    print(x)  # here
    return x


def global_random(x):
    return x + np.random.rand(3)  # here


def unseeded(x):
    rng = np.random.default_rng()  # here
    return x + rng.standard_normal(3)


def returns_nothing(x):  # here
    x = x + 1


def returns_string_method(x):
    return x.dtype.name.upper()  # here


def deletes(x):
    y = x + 1
    del y  # here
    return x


def imports(x):
    import math  # here

    return x * math.pi


def match_statement(x):
    match 3:  # here
        case _:
            return x


def assigns_attribute(x):
    x.shape = (1, 3)  # here
    return x


def unpack_too_few(A):
    p, q, r = A.shape  # here
    return p + q + r


def unpack_array(x):
    p, q, r = x  # here
    return p + q + r


def complex_constant(x):
    return x * 2j  # here


def complex_dtype(x):
    return x.astype(complex)  # here


def half_dtype(x):
    return x.astype(np.float16)  # here


def bad_dtype(x):
    return np.zeros(3, dtype="float99")  # here


def negative_power(x):
    return np.arange(3) ** -1  # here


def int8_overflow(x):
    return x.astype(np.int8) + 300  # here


def size_from_data(x):
    return np.zeros(int(x.sum()))  # here


def slice_from_data(x):
    k = x.argmax()
    return x[:k]  # here


def negative_size(x):
    return np.zeros(-1)  # here


def division_by_zero(x):
    return x * (1 // 0)  # here


def used_before(x):
    z = w + x  # here # noqa: F821
    w = x
    return z + w


def undefined_name(x):
    return x + nothing_of_that_name  # here # noqa: F821


def writes_input(x):
    x += 1  # here
    return x


def writes_view(A):
    C = A * 2
    row = C[0]
    row += 1  # here
    return C


def in_place_shape(x):
    v = x * 1.0
    v += np.ones((3, 3))  # here
    return v


def in_place_dtype(x):
    v = np.zeros(3, dtype=int)
    v += x  # here
    return v


def scalar_store(x):
    s = 0.0
    s[0] = x[0]  # here
    return s


def store_shape(A):
    C = np.zeros((2, 2))
    C[0] = A[0]  # here
    return C


def bitwise_float(x):
    return x & 1  # here


def einsum_axes(A):
    return np.einsum("ijk->i", A)  # here


def einsum_sizes(A, B):
    return np.einsum("ij,jk->ik", A, B)  # here


def norm_order(A):
    return np.linalg.norm(A, 3)  # here


def generator_method(x):
    rng = np.random.default_rng(0)
    return rng.gamma(2.0, size=3)  # here


def returns_generator(x):
    return np.random.default_rng(0)  # here


def ellipsis_twice(A):
    return A[..., ..., 0]  # here


def stacks_matrices(A):
    return np.stack([A, A])  # here


PROGRAMS: list[tuple[Any, tuple[Any, ...], type[LinealError], str]] = [
    (matmul_inner, (A, B), ShapeError, "A: float64[4, 3]"),
    (matmul_vector, (A, x), ShapeError, "x[:2]"),
    (matmul_scalar, (A,), ShapeError, "A"),
    (add_shapes, (A, y), ShapeError, "y: float64[4]"),
    (solve_rectangular, (A, y), ShapeError, "A: float64[4, 3]"),
    (solve_right_side, (A, y), ShapeError, "y: float64[4]"),
    (inverse_rectangular, (A,), ShapeError, "A"),
    (trace_of_vector, (x,), ShapeError, "x: float64[3]"),
    (axis_too_large, (A,), ShapeError, "A"),
    (argmin_axis, (A,), ShapeError, "A"),
    (duplicate_axis, (A,), ShapeError, "A"),
    (reshape_wrong, (A,), ShapeError, "A"),
    (reshape_3d, (A,), ShapeError, "A"),
    (index_too_large, (A,), ShapeError, "A"),
    (index_negative, (A,), ShapeError, "A"),
    (list_index, (A,), ShapeError, "A"),
    (too_many_indices, (x,), ShapeError, "x"),
    (float_index, (x,), DTypeError, "x"),
    (mask_length, (A, x), ShapeError, "A"),
    (step_zero, (x,), ShapeError, "x"),
    (concatenate_shapes, (A, B), ShapeError, "A"),
    (three_dimensions, (A,), ShapeError, "A"),
    (reduce_empty, (x,), ShapeError, "x[:0]"),
    (truth_of_array, (x,), ShapeError, "x > 0"),
    (while_of_array, (x,), ShapeError, "x > 0"),
    (float_of_array, (x,), ShapeError, "x"),
    (range_of_float, (x,), DTypeError, "2.5"),
    (range_step_zero, (x,), ProgramError, "step"),
    (loop_over_rows, (A,), UnsupportedError, "A"),
    (shape_changes_in_loop, (x, 9), ProgramError, "x"),
    (types_on_paths, (x,), ShapeError, "v"),
    (append, (x,), UnsupportedError, "append"),
    (comprehension, (x,), UnsupportedError, "comprehension"),
    (fancy_function, (x,), UnsupportedError, "np.fft.fft"),
    (unknown_method, (x,), UnsupportedError, "tolist"),
    (unknown_keyword, (x,), UnsupportedError, "where"),
    (printing, (x,), UnsupportedError, "print"),
    (global_random, (x,), UnsupportedError, "default_rng"),
    (unseeded, (x,), ProgramError, "seed"),
    (returns_nothing, (x,), UnsupportedError, "returns_nothing"),
    (returns_string_method, (x,), UnsupportedError, "upper"),
    (deletes, (x,), UnsupportedError, "del"),
    (imports, (x,), UnsupportedError, "import"),
    (match_statement, (x,), UnsupportedError, "match"),
    (assigns_attribute, (x,), UnsupportedError, "attribute"),
    (unpack_too_few, (A,), ShapeError, "3 name(s)"),
    (unpack_array, (x,), UnsupportedError, "tuple"),
    (complex_constant, (x,), DTypeError, "complex"),
    (complex_dtype, (x,), DTypeError, "complex"),
    (half_dtype, (x,), DTypeError, "float16"),
    (bad_dtype, (x,), DTypeError, "float99"),
    (negative_power, (x,), DTypeError, "negative"),
    (int8_overflow, (x,), DTypeError, "int8"),
    (size_from_data, (x,), StaticValueError, "int(x.sum())"),
    (slice_from_data, (x,), StaticValueError, "x"),
    (negative_size, (x,), ShapeError, "-1"),
    (division_by_zero, (x,), ProgramError, "ZeroDivisionError"),
    (used_before, (x,), UnboundNameError, "w"),
    (undefined_name, (x,), UnboundNameError, "nothing_of_that_name"),
    (writes_input, (x,), AliasError, "x"),
    (writes_view, (A,), AliasError, "C"),
    (in_place_shape, (x,), ShapeError, "v"),
    (in_place_dtype, (x,), DTypeError, "v"),
    (scalar_store, (x,), UnsupportedError, "s"),
    (store_shape, (A,), ShapeError, "C"),
    (bitwise_float, (x,), DTypeError, "x"),
    (einsum_axes, (A,), ShapeError, "A"),
    (einsum_sizes, (A, B), ShapeError, "A"),
    (norm_order, (A,), ShapeError, "A"),
    (generator_method, (x,), UnsupportedError, "gamma"),
    (returns_generator, (x,), ProgramError, "generator"),
    (ellipsis_twice, (A,), ShapeError, "A"),
    (stacks_matrices, (A,), ShapeError, "A"),
]


def _marked_line(function: Any) -> int:
    first = function.__code__.co_firstlineno
    lines = Path(__file__).read_text().splitlines()
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
    assert error.span.file == __file__
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
