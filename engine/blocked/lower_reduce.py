"""Reductions: one partial result per block, trees along the reduced axes, one finishing task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lineal.engine.blocked import partials, tasks
from lineal.engine.blocked.graph import Block
from lineal.engine.blocked.grid import (
    BlockedArray,
    Context,
    NoBlockedForm,
    Operand,
    dtype_of,
    places,
    region,
)
from lineal.engine.blocked.lower_elementwise import elementwise
from lineal.planner.layouts import Split

Leaf = Callable[[tuple[int, ...], Block], Block]
FOLDS = {
    "sum": "add",
    "prod": "multiply",
    "min": "minimum",
    "max": "maximum",
    "any": "logical_or",
    "all": "logical_and",
    "count_nonzero": "add",
}
"""Reductions that are a fold, and the binary ufunc that joins two partial results."""
_NO_IDENTITY = frozenset(("min", "max", "argmin", "argmax", "mean", "var", "std"))


def reduction(ctx: Context, op: str, attrs: dict[str, Any], array: BlockedArray) -> BlockedArray:
    """Lower one of sum, prod, mean, min, max, any, all, count_nonzero, var, std, argmin, argmax."""
    axes = normal_axes(attrs.get("axis"), array.ndim)
    keepdims = bool(attrs.get("keepdims", False))
    passed = {k: v for k, v in attrs.items() if k not in ("axis", "keepdims")}
    empty = any(array.shape[axis] == 0 for axis in axes)
    if empty and op in _NO_IDENTITY:
        # One block decides: the kernel gives NumPy's error, or NaN with NumPy's warning.
        merged = merge_axes(ctx, array, axes)
        every = tuple(sorted(attrs.items()))
        return _finish(ctx, merged, axes, keepdims, lambda i, b: ctx.kernel(op, every, b))
    if op in FOLDS:
        inner = tuple(sorted({**passed, "axis": _inner(axes, array), "keepdims": True}.items()))
        return fold(ctx, array, axes, keepdims, op, inner, FOLDS[op])
    dtype = passed.get("dtype")
    if op in ("argmin", "argmax"):
        arg_axis = attrs.get("axis")

        def leaf(place: tuple[int, ...], block: Block) -> Block:
            offsets = tuple(part.start for part in region(array.splits, place))
            return ctx.add(partials.arg_leaf, op, arg_axis, offsets, array.shape, block)

        return _reduce(
            ctx,
            array,
            axes,
            keepdims,
            leaf,
            lambda parts: ctx.tree(partials.arg_join, parts, op),
            lambda part: ctx.add(tasks.pick, 1, part),
        )
    source = np.dtype(dtype) if dtype else dtype_of(array)
    work = source if source.kind == "f" else np.dtype(np.float64)
    inner_axes = _inner(axes, array)
    if op == "mean":
        count = int(np.prod([array.shape[axis] for axis in axes], dtype=np.int64))
        summed = (("axis", inner_axes), ("dtype", work.name), ("keepdims", True))
        return _reduce(
            ctx,
            array,
            axes,
            keepdims,
            lambda place, block: ctx.kernel("sum", summed, block),
            lambda parts: ctx.tree(tasks.combine, parts, "add"),
            lambda part: ctx.add(partials.divide, count, part),
        )
    ddof = passed.get("ddof", 0)
    return _reduce(
        ctx,
        array,
        axes,
        keepdims,
        lambda place, block: ctx.add(partials.moment_leaf, inner_axes, work.name, block),
        lambda parts: ctx.tree(partials.moment_join, parts),
        lambda part: ctx.add(partials.moment_end, op == "std", ddof, part),
    )


def fold(
    ctx: Context,
    array: BlockedArray,
    axes: tuple[int, ...],
    keepdims: bool,
    op: str,
    attrs: tuple[tuple[str, Any], ...],
    joiner: str,
) -> BlockedArray:
    """Reduce with kernel `op` per block and ufunc `joiner` between blocks."""
    return _reduce(
        ctx,
        array,
        axes,
        keepdims,
        lambda place, block: ctx.kernel(op, attrs, block),
        lambda parts: ctx.tree(tasks.combine, parts, joiner),
        lambda part: part,
    )


def norm(ctx: Context, attrs: dict[str, Any], array: BlockedArray) -> BlockedArray:
    """Lower vector norms (flat, or along one axis) and the Frobenius, 1 and inf matrix norms."""
    order, axis = attrs.get("ord"), attrs.get("axis")
    keepdims = bool(attrs.get("keepdims", False))
    if dtype_of(array).kind != "f":
        array = elementwise(ctx, "cast", (("dtype", "float64"),), [array])
        array.dtype = np.dtype(np.float64)
    matrix = order is not None and array.ndim == 2 and (axis is None or isinstance(axis, tuple))
    if matrix and order != "fro":
        return _matrix_norm(ctx, order, keepdims, array)
    axes = normal_axes(axis, array.ndim)
    if order is None or order == "fro" or order == 2:
        squares = elementwise(ctx, "square", (), [array])
        total = reduction(ctx, "sum", {"axis": axes, "keepdims": keepdims}, squares)
        return elementwise(ctx, "sqrt", (), [total])
    if order == 0:
        counted = reduction(ctx, "count_nonzero", {"axis": axes, "keepdims": keepdims}, array)
        return elementwise(ctx, "cast", (("dtype", dtype_of(array).name),), [counted])
    sizes = elementwise(ctx, "absolute", (), [array])
    sizes.dtype = array.dtype
    if order in (np.inf, -np.inf):
        op = "max" if order > 0 else "min"
        return reduction(ctx, op, {"axis": axes, "keepdims": keepdims}, sizes)
    if order == 1:
        return reduction(ctx, "sum", {"axis": axes, "keepdims": keepdims}, sizes)
    if not isinstance(order, (int, float)):
        raise NoBlockedForm(f"norm with ord={order!r}")
    powers = elementwise(ctx, "power", (), [sizes, order])
    total = reduction(ctx, "sum", {"axis": axes, "keepdims": keepdims}, powers)
    return elementwise(ctx, "power", (), [total, 1.0 / order])


def _matrix_norm(ctx: Context, order: Any, keepdims: bool, array: BlockedArray) -> BlockedArray:
    if order not in (1, -1, np.inf, -np.inf):
        raise NoBlockedForm(f"norm with ord={order!r}")
    sizes = elementwise(ctx, "absolute", (), [array])
    sizes.dtype = array.dtype
    along = 0 if abs(order) == 1 else 1
    lines = reduction(ctx, "sum", {"axis": along, "keepdims": True}, sizes)
    lines.dtype = array.dtype
    op = "max" if order > 0 else "min"
    return reduction(ctx, op, {"axis": None, "keepdims": keepdims}, lines)


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the reduced axes, sorted, for `axis` None, an integer or a tuple."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(a % ndim for a in axes))


def _inner(axes: tuple[int, ...], array: BlockedArray) -> Any:
    return None if len(axes) == array.ndim else axes[0] if len(axes) == 1 else axes


def merge_axes(ctx: Context, array: BlockedArray, axes: tuple[int, ...]) -> BlockedArray:
    """Return the array with one block along each of `axes`; only used where that axis is empty."""
    splits = tuple(
        (array.shape[axis],) if axis in axes else split for axis, split in enumerate(array.splits)
    )
    return ctx.rechunk(array, splits)


def _reduce(
    ctx: Context,
    array: BlockedArray,
    axes: tuple[int, ...],
    keepdims: bool,
    leaf: Leaf,
    join: Callable[[list[Block]], Block],
    end: Callable[[Block], Block],
) -> BlockedArray:
    """Reduce `axes`; leaves keep the reduced axes with length 1 until the end.

    Blocks without entries are left out where others exist, so that they never reach a reduction
    that has no neutral element.
    """
    final: dict[tuple[int, ...], Block] = {}
    kept = tuple(split for axis, split in enumerate(array.splits) if axis not in axes)
    for outer in places(kept):
        parts = []
        inner_splits = tuple(array.splits[axis] for axis in axes)
        for inner in places(inner_splits):
            place = _merge(outer, inner, axes, array.ndim)
            sizes = [split[i] for split, i in zip(inner_splits, inner, strict=True)]
            if 0 in sizes and all(array.shape[axis] for axis in axes):
                continue
            parts.append(leaf(place, ctx.block(array, *place)))
        final[outer] = end(join(parts) if len(parts) > 1 else parts[0])
    return _shape_up(ctx, array, axes, keepdims, kept, final)


def _finish(
    ctx: Context,
    array: BlockedArray,
    axes: tuple[int, ...],
    keepdims: bool,
    leaf: Leaf,
) -> BlockedArray:
    """Reduce an array that has one block along `axes`; leaves already have the final shape."""
    kept = tuple(split for axis, split in enumerate(array.splits) if axis not in axes)
    final = {}
    for outer in places(kept):
        place = _merge(outer, (0,) * len(axes), axes, array.ndim)
        final[outer] = leaf(place, ctx.block(array, *place))
    splits = (
        tuple((1,) if axis in axes else split for axis, split in enumerate(array.splits))
        if keepdims
        else kept
    )
    return BlockedArray(splits, list(final.values()))


def _merge(
    outer: tuple[int, ...], inner: tuple[int, ...], axes: tuple[int, ...], ndim: int
) -> tuple[int, ...]:
    rest, reduced = iter(outer), iter(inner)
    return tuple(next(reduced) if axis in axes else next(rest) for axis in range(ndim))


def _shape_up(
    ctx: Context,
    array: BlockedArray,
    axes: tuple[int, ...],
    keepdims: bool,
    kept: tuple[Split, ...],
    final: dict[tuple[int, ...], Block],
) -> BlockedArray:
    if keepdims:
        splits = tuple((1,) if axis in axes else split for axis, split in enumerate(array.splits))
        return BlockedArray(splits, list(final.values()))
    return BlockedArray(kept, [ctx.add(tasks.squeeze, axes, part) for part in final.values()])


def bincount(ctx: Context, attrs: dict[str, Any], operands: list[Operand]) -> Block:
    """Return the task that counts; its length is only known once it has run."""
    minlength = attrs.get("minlength", 0)
    main = next(o for o in operands if isinstance(o, BlockedArray))
    arrays = [ctx.blocked(o, main.splits) for o in operands]
    parts = []
    for place in places(main.splits):
        if main.shape[0] and not main.splits[0][place[0]]:
            continue
        parts.append(
            ctx.kernel(
                "bincount", (("minlength", minlength),), *(ctx.block(a, *place) for a in arrays)
            )
        )
    return ctx.tree(partials.add_padded, parts) if len(parts) > 1 else parts[0]
