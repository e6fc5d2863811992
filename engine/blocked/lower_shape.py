"""Operators that move or make entries: reshape, concatenate, diagonals, scans, creation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lineal.engine.blocked import shape_tasks, tasks
from lineal.engine.blocked.graph import Block
from lineal.engine.blocked.grid import (
    BlockedArray,
    Context,
    NoBlockedForm,
    Operand,
    dtype_of,
    region,
    shape_of,
)
from lineal.engine.blocked.lower_elementwise import elementwise
from lineal.engine.blocked.lower_index import getitem, reshape_blocks
from lineal.engine.blocked.partials import diagonal_sum
from lineal.planner.layouts import Split, even, intersect, starts


def reshape(ctx: Context, array: BlockedArray, shape: tuple[Any, ...]) -> BlockedArray:
    """Reshape in C order, by way of the 1-D form unless only axes of length 1 come or go."""
    size = int(np.prod(array.shape, dtype=np.int64))
    known = [n for n in shape if isinstance(n, int) and n >= 0]
    rest = size // max(int(np.prod(known, dtype=np.int64)), 1)
    target = tuple(n if isinstance(n, int) and n >= 0 else rest for n in shape)
    if int(np.prod(target, dtype=np.int64)) != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {target}")
    if [n for n in target if n != 1] == [n for n in array.shape if n != 1]:
        long = [split for split, n in zip(array.splits, array.shape, strict=True) if n != 1]
        splits = []
        for n in target:
            splits.append((1,) if n == 1 else long.pop(0))
        source = ctx.rechunk(
            array,
            tuple(
                split if n != 1 else (1,)
                for split, n in zip(array.splits, array.shape, strict=True)
            ),
        )
        return reshape_blocks(ctx, source, tuple(splits))
    flat = array
    if array.ndim == 2:
        flat = ctx.rechunk(array, (array.splits[0], (array.shape[1],)))
        sizes = tuple(rows * array.shape[1] for rows in flat.splits[0])
        flat = reshape_blocks(ctx, flat, (sizes,))
    if len(target) == 1:
        return flat
    if len(target) != 2:
        raise NoBlockedForm(f"reshape to {len(target)} dimensions")
    width = target[1]
    rows = even(target[0], max(1, max(flat.splits[0]) // max(width, 1)))
    flat = ctx.rechunk(flat, (tuple(n * width for n in rows),))
    return reshape_blocks(ctx, flat, (rows, (width,)))


def concatenate(ctx: Context, axis: int | None, operands: Sequence[Operand]) -> BlockedArray:
    """Put operands one after the other; the blocks of each stay as they are along `axis`."""
    if axis is None:
        operands = [
            reshape(ctx, o, (-1,)) if isinstance(o, BlockedArray) else np.ravel(tasks.dense(o))
            for o in operands
        ]
        axis = 0
    ndim = len(shape_of(operands[0]))
    axis %= ndim
    dtype = np.result_type(*(dtype_of(o) for o in operands))
    for o in operands:
        shapes = [shape_of(o), shape_of(operands[0])]
        if len(shapes[0]) != ndim or any(
            a != b for i, (a, b) in enumerate(zip(*shapes, strict=True)) if i != axis
        ):
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, but the shapes are {[shape_of(o) for o in operands]}"
            )
    common = []
    for i in range(ndim):
        found = [o.splits[i] for o in operands if isinstance(o, BlockedArray)]
        common.append(intersect(*found) if i != axis else (0,))
    parts = []
    for o in operands:
        along = o.splits[axis] if isinstance(o, BlockedArray) else (shape_of(o)[axis],)
        part = ctx.blocked(o, (*common[:axis], along, *common[axis + 1 :]))
        if dtype_of(o) != dtype:
            part = elementwise(ctx, "cast", (("dtype", dtype.name),), [part])
        parts.append(part)
    joined = tuple(size for part in parts for size in part.splits[axis])
    owner = [(part, i) for part in parts for i in range(len(part.splits[axis]))]
    splits = (*common[:axis], joined, *common[axis + 1 :])

    def make(*place: int) -> Block:
        part, i = owner[place[axis]]
        return ctx.block(part, *place[:axis], i, *place[axis + 1 :])

    return ctx.build(splits, make, dtype)


def _diagonal_pieces(array: BlockedArray, offset: int) -> list[tuple[int, tuple[int, int], int]]:
    """Return (length, place of the block, offset inside it) along a diagonal, in order."""
    pieces = []
    rows, columns = starts(array.splits[0]), starts(array.splits[1])
    for i in range(len(array.splits[0])):
        for j in range(len(array.splits[1])):
            inner = offset + rows[i] - columns[j]
            height, width = array.splits[0][i], array.splits[1][j]
            length = min(height, width - inner) if inner >= 0 else min(height + inner, width)
            if length > 0:
                pieces.append((length, (i, j), inner))
    return pieces


def diag(ctx: Context, array: BlockedArray, k: int) -> BlockedArray:
    """Take a diagonal of a matrix, or make a diagonal matrix of a vector."""
    if array.ndim == 2:
        pieces = _diagonal_pieces(array, k)
        if not pieces:
            return ctx.build(
                ((0,),), lambda i: ctx.add(shape_tasks.no_entries, ctx.block(array, 0, 0))
            )
        blocks = [
            ctx.add(shape_tasks.diagonal, inner, ctx.block(array, *place))
            for _, place, inner in pieces
        ]
        return BlockedArray((tuple(length for length, _, _ in pieces),), blocks, array.dtype)
    split, pad = array.splits[0], (abs(k),) if k else ()
    splits = (split + pad, pad + split) if k >= 0 else (pad + split, split + pad)
    down, right = (0, len(pad)) if k >= 0 else (len(pad), 0)
    dtype = dtype_of(array)

    def make(i: int, j: int) -> Block:
        own = i - down
        if own == j - right and 0 <= own < len(split):
            return ctx.kernel("diag", (("k", 0),), ctx.block(array, own))
        shape = (splits[0][i], splits[1][j])
        return ctx.kernel("full", (("dtype", dtype.name), ("shape", shape)), dtype.type(0))

    return ctx.build(splits, make, dtype)


def trace(ctx: Context, array: BlockedArray, offset: int) -> BlockedArray:
    """Add the entries of one diagonal."""
    pieces = _diagonal_pieces(array, offset)
    if not pieces:
        empty = ctx.add(tasks.cut, (slice(0, 0), slice(0, 0)), ctx.block(array, 0, 0))
        return BlockedArray((), [ctx.add(diagonal_sum, 0, empty)])
    parts = [ctx.add(diagonal_sum, inner, ctx.block(array, *place)) for _, place, inner in pieces]
    return BlockedArray((), [ctx.tree(tasks.add_all, parts)])


def triangle(ctx: Context, op: str, array: BlockedArray, k: int) -> BlockedArray:
    """Lower tril and triu: each block keeps its part of the triangle."""
    if array.ndim != 2:
        raise NoBlockedForm(f"{op} of a vector")
    rows, columns = starts(array.splits[0]), starts(array.splits[1])
    return ctx.build(
        array.splits,
        lambda i, j: ctx.kernel(op, (("k", k + rows[i] - columns[j]),), ctx.block(array, i, j)),
        array.dtype,
    )


def scan(ctx: Context, op: str, attrs: dict[str, Any], array: BlockedArray) -> BlockedArray:
    """Lower cumsum and cumprod: scan each block, then carry the totals over the blocks."""
    axis = attrs.get("axis")
    if axis is None:
        array = reshape(ctx, array, (-1,)) if array.ndim != 1 else array
        axis = 0
    axis %= array.ndim
    inner = (("axis", axis), ("dtype", attrs.get("dtype")))
    ufunc = "add" if op == "cumsum" else "multiply"
    made: dict[tuple[int, ...], Block] = {}
    carried: dict[tuple[int, ...], Block] = {}

    def make(*place: int) -> Block:
        scanned = ctx.kernel(op, inner, ctx.block(array, *place))
        line = (*place[:axis], *place[axis + 1 :])
        if not array.splits[axis][place[axis]]:
            return scanned
        before = carried.get(line)
        last = ctx.add(shape_tasks.last, axis, scanned)
        if before is not None:
            scanned = ctx.add(shape_tasks.carry, ufunc, axis, before, scanned)
            last = ctx.add(tasks.combine, ufunc, before, last, joins=True)
        carried[line] = last
        made[place] = scanned
        return scanned

    return ctx.build(array.splits, make)


def diff(ctx: Context, axis: int, times: int, array: BlockedArray) -> BlockedArray:
    """Lower diff as differences of shifted slices."""
    axis %= array.ndim
    op = "not_equal" if dtype_of(array).kind == "b" else "subtract"
    full = ("slice", None, None, None)
    for _ in range(times):
        n = array.shape[axis]
        if n == 0:
            return array
        upper_part = [full] * axis + [("slice", 1, n, 1)]
        lower_part = [full] * axis + [("slice", 0, n - 1, 1)]
        dtype = array.dtype
        array = elementwise(
            ctx,
            op,
            (),
            [
                getitem(ctx, array, tuple(upper_part), ()),
                getitem(ctx, array, tuple(lower_part), ()),
            ],
        )
        array.dtype = dtype
    return array


def create(
    ctx: Context,
    op: str,
    attrs: dict[str, Any],
    operands: Sequence[Operand],
    splits: tuple[Split, ...],
) -> BlockedArray:
    """Make an array of the operators full, eye, arange and linspace, each block on its own."""

    def make(*place: int) -> Block:
        part = region(splits, place)
        sizes = tuple(s.stop - s.start for s in part)
        every: tuple[tuple[str, Any], ...]
        if op == "full":
            every = (("dtype", attrs.get("dtype")), ("shape", sizes))
            return ctx.kernel("full", every, *(_argument(ctx, o, place) for o in operands))
        if op == "eye":
            shift = attrs.get("k", 0) + part[0].start - part[1].start
            every = (("dtype", attrs.get("dtype")), ("k", shift), ("m", sizes[1]), ("n", sizes[0]))
            return ctx.kernel("eye", every)
        return ctx.add(
            shape_tasks.progression, op, tuple(sorted(attrs.items())), part[0].start, sizes[0]
        )

    return ctx.build(splits, make)


def _argument(ctx: Context, operand: Operand, place: tuple[int, ...]) -> Any:
    if isinstance(operand, BlockedArray):
        if operand.ndim:
            raise NoBlockedForm("full of an array")
        return ctx.block(operand)
    if shape_of(operand):
        raise NoBlockedForm("full of an array")
    return ctx.constant(operand)
