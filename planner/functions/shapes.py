"""Copies, casts, reshaping, joining."""

from __future__ import annotations

from typing import Any

import numpy as np

from lineal.errors import ShapeError, StaticValueError, UnsupportedError
from lineal.planner import build
from lineal.planner.build import Context, Operand, apply, array
from lineal.planner.expr import Expr
from lineal.planner.functions.entry import Entry, Table
from lineal.planner.infer import show_shape, typed
from lineal.planner.types import Dim, Sym, upper


def known_shape(ctx: Context, shape: object) -> tuple[Dim, ...]:
    """Return a shape argument whose sizes are all known when the plan is made."""
    dims = build.static_shape(ctx, shape)
    if any(isinstance(d, Sym) for d in dims):
        raise StaticValueError(
            "a new array whose size only the run will know",
            hint="use np.zeros_like or np.full_like of an array of that shape",
        )
    return dims


def ravel(x: Expr) -> Expr:
    """Return `x` as a vector; itself if it is one."""
    type_ = typed(x)
    if type_.ndim == 1:
        return x
    return apply("reshape", x, shape=(flat_size(type_.shape),))


def flat_size(shape: tuple[Dim, ...]) -> Dim:
    """Return the number of entries of a shape, symbolic where a size is."""
    if not any(isinstance(d, Sym) for d in shape):
        total = 1
        for dim in shape:
            total *= upper(dim)
        return total
    open_dims = [d for d in shape if d != 1]
    if len(open_dims) == 1:
        return open_dims[0]
    bound = 1
    for dim in shape:
        bound *= upper(dim)
    return Sym(("product", shape), bound, "*".join(map(str, shape)))


def astype(ctx: Context, x: Operand, dtype: object, copy: object = True) -> Expr:
    """Return `x` converted to `dtype`; a copy unless told otherwise."""
    node = array(x)
    name = build.static_dtype(ctx, dtype)
    if name == typed(node).dtype.name:
        return apply("copy", node) if build.static_bool(ctx, copy, "copy") else node
    return apply("cast", node, dtype=name)


def _copy(ctx: Context, a: Operand) -> Expr:
    return apply("copy", array(a))


def _transpose(ctx: Context, a: Operand, axes: object = None) -> Expr:
    x = array(a)
    ndim = typed(x).ndim
    order = ctx.static(axes, "axes")
    if order is not None:
        order = tuple(int(ctx.static(i, "axes")) % max(ndim, 1) for i in order)
        if sorted(order) != list(range(ndim)):
            raise ShapeError(
                f"transpose: axes {order} do not fit {ndim} dimension(s)",
                hint="name each axis once, or leave axes out",
            )
        if order == tuple(range(ndim)):
            return x
    return apply("transpose", x) if ndim == 2 else x


def _transpose_method(ctx: Context, x: Operand, *axes: object) -> Expr:
    given = axes[0] if len(axes) == 1 else axes or None
    return _transpose(ctx, x, given)


def _matrix_transpose(ctx: Context, x: Operand) -> Expr:
    node = array(x)
    if typed(node).ndim != 2:
        raise ShapeError("matrix transpose needs two dimensions", hint="add an axis with None")
    return apply("transpose", node)


def _reshape(ctx: Context, a: Operand, *shape: object) -> Expr:
    x = array(a)
    type_ = typed(x)
    asked: Any = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    dims: list[Dim] = []
    unknown = -1
    for i, part in enumerate(asked):
        size = part
        if not isinstance(part, Sym) and not (isinstance(part, Expr) and part.op == "dim"):
            size = ctx.static(part, "a shape")
        if isinstance(size, (int, np.integer)) and size == -1:
            if unknown >= 0:
                raise ShapeError("reshape: only one size can be -1", hint="give the other sizes")
            unknown = i
            dims.append(1)
        else:
            dims.extend(build.static_shape(ctx, (size,)))
    if unknown >= 0:
        rest = flat_size(tuple(dims))
        if type_.static and not isinstance(rest, Sym):
            if rest == 0 or type_.size % rest:
                raise ShapeError(
                    f"cannot reshape {show_shape(type_.shape)} ({type_.size} entries) so that "
                    f"the other sizes multiply to {rest}",
                    hint=f"the sizes must multiply to {type_.size}",
                )
            dims[unknown] = type_.size // rest
        elif rest == 1:
            dims[unknown] = flat_size(type_.shape)
        else:
            raise UnsupportedError(
                "reshape with -1 of an array whose size only the run will know",
                hint="reshape before the boolean selection",
            )
    if tuple(dims) == type_.shape:
        return x
    if len(dims) > 2:
        raise ShapeError(
            f"reshape to {len(dims)} dimensions; at most two are supported",
            hint="keep two axes and loop over the third",
        )
    return apply("reshape", x, shape=tuple(dims))


def _ravel_fn(ctx: Context, a: Operand) -> Expr:
    return ravel(array(a))


def _flatten(ctx: Context, a: Operand) -> Expr:
    return apply("copy", ravel(array(a)))


def _squeeze(ctx: Context, a: Operand, axis: object = None) -> Expr:
    x = array(a)
    shape = typed(x).shape
    where = build.static_axis(ctx, axis, len(shape))
    gone = [i for i, d in enumerate(shape) if d == 1] if where is None else where
    gone = [gone] if isinstance(gone, int) else list(gone)
    for i in gone:
        if shape[i] != 1:
            raise ShapeError(
                f"squeeze: axis {i} has size {shape[i]}, not 1", hint="index it, or leave axis out"
            )
    kept = tuple(d for i, d in enumerate(shape) if i not in gone)
    return x if kept == shape else apply("reshape", x, shape=kept)


def _expand_dims(ctx: Context, a: Operand, axis: object) -> Expr:
    x = array(a)
    shape = list(typed(x).shape)
    where = build.static_axis(ctx, axis, len(shape) + 1)
    if not isinstance(where, int):
        raise UnsupportedError("expand_dims with several axes", hint="use x[:, None]")
    shape.insert(where, 1)
    return apply("reshape", x, shape=tuple(shape))


def _broadcast_to(ctx: Context, array_: Operand, shape: object) -> Expr:
    return apply("broadcast_to", array(array_), shape=known_shape(ctx, shape))


def _list_of(arrays: object, name: str) -> list[Expr]:
    if not isinstance(arrays, (list, tuple)) or not arrays:
        raise ShapeError(
            f"{name} needs a list or tuple of at least one array", hint=f"np.{name}([a, b])"
        )
    return [array(a) for a in arrays]


def _concatenate(ctx: Context, arrays: object, axis: object = 0) -> Expr:
    nodes = _list_of(arrays, "concatenate")
    if not typed(nodes[0]).ndim:
        raise ShapeError("concatenate: scalars cannot be joined", hint="use np.array([a, b])")
    if axis is None:
        nodes, axis = [ravel(n) for n in nodes], 0
    where = build.static_axis(ctx, axis, typed(nodes[0]).ndim)
    return apply("concatenate", *nodes, axis=where)


def _as_rows(x: Expr) -> Expr:
    type_ = typed(x)
    return x if type_.ndim == 2 else apply("reshape", x, shape=(1, flat_size(type_.shape)))


def _as_columns(x: Expr) -> Expr:
    type_ = typed(x)
    return x if type_.ndim == 2 else apply("reshape", x, shape=(flat_size(type_.shape), 1))


def _vstack(ctx: Context, tup: object) -> Expr:
    return apply("concatenate", *map(_as_rows, _list_of(tup, "vstack")), axis=0)


def _hstack(ctx: Context, tup: object) -> Expr:
    nodes = [ravel(n) if not typed(n).ndim else n for n in _list_of(tup, "hstack")]
    return apply("concatenate", *nodes, axis=0 if typed(nodes[0]).ndim == 1 else 1)


def _column_stack(ctx: Context, tup: object) -> Expr:
    return apply("concatenate", *map(_as_columns, _list_of(tup, "column_stack")), axis=1)


def _stack(ctx: Context, arrays: object, axis: object = 0) -> Expr:
    nodes = _list_of(arrays, "stack")
    ndim = typed(nodes[0]).ndim
    if ndim == 0:
        return build.literal(ctx, nodes)
    if ndim != 1:
        raise ShapeError(
            "stack of matrices would have three dimensions; at most two are supported",
            hint="join them along an axis with np.vstack or np.hstack",
        )
    return (
        _vstack(ctx, nodes) if build.static_axis(ctx, axis, 2) == 0 else _column_stack(ctx, nodes)
    )


ENTRIES = Table("shapes")
ENTRIES.add(np.copy, "np.copy", _copy, "copy")
ENTRIES.add("astype", "x.astype", astype, "astype", view=True)
ENTRIES.add("flatten", "x.flatten", _flatten, "flatten")
ENTRIES.add(np.transpose, "np.transpose", _transpose, "transpose", view=True)
ENTRIES.add(np.matrix_transpose, "np.matrix_transpose", _matrix_transpose, view=True)
ENTRIES.add(np.reshape, "np.reshape", _reshape, "reshape", view=True)
ENTRIES.add(np.ravel, "np.ravel", _ravel_fn, "ravel", view=True)
ENTRIES.add(np.squeeze, "np.squeeze", _squeeze, "squeeze", view=True)
ENTRIES.add(np.expand_dims, "np.expand_dims", _expand_dims, view=True)
ENTRIES.add(np.broadcast_to, "np.broadcast_to", _broadcast_to, view=True)
ENTRIES.add(np.concatenate, "np.concatenate", _concatenate)
ENTRIES.add(np.vstack, "np.vstack", _vstack)
ENTRIES.add(np.hstack, "np.hstack", _hstack)
ENTRIES.add(np.column_stack, "np.column_stack", _column_stack)
ENTRIES.add(np.stack, "np.stack", _stack)

TRANSPOSE = Entry("x.transpose", _transpose_method, "shapes", "transpose", True)
"""The method, which also takes the axes one by one."""
