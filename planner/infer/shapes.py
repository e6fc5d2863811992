"""Types of new arrays, reshaping, joining and indexing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from lineal.errors import ShapeError
from lineal.planner.expr import Expr
from lineal.planner.infer.core import BOOL, PY_BOOL, PY_FLOAT, PY_INT, Types, check_dtype, typed
from lineal.planner.infer.dims import broadcast, limit2d, same_dim, show_shape
from lineal.planner.types import Dim, Shape, Sym, Type, upper


def _const(node: Expr) -> Type:
    value = node.attr("value")
    if isinstance(value, bool):
        return PY_BOOL
    if isinstance(value, int) and not isinstance(value, np.generic):
        return PY_INT
    if isinstance(value, float) and not isinstance(value, np.generic):
        return PY_FLOAT
    return Type((), check_dtype(np.asarray(value).dtype, "the constant"))


def _declared(node: Expr) -> Type:
    return cast(Type, node.attr("type"))


def _created(node: Expr) -> Type:
    shape = cast(Shape, node.attr("shape"))
    return Type(limit2d(shape), np.dtype(cast(str, node.attr("dtype"))))


def _eye(node: Expr) -> Type:
    n, m = cast(int, node.attr("n")), cast(int, node.attr("m"))
    return Type((n, m), np.dtype(cast(str, node.attr("dtype"))))


def _arange(node: Expr) -> Type:
    start, stop, step = (cast(float, node.attr(k)) for k in ("start", "stop", "step"))
    length = max(math.ceil((stop - start) / step), 0)
    return Type((length,), np.dtype(cast(str, node.attr("dtype"))))


def _linspace(node: Expr) -> Type:
    return Type((cast(int, node.attr("num")),), np.dtype(cast(str, node.attr("dtype"))))


def _same(node: Expr) -> Type:
    x = typed(node.inputs[0])
    return Type(x.shape, x.dtype)


def _cast(node: Expr) -> Type:
    dtype = check_dtype(np.dtype(cast(str, node.attr("dtype"))), "the cast")
    return Type(typed(node.inputs[0]).shape, dtype)


def _transpose(node: Expr) -> Type:
    x = typed(node.inputs[0])
    return Type(tuple(reversed(x.shape)), x.dtype)


def _reshape(node: Expr) -> Type:
    x = typed(node.inputs[0])
    shape = cast(Shape, node.attr("shape"))
    if x.static and all(not isinstance(d, Sym) for d in shape):
        if math.prod(cast("tuple[int, ...]", shape)) != x.size:
            raise ShapeError(
                f"cannot reshape {show_shape(x.shape)} ({x.size} entries) to {show_shape(shape)}",
                hint=f"the new sizes must multiply to {x.size}; -1 stands for one of them",
            )
    return Type(limit2d(shape), x.dtype)


def _broadcast_to(node: Expr) -> Type:
    x = typed(node.inputs[0])
    shape = cast(Shape, node.attr("shape"))
    if len(x.shape) > len(shape) or broadcast(x.shape, shape) != shape:
        raise ShapeError(
            f"cannot broadcast {show_shape(x.shape)} to {show_shape(shape)}",
            hint="only axes of size 1 stretch; add axes with None",
        )
    return Type(limit2d(shape), x.dtype)


def _concatenate(node: Expr) -> Type:
    types = [typed(n) for n in node.inputs]
    axis = cast(int, node.attr("axis"))
    first = types[0]
    total: Dim = 0
    for type_ in types:
        if type_.ndim != first.ndim:
            raise ShapeError(
                "concatenate needs arrays of the same number of dimensions",
                hint="add an axis with x[None, :] or x[:, None]",
            )
        for i, (a, b) in enumerate(zip(first.shape, type_.shape, strict=True)):
            if i != axis and not same_dim(a, b):
                raise ShapeError(
                    f"concatenate along axis {axis}: shapes {show_shape(first.shape)} and "
                    f"{show_shape(type_.shape)} differ on axis {i}",
                    hint="join along another axis, or slice them to the same size",
                )
        size = type_.shape[axis]
        if isinstance(total, Sym) or isinstance(size, Sym):
            total = Sym(("cat", total, size), upper(total) + upper(size), f"{total}+{size}")
        else:
            total += size
    shape = tuple(total if i == axis else d for i, d in enumerate(first.shape))
    dtype = np.result_type(*(t.dtype for t in types))
    return Type(shape, check_dtype(dtype, "concatenate"))


def slice_length(entry: tuple[Any, ...], dim: Dim) -> Dim:
    """Return how many entries the resolved slice `entry` takes of an axis of size `dim`."""
    _, start, stop, step = entry
    if start is None and stop is None and step is None:
        return dim
    if isinstance(dim, Sym):
        return Sym(("slice", dim.source, start, stop, step), dim.bound, f"{dim.name}[:]")
    if stop is None:
        stop = -1
    return len(range(start, stop, step))


def index_shape(x: Shape, spec: tuple[tuple[Any, ...], ...], values: tuple[Expr, ...]) -> Shape:
    """Return the shape of `x[spec]`; advanced indices follow NumPy's placement rule."""
    arrays: list[Shape] = []
    before: list[Dim] = []
    after: list[Dim] = []
    axis = 0
    split = False  # advanced indices separated by a slice: their axes come first
    for entry in spec:
        kind = entry[0]
        if kind in ("int", "array"):
            if arrays and after:
                split = True
            value = values[entry[1]]
            shape, used = typed(value).shape, 1
            if kind == "array" and typed(value).dtype == BOOL:
                used = len(shape)
                _check_mask(x[axis : axis + used], shape)
                bound = math.prod(upper(d) for d in shape)
                shape = (Sym(("mask", value), bound, "kept"),)
            arrays.append(shape)
            axis += used
            continue
        if kind == "new":
            taken: Dim = 1
        else:
            taken = slice_length(entry, x[axis])
            axis += 1
        (after if arrays else before).append(taken)
    (after if arrays else before).extend(x[axis:])
    joined = broadcast(*arrays) if arrays else ()
    if split:
        return limit2d((*joined, *before, *after))
    return limit2d((*before, *joined, *after))


def _check_mask(axes: Shape, mask: Shape) -> None:
    if len(axes) != len(mask) or not all(map(same_dim, axes, mask)):
        raise ShapeError(
            f"boolean index of shape {show_shape(mask)} does not match the indexed axes "
            f"{show_shape(axes)}",
            hint="compute the mask from the array that it indexes",
        )


def _getitem(node: Expr) -> Type:
    x = typed(node.inputs[0])
    spec = cast("tuple[tuple[Any, ...], ...]", node.attr("spec"))
    return Type(index_shape(x.shape, spec, node.inputs[1:]), x.dtype)


def _setitem(node: Expr) -> Type:
    x, value = typed(node.inputs[0]), typed(node.inputs[1])
    spec = cast("tuple[tuple[Any, ...], ...]", node.attr("spec"))
    target = index_shape(x.shape, spec, node.inputs[2:])
    source = value.shape
    while len(source) > len(target) and source[0] == 1:
        source = source[1:]
    if len(source) > len(target) or not _fits(source, target):
        raise ShapeError(
            f"cannot assign shape {show_shape(value.shape)} to a part of shape "
            f"{show_shape(target)}",
            hint="slice the value or the target so that their shapes agree",
        )
    return Type(x.shape, x.dtype)


def _fits(source: Shape, target: Shape) -> bool:
    tail = target[len(target) - len(source) :] if source else ()
    return all(s == 1 or same_dim(s, t) for s, t in zip(source, tail, strict=True))


RULES: dict[str, Callable[[Expr], Types]] = {
    "const": _const,
    "literal": _created,
    "input": _declared,
    "param": _declared,
    "undef": _declared,
    "full": _created,
    "eye": _eye,
    "arange": _arange,
    "linspace": _linspace,
    "cast": _cast,
    "copy": _same,
    "todense": _same,
    "transpose": _transpose,
    "reshape": _reshape,
    "broadcast_to": _broadcast_to,
    "concatenate": _concatenate,
    "getitem": _getitem,
    "setitem": _setitem,
    "full_like": lambda node: Type(
        typed(node.inputs[1]).shape, np.dtype(cast(str, node.attr("dtype")))
    ),
    "dim": lambda node: PY_INT,
}
