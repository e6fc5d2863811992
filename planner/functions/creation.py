"""New arrays: filled, ranges, from lists of numbers, scalar types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lineal.errors import ShapeError
from lineal.planner import build
from lineal.planner.build import Context, Operand, apply, array
from lineal.planner.expr import Expr
from lineal.planner.functions.entry import Table
from lineal.planner.functions.shapes import astype, known_shape
from lineal.planner.infer import typed


def _filled(value: float) -> Callable[..., Expr]:
    def fn(ctx: Context, shape: object, dtype: object = float) -> Expr:
        name = build.static_dtype(ctx, float if dtype is None else dtype)
        return apply("full", value, shape=known_shape(ctx, shape), dtype=name)

    return fn


def _full(ctx: Context, shape: object, fill_value: Operand, dtype: object = None) -> Expr:
    value = array(fill_value)
    name = typed(value).dtype.name if dtype is None else build.static_dtype(ctx, dtype)
    dims = known_shape(ctx, shape)
    if typed(value).ndim:
        return apply("copy", apply("broadcast_to", apply("cast", value, dtype=name), shape=dims))
    return apply("full", fill_value, shape=dims, dtype=name)


def _like(value: float | None) -> Callable[..., Expr]:
    def fn(ctx: Context, a: Operand, dtype: object = None, shape: object = None) -> Expr:
        type_ = typed(array(a))
        name = type_.dtype.name if dtype is None else build.static_dtype(ctx, dtype)
        if shape is None and not type_.static:
            return apply("full_like", value, a, dtype=name)
        dims = type_.shape if shape is None else known_shape(ctx, shape)
        return apply("full", value, shape=dims, dtype=name)

    return fn


def _full_like(ctx: Context, a: Operand, fill_value: Operand, dtype: object = None) -> Expr:
    type_ = typed(array(a))
    name = type_.dtype.name if dtype is None else build.static_dtype(ctx, dtype)
    if not type_.static:
        return apply("full_like", fill_value, a, dtype=name)
    return _full(ctx, type_.shape, fill_value, name)


def _eye(ctx: Context, N: object, M: object = None, k: object = 0, dtype: object = float) -> Expr:
    n = known_shape(ctx, N)[0]
    m = n if M is None else known_shape(ctx, M)[0]
    return apply("eye", n=n, m=m, k=int(ctx.static(k, "k")), dtype=build.static_dtype(ctx, dtype))


def _identity(ctx: Context, n: object, dtype: object = float) -> Expr:
    return _eye(ctx, n, dtype=dtype)


def _arange(
    ctx: Context, start: object, stop: object = None, step: object = 1, dtype: object = None
) -> Expr:
    if stop is None:
        start, stop = 0, start
    bounds = [ctx.static(v, "arange bounds") for v in (start, stop, step)]
    for bound in bounds:
        build.lift(bound)
    if bounds[2] == 0:
        raise ShapeError("arange: step cannot be zero", hint="use a step such as 1 or -1")
    sample = np.arange(bounds[0], bounds[0], bounds[2])
    name = sample.dtype.name if dtype is None else build.static_dtype(ctx, dtype)
    return apply("arange", start=bounds[0], stop=bounds[1], step=bounds[2], dtype=name)


def _linspace(
    ctx: Context,
    start: object,
    stop: object,
    num: object = 50,
    endpoint: object = True,
    dtype: object = None,
) -> Expr:
    bounds = [ctx.static(v, "linspace bounds") for v in (start, stop)]
    count = known_shape(ctx, num)[0]
    name = "float64" if dtype is None else build.static_dtype(ctx, dtype)
    return apply(
        "linspace",
        start=float(bounds[0]),
        stop=float(bounds[1]),
        num=count,
        endpoint=build.static_bool(ctx, endpoint, "endpoint"),
        dtype=name,
    )


def _array(ctx: Context, object: Any, dtype: Any = None) -> Expr:
    if isinstance(object, (list, tuple)):
        name = None if dtype is None else build.static_dtype(ctx, dtype)
        return build.literal(ctx, object, name)
    return astype(ctx, object, dtype) if dtype is not None else apply("copy", array(object))


def _asarray(ctx: Context, a: Any, dtype: Any = None) -> Expr:
    if isinstance(a, (list, tuple)):
        return _array(ctx, a, dtype)
    x = array(a)
    if dtype is None or typed(x).dtype.name == build.static_dtype(ctx, dtype):
        return x
    return astype(ctx, x, dtype)


def _type_call(dtype: type) -> Callable[..., Expr]:
    def fn(ctx: Context, x: Operand) -> Expr:
        node = build.lift(x)
        op = "strong" if typed(node).weak else "cast"
        return apply(op, node, dtype=np.dtype(dtype).name)

    return fn


ENTRIES = Table("creation")
for _name, _value in (("zeros", 0), ("ones", 1), ("empty", 0)):
    ENTRIES.add(getattr(np, _name), f"np.{_name}", _filled(_value))
    ENTRIES.add(getattr(np, f"{_name}_like"), f"np.{_name}_like", _like(_value))
ENTRIES.add(np.full, "np.full", _full)
ENTRIES.add(np.full_like, "np.full_like", _full_like)
ENTRIES.add(np.eye, "np.eye", _eye)
ENTRIES.add(np.identity, "np.identity", _identity)
ENTRIES.add(np.arange, "np.arange", _arange)
ENTRIES.add(np.linspace, "np.linspace", _linspace)
ENTRIES.add(np.array, "np.array", _array)
ENTRIES.add(np.asarray, "np.asarray", _asarray, view=True)
for _kind in (
    np.float64,
    np.float32,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.bool_,
):
    ENTRIES.add(_kind, f"np.{_kind.__name__}", _type_call(_kind))
