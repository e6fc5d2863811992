"""numpy.linalg: norms, solvers, factorisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from lineal.errors import DTypeError, ShapeError, UnsupportedError
from lineal.planner import build
from lineal.planner.build import Context, Operand, apply, array, results
from lineal.planner.expr import Expr
from lineal.planner.functions.entry import Table
from lineal.planner.infer import typed


def _norm(
    ctx: Context, x: Operand, ord: object = None, axis: object = None, keepdims: object = False
) -> Expr:
    a = array(x)
    type_ = typed(a)
    order = ctx.static(ord, "ord")
    if isinstance(order, bool) or not (order is None or isinstance(order, (int, float, str))):
        raise DTypeError(f"norm: ord={order!r} is not a norm", hint="use 1, 2, np.inf or 'fro'")
    where = build.static_axis(ctx, axis, type_.ndim)
    over = type_.ndim if where is None else (len(where) if isinstance(where, tuple) else 1)
    if over == 1 and isinstance(order, str):
        raise ShapeError(
            f"norm: {order!r} is a matrix norm, and the operand is a vector", hint="leave ord out"
        )
    if over == 2 and order not in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        raise ShapeError(
            f"norm: ord={order!r} is not a matrix norm",
            hint="use 'fro', 'nuc', 1, -1, 2, -2, np.inf or -np.inf, or give one axis",
        )
    order = float(order) if isinstance(order, (int, float)) else order
    return apply(
        "norm", a, ord=order, axis=where, keepdims=build.static_bool(ctx, keepdims, "keepdims")
    )


def _solve(ctx: Context, a: Operand, b: Operand) -> Expr:
    return apply("solve", array(a), array(b))


def _inv(ctx: Context, a: Operand) -> Expr:
    return apply("inv", array(a))


def _pinv(ctx: Context, a: Operand, rcond: object = None) -> Expr:
    return apply("pinv", array(a), rcond=ctx.static(rcond, "rcond"))


def _det(ctx: Context, a: Operand) -> Expr:
    return apply("det", array(a))


def _slogdet(ctx: Context, a: Operand) -> Any:
    return results(apply("slogdet", array(a)))


def _cholesky(ctx: Context, a: Operand, upper: object = False) -> Expr:
    return apply("cholesky", array(a), upper=build.static_bool(ctx, upper, "upper"))


def _lstsq(ctx: Context, a: Operand, b: Operand, rcond: object = None) -> Any:
    return results(apply("lstsq", array(a), array(b), rcond=ctx.static(rcond, "rcond")))


def _qr(ctx: Context, a: Operand, mode: object = "reduced") -> Any:
    how = ctx.static(mode, "mode")
    if how not in ("reduced", "complete", "r"):
        raise UnsupportedError(f"qr mode {how!r}", hint="use 'reduced', 'complete' or 'r'")
    found = results(apply("qr", array(a), mode=how))
    return found[0] if how == "r" else found


def _svd(ctx: Context, a: Operand, full_matrices: object = True, compute_uv: object = True) -> Any:
    both = build.static_bool(ctx, compute_uv, "compute_uv")
    node = apply(
        "svd",
        array(a),
        full_matrices=build.static_bool(ctx, full_matrices, "full_matrices"),
        compute_uv=both,
    )
    found = results(node)
    return found if both else found[0]


def _eigh(ctx: Context, a: Operand, UPLO: object = "L") -> Any:
    return results(apply("eigh", array(a), uplo=ctx.static(UPLO, "UPLO")))


def _eigvalsh(ctx: Context, a: Operand, UPLO: object = "L") -> Expr:
    return apply("eigvalsh", array(a), uplo=ctx.static(UPLO, "UPLO"))


ENTRIES = Table("linear algebra")
ENTRIES.add(np.linalg.norm, "np.linalg.norm", _norm)
ENTRIES.add(np.linalg.solve, "np.linalg.solve", _solve)
ENTRIES.add(np.linalg.inv, "np.linalg.inv", _inv)
ENTRIES.add(np.linalg.pinv, "np.linalg.pinv", _pinv)
ENTRIES.add(np.linalg.det, "np.linalg.det", _det)
ENTRIES.add(np.linalg.slogdet, "np.linalg.slogdet", _slogdet)
ENTRIES.add(np.linalg.cholesky, "np.linalg.cholesky", _cholesky)
ENTRIES.add(np.linalg.lstsq, "np.linalg.lstsq", _lstsq)
ENTRIES.add(np.linalg.qr, "np.linalg.qr", _qr)
ENTRIES.add(np.linalg.svd, "np.linalg.svd", _svd)
ENTRIES.add(np.linalg.eigh, "np.linalg.eigh", _eigh)
ENTRIES.add(np.linalg.eigvalsh, "np.linalg.eigvalsh", _eigvalsh)
