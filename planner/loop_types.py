"""What loop tracing passes around, and how types of carried values are widened."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lineal.planner.bindings import Maybe
from lineal.planner.expr import Expr, substitute
from lineal.planner.infer import join_types, type_of
from lineal.planner.types import Dim, Sym, Type, upper


@dataclass
class Head:
    """How a loop is driven: a count or a test, and how the loop variable follows the count."""

    trip: Expr
    index: Callable[[Expr], Any] | None
    target: str
    test: ast.expr | None
    at_least_one: bool


@dataclass
class Traced:
    """One trace of a loop body."""

    counter: Expr
    go: Expr
    slots: list[tuple[str, Expr]]
    states: list[tuple[str, Expr]]
    before_slots: dict[str, Any]
    after: dict[str, Any]
    after_state: dict[str, Expr]
    test: Any


def widened(held: Type, after: Type, label: tuple[str, str, int]) -> Type | None:
    """Return a carried type that covers both, None if only peeling can help.

    A size that the run decides becomes the loop's own symbol, which covers whatever the body
    leaves, as long as its bound does.
    """
    if len(held.shape) != len(after.shape):
        return None
    dims: list[Dim] = []
    for axis, (p, q) in enumerate(zip(held.shape, after.shape, strict=True)):
        if p == q:
            dims.append(p)
            continue
        if not isinstance(p, Sym) and not isinstance(q, Sym):
            return None
        own = isinstance(p, Sym) and p.source == ("carried", *label, axis)
        bound: int | None = upper(p)
        if own and upper(q) > upper(p):
            bound = None
        elif not own:
            bound = max(upper(p), upper(q))
        if own and isinstance(p, Sym) and p.bound is None:
            bound = None
        dims.append(Sym(("carried", *label, axis), bound, f"{label[1]}.{axis}"))
    if (held.dtype, held.weak, held.kind) == (after.dtype, after.weak, after.kind):
        return Type(tuple(dims), held.dtype, held.weak, held.kind)
    joined = join_types(held, after)
    return None if joined is None or joined == held else joined


def sure(value: Any) -> Any:
    """Return the value of a name that may be unbound."""
    return value.value if isinstance(value, Maybe) else value


def plain(expr: Expr) -> Any:
    """Return the value of a constant, other expressions as they are."""
    return expr.attr("value") if expr.op == "const" else expr


def retype(roots: list[Expr], mapping: dict[Expr, Expr]) -> list[Expr]:
    """Substitute and re-infer; a ProgramError means that the narrow types do not fit."""
    new = list(substitute(roots, mapping))
    for node in new:
        type_of(node)
    return new
