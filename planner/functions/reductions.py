"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lineal.errors import DTypeError
from lineal.planner import build
from lineal.planner.build import Context, Operand, apply, array
from lineal.planner.expr import Expr
from lineal.planner.functions.entry import Table
from lineal.planner.infer import typed


def _reduce(
    ctx: Context,
    op: str,
    a: Operand,
    axis: object,
    keepdims: object,
    dtype: object = None,
    **extra: Any,
) -> Expr:
    x = array(a)
    # NumPy lets a 0-d array be reduced over axis 0 or -1, which are not there.
    ndim = max(typed(x).ndim, 1)
    if op not in ("argmin", "argmax"):
        extra["dtype"] = None if dtype is None else build.static_dtype(ctx, dtype)
    where = build.static_axis(ctx, axis, ndim)
    return apply(
        op,
        x,
        axis=where if typed(x).ndim else None,
        keepdims=build.static_bool(ctx, keepdims, "keepdims"),
        **extra,
    )


def _with_dtype(op: str) -> Callable[..., Expr]:
    def fn(
        ctx: Context,
        a: Operand,
        axis: object = None,
        dtype: object = None,
        keepdims: object = False,
    ) -> Expr:
        return _reduce(ctx, op, a, axis, keepdims, dtype)

    return fn


def _plain_reduction(op: str) -> Callable[..., Expr]:
    def fn(ctx: Context, a: Operand, axis: object = None, keepdims: object = False) -> Expr:
        return _reduce(ctx, op, a, axis, keepdims)

    return fn


def _spread(op: str) -> Callable[..., Expr]:
    def fn(
        ctx: Context,
        a: Operand,
        axis: object = None,
        dtype: object = None,
        ddof: object = 0,
        keepdims: object = False,
    ) -> Expr:
        degrees = ctx.static(ddof, "ddof")
        return _reduce(ctx, op, a, axis, keepdims, dtype, ddof=degrees)

    return fn


def _arg_reduction(op: str) -> Callable[..., Expr]:
    def fn(ctx: Context, a: Operand, axis: object = None, keepdims: object = False) -> Expr:
        if isinstance(axis, tuple):
            raise DTypeError(
                f"{op} takes one axis or None, not a tuple", hint="reduce one axis at a time"
            )
        return _reduce(ctx, op, a, axis, keepdims)

    return fn


ENTRIES = Table("reductions")
for _name in ("sum", "prod", "mean"):
    ENTRIES.add(getattr(np, _name), f"np.{_name}", _with_dtype(_name), _name)
for _name in ("min", "max", "any", "all"):
    ENTRIES.add(getattr(np, _name), f"np.{_name}", _plain_reduction(_name), _name)
for _name in ("var", "std"):
    ENTRIES.add(getattr(np, _name), f"np.{_name}", _spread(_name), _name)
for _name in ("argmin", "argmax"):
    ENTRIES.add(getattr(np, _name), f"np.{_name}", _arg_reduction(_name), _name)
ENTRIES.add(np.count_nonzero, "np.count_nonzero", _plain_reduction("count_nonzero"))
