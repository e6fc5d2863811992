"""Partial results of reductions that are more than a fold: moments, positions, counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from lineal.engine.blocked.tasks import dense, kernel

Moment = tuple[int, Any, Any]
"""Number of entries, their mean, the sum of squared deviations from it."""


def divide(count: int, total: Any) -> Any:
    """Return total / count in the total's own precision, as NumPy's mean does."""
    return np.true_divide(total, count, dtype=total.dtype)


def moment_leaf(axis: Any, dtype: str, block: Any) -> Moment:
    """Return the moments of one block along `axis`, reduced axes kept with length 1."""
    axes = range(block.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    count = int(np.prod([block.shape[a] for a in axes], dtype=np.int64))
    attrs = (("axis", axis), ("dtype", dtype), ("keepdims", True))
    mean = dense(kernel("mean", attrs, block))
    spread = dense(kernel("var", (*attrs, ("ddof", 0)), block))
    return count, mean, spread * spread.dtype.type(count)


def moment_join(*parts: Moment) -> Moment:
    """Join the moments of disjoint sets (Chan, Golub and LeVeque 1979): no cancellation."""
    count, mean, spread = parts[0]
    for other_count, other_mean, other_spread in parts[1:]:
        total = count + other_count
        kind = mean.dtype.type
        delta = other_mean - mean
        mean = mean + delta * kind(other_count / total)
        spread = spread + other_spread + delta * delta * kind(count * (other_count / total))
        count = total
    return count, mean, spread


def moment_end(root: bool, ddof: float, part: Moment) -> Any:
    """Return the variance, or its root, with NumPy's max(n - ddof, 0) as divisor."""
    count, _, spread = part
    variance = np.true_divide(spread, max(count - ddof, 0), dtype=spread.dtype)
    return np.sqrt(variance) if root else variance


def arg_leaf(
    op: str, axis: Any, offsets: tuple[int, ...], shape: tuple[int, ...], block: Any
) -> tuple[Any, Any]:
    """Return (extreme values, their positions in the whole array) of one block."""
    value_op = op[3:]
    value = dense(kernel(value_op, (("axis", axis), ("keepdims", True)), block))
    found = np.asarray(
        dense(kernel(op, (("axis", axis), ("keepdims", True)), block)), dtype=np.intp
    )
    if axis is not None:
        return value, found + offsets[axis]
    index = np.unravel_index(found, block.shape)
    width = shape[1] if len(shape) == 2 else 1
    position = index[0] + offsets[0]
    if len(shape) == 2:
        position = position * width + index[1] + offsets[1]
    return value, position


def arg_join(op: str, *parts: tuple[Any, Any]) -> tuple[Any, Any]:
    """Join extremes: NaN wins, then the better value, then the smaller position."""
    value, position = parts[0]
    for other, other_position in parts[1:]:
        better = other < value if op == "argmin" else other > value
        same = other == value
        if value.dtype.kind == "f":
            gone, other_gone = np.isnan(value), np.isnan(other)
            better = (better & ~gone) | (other_gone & ~gone)
            same = (same & ~gone) | (gone & other_gone)
        take = better | (same & (other_position < position))
        value = np.where(take, other, value)
        position = np.where(take, other_position, position)
    return value, position


def add_padded(*parts: Any) -> Any:
    """Add 1-D partial counts of different lengths."""
    longest = max(part.shape[0] for part in parts)
    total = np.zeros(longest, dtype=np.result_type(*parts))
    for part in parts:
        total[: part.shape[0]] += part
    return total


def diagonal_sum(offset: int, block: Any) -> Any:
    """Return the sum along one diagonal of a block."""
    return kernel("trace", (("offset", offset),), block)
