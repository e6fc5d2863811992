"""Types of elementwise operations, with their dtypes asked of NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from lineal.errors import DTypeError
from lineal.planner.expr import Expr
from lineal.planner.infer.core import BINARY, UNARY, WEAK, Types, check_dtype, typed
from lineal.planner.infer.dims import broadcast, limit2d
from lineal.planner.types import Type


def _stand_in(node: Expr, type_: Type) -> tuple[Any, ...]:
    if not type_.weak:
        return ("a", type_.dtype)
    if node.op == "const":
        return ("c", type(node.attr("value")).__name__, node.attr("value"))
    return ("w", type_.dtype.kind)


@lru_cache(maxsize=65536, typed=True)
def ufunc_dtype(name: str, operands: tuple[tuple[Any, ...], ...]) -> np.dtype:
    """Return the dtype of a ufunc of stand-ins (see `_stand_in`), asked of NumPy itself."""
    values: list[Any] = []
    for operand in operands:
        if operand[0] == "a":
            values.append(np.empty(0, operand[1]))
        elif operand[0] == "c":
            values.append(operand[2])
        else:
            values.append(WEAK[operand[1]])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "clip":
            found: np.dtype = np.clip(*values).dtype
        else:
            found = np.asarray(getattr(np, name)(*values)).dtype
    return found


def _elementwise(name: str, nodes: tuple[Expr, ...]) -> Type:
    types = [typed(n) for n in nodes]
    for type_ in types:
        if type_.kind != "array":
            raise DTypeError(f"{name} of a random generator", hint="draw an array from it first")
    try:
        dtype = ufunc_dtype(name, tuple(_stand_in(n, t) for n, t in zip(nodes, types, strict=True)))
    except OverflowError as error:
        raise DTypeError(str(error), hint="convert the array with astype to a wider type") from None
    except TypeError as error:
        raise DTypeError(
            f"{name} is not defined for {', '.join(str(t.dtype) for t in types)}: {error}",
            hint="convert the operand first, e.g. x.astype(int) or x.astype(float)",
        ) from None
    shape = broadcast(*(t.shape for t in types))
    return Type(limit2d(shape), check_dtype(dtype, f"{name}"))


def _ufunc(node: Expr) -> Type:
    return _elementwise(node.op, node.inputs)


def _where(node: Expr) -> Type:
    _, a, b = node.inputs
    shape = broadcast(*(typed(n).shape for n in node.inputs))
    dtype = _where_dtype(_stand_in(a, typed(a)), _stand_in(b, typed(b)))
    return Type(limit2d(shape), check_dtype(dtype, "where"))


@lru_cache(maxsize=4096, typed=True)
def _where_dtype(a: tuple[Any, ...], b: tuple[Any, ...]) -> np.dtype:
    values: list[Any] = [
        np.empty(0, s[1]) if s[0] == "a" else (s[2] if s[0] == "c" else WEAK[s[1]]) for s in (a, b)
    ]
    try:
        one, two = values
        found: np.dtype = np.where(np.empty(0, bool), one, two).dtype
    except OverflowError as error:
        raise DTypeError(str(error), hint="convert the array with astype to a wider type") from None
    return found


def _round(node: Expr) -> Type:
    x = typed(node.inputs[0])
    return Type(
        x.shape, np.dtype(np.float64) if x.weak and x.dtype.kind == "f" else _round_dtype(x)
    )


def _round_dtype(x: Type) -> np.dtype:
    with np.errstate(all="ignore"):
        return check_dtype(np.round(np.empty(0, x.dtype)).dtype, "round")


RULES: dict[str, Callable[[Expr], Types]] = {
    **{name: _ufunc for name in (*BINARY, *UNARY, "clip")},
    "where": _where,
    "round": _round,
}
