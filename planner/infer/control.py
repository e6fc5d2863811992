"""Types of Python scalars, branches, loops and random draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from lineal.errors import ProgramError, ShapeError
from lineal.planner.expr import Expr
from lineal.planner.infer.core import PY_BOOL, PY_FLOAT, PY_INT, RNG, Types, typed, types_of
from lineal.planner.infer.dims import join_types, limit2d, show_shape
from lineal.planner.types import Shape, Type


def _py(node: Expr) -> Type:
    kinds = [typed(n).dtype.kind for n in node.inputs]
    name = node.op.removeprefix("py.")
    if name in ("lt", "le", "gt", "ge", "eq", "ne", "not"):
        return PY_BOOL
    if name == "truediv" or "f" in kinds:
        return PY_FLOAT
    if name in ("min", "max") and set(kinds) == {"b"}:
        return PY_BOOL
    if name == "pow":
        exponent = node.inputs[1]
        value = exponent.attr("value") if exponent.op == "const" else None
        return PY_FLOAT if isinstance(value, int) and value < 0 else PY_INT
    return PY_INT


def _strong(node: Expr) -> Type:
    return Type((), np.dtype(cast(str, node.attr("dtype"))))


def _to_scalar(node: Expr) -> Type:
    x = typed(node.inputs[0])
    if x.static and x.size != 1:
        raise ShapeError(
            f"a scalar is needed, not an array of shape {show_shape(x.shape)}",
            hint="reduce it first, e.g. with x.any(), x.all(), x.sum() or an index",
        )
    return {"to_bool": PY_BOOL, "to_int": PY_INT, "to_float": PY_FLOAT}[node.op]


def _if(node: Expr) -> Types:
    n = cast(int, node.attr("n"))
    joined: list[Type] = []
    for a, b in zip(node.inputs[1 : 1 + n], node.inputs[1 + n :], strict=True):
        type_ = join_types(typed(a), typed(b))
        if type_ is None:
            raise ShapeError(
                f"a value is {typed(a)} on one path and {typed(b)} on the other",
                hint="give it the same shape and dtype on both paths",
            )
        joined.append(type_)
    return tuple(joined)


def _loop(node: Expr) -> Types:
    n = cast(int, node.attr("n"))
    return tuple(typed(p) for p in node.inputs[n : 2 * n])


def _item(node: Expr) -> Type:
    found = types_of(node.inputs[0])
    k = cast(int, node.attr("k"))
    if not isinstance(found, tuple):
        raise ProgramError("item of an operation with one result")
    return found[k]


def _draw(node: Expr) -> Types:
    shape = cast(Shape, node.attr("shape"))
    dtype = np.dtype(cast(str, node.attr("result")))
    if node.attr("size") is None and dtype.kind == "f":
        return (PY_FLOAT, RNG)  # a single draw is a Python float
    return (Type(limit2d(shape), dtype), RNG)


RULES: dict[str, Callable[[Expr], Types]] = {
    **{
        f"py.{name}": _py
        for name in (
            "add sub mul truediv floordiv mod pow neg pos abs lt le gt ge eq ne not min max".split()
        )
    },
    "strong": _strong,
    "to_bool": _to_scalar,
    "to_int": _to_scalar,
    "to_float": _to_scalar,
    "if": _if,
    "loop": _loop,
    "item": _item,
    "draw": _draw,
    "range_len": lambda node: PY_INT,
    "assert_": lambda node: PY_BOOL,
    "rng_new": lambda node: RNG,
}
