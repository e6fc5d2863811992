"""What a name of the user's program stands for while it is traced.

Values are: `Arr` (an expression and the storage it shares), Python values known at plan time,
tuples of values, `Rng` handles, and functions or modules.  Storage is a set of opaque ids; two
arrays share storage if their sets meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lineal.errors import Span
from lineal.planner import build
from lineal.planner.expr import Expr
from lineal.planner.infer import typed

Storage = frozenset[str]
NOWHERE: Storage = frozenset()


@dataclass(frozen=True, slots=True)
class Arr:
    """A traced array or run-time scalar."""

    expr: Expr
    storage: Storage = NOWHERE


class ListValue(tuple[Any, ...]):
    """A list of the program: a tuple everywhere, but as an index it selects rows."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Rng:
    """A random generator; its state is the tracer's state variable `state`."""

    state: str


@dataclass(frozen=True, slots=True)
class Maybe:
    """A value that exists only where all `guards` hold (condition, truth)."""

    value: Any
    guards: tuple[tuple[Expr, bool], ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A name that paths leave with values that no one type covers; an error where it is used."""

    message: str
    span: Span | None = None


def leaves(value: Any) -> list[Any]:
    """Return the leaves of nested tuples, left to right."""
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def refill(value: Any, new: list[Any]) -> Any:
    """Return `value`'s nesting with its leaves taken from the front of `new`."""
    if isinstance(value, tuple):
        return type(value)(refill(item, new) for item in value)
    return new.pop(0)


def unwrap(value: Any) -> Any:
    """Return `value` as the builders take it: expressions in place of Arr."""
    if isinstance(value, Arr):
        return value.expr
    if isinstance(value, ListValue):
        return [unwrap(v) for v in value]
    if isinstance(value, tuple):
        return tuple(unwrap(v) for v in value)
    if isinstance(value, list):
        return [unwrap(v) for v in value]
    if isinstance(value, slice):
        return slice(unwrap(value.start), unwrap(value.stop), unwrap(value.step))
    return value


def storages(value: Any) -> Storage:
    """Return all storage that `value` may share."""
    found: Storage = NOWHERE
    for leaf in leaves(value):
        if isinstance(leaf, Arr):
            found |= leaf.storage
    return found


def is_carriable(leaf: Any) -> bool:
    """Tell whether a leaf can be a run-time value (a loop or branch can change it)."""
    return isinstance(leaf, Arr) or build.is_scalar_value(leaf)


def same(a: Any, b: Any) -> bool:
    """Tell whether two bindings are the same value."""
    if isinstance(a, Arr) and isinstance(b, Arr):
        return a.expr is b.expr and a.storage == b.storage
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if build.is_scalar_value(a) and build.is_scalar_value(b):
        return type(a) is type(b) and repr(a) == repr(b)
    if isinstance(a, Maybe) and isinstance(b, Maybe):
        return a.guards == b.guards and same(a.value, b.value)
    return a is b or (type(a) is type(b) and not isinstance(a, Arr) and bool(a == b))


def describe(value: Any) -> str:
    """Return shape and dtype of a traced value as text."""
    if isinstance(value, Arr):
        return str(typed(value.expr))
    if isinstance(value, tuple):
        return f"({', '.join(describe(v) for v in value)})"
    if build.is_scalar_value(value) or value is None or isinstance(value, str):
        return repr(value)
    return type(value).__name__
