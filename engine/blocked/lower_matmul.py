"""Products: every combination of row, column and 2-D blocks, contracted by trees of partials."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lineal.engine.blocked import tasks
from lineal.engine.blocked.graph import Block
from lineal.engine.blocked.grid import BlockedArray, Context, Operand, region, shape_of
from lineal.planner.layouts import Split, intersect


def matmul(ctx: Context, left: Operand, right: Operand) -> BlockedArray:
    """Return `left @ right` for 1-D and 2-D operands.

    The contracted axis is never put together: each pair of blocks gives a partial product, and
    the partials are added in a tree in block order, so that the result depends on the blocks
    only and not on who computes them.
    """
    left_splits, right_splits = _splits(left), _splits(right)
    common = intersect(left_splits[-1], right_splits[0]) if _blocked_pair(left, right) else None
    if common is None:
        common = left_splits[-1] if isinstance(left, BlockedArray) else right_splits[0]
    left = _align(ctx, left, (*left_splits[:-1], common))
    right = _align(ctx, right, (common, *right_splits[1:]))
    left_splits = (*left_splits[:-1], common)
    right_splits = (common, *right_splits[1:])
    splits = left_splits[:-1] + right_splits[1:]
    rows = math.prod(len(split) for split in left_splits[:-1])
    columns = math.prod(len(split) for split in right_splits[1:])
    left_part = _reader(ctx, left, left_splits, columns)
    right_part = _reader(ctx, right, right_splits, rows)

    def make(*place: int) -> Block:
        row = place[: len(left_splits) - 1]
        column = place[len(left_splits) - 1 :]
        partials = []
        for k in range(len(common)):
            flip_left, a = left_part(*row, k)
            flip_right, b = right_part(k, *column)
            partials.append(ctx.add(tasks.multiply, flip_left, flip_right, a, b))
        return ctx.tree(tasks.add_all, partials)

    return ctx.build(splits, make)


def _splits(operand: Operand) -> tuple[Split, ...]:
    if isinstance(operand, BlockedArray):
        return operand.splits
    return tuple((length,) for length in shape_of(operand))


def _blocked_pair(left: Operand, right: Operand) -> bool:
    return isinstance(left, BlockedArray) and isinstance(right, BlockedArray)


def _align(ctx: Context, operand: Operand, splits: tuple[Split, ...]) -> Operand:
    if not isinstance(operand, BlockedArray):
        return operand
    if operand.flipped and operand.splits != splits:
        return ctx.rechunk(operand.T, splits[::-1]).T  # cut before flipping, so that flips fuse
    return ctx.rechunk(operand, splits)


def _reader(
    ctx: Context, operand: Operand, splits: tuple[Split, ...], uses: int
) -> Callable[..., tuple[bool, Any]]:
    """Return a function from a place to (is it to be transposed, task argument).

    `uses` is the number of tasks that read each part.
    """
    if isinstance(operand, BlockedArray):
        return lambda *place: (operand.flipped, operand.stored(*place))
    if all(len(split) == 1 for split in splits):
        return lambda *place: (False, ctx.constant(operand, None, uses))
    return lambda *place: (False, ctx.constant(operand, region(splits, place), uses))


def outer(ctx: Context, left: Operand, right: Operand) -> BlockedArray:
    """Return the outer product of two 1-D operands, a grid of blocks."""
    splits = (_splits(left)[0], _splits(right)[0])
    left_part = _reader(ctx, left, (splits[0],), len(splits[1]))
    right_part = _reader(ctx, right, (splits[1],), len(splits[0]))
    return ctx.build(
        splits, lambda i, j: ctx.kernel("outer", (), left_part(i)[1], right_part(j)[1])
    )
