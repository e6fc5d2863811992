"""Types of products, diagonals, triangles and einsum."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from lineal.errors import ShapeError
from lineal.planner.expr import Expr
from lineal.planner.infer.core import Types, check_dtype, typed
from lineal.planner.infer.dims import join_dim, limit2d, same_dim, show_shape
from lineal.planner.infer.elementwise import ufunc_dtype
from lineal.planner.infer.reductions import reduction_dtype
from lineal.planner.types import Dim, Shape, Sym, Type, upper


def matmul_shape(a: Shape, b: Shape) -> Shape:
    """Return the shape of `a @ b` under NumPy's 1-D rules, at most two dimensions."""
    if not a or not b:
        raise ShapeError("matmul needs arrays, not scalars", hint="use * to scale by a scalar")
    inner_a, inner_b = a[-1], b[0] if len(b) == 1 else b[-2]
    if not same_dim(inner_a, inner_b):
        hint = ""
        if len(a) == 2 and a[0] == inner_b:
            hint = "transpose the first operand (.T)"
        elif len(b) == 2 and b[-1] == inner_a:
            hint = "transpose the second operand (.T)"
        raise ShapeError(
            f"matmul of {show_shape(a)} and {show_shape(b)}: inner sizes {inner_a} and {inner_b} "
            "differ",
            hint=hint or "check which axis is contracted",
        )
    return (*a[:-1], *b[1:]) if len(b) == 2 else a[:-1]


def _matmul(node: Expr) -> Type:
    a, b = (typed(n) for n in node.inputs)
    shape = matmul_shape(a.shape, b.shape)
    dtype = ufunc_dtype("add", (("a", a.dtype), ("a", b.dtype)))
    return Type(shape, check_dtype(dtype, "matmul"))


def _outer(node: Expr) -> Type:
    a, b = (typed(n) for n in node.inputs)
    dtype = ufunc_dtype("multiply", (("a", a.dtype), ("a", b.dtype)))
    return Type((a.shape[0], b.shape[0]), check_dtype(dtype, "outer"))


def need2d(x: Type, name: str) -> None:
    """Raise ShapeError unless `x` is a matrix."""
    if x.ndim != 2:
        raise ShapeError(
            f"{name} needs a matrix, not shape {show_shape(x.shape)}",
            hint="make it two-dimensional, e.g. with x[:, None] or reshape",
        )


def _trace(node: Expr) -> Type:
    x = typed(node.inputs[0])
    need2d(x, "trace")
    return Type((), reduction_dtype("sum", x.dtype, None))


def _diag(node: Expr) -> Type:
    x = typed(node.inputs[0])
    k = cast(int, node.attr("k"))
    if x.ndim == 1:
        n = x.shape[0]
        if isinstance(n, Sym):
            return Type((n, n), x.dtype)
        return Type((n + abs(k), n + abs(k)), x.dtype)
    need2d(x, "diag")
    rows, cols = x.shape
    if isinstance(rows, Sym) or isinstance(cols, Sym):
        return Type((Sym(("diag", node), min(upper(rows), upper(cols)), "diag"),), x.dtype)
    length = min(rows + min(k, 0), cols - max(k, 0))
    return Type((max(length, 0),), x.dtype)


def _triangle(node: Expr) -> Type:
    x = typed(node.inputs[0])
    need2d(x, node.op)
    return x


def _einsum(node: Expr) -> Type:
    types = [typed(n) for n in node.inputs]
    subscripts = cast(str, node.attr("subscripts"))
    left, right = subscripts.split("->")
    sizes: dict[str, Dim] = {}
    for labels, type_ in zip(left.split(","), types, strict=True):
        if len(labels) != type_.ndim:
            raise ShapeError(
                f"einsum {subscripts!r}: {labels!r} names {len(labels)} axes of an array of shape "
                f"{show_shape(type_.shape)}",
                hint="give each operand one letter per axis",
            )
        for label, dim in zip(labels, type_.shape, strict=True):
            known = sizes.get(label, dim)
            joined = join_dim(known, dim)
            if joined is None:
                raise ShapeError(
                    f"einsum {subscripts!r}: axis {label!r} is {known} and {dim}",
                    hint="axes with the same letter must have the same size",
                )
            sizes[label] = joined
    shape = limit2d(tuple(sizes[label] for label in right))
    dtype = np.result_type(*(t.dtype for t in types))
    return Type(shape, check_dtype(dtype, "einsum"))


RULES: dict[str, Callable[[Expr], Types]] = {
    "matmul": _matmul,
    "outer": _outer,
    "trace": _trace,
    "diag": _diag,
    "tril": _triangle,
    "triu": _triangle,
    "einsum": _einsum,
}
