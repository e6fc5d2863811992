"""Python's arithmetic on Python scalars: one table for the run and for folding at plan time."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

PYTHON: dict[str, Callable[..., Any]] = {
    "py.add": operator.add,
    "py.sub": operator.sub,
    "py.mul": operator.mul,
    "py.truediv": operator.truediv,
    "py.floordiv": operator.floordiv,
    "py.mod": operator.mod,
    "py.pow": operator.pow,
    "py.neg": operator.neg,
    "py.pos": operator.pos,
    "py.abs": operator.abs,
    "py.lt": operator.lt,
    "py.le": operator.le,
    "py.gt": operator.gt,
    "py.ge": operator.ge,
    "py.eq": operator.eq,
    "py.ne": operator.ne,
    "py.not": operator.not_,
    "py.min": min,
    "py.max": max,
}
"""Python scalars in, Python scalars out: exact integers, no promotion, no wrap-around."""


def range_len(start: int, stop: int, step: int) -> int:
    """Return `len(range(start, stop, step))`: never negative, ValueError for a step of 0."""
    return len(range(start, stop, step))
