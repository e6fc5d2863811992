"""Every entry of the function and method tables, through programs and lazy arrays, against NumPy.

An entry without a case fails `test_every_entry_has_a_case`; a case that no input can run fails
too.  Where NumPy refuses an input, Lineal must refuse it as well.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lineal as la
from lineal.errors import DTypeError, UnsupportedError
from lineal.planner import functions
from lineal.planner.infer import BINARY, UNARY

from .harness import assert_same

SHAPES = ((0,), (1,), (7,), (0, 3), (3, 0), (1, 1), (5, 3), (3, 3))
DTYPES = ("f8", "f4", "i8", "i1", "?")

# `x` is the input, `y` another of its shape and dtype, `p` a symmetric positive matrix made of
# `x`, `s` a Python number.
CASES: dict[str, list[str]] = {
    **{f"np.{name}": [f"np.{name}(x, y)", f"np.{name}(x, x[:1])"] for name in BINARY},
    **{f"np.{name}": [f"np.{name}(x)"] for name in UNARY},
    "np.where": ["np.where(x > 1, x, y)", "np.where(x > 1, x, 0)", "np.where(x > 1, 1.5, y)"],
    "np.clip": ["np.clip(x, 0, 1)", "np.clip(x, y, None)", "np.clip(x, None, 2)"],
    "np.round": ["np.round(x)", "np.round(x, 1)", "np.round(x, decimals=-1)"],
    "np.around": ["np.around(x, 1)"],
    "np.sum": ["np.sum(x)", "np.sum(x, axis=0)", "np.sum(x, axis=-1, keepdims=True)",
               "np.sum(x, dtype=np.float64)", "np.sum(x, axis=(0, 1))", "np.sum(x, (0,), None)"],
    "np.prod": ["np.prod(x)", "np.prod(x, axis=0, dtype='f4')"],
    "np.mean": ["np.mean(x)", "np.mean(x, axis=-1, keepdims=True)", "np.mean(x, dtype='f8')"],
    "np.min": ["np.min(x)", "np.min(x, axis=0)", "np.min(x, -1, keepdims=True)"],
    "np.max": ["np.max(x)", "np.max(x, axis=-1)", "np.max(x, axis=(0, 1), keepdims=True)"],
    "np.any": ["np.any(x)", "np.any(x, axis=0)"],
    "np.all": ["np.all(x)", "np.all(x > 0, axis=-1, keepdims=True)"],
    "np.var": ["np.var(x)", "np.var(x, axis=0, ddof=1)", "np.var(x, keepdims=True)"],
    "np.std": ["np.std(x)", "np.std(x, axis=-1)", "np.std(x, dtype=np.float64)"],
    "np.argmin": ["np.argmin(x)", "np.argmin(x, axis=0)", "np.argmin(x, axis=-1, keepdims=True)"],
    "np.argmax": ["np.argmax(x)", "np.argmax(x, -1)"],
    "np.count_nonzero": ["np.count_nonzero(x)", "np.count_nonzero(x, axis=0)",
                         "np.count_nonzero(x, axis=-1, keepdims=True)"],
    "np.cumsum": ["np.cumsum(x)", "np.cumsum(x, axis=0)", "np.cumsum(x, dtype=np.float64)"],
    "np.cumprod": ["np.cumprod(x)", "np.cumprod(x, axis=-1)"],
    "np.diff": ["np.diff(x)", "np.diff(x, axis=0)", "np.diff(x, n=2)", "np.diff(x, n=0)"],
    "np.sort": ["np.sort(x)", "np.sort(x, axis=0)", "np.sort(x, axis=None)"],
    "np.argsort": ["np.argsort(x, kind='stable')", "np.argsort(x, axis=0, kind='stable')"],
    "np.bincount": ["np.bincount(np.abs(x))", "np.bincount(np.abs(x), minlength=9)",
                    "np.bincount(np.abs(x), weights=y)"],
    "np.unique": ["np.unique(x)", "np.unique(x, return_counts=True)",
                  "np.unique(x, return_index=True, return_inverse=True, return_counts=True)"],
    "np.matmul": ["np.matmul(x, y)", "np.matmul(x.T, y)", "np.matmul(x, y.T)"],
    "np.dot": ["np.dot(x, y)", "np.dot(x.T, y)", "np.dot(x, 2)"],
    "np.vdot": ["np.vdot(x, y)"],
    "np.inner": ["np.inner(x, y)", "np.inner(x, 2)"],
    "np.outer": ["np.outer(x, y)"],
    "np.linalg.multi_dot": ["np.linalg.multi_dot([x, y.T, x])", "np.linalg.multi_dot((x.T, y))"],
    "np.einsum": ["np.einsum('ij,ij->i', x, y)", "np.einsum('ij,kj->ik', x, y)",
                  "np.einsum('ij->ji', x)", "np.einsum('ij->', x)", "np.einsum('i,i->', x, y)",
                  "np.einsum('i,j->ij', x, y)", "np.einsum('ij,ij->', x, y)",
                  "np.einsum('ij,kj,kl->il', x, y, x)", "np.einsum('ii->i', x)",
                  "np.einsum('ij', x)", "np.einsum('i,i', x, y)"],
    "np.trace": ["np.trace(x)", "np.trace(x, offset=1)", "np.trace(x, -1)"],
    "np.diag": ["np.diag(x)", "np.diag(x, 1)", "np.diag(x, k=-1)"],
    "np.diagonal": ["np.diagonal(x)", "np.diagonal(x, offset=-1)"],
    "np.tril": ["np.tril(x)", "np.tril(x, -1)"],
    "np.triu": ["np.triu(x)", "np.triu(x, k=1)"],
    "np.zeros": ["np.zeros(x.shape)", "np.zeros(3, dtype=int)", "np.zeros((2, x.shape[0]), '?')"],
    "np.ones": ["np.ones(x.shape[0])", "np.ones((2, 3), x.dtype)"],
    "np.empty": ["np.empty(x.shape).shape[0]"],
    "np.zeros_like": ["np.zeros_like(x)", "np.zeros_like(x, dtype=float)"],
    "np.ones_like": ["np.ones_like(x)", "np.ones_like(x[x > 0])"],
    "np.empty_like": ["np.empty_like(x).shape[0]"],
    "np.full": ["np.full(x.shape, 2)", "np.full(3, 2.5)", "np.full((2, 2), s, dtype='f4')",
                "np.full((2, *x.shape[1:]), x[0])"],
    "np.full_like": ["np.full_like(x, 1)", "np.full_like(x, 2.5, dtype=float)"],
    "np.eye": ["np.eye(x.shape[0])", "np.eye(2, 3, 1)", "np.eye(3, k=-1, dtype=int)"],
    "np.identity": ["np.identity(x.shape[0])", "np.identity(2, dtype='f4')"],
    "np.arange": ["np.arange(x.shape[0])", "np.arange(1, 7, 2)", "np.arange(0.0, 1.0, 0.25)",
                  "np.arange(5, 0, -1)", "np.arange(3, dtype=float)", "np.arange(3, 1)"],
    "np.linspace": ["np.linspace(0, 1, 5)", "np.linspace(0, 1, x.shape[0], endpoint=False)",
                    "np.linspace(2, 1, num=3, dtype='f4')"],
    "np.array": ["np.array([1, 2, 3])", "np.array([[1.5, 2], [3, 4]])", "np.array(x)",
                 "np.array([x[0], x[-1]])", "np.array(x, dtype=float)", "np.array([x, y])",
                 "np.array([])", "np.array([s, 2 * s])"],
    "np.asarray": ["np.asarray(x)", "np.asarray(x, dtype=float)", "np.asarray([1, 2])"],
    "np.copy": ["np.copy(x)"],
    "x.astype": ["x.astype(float)", "x.astype(np.int8)", "x.astype(bool)", "x.astype('f4')",
                 "x.astype(x.dtype, copy=False)"],
    "x.flatten": ["x.flatten()"],
    "np.transpose": ["np.transpose(x)", "np.transpose(x, (1, 0))"],
    "np.matrix_transpose": ["np.matrix_transpose(x)"],
    "np.reshape": ["np.reshape(x, (-1,))", "np.reshape(x, (x.size, 1))", "np.reshape(x, -1)"],
    "np.ravel": ["np.ravel(x)"],
    "np.squeeze": ["np.squeeze(x)", "np.squeeze(x, axis=0)", "np.squeeze(x[:1], axis=0)"],
    "np.expand_dims": ["np.expand_dims(x, 0)", "np.expand_dims(x, axis=-1)"],
    "np.broadcast_to": ["np.broadcast_to(x[:1], x.shape)", "np.broadcast_to(x, (2, 7))"],
    "np.concatenate": ["np.concatenate([x, y])", "np.concatenate((x, y, x), axis=-1)",
                       "np.concatenate([x, y], axis=None)", "np.concatenate([x, y > 0])"],
    "np.vstack": ["np.vstack([x, y])", "np.vstack((x, x[:1]))"],
    "np.hstack": ["np.hstack([x, y])"],
    "np.column_stack": ["np.column_stack([x, y])", "np.column_stack([x, x[:, 0]])"],
    "np.stack": ["np.stack([x, y])", "np.stack([x, y], axis=1)", "np.stack([x.sum(), y.sum()])"],
    "np.linalg.norm": ["np.linalg.norm(x)", "np.linalg.norm(x, axis=0)", "np.linalg.norm(x, 1)",
                       "np.linalg.norm(x, np.inf)", "np.linalg.norm(x, 'fro')",
                       "np.linalg.norm(x, axis=-1, keepdims=True)", "np.linalg.norm(x, 2)",
                       "np.linalg.norm(x, 0)", "np.linalg.norm(x, -1)", "np.linalg.norm(x, 3)",
                       "np.linalg.norm(x, 'nuc')", "np.linalg.norm(x, axis=(0, 1))"],
    "np.linalg.solve": ["np.linalg.solve(p, x)", "np.linalg.solve(p, x[:, 0])"],
    "np.linalg.inv": ["np.linalg.inv(p)"],
    "np.linalg.pinv": ["np.linalg.pinv(p)", "np.linalg.pinv(x, rcond=1e-6)"],
    "np.linalg.det": ["np.linalg.det(p)"],
    "np.linalg.slogdet": ["np.linalg.slogdet(p)[1]", "np.linalg.slogdet(p)"],
    "np.linalg.cholesky": ["np.linalg.cholesky(p)", "np.linalg.cholesky(p, upper=True)"],
    "np.linalg.lstsq": ["np.linalg.lstsq(p, x)[0]", "np.linalg.lstsq(p, x[:, 0], rcond=None)"],
    "np.linalg.qr": ["np.linalg.qr(p, mode='r')", "np.linalg.qr(p)[0] @ np.linalg.qr(p)[1]",
                     "np.linalg.qr(p, mode='complete')[1]"],
    "np.linalg.svd": ["np.linalg.svd(p, compute_uv=False)", "np.linalg.svd(p)[1]",
                      "np.abs(np.linalg.svd(p, full_matrices=False)[2])"],
    "np.linalg.eigh": ["np.linalg.eigh(p)[0]", "np.abs(np.linalg.eigh(p, UPLO='U')[1])"],
    "np.linalg.eigvalsh": ["np.linalg.eigvalsh(p)", "np.linalg.eigvalsh(p, 'U')"],
    "np.linalg.matmul": ["np.linalg.matmul(x, y.T)"],
    "np.linalg.trace": ["np.linalg.trace(x)"],
    "np.linalg.diagonal": ["np.linalg.diagonal(x, offset=1)"],
    "float": ["float(x.sum())", "float(s)"],
    "int": ["int(x.sum())", "int(s)"],
    "bool": ["bool(x.sum())", "bool(s)", "bool(x.any())"],
    "len": ["len(x)", "len((x, y))"],
    "abs": ["abs(x)", "abs(-s)"],
    "min": ["min(s, 2)", "min(x.sum(), 3)", "min(1, x.shape[0])", "min((s, 2, 5))"],
    "max": ["max(s, 2)", "max(x.sum(), y.sum())", "max(0, s, 9)"],
    "pow": ["pow(x, 2)", "pow(s, 2)"],
    **{f"np.{t.__name__}": [f"np.{t.__name__}({of})" for of in ("s", "x.sum()", "x")]
       for t in (np.float64, np.float32, np.int8, np.int16, np.int32, np.int64, np.uint8,
                 np.uint16, np.uint32, np.uint64, np.bool_)},
    "np.random.default_rng": ["x + np.random.default_rng(3).standard_normal()"],
}  # fmt: skip

METHODS: dict[str, list[str]] = {
    "clip": ["x.clip(0, 1)", "x.clip(max=1)", "x.clip(min=y)"],
    "round": ["x.round()", "x.round(1)"],
    "sum": ["x.sum()", "x.sum(axis=0)", "x.sum(-1, keepdims=True)", "x.sum(dtype='f4')"],
    "prod": ["x.prod()", "x.prod(axis=0)"],
    "mean": ["x.mean()", "x.mean(0)", "x.mean(axis=-1, keepdims=True)"],
    "min": ["x.min()", "x.min(axis=0)"],
    "max": ["x.max()", "x.max(-1)"],
    "any": ["x.any()", "x.any(axis=0)"],
    "all": ["x.all()", "x.all(axis=-1)"],
    "var": ["x.var()", "x.var(axis=0, ddof=1)"],
    "std": ["x.std()", "x.std(-1)"],
    "argmin": ["x.argmin()", "x.argmin(axis=0)"],
    "argmax": ["x.argmax()", "x.argmax(-1)"],
    "cumsum": ["x.cumsum()", "x.cumsum(axis=0)"],
    "cumprod": ["x.cumprod()", "x.cumprod(-1)"],
    "argsort": ["x.argsort(kind='stable')", "x.argsort(axis=0, kind='stable')"],
    "dot": ["x.dot(y)", "x.dot(2)"],
    "trace": ["x.trace()", "x.trace(1)"],
    "diagonal": ["x.diagonal()", "x.diagonal(1)"],
    "copy": ["x.copy()"],
    "astype": ["x.astype(int)"],
    "flatten": ["x.flatten()"],
    "transpose": ["x.transpose()", "x.transpose(1, 0)", "x.transpose((1, 0))"],
    "reshape": ["x.reshape(-1)", "x.reshape(-1, 1)", "x.reshape((1, -1))", "x.reshape(x.shape)"],
    "ravel": ["x.ravel()"],
    "squeeze": ["x.squeeze()", "x[:1].squeeze(axis=0)"],
    "item": ["x[:1].item()", "x.sum().item()"],
}

OPERATORS = [
    "x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "x ** 2", "x ** 0.5", "x ** y", "x @ y",
    "x.T @ y", "-x", "+x", "~x", "x & y", "x | y", "x ^ y", "x < y", "x <= y", "x > y", "x >= y",
    "x == y", "x != y", "s + x", "s - x", "s * x", "s / x", "s // x", "s % x", "s ** x", "x < s",
    "x ** -1", "x ** 3", "2 ** x", "x.T", "x.mT", "x.shape", "x.ndim", "x.size", "x[0]", "x[-1]",
    "x[1:]", "x[::2]", "x[::-1]", "x[:, 0]", "x[:, None]", "x[None]", "x[..., 0]", "x[0, 1]",
    "x[[0, 0]]", "x[x > 0]", "x[np.array([0, -1])]", "x[1:, :2]", "x[:, ::-1]", "x[np.newaxis, 0]",
    "x[5:1]", "x[-2:]", "x[:-1]", "x[0][0]", "x[(0,)]", "x[x.shape[0] - 1]",
    "x[np.abs(x).argmax()]", "x[[0], [0]]", "x[:, [0, 1]]", "x[:0].sum()", 
    "s if x.sum() > 0 else 1",
]  # fmt: skip


def _value(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if dtype == "?":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in ("f8", "f4"):
        return (rng.normal(size=shape) * 2).astype(dtype)
    return rng.integers(-4, 5, shape).astype(dtype)


def _inputs(shape: tuple[int, ...], dtype: str) -> dict[str, Any]:
    x, y = _value(shape, dtype, 1), _value(shape, dtype, 2)
    n = shape[0]
    p = (x @ x.T if len(shape) == 2 else np.outer(x, x)).astype("f4" if dtype == "f4" else "f8")
    return {"x": x, "y": y, "p": p + (n + 1) * np.eye(n, dtype=p.dtype), "s": 3}


def _program(template: str) -> Any:
    text = f"def case(x, y, p, s):\n    return {template}\n"
    name = f"<operation {template}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), space)
    return la.program(space["case"])


def _outcome(function: Callable[[], Any]) -> tuple[Any, Exception | None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(), None
        except Exception as error:
            return None, error


def _half(value: Any) -> bool:
    values = value if isinstance(value, tuple) else (value,)
    return any(np.asarray(v).dtype == np.float16 for v in values)


def _three(value: Any) -> bool:
    values = value if isinstance(value, tuple) else (value,)
    return any(np.ndim(v) > 2 for v in values)


def _check(template: str, inputs: dict[str, Any], run: Callable[[], Any]) -> bool:
    """Compare one case on one input; tell whether there was something to compare."""
    expected, failed = _outcome(lambda: eval(template, {"np": np}, dict(inputs)))
    found, refused = _outcome(run)
    where = f"{template} of {inputs['x'].dtype}{list(inputs['x'].shape)}"
    if "'ii->i'" in template and not inputs["x"].size:
        return False  # NumPy takes an empty rectangle for a square here; Lineal asks for a square
    if failed is not None:
        assert refused is not None, f"{where}: NumPy raises {failed!r}, Lineal gives {found!r}"
        return False
    if _half(expected):
        assert isinstance(refused, DTypeError), where
        return False
    if _three(expected):
        assert isinstance(refused, (la.errors.LinealError)), where
        return False
    if isinstance(refused, UnsupportedError) and "only the run will know" in str(refused):
        return False
    assert refused is None, f"{where}: {refused!r}"
    try:
        assert_same(found, expected, rtol=1e-4 if inputs["x"].dtype == np.float32 else 1e-9)
    except AssertionError as error:
        raise AssertionError(f"{where}: {found!r} against {expected!r}") from error
    return True


ALL = [
    *CASES.items(),
    *((f".{name}", cases) for name, cases in METHODS.items()),
    ("operators", OPERATORS),
]


def test_every_entry_has_a_case():
    assert set(CASES) == {entry.name for entry in functions.FUNCTIONS.values()}
    assert set(METHODS) == set(functions.METHODS)


@pytest.mark.parametrize(("name", "templates"), ALL, ids=[name for name, _ in ALL])
def test_through_programs(name, templates):
    for template in templates:
        program = _program(template)
        compared = 0
        for shape in SHAPES:
            for dtype in DTYPES:
                inputs = _inputs(shape, dtype)
                compared += _check(template, inputs, lambda i=inputs, p=program: p(**i))
        assert compared, f"{template}: no input ran"


NOT_LAZY: set[str] = set()
# Of a lazy array these are the value itself: they compute, or answer without computing.
IMMEDIATE = ("float", "int", "bool", "len", "min", "max", "np.empty", "np.empty_like")


@pytest.mark.parametrize(("name", "templates"), ALL, ids=[name for name, _ in ALL])
def test_through_lazy_arrays(name, templates):
    def lazily(template: str, inputs: dict[str, Any]) -> Any:
        held = {k: la.asarray(v) if k != "s" else v for k, v in inputs.items()}
        made = eval(template, {"np": np}, held)
        parts = made if isinstance(made, tuple) else (made,)
        done = la.compute(*parts)
        return (done,) if isinstance(made, tuple) and len(parts) == 1 else done

    created = name in ("np.eye", "np.identity", "np.arange", "np.linspace", "np.zeros", "np.ones",
                       "np.full", "np.array", "np.asarray", "np.random.default_rng")  # fmt: skip
    if (
        created
        or name.startswith(("np.int", "np.uint", "np.float", "np.bool"))
        or name in IMMEDIATE
    ):
        # Called with plain arguments, or asked to convert, NumPy itself answers.
        for template in templates:
            _outcome(lambda t=template: lazily(t, _inputs((3, 3), "f8")))
        return
    for template in templates:
        if template in NOT_LAZY:
            continue
        for shape in ((7,), (3, 3), (5, 3), (0, 3)):
            for dtype in ("f8", "i1"):
                inputs = _inputs(shape, dtype)
                _check(template, inputs, lambda i=inputs, t=template: lazily(t, i))


# --------------------------------------------------------------------------- random generators

DRAWS = {
    "standard_normal": ["()", "(3)", "((2, 3))", "(size=(2, 2), dtype=np.float32)"],
    "random": ["()", "(4)", "(size=3, dtype='f4')"],
    "normal": ["(1.0, 2.0, 3)", "(loc=-1, size=(2, 2))"],
    "uniform": ["(-1, 1, 5)", "(high=2.0)"],
    "exponential": ["(2.0, 3)", "(size=2)"],
    "integers": ["(5)", "(0, 9, 4)", "(low=2, high=5, size=(2, 3))"],
    "permutation": ["(5)", "(x.shape[0])"],
}


def test_every_draw_has_a_case():
    assert set(DRAWS) == set(functions.DRAWS)


@pytest.mark.parametrize("method", sorted(DRAWS))
def test_draws(method):
    for arguments in DRAWS[method]:
        text = (
            "def case(x, seed):\n"
            "    rng = np.random.default_rng(seed)\n"
            f"    first = rng.{method}{arguments}\n"
            f"    return first, rng.{method}{arguments}\n"
        )
        name = f"<draw {method}{arguments}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        space: dict[str, Any] = {"np": np}
        exec(compile(text, name, "exec"), space)
        x = np.arange(4.0)
        for seed in (0, 7):
            assert_same(la.program(space["case"])(x, seed), space["case"](x, seed))
