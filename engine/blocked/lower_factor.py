"""Tall QR by a tree (TSQR), and what follows from it: SVD and least squares.

Demmel, Grigori, Hoemmen and Langou 2012.  Each block of rows is factored on its own, the small
triangles are stacked and factored again, up a tree of fan-in 4; Q is rebuilt from the root down.
No task holds more than one block of rows and a few triangles.
"""

from __future__ import annotations

from typing import Any

from lineal.engine.blocked import factor_tasks, tasks
from lineal.engine.blocked.graph import Block
from lineal.engine.blocked.grid import (
    FAN_IN,
    BlockedArray,
    Context,
    NoBlockedForm,
    Operand,
    dtype_of,
    shape_of,
)


def _row_blocks(ctx: Context, array: BlockedArray, op: str) -> BlockedArray:
    rows, columns = array.shape
    if rows < columns or columns == 0:
        raise NoBlockedForm(f"{op} of a matrix of shape {array.shape}")
    # blocks without rows take no part in the tree
    sizes = tuple(size for size in array.splits[0] if size) or (0,)
    return ctx.rechunk(array, (sizes, (columns,)))


def qr(ctx: Context, array: BlockedArray, mode: str) -> tuple[BlockedArray, ...]:
    """Return (Q, R), or (R,) for mode "r"; the signs are those that LAPACK gives."""
    array = _row_blocks(ctx, array, "qr")
    columns = array.shape[1]
    want_q = mode != "r"
    q_blocks, r_block = _tree(ctx, array)
    top, r_final = _with_signs(ctx, array, q_blocks, r_block)
    triangle = BlockedArray(((columns,), (columns,)), [r_final])
    if not want_q:
        return (triangle,)
    signed = [ctx.add(factor_tasks.scale_columns, top, q) for q in q_blocks]
    return (BlockedArray((array.splits[0], (columns,)), signed), triangle)


def svd(ctx: Context, array: BlockedArray, compute_uv: bool) -> tuple[BlockedArray, ...]:
    """Return (U, s, Vt) in the reduced form, or (s,): the SVD of the triangle of a QR."""
    if not compute_uv:
        _, triangle_block = _tree(ctx, _row_blocks(ctx, array, "svd"), False)
        values = ctx.add(factor_tasks.singular_values, triangle_block)
        return (BlockedArray(((array.shape[1],),), [values]),)
    q, triangle = qr(ctx, array, "reduced")
    columns = array.shape[1]
    small = ctx.add(factor_tasks.small_svd, triangle.blocks[0])
    left = ctx.add(tasks.pick, 0, small)
    u = [ctx.add(tasks.multiply, False, False, block, left) for block in q.blocks]
    return (
        BlockedArray(q.splits, u),
        BlockedArray(((columns,),), [ctx.add(tasks.pick, 1, small)]),
        BlockedArray(((columns,), (columns,)), [ctx.add(tasks.pick, 2, small)]),
    )


def lstsq(ctx: Context, left: BlockedArray, right: Operand, rcond: Any) -> tuple[BlockedArray, ...]:
    """Return (x, residuals, rank, singular values) as NumPy does.

    The triangle of [A b] holds everything: R of A, Q'b, and below it the residual.  A deficient
    rank gives the solution of least norm through the SVD of R.
    """
    if shape_of(right)[:1] != left.shape[:1]:
        raise ValueError(
            f"Incompatible dimensions: {left.shape} and {shape_of(right)} differ in rows"
        )
    left = _row_blocks(ctx, left, "lstsq")
    rows, columns = left.shape
    vector = len(shape_of(right)) == 1
    width = 1 if vector else shape_of(right)[1]
    if rows < columns + width:
        raise NoBlockedForm("lstsq with fewer rows than columns on both sides together")
    splits = (left.splits[0],) if vector else (left.splits[0], (width,))
    targets = ctx.blocked(right, splits)
    both = [
        ctx.add(
            factor_tasks.side_by_side,
            ctx.block(left, i, 0),
            ctx.block(targets, *((i,) if vector else (i, 0))),
        )
        for i in range(len(left.splits[0]))
    ]
    joined = BlockedArray((left.splits[0], (columns + width,)), both)
    _, triangle = _tree(ctx, joined, False)
    kind = "float32" if {dtype_of(left).name, dtype_of(right).name} == {"float32"} else "float64"
    solved = ctx.add(factor_tasks.solve, (rows, columns, vector, kind), rcond, triangle)
    parts = [ctx.add(tasks.pick, i, solved) for i in range(4)]
    shape_x = ((columns,),) if vector else ((columns,), (width,))
    result = (
        BlockedArray(shape_x, parts[:1]),
        BlockedArray(((-1,),), parts[1:2]),  # (0,) or (width,): the rank decides
        BlockedArray((), parts[2:3]),
        BlockedArray(((columns,),), parts[3:]),
    )
    return result


def _tree(ctx: Context, array: BlockedArray, want_q: bool = True) -> tuple[list[Block], Block]:
    """Return the blocks of Q (empty unless wanted) and R, signs as they come."""
    leaves = [ctx.block(array, i, 0) for i in range(len(array.splits[0]))]
    if not want_q:
        level = [ctx.add(factor_tasks.triangle, leaf) for leaf in leaves]
        return [], ctx.tree(factor_tasks.triangle_of_stack, level)
    pairs = [ctx.add(factor_tasks.factor, leaf) for leaf in leaves]
    levels = [[ctx.add(tasks.pick, 0, pair) for pair in pairs]]
    level = [ctx.add(tasks.pick, 1, pair) for pair in pairs]
    while len(level) > 1:
        groups = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
        pairs = [ctx.add(factor_tasks.factor_stack, *group, joins=True) for group in groups]
        levels.append(
            [
                ctx.add(factor_tasks.rows_of_child, i, pair, *group, joins=True)
                for group, pair in zip(groups, pairs, strict=True)
                for i in range(len(group))
            ]
        )
        level = [ctx.add(tasks.pick, 1, pair) for pair in pairs]
    # From the root down.  levels[l + 1][i] are the rows of the parent's Q that belong to the i-th
    # triangle of level l; those of the level above belong to the parent, number i // FAN_IN.
    parts = levels.pop()
    while levels:
        own = levels.pop()
        if levels:
            parts = [
                ctx.add(tasks.multiply, False, False, rows, parts[i // FAN_IN])
                for i, rows in enumerate(own)
            ]
        else:
            parts = [ctx.add(tasks.multiply, False, False, q, parts[i]) for i, q in enumerate(own)]
    return parts, level[0]


def _with_signs(
    ctx: Context, array: BlockedArray, q_blocks: list[Block], r_block: Block
) -> tuple[Block, Block]:
    """Return (column signs for Q, R with rows signed) such that both equal LAPACK's."""
    columns = array.shape[1]
    rows, needed = 0, []
    for size, block in zip(array.splits[0], q_blocks, strict=True):
        needed.append(block)
        rows += size
        if rows >= columns:
            break
    square = array.shape[0] == columns
    signs = ctx.add(factor_tasks.lapack_signs, square, r_block, *needed, joins=True)
    return signs, ctx.add(factor_tasks.scale_rows, signs, r_block)
