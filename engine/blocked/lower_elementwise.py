"""Entry-by-entry operators with NumPy's broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lineal.engine.blocked import tasks
from lineal.engine.blocked.graph import Block
from lineal.engine.blocked.grid import (
    Attrs,
    BlockedArray,
    Context,
    Operand,
    region,
    shape_of,
    spanning_splits,
)
from lineal.planner.layouts import Split


def elementwise(ctx: Context, op: str, attrs: Attrs, operands: Sequence[Operand]) -> BlockedArray:
    """Lower `op` block by block; operands with other boundaries are re-blocked."""
    return blockwise(ctx, operands, lambda place, *args: ctx.kernel(op, attrs, *args))


def blockwise(
    ctx: Context,
    operands: Sequence[Operand],
    make: Callable[..., Block],
    shape: tuple[int, ...] | None = None,
    splits: tuple[Split, ...] | None = None,
) -> BlockedArray:
    """Call `make(place, *arguments)` for each block of the broadcast shape of `operands`."""
    if shape is None:
        shape = np.broadcast_shapes(*(shape_of(operand) for operand in operands))
    if splits is None:
        splits = spanning_splits(shape, operands)
    readers = [_reader(ctx, operand, shape, splits) for operand in operands]
    return ctx.build(splits, lambda *place: make(place, *(read(place) for read in readers)))


def _reader(
    ctx: Context, operand: Operand, shape: tuple[int, ...], splits: tuple[Split, ...]
) -> Callable[[tuple[int, ...]], Any]:
    """Return a function from a place in the result's grid to a task argument for `operand`."""
    own_shape = shape_of(operand)
    skipped = len(shape) - len(own_shape)
    spans = [
        own_shape[axis] == shape[axis + skipped] and own_shape[axis] != 1
        for axis in range(len(own_shape))
    ]
    own_splits = tuple(
        splits[axis + skipped] if spans[axis] else (own_shape[axis],)
        for axis in range(len(own_shape))
    )
    if isinstance(operand, BlockedArray):
        array = ctx.rechunk(operand, own_splits)

        def read_block(place: tuple[int, ...]) -> Any:
            index = [place[axis + skipped] if spans[axis] else 0 for axis in range(len(own_shape))]
            return ctx.block(array, *index)

        return read_block

    blocks = math.prod(len(split) for split in splits)
    if not own_shape or all(len(split) == 1 for split in own_splits):
        return lambda place: ctx.constant(operand, None, blocks)
    uses = blocks // max(math.prod(len(split) for split in own_splits), 1)

    def read_part(place: tuple[int, ...]) -> Any:
        index = [place[axis + skipped] if spans[axis] else 0 for axis in range(len(own_shape))]
        return ctx.constant(operand, region(own_splits, index), uses)

    return read_part


def broadcast_to(
    ctx: Context, array: BlockedArray, shape: tuple[int, ...], planned: tuple[Split, ...]
) -> BlockedArray:
    """Repeat an array along axes of length 1 (or new ones), cut as `planned` there."""
    splits = list(spanning_splits(shape, [array]))
    skipped = len(shape) - array.ndim
    for axis in range(len(shape)):
        spanned = axis >= skipped and array.shape[axis - skipped] == shape[axis]
        if not spanned and len(planned) == len(shape):
            splits[axis] = planned[axis]
    final = tuple(splits)

    def make(place: tuple[int, ...], block: Any) -> Block:
        sizes = tuple(split[i] for split, i in zip(final, place, strict=True))
        return ctx.add(tasks.kernel, "broadcast_to", (("shape", sizes),), block)

    return blockwise(ctx, [array], make, shape, final)
