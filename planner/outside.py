"""Names that a program reads from outside: globals, closure, module attributes.

They are read at each call.  What a plan has seen is recorded, so that a later call can tell
whether the plan still holds: plain values are compared by type and value, tuples and lists item by
item, functions and modules by identity; arrays become hidden inputs.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

PLAIN = (bool, int, float, complex, str, type(None), np.generic, np.dtype)
"""Outside values that are compared by value."""


@dataclass(frozen=True, slots=True)
class _Plain:
    """A plain value as it was when the plan was made."""

    kind: type
    shown: str


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """An object compared by identity: a function, a module, an array."""

    value: Any


@dataclass(frozen=True, slots=True)
class _Items:
    """A tuple or list as it was; a list that changes in place does not change its record."""

    kind: type
    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """One outside name that a plan has read: where it is looked up, and what was found."""

    owner: Any
    bindings: Mapping[str, Any]
    name: str
    seen: Any


class Outside:
    """Looks names up for one function and records what was seen in `log`."""

    def __init__(
        self,
        function: Callable[..., Any] | None,
        bindings: Mapping[str, Any],
        log: dict[str, Read],
    ) -> None:
        self._function = function
        self._bindings = bindings
        self._log = log
        # Two closures of one function read different cells.
        self._label = f"{getattr(function, '__qualname__', '')}@{id(function):x}"

    def lookup(self, name: str) -> tuple[Any] | None:
        """Return (value,) for `name`, None if it is not defined outside."""
        found = lookup(self._function, self._bindings, name)
        if found is not None:
            read = Read(self._function, self._bindings, name, _record(found[0]))
            self._log[f"{self._label}:{name}"] = read
        return found

    def record_attribute(self, module: types.ModuleType, name: str) -> None:
        """Record a read of `module.name` unless the module is NumPy's own."""
        if module.__name__.split(".")[0] != "numpy":
            read = Read(module, {}, name, _record(getattr(module, name)))
            self._log[f"{module.__name__}.{name}"] = read


def lookup(owner: Any, bindings: Mapping[str, Any], name: str) -> tuple[Any] | None:
    """Return (value,) of `name` in a module, in explicit bindings, or outside a function."""
    if name in bindings:
        return (bindings[name],)
    if isinstance(owner, types.ModuleType):
        return (getattr(owner, name),) if hasattr(owner, name) else None
    if not isinstance(owner, types.FunctionType):
        return None
    code = owner.__code__
    if name in code.co_freevars:
        cell = (owner.__closure__ or ())[code.co_freevars.index(name)]
        try:
            return (cell.cell_contents,)
        except ValueError:
            return None
    if name in owner.__globals__:
        return (owner.__globals__[name],)
    return None


def current(log: Mapping[str, Read], hidden: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the hidden inputs are now, or None if what a plan has read has changed.

    `hidden` maps each hidden input's name to the object it was when the plan was made.  An
    object that was read under two names must still be one object.
    """
    labels = {id(value): label for label, value in hidden.items()}
    now: dict[str, Any] = {}
    for read in log.values():
        found = lookup(read.owner, read.bindings, read.name)
        if found is None or not _unchanged(read.seen, found[0], labels, now):
            return None
    return {label: now.get(label, value) for label, value in hidden.items()}


def _record(value: Any) -> Any:
    if isinstance(value, PLAIN):
        return _Plain(type(value), repr(value))
    if isinstance(value, (tuple, list)):
        return _Items(type(value), tuple(map(_record, value)))
    return _Held(value)


def _unchanged(seen: Any, value: Any, labels: Mapping[int, str], now: dict[str, Any]) -> bool:
    """Compare a record with today's value; collect what hidden inputs are now in `now`."""
    if isinstance(seen, _Plain):
        return seen.kind is type(value) and seen.shown == repr(value)
    if isinstance(seen, _Items):
        if not isinstance(value, (tuple, list)):
            return False
        return (
            isinstance(value, (tuple, list))
            and seen.kind is type(value)
            and len(seen.items) == len(value)
            and all(_unchanged(s, v, labels, now) for s, v in zip(seen.items, value, strict=True))
        )
    label = labels.get(id(seen.value))
    if label is None:
        return seen.value is value
    return now.setdefault(label, value) is value
