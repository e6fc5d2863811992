"""What the tasks of scans, diagonals and progressions do inside a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from lineal.engine.blocked.tasks import dense, is_sparse, kernel


def diagonal(offset: int, block: Any) -> Any:
    """Return one diagonal of a block, with memory of its own."""
    if is_sparse(block):
        return np.asarray(block.diagonal(offset))
    return np.diagonal(block, offset).copy()


def no_entries(block: Any) -> Any:
    """Return an empty vector of the block's dtype."""
    return np.zeros(0, dtype=block.dtype)


def last(axis: int, block: Any) -> Any:
    """Return the last entry along an axis, which is kept with length 1."""
    index = (slice(None),) * axis + (slice(-1, None),)
    return dense(block)[index].copy()


def carry(op: str, axis: int, before: Any, block: Any) -> Any:
    """Add (or multiply) what came before into a block's own scan."""
    return getattr(np, op)(dense(block), before)


def progression(op: str, attrs: tuple[tuple[str, Any], ...], first: int, count: int) -> Any:
    """Return `count` entries of an arange or linspace from position `first` on.

    arange follows NumPy: the step is the difference of the first two entries in the result's
    dtype, entries are first + i * step.
    """
    fixed = dict(attrs)
    start = fixed.get("start", 0)
    positions = np.arange(first, first + count)
    if op == "arange":
        dtype = np.dtype(fixed.get("dtype") or np.result_type(start, fixed.get("step", 1)))
        zero = np.asarray(start).astype(dtype)
        one = np.asarray(start + fixed.get("step", 1)).astype(dtype)
        return (zero + positions.astype(dtype) * (one - zero)).astype(dtype, copy=False)
    num, stop = int(fixed["num"]), fixed["stop"]
    dtype = np.dtype(fixed.get("dtype") or "float64")
    parts = num - 1 if fixed.get("endpoint", True) else num
    ends = kernel("linspace", tuple({**fixed, "num": 2, "endpoint": True}.items()))
    if parts <= 0:
        return kernel("linspace", attrs)[first : first + count]
    step = (stop - start) / parts
    values = positions * step + start if step else positions / parts * (stop - start) + start
    if fixed.get("endpoint", True) and first + count == num and count:
        values[-1] = stop
    if dtype.kind in "iu":
        np.floor(values, out=values)
    return values.astype(ends.dtype, copy=False)
