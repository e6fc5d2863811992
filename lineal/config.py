"""How programs are planned and run: the options, and which are in force here.

Knows names and values only.  The planner reads options from its arguments, never from here;
the engine asks `current()` once per call and passes the result down.
"""

from __future__ import annotations

import dataclasses
import math
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType

from lineal.errors import OptionError

if __name__ != "lineal.config":  # a second copy of a class breaks isinstance
    raise ImportError("import this module as lineal.config")

__all__ = ["CHOICES", "OPTION_NAMES", "Options", "current", "options"]

CHOICES: dict[str, tuple[str, ...]] = {
    "redundancy": ("adaptive", "none", "conservative", "aggressive"),
    "evaluation": ("hybrid", "full", "incremental"),
    "algebra": ("real", "strict"),
}
"""The values of the options that take one of a few names."""


@dataclass(frozen=True, slots=True)
class Options:
    """How one program is planned and run.

    Parameters
    ----------
    redundancy : {"adaptive", "none", "conservative", "aggressive"}
        Which repeated work is removed: what pays by cost, nothing, only what repeats as
        written, all that can be found.
    evaluation : {"hybrid", "full", "incremental"}
        Whether a loop recomputes values or updates them; "hybrid" decides per iteration.
    tolerance : float
        Absolute change below which an entry counts as converged; 0 keeps results exact.
    algebra : {"real", "strict"}
        Whether sums and products may be re-associated as over the reals, or only what is
        bit-identical is done.
    rewrites : tuple of str or None
        Names of rules that are switched off; None switches none off.

    Raises
    ------
    OptionError
        For a value that the option cannot take; lists the values that it can.
    """

    redundancy: str = "adaptive"
    evaluation: str = "hybrid"
    tolerance: float = 0.0
    algebra: str = "real"
    rewrites: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name, valid in CHOICES.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in valid:
                raise OptionError(
                    f"{name}={value!r} is not a value of this option",
                    hint="one of " + ", ".join(repr(choice) for choice in valid),
                )
        object.__setattr__(self, "tolerance", _tolerance(self.tolerance))
        object.__setattr__(self, "rewrites", _rewrites(self.rewrites))

    def replace(self, **changes: object) -> Options:
        """Return these options with `changes`; an unknown name raises OptionError."""
        for name in changes:
            if name not in OPTION_NAMES:
                raise OptionError(
                    f"there is no option {name!r}", hint="one of " + ", ".join(OPTION_NAMES)
                )
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]  # checked above and in __post_init__


OPTION_NAMES: tuple[str, ...] = tuple(field.name for field in dataclasses.fields(Options))
"""The names of the options; a program may not have a parameter of such a name."""


def _tolerance(value: object) -> float:
    try:
        # bool is a float to Python, but tolerance=True is a mistake
        number = math.nan if isinstance(value, (bool, str)) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise OptionError(
            f"tolerance={value!r} is not a value of this option",
            hint="a finite number, 0 or more; 0 keeps results exact",
        )
    return number


def _rewrites(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(r, str) for r in value):
        return tuple(sorted(set(value)))
    raise OptionError(
        f"rewrites={value!r} is not a value of this option",
        hint="a tuple with the names of the rules to switch off, such as ('chain_order',), or None",
    )


_DEFAULT = Options()
_current: ContextVar[Options] = ContextVar("lineal_options", default=_DEFAULT)


def current() -> Options:
    """Return the options in force in this thread or task."""
    return _current.get()


class options:
    """Context manager: the given options hold inside the `with` block.

    Blocks nest; options that are not named keep the value they have outside.  Each thread and
    each asyncio task has its own.  A new thread starts with the defaults.

    Raises
    ------
    OptionError
        At the call, for an unknown name or value.
    """

    def __init__(self, **changes: object) -> None:
        current().replace(**changes)  # refuse mistakes here rather than at `with`
        self._changes = changes
        self._tokens: list[Token[Options]] = []

    def __enter__(self) -> Options:
        new = current().replace(**self._changes)
        self._tokens.append(_current.set(new))
        return new

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _current.reset(self._tokens.pop())
