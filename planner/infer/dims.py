"""Sizes and shapes: broadcasting, joining, what is shown of them."""

from __future__ import annotations

from typing import cast

import numpy as np

from lineal.errors import ShapeError
from lineal.planner.types import Dim, Shape, Sym, Type, upper


def join_dim(a: Dim, b: Dim) -> Dim | None:
    """Return the broadcast of two sizes, None if they cannot fit.

    A symbolic size against a number is the number's (the run checks it); two different symbolic
    sizes give a new one.
    """
    if a == b:
        return a
    if a == 1:  # a symbol equals no number
        return b
    if b == 1:
        return a
    if isinstance(a, Sym) and isinstance(b, Sym):
        bounds = [d.bound for d in (a, b)]
        bound = None if None in bounds else max(cast("list[int]", bounds))
        return Sym(("broadcast", a.source, b.source), bound, f"{a.name}|{b.name}")
    if isinstance(a, Sym):
        return b
    if isinstance(b, Sym):
        return a
    return None


def broadcast(*shapes: Shape) -> Shape:
    """Return the broadcast shape; raise ShapeError naming the shapes that do not fit."""
    ndim = max((len(s) for s in shapes), default=0)
    result: list[Dim] = []
    for axis in range(ndim):
        dim: Dim = 1
        for shape in shapes:
            at = axis - (ndim - len(shape))
            if at < 0:
                continue
            joined = join_dim(dim, shape[at])
            if joined is None:
                listed = " and ".join(show_shape(s) for s in shapes)
                raise ShapeError(
                    f"shapes {listed} do not broadcast: {dim} against {shape[at]} on axis "
                    f"{axis - ndim}",
                    hint="align the axes, e.g. with x[:, None] or x.T",
                )
            dim = joined
        result.append(dim)
    return tuple(result)


def show_shape(shape: Shape) -> str:
    """Return a shape as Python writes it."""
    inner = ", ".join(map(str, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def same_dim(a: Dim, b: Dim) -> bool:
    """Tell whether two sizes can be equal; symbolic ones are checked when they are known."""
    return a == b or isinstance(a, Sym) or isinstance(b, Sym)


def settle(a: Dim, b: Dim) -> Dim:
    """Return the known one of two sizes that must be equal."""
    return b if isinstance(a, Sym) else a


def limit2d(shape: Shape) -> Shape:
    """Return `shape`; more than two dimensions are a ShapeError."""
    if len(shape) > 2:
        raise ShapeError(
            f"the result would have {len(shape)} dimensions {show_shape(shape)}; at most two are "
            "supported",
            hint="loop over the leading axis, or reshape to two dimensions",
        )
    return shape


def _parts(dim: Dim) -> frozenset[Dim]:
    if isinstance(dim, Sym) and isinstance(dim.source, tuple) and dim.source[0] == "join":
        return cast("frozenset[Dim]", dim.source[1])
    return frozenset([dim])


def join_types(a: Type, b: Type) -> Type | None:
    """Return the type of a value that is `a` on one path and `b` on another, None if none fits.

    Scalars of different kinds join to the wider one; arrays must agree in dtype.
    """
    if a == b:
        return a
    if a.kind != b.kind:
        return None
    if len(a.shape) != len(b.shape):
        return None
    dims: list[Dim] = []
    for p, q in zip(a.shape, b.shape, strict=True):
        if p == q:
            dims.append(p)
        elif isinstance(p, Sym) or isinstance(q, Sym):
            parts = _parts(p) | _parts(q)
            bound = max(upper(p), upper(q))
            dims.append(p if parts == _parts(p) else Sym(("join", parts), bound, f"{p}|{q}"))
        else:
            return None
    if a.dtype == b.dtype:
        return Type(tuple(dims), a.dtype, a.weak and b.weak)
    if a.shape:
        return None
    if a.weak and not b.weak and "bif".index(a.dtype.kind) <= "buif".index(b.dtype.kind):
        return b
    if b.weak and not a.weak and "bif".index(b.dtype.kind) <= "buif".index(a.dtype.kind):
        return a
    return Type((), np.promote_types(a.dtype, b.dtype), a.weak and b.weak)
