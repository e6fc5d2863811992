"""Elementwise functions: ufuncs, where, clip, round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lineal.errors import DTypeError, UnsupportedError
from lineal.planner.build import Context, Operand, apply, array
from lineal.planner.expr import Expr
from lineal.planner.functions.entry import Table
from lineal.planner.infer import BINARY, UNARY, typed


def _binary_ufunc(name: str) -> Callable[..., Expr]:
    def fn(ctx: Context, x1: Operand, x2: Operand) -> Expr:
        return apply(name, x1, x2)

    return fn


def _unary_ufunc(name: str) -> Callable[..., Expr]:
    def fn(ctx: Context, x: Operand) -> Expr:
        return apply(name, x)

    return fn


def _where(ctx: Context, condition: Operand, x: Operand = None, y: Operand = None) -> Expr:
    if x is None or y is None:
        raise UnsupportedError(
            "np.where with one argument", hint="index with the mask itself: A[mask]"
        )
    return apply("where", condition, x, y)


def _clip(
    ctx: Context,
    a: Operand,
    a_min: Operand = None,
    a_max: Operand = None,
    min: Operand = None,
    max: Operand = None,
) -> Expr:
    low = a_min if min is None else min
    high = a_max if max is None else max
    if low is None and high is None:
        return apply("copy", array(a))
    given = [v for v in (low, high) if v is not None]
    if low is not None and high is not None:
        return apply("clip", a, low, high, has_lo=True, has_hi=True)
    return apply("maximum" if high is None else "minimum", a, *given)


def _round(ctx: Context, a: Operand, decimals: int = 0) -> Expr:
    x = array(a)
    if typed(x).dtype.kind == "b":
        raise DTypeError("round of bool would have dtype float16", hint="use x.astype(float)")
    return apply("round", x, decimals=int(ctx.static(decimals, "decimals")))


ENTRIES = Table("elementwise")
for _name in BINARY:
    ENTRIES.add(getattr(np, _name), f"np.{_name}", _binary_ufunc(_name))
for _name in UNARY:
    ENTRIES.add(getattr(np, _name), f"np.{_name}", _unary_ufunc(_name))
ENTRIES.add(np.where, "np.where", _where)
ENTRIES.add(np.clip, "np.clip", _clip, "clip")
ENTRIES.add(np.round, "np.round", _round, "round")
ENTRIES.add(np.around, "np.around", _round)
