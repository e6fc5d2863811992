"""Reading and writing parts: slices, integers, index arrays, masks.

Both directions share one description per axis: which blocks are touched, where inside them, and
which entries of the selection these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from lineal.engine.blocked import index_tasks, tasks
from lineal.engine.blocked.graph import Block
from lineal.engine.blocked.grid import (
    BlockedArray,
    Context,
    NoBlockedForm,
    Operand,
    dtype_of,
    places,
    region,
    shape_of,
)
from lineal.engine.blocked.lower_elementwise import blockwise
from lineal.planner.layouts import Split, even, starts


@dataclass(frozen=True)
class Touch:
    """One block of an axis, the part of it that is selected, and the place in the selection.

    `inside` is a slice, an integer or an integer array (positions in the block); `target` a slice
    or an integer array (positions in the selection).
    """

    block: int
    inside: Any
    target: Any


def getitem(
    ctx: Context, array: BlockedArray, spec: tuple[Any, ...], values: Sequence[Operand]
) -> BlockedArray:
    """Lower `array[spec]`."""
    if any(entry[0] == "array" and shape_of(values[entry[1]]).__len__() == 2 for entry in spec):
        return _flat_mask(ctx, array, values[spec[0][1]])
    result = array
    entries = [entry for entry in spec if entry[0] != "new"]
    arrays = [axis for axis, entry in enumerate(entries) if entry[0] == "array"]
    if len(arrays) == 2:
        return _pointwise(ctx, array, *(_positions(ctx, array, i, values[i]) for i in range(2)))
    for axis, entry in enumerate(entries):  # arrays and slices first: integers drop axes
        if entry[0] == "slice" and entry[1:] != (None, None, None):
            result = _take_slice(ctx, result, axis, entry[1:])
        elif entry[0] == "array":
            index = values[entry[1]]
            if dtype_of(index).kind == "b":
                result = _take_mask(ctx, result, axis, index)
            else:
                result = _take_array(ctx, result, axis, np.asarray(ctx.value(index)))
    picked = {
        axis: int(ctx.value(values[entry[1]]))
        for axis, entry in enumerate(entries)
        if entry[0] == "int"
    }
    if picked:
        result = _take_integers(ctx, result, picked)
    if any(entry[0] == "new" for entry in spec):
        result = _new_axes(ctx, result, spec)
    return result


def _take_slice(
    ctx: Context, array: BlockedArray, axis: int, bounds: tuple[Any, Any, Any]
) -> BlockedArray:
    split = array.splits[axis]
    touches = slice_touches(split, bounds)
    if not touches:
        touches = [Touch(0, slice(0, 0, 1), slice(0, 0))]
    sizes = tuple(len(range(split[t.block])[t.inside]) for t in touches)
    splits = (*array.splits[:axis], sizes, *array.splits[axis + 1 :])

    def make(*place: int) -> Block:
        touch = touches[place[axis]]
        where = (*place[:axis], touch.block, *place[axis + 1 :])
        block = ctx.block(array, *where)
        if touch.inside == slice(0, split[touch.block], 1):
            return block
        return ctx.add(index_tasks.take, axis, touch.inside, block)

    return ctx.build(splits, make, array.dtype)


def slice_touches(split: Split, bounds: tuple[Any, Any, Any]) -> list[Touch]:
    """Describe the resolved slice `bounds` over an axis, in the order of the selection."""
    edges = starts(split)
    length = edges[-1]
    selected = range(length)[slice(*bounds)]
    if not len(selected):
        return []
    step = selected.step
    touches = []
    order = range(len(split)) if step > 0 else range(len(split) - 1, -1, -1)
    done = 0
    for i in order:
        low, high = edges[i], edges[i + 1]
        if step > 0:
            first = max(0, -(-(low - selected.start) // step))
            last = max(0, -(-(high - selected.start) // step))
        else:
            first = max(0, -(-(selected.start - (high - 1)) // -step))
            last = max(0, (selected.start - low) // -step + 1)
        first, last = min(first, len(selected)), min(last, len(selected))
        if last <= first:
            continue
        begin, end = selected[first] - low, selected[last - 1] - low
        stop: int | None = end + (1 if step > 0 else -1)
        if stop is not None and stop < 0:
            stop = None
        if step > 0 and step == 1:
            stop = end + 1
        touches.append(Touch(i, slice(begin, stop, step), slice(done, done + last - first)))
        done += last - first
    return touches


def _take_integers(ctx: Context, array: BlockedArray, picked: dict[int, int]) -> BlockedArray:
    where: dict[int, tuple[int, int]] = {}
    for axis, index in picked.items():
        length = array.shape[axis]
        if not -length <= index < length:
            raise IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")
        edges = starts(array.splits[axis])
        position = index % length
        block = int(np.searchsorted(edges, position, side="right")) - 1
        where[axis] = (block, position - edges[block])
    kept = tuple(split for axis, split in enumerate(array.splits) if axis not in picked)

    def make(*place: int) -> Block:
        rest = iter(place)
        blocks, inside = [], []
        for axis in range(array.ndim):
            if axis in where:
                blocks.append(where[axis][0])
                inside.append(where[axis][1])
            else:
                blocks.append(next(rest))
                inside.append(-1)
        return ctx.add(index_tasks.pick_entries, tuple(inside), ctx.block(array, *blocks))

    return ctx.build(kept, make, array.dtype)


def _new_axes(ctx: Context, array: BlockedArray, spec: tuple[Any, ...]) -> BlockedArray:
    splits: list[Split] = []
    rest = iter(range(array.ndim))
    for entry in spec:
        if entry[0] == "new":
            splits.append((1,))
        elif entry[0] != "int":
            splits.append(array.splits[next(rest)])
    splits += [array.splits[axis] for axis in rest]
    if len(splits) > 2:
        raise NoBlockedForm("a result of more than two dimensions")
    final = tuple(splits)
    return reshape_blocks(ctx, array, final)


def reshape_blocks(ctx: Context, array: BlockedArray, splits: tuple[Split, ...]) -> BlockedArray:
    """Reshape block by block, where the order of blocks stays (axes of length 1 come or go)."""
    blocks = []
    for place, old in zip(places(splits), places(array.splits), strict=True):
        sizes = tuple(split[i] for split, i in zip(splits, place, strict=True))
        blocks.append(ctx.add(tasks.reshape, sizes, ctx.block(array, *old)))
    return BlockedArray(splits, blocks, array.dtype)


def _positions(ctx: Context, array: BlockedArray, axis: int, index: Operand) -> Any:
    """Return an integer index array with bounds checked and negative entries resolved."""
    found = np.asarray(ctx.value(index))
    length = array.shape[axis]
    wrong = (found < -length) | (found >= length)
    if wrong.any():
        raise IndexError(
            f"index {found[wrong][0]} is out of bounds for axis {axis} with size {length}"
        )
    return np.where(found < 0, found + length, found).astype(np.intp, copy=False)


def _take_array(ctx: Context, array: BlockedArray, axis: int, index: Any) -> BlockedArray:
    """Gather entries along an axis: per piece of the result, one task per block it reads."""
    positions = _positions(ctx, array, axis, index)
    split = array.splits[axis]
    edges = np.asarray(starts(split))
    sizes = even(len(positions), max(1, max(split)))
    offsets = starts(sizes)
    owner = np.searchsorted(edges, positions, side="right") - 1
    splits = (*array.splits[:axis], sizes, *array.splits[axis + 1 :])

    def make(*place: int) -> Block:
        part = slice(offsets[place[axis]], offsets[place[axis] + 1])
        own, local = owner[part], positions[part]
        parts, targets = [], []
        for block in np.unique(own) if len(own) else np.zeros(1, dtype=np.intp):
            target = np.flatnonzero(own == block)
            where = (*place[:axis], int(block), *place[axis + 1 :])
            inside = ctx.constant(local[target] - edges[block])
            parts.append(ctx.add(index_tasks.take, axis, inside, ctx.block(array, *where)))
            targets.append(target)
        if len(parts) == 1:
            return parts[0]  # one owner: the targets are in order already
        order = np.argsort(np.concatenate(targets), kind="stable")
        return ctx.add(index_tasks.merge, axis, ctx.constant(order), *parts, joins=True)

    return ctx.build(splits, make, array.dtype)


def _take_mask(ctx: Context, array: BlockedArray, axis: int, mask: Operand) -> BlockedArray:
    """Keep the entries of an axis where `mask` holds; the sizes are asked once, here."""
    if shape_of(mask)[0] != array.shape[axis]:
        raise IndexError(
            f"boolean index did not match indexed array along axis {axis}; size of axis is "
            f"{array.shape[axis]} but size of corresponding boolean axis is {shape_of(mask)[0]}"
        )
    split = array.splits[axis]
    if isinstance(mask, BlockedArray):
        mask = ctx.rechunk(mask, (split,))
        counted = BlockedArray(
            ((1,) * len(split),),
            [ctx.add(index_tasks.count, ctx.block(mask, i)) for i in range(len(split))],
            np.dtype(np.intp),
        )
        sizes = tuple(int(n) for n in ctx.value(counted))
    else:
        edges = starts(split)
        sizes = tuple(int(np.count_nonzero(mask[a:b])) for a, b in pairwise(edges))
    mask = ctx.blocked(mask, (split,))
    splits = (*array.splits[:axis], sizes, *array.splits[axis + 1 :])
    return ctx.build(
        splits,
        lambda *place: ctx.add(
            index_tasks.take, axis, ctx.block(mask, place[axis]), ctx.block(array, *place)
        ),
        array.dtype,
    )


def _flat_mask(ctx: Context, array: BlockedArray, mask: Operand) -> BlockedArray:
    """Lower `array[mask]` with a 2-D mask: the kept entries, row by row, as a 1-D array."""
    if shape_of(mask) != array.shape:
        raise IndexError(
            f"boolean index of shape {shape_of(mask)} did not match an array of {array.shape}"
        )
    splits = (array.splits[0], (array.shape[1],))
    array, mask = ctx.rechunk(array, splits), ctx.blocked(mask, splits)
    rows = range(len(splits[0]))
    counted = BlockedArray(
        ((1,) * len(rows),),
        [ctx.add(index_tasks.count, ctx.block(mask, i, 0)) for i in rows],
        np.dtype(np.intp),
    )
    sizes = tuple(int(n) for n in ctx.value(counted))
    blocks = [
        ctx.add(index_tasks.masked, ctx.block(mask, i, 0), ctx.block(array, i, 0)) for i in rows
    ]
    return BlockedArray((sizes,), blocks, array.dtype)


def _pointwise(ctx: Context, array: BlockedArray, rows: Any, columns: Any) -> BlockedArray:
    """Lower `array[rows, columns]` with two integer arrays: one entry per pair."""
    rows, columns = np.broadcast_arrays(rows, columns)
    row_edges, column_edges = (np.asarray(starts(split)) for split in array.splits)
    row_owner = np.searchsorted(row_edges, rows, side="right") - 1
    column_owner = np.searchsorted(column_edges, columns, side="right") - 1
    sizes = even(len(rows), max(1, *array.splits[0]))
    offsets = starts(sizes)

    def make(piece: int) -> Block:
        part = slice(offsets[piece], offsets[piece + 1])
        parts, targets = [], []
        pairs = sorted(set(zip(row_owner[part].tolist(), column_owner[part].tolist(), strict=True)))
        for i, j in pairs or [(0, 0)]:
            target = np.flatnonzero((row_owner[part] == i) & (column_owner[part] == j))
            local_rows = ctx.constant(rows[part][target] - row_edges[i])
            local_columns = ctx.constant(columns[part][target] - column_edges[j])
            block = ctx.block(array, i, j)
            parts.append(ctx.add(index_tasks.points, local_rows, local_columns, block))
            targets.append(target)
        order = np.argsort(np.concatenate(targets), kind="stable")
        return ctx.add(index_tasks.merge, 0, ctx.constant(order), *parts, joins=True)

    return ctx.build((sizes,), make, array.dtype)


def setitem(
    ctx: Context,
    array: BlockedArray,
    value: Operand,
    spec: tuple[Any, ...],
    values: Sequence[Operand],
) -> BlockedArray:
    """Lower `array[spec] = value`: a new array with the same blocks, the touched ones rewritten."""
    if any(entry[0] == "array" and len(shape_of(values[entry[1]])) == 2 for entry in spec):
        mask = values[spec[0][1]]
        return blockwise(
            ctx,
            [array, mask, value],
            lambda place, block, part, new: ctx.kernel(
                "setitem", (("spec", (("array", 0),)),), block, new, part
            ),
            array.shape,
            array.splits,
        )
    entries = [*spec, *((("slice", None, None, None),) * (array.ndim - len(spec)))]
    touches: list[list[Touch]] = []
    selection: list[int] = []  # shape of what is assigned to
    for axis, entry in enumerate(entries):
        touched, size = _touches(ctx, array, axis, entry, values)
        touches.append(touched)
        if size is not None:
            selection.append(size)
    value = _fit_value(ctx, value, tuple(selection))
    changed: dict[tuple[int, ...], tuple[Touch, ...]] = {}
    for place in places(tuple((1,) * len(t) for t in touches)):
        chosen = tuple(touches[axis][i] for axis, i in enumerate(place))
        changed[tuple(t.block for t in chosen)] = chosen
    kept = [axis for axis, entry in enumerate(entries) if entry[0] != "int"]

    def make(*place: int) -> Block:
        block = ctx.block(array, *place)
        chosen = changed.get(place)
        if chosen is None:
            return block
        part = _value_part(ctx, value, [chosen[axis].target for axis in kept])
        return ctx.add(index_tasks.put, tuple(t.inside for t in chosen), block, part)

    return ctx.build(array.splits, make, array.dtype)


def _touches(
    ctx: Context, array: BlockedArray, axis: int, entry: tuple[Any, ...], values: Sequence[Operand]
) -> tuple[list[Touch], int | None]:
    """Return what an index element touches along an axis and how many entries it selects."""
    split = array.splits[axis]
    edges = starts(split)
    length = edges[-1]
    if entry[0] == "slice":
        touched = slice_touches(split, entry[1:])
        return touched, len(range(length)[slice(*entry[1:])])
    index = ctx.value(values[entry[1]])
    if entry[0] == "int":
        if not -length <= int(index) < length:
            raise IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")
        position = int(index) % length
        block = int(np.searchsorted(edges, position, side="right")) - 1
        return [Touch(block, position - edges[block], None)], None
    index = np.asarray(index)
    if index.dtype.kind == "b":
        if len(index) != length:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis}; size of axis is "
                f"{length} but size of corresponding boolean axis is {len(index)}"
            )
        index = np.flatnonzero(index)
    positions = _positions(ctx, array, axis, index)
    owner = np.searchsorted(np.asarray(edges), positions, side="right") - 1
    touched = []
    for found in np.unique(owner):
        target = np.flatnonzero(owner == found)
        touched.append(Touch(int(found), positions[target] - edges[found], target))
    return touched, len(positions)


def _fit_value(ctx: Context, value: Operand, selection: tuple[int, ...]) -> Operand:
    """Check that `value` can be assigned to the selection and give it the same number of axes."""
    shape = shape_of(value)
    if not shape:
        return value
    while len(shape) > len(selection) and shape[0] == 1:
        shape = shape[1:]
    try:
        ok = np.broadcast_shapes(shape, selection) == selection
    except ValueError:
        ok = False
    if not ok:
        raise ValueError(
            f"could not broadcast input array from shape {shape_of(value)} into shape {selection}"
        )
    if shape != shape_of(value):
        if isinstance(value, BlockedArray):
            value = ctx.value(value)
        value = np.asarray(tasks.dense(value)).reshape(shape)
    return value


def _value_part(ctx: Context, value: Operand, targets: list[Any]) -> Any:
    """Return a task argument for the entries of `value` that go to `targets` of the selection."""
    shape = shape_of(value)
    if not shape:
        return ctx.block(value) if isinstance(value, BlockedArray) else value
    own = targets[len(targets) - len(shape) :]
    if not isinstance(value, BlockedArray):
        index = tuple(
            slice(None) if size == 1 else target for size, target in zip(shape, own, strict=True)
        )
        arrays = [i for i in index if isinstance(i, np.ndarray)]
        part = value[np.ix_(*arrays)] if len(arrays) == 2 else value[index]
        return ctx.constant(part)
    part_array = value
    for axis, target in enumerate(own):
        if shape[axis] == 1:
            continue
        if isinstance(target, slice):
            bounds = (target.start, target.stop, 1)
            part_array = _take_slice(ctx, part_array, axis, bounds)
        else:
            part_array = _take_array(ctx, part_array, axis, target)
    whole = ctx.rechunk(part_array, tuple((size,) for size in part_array.shape))
    return ctx.block(whole, *((0,) * whole.ndim))


__all__ = ["getitem", "region", "reshape_blocks", "setitem", "slice_touches"]
