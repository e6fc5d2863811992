"""Types of reductions, cumulative operations, sorting and counting."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import cast

import numpy as np

from lineal.errors import DTypeError, ShapeError
from lineal.planner.expr import Expr
from lineal.planner.infer.core import FLOAT, INT, REDUCTIONS, Types, check_dtype, typed
from lineal.planner.infer.dims import same_dim, show_shape
from lineal.planner.types import Dim, Shape, Sym, Type, upper


def axes_of(axis: object, ndim: int) -> tuple[int, ...]:
    """Return the axes that `axis` stands for."""
    if axis is None:
        return tuple(range(ndim))
    return axis if isinstance(axis, tuple) else (cast(int, axis),)


def reduced(shape: Shape, axis: object, keepdims: bool) -> Shape:
    """Return the shape after a reduction over `axis`."""
    gone = axes_of(axis, len(shape))
    if keepdims:
        return tuple(1 if i in gone else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in gone)


@lru_cache(maxsize=4096)
def reduction_dtype(op: str, dtype: np.dtype, asked: str | None) -> np.dtype:
    """Return the dtype in which NumPy gives the reduction."""
    sample = np.ones(1, dtype)
    if op in ("argmin", "argmax", "any", "all", "count_nonzero"):
        return np.dtype(np.asarray(getattr(np, op)(sample)).dtype)
    if op in ("min", "max"):
        return dtype
    found: np.dtype = getattr(np, op)(sample, dtype=asked).dtype
    return found


def _reduction(node: Expr) -> Type:
    x = typed(node.inputs[0])
    axis = node.attr("axis")
    gone = axes_of(axis, x.ndim)
    if node.op in ("min", "max", "argmin", "argmax") and any(x.shape[a] == 0 for a in gone):
        raise ShapeError(
            f"{node.op} over an empty axis of shape {show_shape(x.shape)} has no value",
            hint="test the size first; NumPy raises here too",
        )
    try:
        dtype = reduction_dtype(node.op, x.dtype, cast("str | None", node.attr("dtype")))
    except TypeError as error:
        raise DTypeError(
            f"{node.op} of {x.dtype}: {error}", hint="convert the operand with astype first"
        ) from None
    shape = reduced(x.shape, axis, bool(node.attr("keepdims")))
    return Type(shape, check_dtype(dtype, node.op))


def _cumulative(node: Expr) -> Type:
    x = typed(node.inputs[0])
    name = "cumsum" if node.op == "cumsum" else "cumprod"
    dtype = getattr(np, name)(np.ones(1, x.dtype), dtype=node.attr("dtype")).dtype
    size: Dim = math.prod(upper(d) for d in x.shape) if x.static else Sym((node,), x.size)
    shape = (size,) if node.attr("axis") is None else x.shape
    return Type(shape, check_dtype(dtype, node.op))


def _diff(node: Expr) -> Type:
    x = typed(node.inputs[0])
    n, axis = cast(int, node.attr("n")), cast(int, node.attr("axis"))
    size = x.shape[axis]
    shrunk: Dim
    if isinstance(size, Sym):
        shrunk = Sym(("diff", size.source, n), size.bound, f"{size.name}-{n}")
    else:
        shrunk = max(size - n, 0)
    shape = tuple(shrunk if i == axis else d for i, d in enumerate(x.shape))
    return Type(shape, x.dtype)


def _sort(node: Expr) -> Type:
    x = typed(node.inputs[0])
    shape = x.shape
    if node.attr("axis") is None:
        shape = (x.size,) if x.static else (Sym((node,), x.size),)
    return Type(shape, INT if node.op == "argsort" else x.dtype)


def _bincount(node: Expr) -> Type:
    x = typed(node.inputs[0])
    if x.ndim != 1 or x.dtype.kind not in "bui":
        raise DTypeError(
            f"bincount needs a 1-D integer array, not {x}", hint="use x.ravel().astype(int)"
        )
    if len(node.inputs) == 2 and not same_dim(x.shape[0], typed(node.inputs[1]).shape[0]):
        raise ShapeError(
            "bincount: x and weights must have the same length", hint="give one weight per entry"
        )
    dim = Sym(("bincount", node), None, "bins")
    return Type((dim,), FLOAT if len(node.inputs) == 2 else INT)


def _unique(node: Expr) -> Types:
    x = typed(node.inputs[0])
    kept = Sym(("unique", node.inputs[0]), x.size, "unique")
    results = [Type((kept,), x.dtype)]
    if node.attr("return_index"):
        results.append(Type((kept,), INT))
    if node.attr("return_inverse"):
        results.append(Type(x.shape, INT))
    if node.attr("return_counts"):
        results.append(Type((kept,), INT))
    return results[0] if len(results) == 1 else tuple(results)


RULES: dict[str, Callable[[Expr], Types]] = {
    **{name: _reduction for name in REDUCTIONS},
    "cumsum": _cumulative,
    "cumprod": _cumulative,
    "diff": _diff,
    "sort": _sort,
    "argsort": _sort,
    "bincount": _bincount,
    "unique": _unique,
}
