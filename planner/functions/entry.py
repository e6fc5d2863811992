"""One supported function, and how it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lineal.errors import UnsupportedError
from lineal.planner.build import Context


@dataclass(frozen=True, slots=True)
class Entry:
    """One supported function: its builder `fn(ctx, *args, **kwargs)` and its documentation."""

    name: str
    fn: Callable[..., Any]
    group: str
    method: str = ""
    view: bool = False

    @property
    def signature(self) -> str:
        """The supported arguments, as text."""
        parameters = list(inspect.signature(self.fn).parameters.values())[1:]
        shown = [
            str(p.replace(annotation=inspect.Parameter.empty)).replace("'", '"') for p in parameters
        ]
        return f"{self.name}({', '.join(shown)})"


def call(ctx: Context, entry: Entry, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Build `entry` for the given arguments; an unsupported one is an error with the form."""
    try:
        inspect.signature(entry.fn).bind(ctx, *args, **kwargs)
    except TypeError as error:
        raise UnsupportedError(
            f"{entry.name}: {error}", hint=f"supported form: {entry.signature}"
        ) from None
    return entry.fn(ctx, *args, **kwargs)


class Table(dict[Any, Entry]):
    """Entries of one group, by the function object that they stand for."""

    def __init__(self, group: str) -> None:
        super().__init__()
        self.group = group

    def add(
        self,
        target: Any,
        name: str,
        fn: Callable[..., Any],
        method: str = "",
        view: bool = False,
    ) -> None:
        """Add a function; `method` is its name as an array method, `view` if it shares storage."""
        self[target] = Entry(name, fn, self.group, method, view)
