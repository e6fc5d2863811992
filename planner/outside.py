"""Names that a program reads from outside: globals, closure, module attributes.

They are read at each call.  What a plan has seen is recorded, so that a later call can tell
whether the plan still holds: plain values are compared by value, functions and modules by
identity, arrays become hidden inputs.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any


class Outside:
    """Looks names up for one function and records what was seen in `log`."""

    def __init__(
        self, function: Callable[..., Any] | None, bindings: Mapping[str, Any], log: dict[str, Any]
    ) -> None:
        self._function = function
        self._bindings = bindings
        self._log = log
        self._label = getattr(function, "__qualname__", "")

    def lookup(self, name: str) -> tuple[Any] | None:
        """Return (value,) for `name`, None if it is not defined outside."""
        found = lookup(self._function, self._bindings, name)
        if found is not None:
            self._log[f"{self._label}:{name}"] = (self._function, self._bindings, name, found[0])
        return found

    def record_attribute(self, module: types.ModuleType, name: str) -> None:
        """Record a read of `module.name` unless the module is NumPy's own."""
        if not module.__name__.startswith("numpy"):
            value = getattr(module, name)
            self._log[f"{module.__name__}.{name}"] = (module, {}, name, value)


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


def unchanged(before: Any, now: Any) -> bool:
    """Tell whether a plain outside value is still what the plan was made for."""
    if before is now:
        return True
    plain = (bool, int, float, str, tuple, type(None))
    if isinstance(before, plain) and type(before) is type(now):
        return repr(before) == repr(now)
    return False
