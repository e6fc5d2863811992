"""Products of matrices and vectors, diagonals and triangles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lineal.errors import ShapeError, UnsupportedError
from lineal.planner.build import Context, Operand, apply, array
from lineal.planner.einsum import lower_einsum
from lineal.planner.expr import Expr
from lineal.planner.functions.entry import Table
from lineal.planner.functions.shapes import ravel
from lineal.planner.infer import typed


def _matmul(ctx: Context, x1: Operand, x2: Operand) -> Expr:
    return apply("matmul", array(x1), array(x2))


def _dot(ctx: Context, a: Operand, b: Operand) -> Expr:
    x, y = array(a), array(b)
    if not typed(x).ndim or not typed(y).ndim:
        return apply("multiply", x, y)
    return apply("matmul", x, y)


def _vdot(ctx: Context, a: Operand, b: Operand) -> Expr:
    return apply("matmul", ravel(array(a)), ravel(array(b)))


def _inner(ctx: Context, a: Operand, b: Operand) -> Expr:
    x, y = array(a), array(b)
    if not typed(x).ndim or not typed(y).ndim:
        return apply("multiply", x, y)
    return apply("matmul", x, apply("transpose", y) if typed(y).ndim == 2 else y)


def _outer(ctx: Context, a: Operand, b: Operand) -> Expr:
    return apply("outer", ravel(array(a)), ravel(array(b)))


def _multi_dot(ctx: Context, arrays: Sequence[Operand]) -> Expr:
    if len(arrays) < 2:
        raise ShapeError("multi_dot needs at least two arrays", hint="use the array itself")
    nodes = [array(a) for a in arrays]
    for node in nodes[1:-1]:
        if typed(node).ndim != 2:
            raise ShapeError(
                "multi_dot: only the first and last array may be 1-D", hint="add an axis with None"
            )
    total = nodes[0]
    for node in nodes[1:]:
        total = apply("matmul", total, node)
    return total


def _einsum(ctx: Context, subscripts: object, *operands: Operand, optimize: object = False) -> Expr:
    text = ctx.static(subscripts, "subscripts")
    if not isinstance(text, str):
        raise UnsupportedError(
            "einsum without a subscripts string", hint="einsum('ij,jk->ik', A, B)"
        )
    return lower_einsum(text, [array(x) for x in operands])


def _trace(ctx: Context, a: Operand, offset: object = 0) -> Expr:
    return apply("trace", array(a), offset=int(ctx.static(offset, "offset")))


def _diag(ctx: Context, v: Operand, k: object = 0) -> Expr:
    return apply("diag", array(v), k=int(ctx.static(k, "k")))


def _diagonal(ctx: Context, a: Operand, offset: object = 0) -> Expr:
    x = array(a)
    if typed(x).ndim != 2:
        raise ShapeError("diagonal needs a matrix", hint="use np.diag to build one from a vector")
    return apply("diag", x, k=int(ctx.static(offset, "offset")))


def _triangle(op: str) -> Callable[..., Expr]:
    def fn(ctx: Context, m: Operand, k: object = 0) -> Expr:
        x = array(m)
        if typed(x).ndim == 1:  # every row is the vector
            x = apply("broadcast_to", x, shape=(typed(x).shape[0], typed(x).shape[0]))
        return apply(op, x, k=int(ctx.static(k, "k")))

    return fn


ENTRIES = Table("products")
ENTRIES.add(np.matmul, "np.matmul", _matmul)
ENTRIES.add(np.dot, "np.dot", _dot, "dot")
ENTRIES.add(np.vdot, "np.vdot", _vdot)
ENTRIES.add(np.inner, "np.inner", _inner)
ENTRIES.add(np.outer, "np.outer", _outer)
ENTRIES.add(np.linalg.multi_dot, "np.linalg.multi_dot", _multi_dot)
ENTRIES.add(np.einsum, "np.einsum", _einsum)
ENTRIES.add(np.trace, "np.trace", _trace, "trace")
ENTRIES.add(np.diag, "np.diag", _diag, view=True)
ENTRIES.add(np.diagonal, "np.diagonal", _diagonal, "diagonal", view=True)
ENTRIES.add(np.tril, "np.tril", _triangle("tril"))
ENTRIES.add(np.triu, "np.triu", _triangle("triu"))

LINEAR_ALGEBRA = Table("linear algebra")
LINEAR_ALGEBRA.add(np.linalg.matmul, "np.linalg.matmul", _matmul)
LINEAR_ALGEBRA.add(np.linalg.trace, "np.linalg.trace", _trace)
LINEAR_ALGEBRA.add(np.linalg.diagonal, "np.linalg.diagonal", _diagonal, view=True)
