"""Which lowering serves which operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lineal.engine.blocked import (
    lower_elementwise,
    lower_factor,
    lower_index,
    lower_matmul,
    lower_reduce,
    lower_shape,
)
from lineal.engine.blocked.grid import BlockedArray, Context, NoBlockedForm, Operand
from lineal.planner.layouts import CREATIONS, ELEMENTWISE, REDUCTIONS, Split, fit
from lineal.planner.plan import Value


def lower(
    ctx: Context,
    op: str,
    attrs: dict[str, Any],
    operands: Sequence[Operand],
    outputs: Sequence[Value],
) -> tuple[BlockedArray, ...]:
    """Queue the tasks of one operator; one array per result.

    Raises
    ------
    NoBlockedForm
        The operator has none for these operands; the caller gathers.
    """
    if op in ELEMENTWISE:
        fixed = tuple(sorted(attrs.items()))
        return (lower_elementwise.elementwise(ctx, op, fixed, operands),)
    if op == "matmul":
        return (lower_matmul.matmul(ctx, *operands),)
    if op == "outer":
        return (lower_matmul.outer(ctx, *operands),)
    if op in CREATIONS:
        return (lower_shape.create(ctx, op, attrs, operands, _planned(attrs, outputs[0])),)
    if op == "concatenate":
        return (lower_shape.concatenate(ctx, attrs.get("axis", 0), operands),)
    if op == "scatter":
        return (_scatter(ctx, operands[0], outputs[0].splits),)
    if op == "bincount":
        return (BlockedArray(((-1,),), [lower_reduce.bincount(ctx, attrs, list(operands))]),)
    array = operands[0]
    if not isinstance(array, BlockedArray):
        raise NoBlockedForm(op)
    return _of_array(ctx, op, attrs, array, operands[1:], outputs)


def _of_array(
    ctx: Context,
    op: str,
    attrs: dict[str, Any],
    array: BlockedArray,
    rest: Sequence[Operand],
    outputs: Sequence[Value],
) -> tuple[BlockedArray, ...]:
    if op == "norm":
        return (lower_reduce.norm(ctx, attrs, array),)
    if op in REDUCTIONS:
        return (lower_reduce.reduction(ctx, op, attrs, array),)
    match op:
        case "transpose":
            return (array.T,)
        case "reshape":
            return (lower_shape.reshape(ctx, array, attrs["shape"]),)
        case "broadcast_to":
            shape = tuple(n if isinstance(n, int) else array.shape[0] for n in attrs["shape"])
            planned = _planned({"shape": shape}, outputs[0])
            return (lower_elementwise.broadcast_to(ctx, array, shape, planned),)
        case "getitem":
            return (lower_index.getitem(ctx, array, attrs["spec"], rest),)
        case "setitem":
            return (lower_index.setitem(ctx, array, rest[0], attrs["spec"], rest[1:]),)
        case "diag":
            return (lower_shape.diag(ctx, array, attrs.get("k", 0)),)
        case "trace":
            return (lower_shape.trace(ctx, array, attrs.get("offset", 0)),)
        case "tril" | "triu":
            return (lower_shape.triangle(ctx, op, array, attrs.get("k", 0)),)
        case "cumsum" | "cumprod":
            return (lower_shape.scan(ctx, op, attrs, array),)
        case "diff":
            return (lower_shape.diff(ctx, attrs.get("axis", -1), attrs.get("n", 1), array),)
        case "qr":
            return lower_factor.qr(ctx, array, attrs.get("mode", "reduced"))
        case "svd":
            return lower_factor.svd(ctx, array, attrs.get("compute_uv", True))
        case "lstsq":
            return lower_factor.lstsq(ctx, array, rest[0], attrs.get("rcond"))
        case "gather":
            return (BlockedArray(array.splits, array.blocks, array.dtype, array.flipped),)
    raise NoBlockedForm(op)


def _scatter(ctx: Context, operand: Operand, planned: tuple[Split, ...]) -> BlockedArray:
    shape = tuple(getattr(operand, "shape", ()))
    return ctx.blocked(operand, tuple(fit(n, s) for n, s in zip(shape, planned, strict=True)))


def _planned(attrs: dict[str, Any], value: Value) -> tuple[Split, ...]:
    """Return the planned splits of a value that is made from nothing, fitted to its true shape."""
    sizes = [dim if isinstance(dim, int) else None for dim in value.type.shape]
    given = attrs.get("shape")
    if isinstance(given, tuple):
        sizes = [n if isinstance(n, int) else s for n, s in zip(given, sizes, strict=True)]
    if any(size is None for size in sizes):
        raise NoBlockedForm("a size that is not known")
    planned = value.splits or tuple((size or 0,) for size in sizes)
    return tuple(fit(size or 0, split) for size, split in zip(sizes, planned, strict=True))
