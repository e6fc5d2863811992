"""Types of norms, solvers and factorisations."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from lineal.errors import ShapeError
from lineal.planner.expr import Expr
from lineal.planner.infer.core import FLOAT, Types, typed
from lineal.planner.infer.dims import same_dim, settle, show_shape
from lineal.planner.infer.products import need2d
from lineal.planner.infer.reductions import reduced
from lineal.planner.types import Dim, Sym, Type, upper


@lru_cache(maxsize=256)
def _inexact(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float32) if dtype == np.float32 else FLOAT


def _factor_type(*types: Type) -> np.dtype:
    kinds = {_inexact(t.dtype) for t in types}
    return FLOAT if FLOAT in kinds else np.dtype(np.float32)


def _square(x: Type, name: str) -> Dim:
    need2d(x, name)
    if not same_dim(x.shape[0], x.shape[1]):
        raise ShapeError(
            f"{name} needs a square matrix, not shape {show_shape(x.shape)}",
            hint="use np.linalg.lstsq for a rectangular system",
        )
    return settle(x.shape[0], x.shape[1])


def _solve(node: Expr) -> Type:
    a, b = (typed(n) for n in node.inputs)
    n = _square(a, "solve")
    if not b.shape or not same_dim(n, b.shape[0]):
        raise ShapeError(
            f"solve: {show_shape(a.shape)} and right side {show_shape(b.shape)} do not fit",
            hint=f"the right side needs {n} rows",
        )
    return Type(b.shape, _factor_type(a, b))


def _square_out(node: Expr) -> Type:
    x = typed(node.inputs[0])
    _square(x, node.op)
    return Type(x.shape, _factor_type(x))


def _pinv(node: Expr) -> Type:
    x = typed(node.inputs[0])
    need2d(x, "pinv")
    return Type((x.shape[1], x.shape[0]), _factor_type(x))


def _det(node: Expr) -> Type:
    x = typed(node.inputs[0])
    _square(x, "det")
    return Type((), _factor_type(x))


def _slogdet(node: Expr) -> Types:
    return (_det(node), _det(node))


def _min_dim(a: Dim, b: Dim, tag: object) -> Dim:
    if isinstance(a, Sym) or isinstance(b, Sym):
        return Sym(("min", tag), min(upper(a), upper(b)), "rank")
    return min(a, b)


def _lstsq(node: Expr) -> Types:
    a, b = (typed(n) for n in node.inputs)
    need2d(a, "lstsq")
    if not b.shape or not same_dim(a.shape[0], b.shape[0]):
        raise ShapeError(
            f"lstsq: {show_shape(a.shape)} and right side {show_shape(b.shape)} do not fit",
            hint=f"the right side needs {a.shape[0]} rows",
        )
    dtype = _factor_type(a, b)
    rows, cols = a.shape
    sides: Dim = 1 if b.ndim == 1 else b.shape[1]
    # Residuals are empty when the rank is short or the system is not overdetermined.
    residuals = Sym(("residuals", node), upper(sides), "residuals")
    singular = _min_dim(rows, cols, node)
    return (
        Type((cols, *b.shape[1:]), dtype),
        Type((residuals,), dtype),
        Type((), np.dtype(np.int32)),
        Type((singular,), dtype),
    )


def _qr(node: Expr) -> Types:
    x = typed(node.inputs[0])
    need2d(x, "qr")
    m, n = x.shape
    k = _min_dim(m, n, node)
    dtype = _factor_type(x)
    mode = node.attr("mode")
    if mode == "r":
        return Type((k, n), dtype)
    if mode == "complete":
        return (Type((m, m), dtype), Type((m, n), dtype))
    return (Type((m, k), dtype), Type((k, n), dtype))


def _svd(node: Expr) -> Types:
    x = typed(node.inputs[0])
    need2d(x, "svd")
    m, n = x.shape
    k = _min_dim(m, n, node)
    dtype = _factor_type(x)
    if not node.attr("compute_uv"):
        return Type((k,), dtype)
    if node.attr("full_matrices"):
        return (Type((m, m), dtype), Type((k,), dtype), Type((n, n), dtype))
    return (Type((m, k), dtype), Type((k,), dtype), Type((k, n), dtype))


def _eigh(node: Expr) -> Types:
    x = typed(node.inputs[0])
    n = _square(x, node.op)
    dtype = _factor_type(x)
    if node.op == "eigvalsh":
        return Type((n,), dtype)
    return (Type((n,), dtype), Type((n, n), dtype))


def _norm(node: Expr) -> Type:
    x = typed(node.inputs[0])
    dtype = np.dtype(np.float32) if x.dtype == np.float32 else FLOAT
    axis = node.attr("axis")
    order = node.attr("ord")
    if axis is None and order is not None and x.ndim > 2:
        raise ShapeError("norm with ord needs one or two dimensions")
    if order == 0 and x.ndim == 1 and x.dtype.kind in "fiu":
        dtype = FLOAT if x.dtype != np.float32 else np.dtype(np.float32)
    return Type(reduced(x.shape, axis, bool(node.attr("keepdims"))), dtype)


RULES: dict[str, Callable[[Expr], Types]] = {
    "solve": _solve,
    "inv": _square_out,
    "cholesky": _square_out,
    "pinv": _pinv,
    "det": _det,
    "slogdet": _slogdet,
    "lstsq": _lstsq,
    "qr": _qr,
    "svd": _svd,
    "eigh": _eigh,
    "eigvalsh": _eigh,
    "norm": _norm,
}
