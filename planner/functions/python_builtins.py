"""Python's own functions on traced values."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from lineal.errors import ShapeError, UnsupportedError
from lineal.planner import build
from lineal.planner.build import Context, Operand, apply
from lineal.planner.expr import Expr
from lineal.planner.functions.entry import Entry, Table
from lineal.planner.infer import typed
from lineal.planner.types import Sym


def _to(op: str, kind: type) -> Callable[..., Any]:
    def fn(ctx: Context, x: Operand) -> Any:
        return apply(op, x) if isinstance(x, Expr) else kind(x)

    return fn


def _len(ctx: Context, obj: Any) -> Any:
    if isinstance(obj, Expr):
        shape = typed(obj).shape
        if not shape:
            raise ShapeError("len() of a scalar", hint="a scalar has no length")
        if isinstance(shape[0], Sym):
            return apply("dim", obj, axis=0)
        return shape[0]
    return len(obj)


def _abs(ctx: Context, x: Operand) -> Any:
    return build.unary(ctx, "abs", x)


def _extreme(name: str) -> Callable[..., Any]:
    def fn(ctx: Context, *args: Operand) -> Any:
        values = list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        if len(values) < 2 or any(isinstance(v, Expr) and typed(v).ndim for v in values):
            raise UnsupportedError(
                f"Python's {name}() of an array", hint=f"use np.{name} or the method .{name}()"
            )
        if not any(isinstance(v, Expr) for v in values):
            return getattr(builtins, name)(*values)
        total = values[0]
        for value in values[1:]:
            if build.is_weak(total) and build.is_weak(value):
                total = apply(f"py.{name}", total, value)
                continue
            # Python keeps the first unless the next is strictly better.
            better = apply("less" if name == "min" else "greater", value, total)
            test = build.lift(build.truth(better))
            total = build.choose_scalar(ctx, test, build.lift(value), build.lift(total))
        return total

    return fn


def _pow(ctx: Context, base: Operand, exp: Operand) -> Any:
    return build.binary(ctx, "pow", base, exp)


def _item(ctx: Context, x: Expr) -> Expr:
    kind = {"b": "to_bool", "i": "to_int", "u": "to_int", "f": "to_float"}[typed(x).dtype.kind]
    return apply(kind, x)


ENTRIES = Table("Python builtins")
ENTRIES.add(builtins.float, "float", _to("to_float", builtins.float))
ENTRIES.add(builtins.int, "int", _to("to_int", builtins.int))
ENTRIES.add(builtins.bool, "bool", lambda ctx, x: build.truth(x))
ENTRIES.add(builtins.len, "len", _len)
ENTRIES.add(builtins.abs, "abs", _abs)
ENTRIES.add(builtins.min, "min", _extreme("min"))
ENTRIES.add(builtins.max, "max", _extreme("max"))
ENTRIES.add(builtins.pow, "pow", _pow)

ITEM = Entry("x.item", _item, "Python builtins", "item")
"""The method that gives a Python scalar."""
