"""Cumulative sums, differences, sorting, counting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lineal.errors import ShapeError
from lineal.planner import build
from lineal.planner.build import Context, Operand, apply, array, results
from lineal.planner.expr import Expr
from lineal.planner.functions.entry import Table
from lineal.planner.infer import typed


def _cumulative(op: str) -> Callable[..., Expr]:
    def fn(ctx: Context, a: Operand, axis: object = None, dtype: object = None) -> Expr:
        x = array(a)
        where = build.static_axis(ctx, axis, typed(x).ndim)
        name = None if dtype is None else build.static_dtype(ctx, dtype)
        return apply(op, x, axis=where, dtype=name)

    return fn


def _diff(ctx: Context, a: Operand, n: object = 1, axis: object = -1) -> Expr:
    x = array(a)
    if not typed(x).ndim:
        raise ShapeError("diff needs at least one dimension", hint="pass an array")
    count = int(ctx.static(n, "n"))
    if count < 0:
        raise ShapeError(f"diff: order must be non-negative, not {count}", hint="use n=1")
    return apply("diff", x, n=count, axis=build.static_axis(ctx, axis, typed(x).ndim))


def _sorter(op: str) -> Callable[..., Expr]:
    def fn(ctx: Context, a: Operand, axis: object = -1, kind: object = None) -> Expr:
        x = array(a)
        if not typed(x).ndim:
            raise ShapeError(f"{op} needs at least one dimension", hint="pass an array")
        return apply(
            op, x, axis=build.static_axis(ctx, axis, typed(x).ndim), kind=ctx.static(kind, "kind")
        )

    return fn


def _bincount(ctx: Context, x: Operand, weights: Operand = None, minlength: object = 0) -> Expr:
    least = int(ctx.static(minlength, "minlength"))
    operands = [array(x)] if weights is None else [array(x), array(weights)]
    return apply("bincount", *operands, minlength=least)


def _unique(
    ctx: Context,
    ar: Operand,
    return_index: object = False,
    return_inverse: object = False,
    return_counts: object = False,
) -> Any:
    x = array(ar)
    node = apply(
        "unique",
        x,
        return_index=build.static_bool(ctx, return_index, "return_index"),
        return_inverse=build.static_bool(ctx, return_inverse, "return_inverse"),
        return_counts=build.static_bool(ctx, return_counts, "return_counts"),
    )
    found = results(node)
    return found[0] if len(found) == 1 else found


ENTRIES = Table("order and counting")
for _name in ("cumsum", "cumprod"):
    ENTRIES.add(getattr(np, _name), f"np.{_name}", _cumulative(_name), _name)
ENTRIES.add(np.diff, "np.diff", _diff)
ENTRIES.add(np.sort, "np.sort", _sorter("sort"))
ENTRIES.add(np.argsort, "np.argsort", _sorter("argsort"), "argsort")
ENTRIES.add(np.bincount, "np.bincount", _bincount)
ENTRIES.add(np.unique, "np.unique", _unique)
