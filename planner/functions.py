"""The NumPy functions of the language: one builder each, one table.

The table is the only list of what is supported: the front ends dispatch through it, and the
grammar page is printed from it.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lineal.errors import (
    DTypeError,
    ProgramError,
    ShapeError,
    StaticValueError,
    UnsupportedError,
)
from lineal.planner import build
from lineal.planner.build import Context, Operand, apply, array, results
from lineal.planner.einsum import lower_einsum
from lineal.planner.expr import Expr
from lineal.planner.infer import BINARY, UNARY, show_shape, typed
from lineal.planner.types import Dim, Sym, upper


@dataclass(frozen=True, slots=True)
class Entry:
    """One supported function: its builder `fn(ctx, *args, **kwargs)` and its documentation."""

    name: str
    fn: Callable[..., Any]
    group: str
    method: str = ""
    view: bool = False

    @property
    def signature(self) -> str:
        """The supported arguments, as text."""
        parameters = list(inspect.signature(self.fn).parameters.values())[1:]
        shown = [
            str(p.replace(annotation=inspect.Parameter.empty)).replace("'", '"') for p in parameters
        ]
        return f"{self.name}({', '.join(shown)})"


def call(ctx: Context, entry: Entry, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Build `entry` for the given arguments; unsupported ones are an error that lists the others."""
    try:
        inspect.signature(entry.fn).bind(ctx, *args, **kwargs)
    except TypeError as error:
        raise UnsupportedError(
            f"{entry.name}: {error}", hint=f"supported form: {entry.signature}"
        ) from None
    return entry.fn(ctx, *args, **kwargs)


# ----------------------------------------------------------------------------- elementwise


def _binary_ufunc(name: str) -> Callable[..., Expr]:
    def fn(ctx: Context, x1: Operand, x2: Operand) -> Expr:
        return apply(name, x1, x2)

    return fn


def _unary_ufunc(name: str) -> Callable[..., Expr]:
    def fn(ctx: Context, x: Operand) -> Expr:
        return apply(name, x)

    return fn


def _where(ctx: Context, condition: Operand, x: Operand = None, y: Operand = None) -> Expr:
    if x is None or y is None:
        raise UnsupportedError(
            "np.where with one argument", hint="index with the mask itself: A[mask]"
        )
    return apply("where", condition, x, y)


def _clip(
    ctx: Context,
    a: Operand,
    a_min: Operand = None,
    a_max: Operand = None,
    min: Operand = None,
    max: Operand = None,
) -> Expr:
    low = a_min if min is None else min
    high = a_max if max is None else max
    if low is None and high is None:
        return apply("copy", array(a))
    given = [v for v in (low, high) if v is not None]
    if low is not None and high is not None:
        return apply("clip", a, low, high, has_lo=True, has_hi=True)
    return apply("maximum" if high is None else "minimum", a, *given)


def _round(ctx: Context, a: Operand, decimals: int = 0) -> Expr:
    x = array(a)
    if typed(x).dtype.kind == "b":
        raise DTypeError("round of bool would have dtype float16", hint="use x.astype(float)")
    return apply("round", x, decimals=int(ctx.static(decimals, "decimals")))


# ------------------------------------------------------------------------------ reductions


def _reduce(
    ctx: Context,
    op: str,
    a: Operand,
    axis: object,
    keepdims: object,
    dtype: object = None,
    **extra: Any,
) -> Expr:
    x = array(a)
    ndim = typed(x).ndim
    if op not in ("argmin", "argmax"):
        extra["dtype"] = None if dtype is None else build.static_dtype(ctx, dtype)
    return apply(
        op,
        x,
        axis=build.static_axis(ctx, axis, ndim),
        keepdims=build.static_bool(ctx, keepdims, "keepdims"),
        **extra,
    )


def _with_dtype(op: str) -> Callable[..., Expr]:
    def fn(
        ctx: Context,
        a: Operand,
        axis: object = None,
        dtype: object = None,
        keepdims: object = False,
    ) -> Expr:
        return _reduce(ctx, op, a, axis, keepdims, dtype)

    return fn


def _plain_reduction(op: str) -> Callable[..., Expr]:
    def fn(ctx: Context, a: Operand, axis: object = None, keepdims: object = False) -> Expr:
        return _reduce(ctx, op, a, axis, keepdims)

    return fn


def _spread(op: str) -> Callable[..., Expr]:
    def fn(
        ctx: Context,
        a: Operand,
        axis: object = None,
        dtype: object = None,
        ddof: object = 0,
        keepdims: object = False,
    ) -> Expr:
        degrees = ctx.static(ddof, "ddof")
        return _reduce(ctx, op, a, axis, keepdims, dtype, ddof=degrees)

    return fn


def _arg_reduction(op: str) -> Callable[..., Expr]:
    def fn(ctx: Context, a: Operand, axis: object = None, keepdims: object = False) -> Expr:
        if isinstance(axis, tuple):
            raise DTypeError(
                f"{op} takes one axis or None, not a tuple", hint="reduce one axis at a time"
            )
        return _reduce(ctx, op, a, axis, keepdims)

    return fn


def _norm(
    ctx: Context, x: Operand, ord: object = None, axis: object = None, keepdims: object = False
) -> Expr:
    a = array(x)
    type_ = typed(a)
    order = ctx.static(ord, "ord")
    if isinstance(order, bool) or not (order is None or isinstance(order, (int, float, str))):
        raise DTypeError(f"norm: ord={order!r} is not a norm", hint="use 1, 2, np.inf or 'fro'")
    where = build.static_axis(ctx, axis, type_.ndim)
    over = type_.ndim if where is None else (len(where) if isinstance(where, tuple) else 1)
    if over == 1 and isinstance(order, str):
        raise ShapeError(
            f"norm: {order!r} is a matrix norm, and the operand is a vector", hint="leave ord out"
        )
    if over == 2 and order not in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        raise ShapeError(
            f"norm: ord={order!r} is not a matrix norm",
            hint="use 'fro', 'nuc', 1, -1, 2, -2, np.inf or -np.inf, or give one axis",
        )
    order = float(order) if isinstance(order, (int, float)) else order
    return apply(
        "norm", a, ord=order, axis=where, keepdims=build.static_bool(ctx, keepdims, "keepdims")
    )


# -------------------------------------------------------------------------- order and count


def _cumulative(op: str) -> Callable[..., Expr]:
    def fn(ctx: Context, a: Operand, axis: object = None, dtype: object = None) -> Expr:
        x = array(a)
        where = build.static_axis(ctx, axis, typed(x).ndim)
        name = None if dtype is None else build.static_dtype(ctx, dtype)
        return apply(op, x, axis=where, dtype=name)

    return fn


def _diff(ctx: Context, a: Operand, n: object = 1, axis: object = -1) -> Expr:
    x = array(a)
    if not typed(x).ndim:
        raise ShapeError("diff needs at least one dimension", hint="pass an array")
    count = int(ctx.static(n, "n"))
    if count < 0:
        raise ShapeError(f"diff: order must be non-negative, not {count}", hint="use n=1")
    return apply("diff", x, n=count, axis=build.static_axis(ctx, axis, typed(x).ndim))


def _sorter(op: str) -> Callable[..., Expr]:
    def fn(ctx: Context, a: Operand, axis: object = -1, kind: object = None) -> Expr:
        x = array(a)
        if not typed(x).ndim:
            raise ShapeError(f"{op} needs at least one dimension", hint="pass an array")
        return apply(
            op, x, axis=build.static_axis(ctx, axis, typed(x).ndim), kind=ctx.static(kind, "kind")
        )

    return fn


def _bincount(ctx: Context, x: Operand, weights: Operand = None, minlength: object = 0) -> Expr:
    least = int(ctx.static(minlength, "minlength"))
    operands = [array(x)] if weights is None else [array(x), array(weights)]
    return apply("bincount", *operands, minlength=least)


def _unique(
    ctx: Context,
    ar: Operand,
    return_index: object = False,
    return_inverse: object = False,
    return_counts: object = False,
) -> Any:
    x = array(ar)
    node = apply(
        "unique",
        x,
        return_index=build.static_bool(ctx, return_index, "return_index"),
        return_inverse=build.static_bool(ctx, return_inverse, "return_inverse"),
        return_counts=build.static_bool(ctx, return_counts, "return_counts"),
    )
    found = results(node)
    return found[0] if len(found) == 1 else found


# --------------------------------------------------------------------------------- products


def _matmul(ctx: Context, x1: Operand, x2: Operand) -> Expr:
    return apply("matmul", array(x1), array(x2))


def _dot(ctx: Context, a: Operand, b: Operand) -> Expr:
    x, y = array(a), array(b)
    if not typed(x).ndim or not typed(y).ndim:
        return apply("multiply", x, y)
    return apply("matmul", x, y)


def _ravel(x: Expr) -> Expr:
    type_ = typed(x)
    if type_.ndim == 1:
        return x
    return apply("reshape", x, shape=(_product(type_.shape),))


def _product(shape: tuple[Dim, ...]) -> Dim:
    if not any(isinstance(d, Sym) for d in shape):
        total = 1
        for dim in shape:
            total *= upper(dim)
        return total
    open_dims = [d for d in shape if not (d == 1 and not isinstance(d, Sym))]
    if len(open_dims) == 1:
        return open_dims[0]
    bound = 1
    for dim in shape:
        bound *= upper(dim)
    return Sym(("product", shape), bound, "*".join(map(str, shape)))


def _vdot(ctx: Context, a: Operand, b: Operand) -> Expr:
    return apply("matmul", _ravel(array(a)), _ravel(array(b)))


def _inner(ctx: Context, a: Operand, b: Operand) -> Expr:
    x, y = array(a), array(b)
    if not typed(x).ndim or not typed(y).ndim:
        return apply("multiply", x, y)
    return apply("matmul", x, apply("transpose", y) if typed(y).ndim == 2 else y)


def _outer(ctx: Context, a: Operand, b: Operand) -> Expr:
    return apply("outer", _ravel(array(a)), _ravel(array(b)))


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
        return apply(op, array(m), k=int(ctx.static(k, "k")))

    return fn


# --------------------------------------------------------------------------------- creation


def _known_shape(ctx: Context, shape: object) -> tuple[Dim, ...]:
    dims = build.static_shape(ctx, shape)
    if any(isinstance(d, Sym) for d in dims):
        raise StaticValueError(
            "a new array whose size only the run will know",
            hint="use np.zeros_like or np.full_like of an array of that shape",
        )
    return dims


def _filled(value: float) -> Callable[..., Expr]:
    def fn(ctx: Context, shape: object, dtype: object = float) -> Expr:
        name = build.static_dtype(ctx, float if dtype is None else dtype)
        return apply("full", value, shape=_known_shape(ctx, shape), dtype=name)

    return fn


def _full(ctx: Context, shape: object, fill_value: Operand, dtype: object = None) -> Expr:
    value = array(fill_value)
    name = typed(value).dtype.name if dtype is None else build.static_dtype(ctx, dtype)
    dims = _known_shape(ctx, shape)
    if typed(value).ndim:
        return apply("copy", apply("broadcast_to", apply("cast", value, dtype=name), shape=dims))
    return apply("full", fill_value, shape=dims, dtype=name)


def _like(value: float | None) -> Callable[..., Expr]:
    def fn(ctx: Context, a: Operand, dtype: object = None, shape: object = None) -> Expr:
        type_ = typed(array(a))
        name = type_.dtype.name if dtype is None else build.static_dtype(ctx, dtype)
        if shape is None and not type_.static:
            return apply("full_like", value, a, dtype=name)
        dims = type_.shape if shape is None else build.static_shape(ctx, shape)
        return apply("full", value, shape=dims, dtype=name)

    return fn


def _full_like(ctx: Context, a: Operand, fill_value: Operand, dtype: object = None) -> Expr:
    type_ = typed(array(a))
    name = type_.dtype.name if dtype is None else build.static_dtype(ctx, dtype)
    if not type_.static:
        return apply("full_like", fill_value, a, dtype=name)
    return _full(ctx, type_.shape, fill_value, name)


def _eye(ctx: Context, N: object, M: object = None, k: object = 0, dtype: object = float) -> Expr:
    n = build.static_shape(ctx, N)[0]
    m = n if M is None else build.static_shape(ctx, M)[0]
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
    count = build.static_shape(ctx, num)[0]
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
    return _astype(ctx, object, dtype) if dtype is not None else apply("copy", array(object))


def _asarray(ctx: Context, a: Any, dtype: Any = None) -> Expr:
    if isinstance(a, (list, tuple)):
        return _array(ctx, a, dtype)
    x = array(a)
    if dtype is None or typed(x).dtype.name == build.static_dtype(ctx, dtype):
        return x
    return _astype(ctx, x, dtype)


# ----------------------------------------------------------------------------------- shapes


def _copy(ctx: Context, a: Operand) -> Expr:
    return apply("copy", array(a))


def _astype(ctx: Context, x: Operand, dtype: object, copy: object = True) -> Expr:
    node = array(x)
    name = build.static_dtype(ctx, dtype)
    if name == typed(node).dtype.name:
        return apply("copy", node) if build.static_bool(ctx, copy, "copy") else node
    return apply("cast", node, dtype=name)


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


def _matrix_transpose(ctx: Context, x: Operand) -> Expr:
    node = array(x)
    if typed(node).ndim != 2:
        raise ShapeError("matrix transpose needs two dimensions", hint="add an axis with None")
    return apply("transpose", node)


def _reshape(ctx: Context, a: Operand, *shape: object) -> Expr:
    x = array(a)
    type_ = typed(x)
    asked = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    dims: list[Dim] = []
    unknown = -1
    for i, part in enumerate(asked):  # type: ignore[arg-type, var-annotated]
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
        rest = _product(tuple(dims))
        if type_.static and not isinstance(rest, Sym):
            if rest == 0 or type_.size % rest:
                raise ShapeError(
                    f"cannot reshape {show_shape(type_.shape)} ({type_.size} entries) so that "
                    f"the other sizes multiply to {rest}",
                    hint=f"the sizes must multiply to {type_.size}",
                )
            dims[unknown] = type_.size // rest
        elif rest == 1:
            dims[unknown] = _product(type_.shape)
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
    return _ravel(array(a))


def _flatten(ctx: Context, a: Operand) -> Expr:
    return apply("copy", _ravel(array(a)))


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
    return apply("broadcast_to", array(array_), shape=build.static_shape(ctx, shape))


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
        nodes, axis = [_ravel(n) for n in nodes], 0
    where = build.static_axis(ctx, axis, typed(nodes[0]).ndim)
    return apply("concatenate", *nodes, axis=where)


def _as_rows(x: Expr) -> Expr:
    type_ = typed(x)
    return x if type_.ndim == 2 else apply("reshape", x, shape=(1, _product(type_.shape)))


def _as_columns(x: Expr) -> Expr:
    type_ = typed(x)
    return x if type_.ndim == 2 else apply("reshape", x, shape=(_product(type_.shape), 1))


def _vstack(ctx: Context, tup: object) -> Expr:
    return apply("concatenate", *map(_as_rows, _list_of(tup, "vstack")), axis=0)


def _hstack(ctx: Context, tup: object) -> Expr:
    nodes = [_ravel(n) if not typed(n).ndim else n for n in _list_of(tup, "hstack")]
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


# --------------------------------------------------------------------------- linear algebra


def _solve(ctx: Context, a: Operand, b: Operand) -> Expr:
    return apply("solve", array(a), array(b))


def _inv(ctx: Context, a: Operand) -> Expr:
    return apply("inv", array(a))


def _pinv(ctx: Context, a: Operand, rcond: object = None) -> Expr:
    return apply("pinv", array(a), rcond=ctx.static(rcond, "rcond"))


def _det(ctx: Context, a: Operand) -> Expr:
    return apply("det", array(a))


def _slogdet(ctx: Context, a: Operand) -> Any:
    return results(apply("slogdet", array(a)))


def _cholesky(ctx: Context, a: Operand, upper: object = False) -> Expr:
    return apply("cholesky", array(a), upper=build.static_bool(ctx, upper, "upper"))


def _lstsq(ctx: Context, a: Operand, b: Operand, rcond: object = None) -> Any:
    return results(apply("lstsq", array(a), array(b), rcond=ctx.static(rcond, "rcond")))


def _qr(ctx: Context, a: Operand, mode: object = "reduced") -> Any:
    how = ctx.static(mode, "mode")
    if how not in ("reduced", "complete", "r"):
        raise UnsupportedError(f"qr mode {how!r}", hint="use 'reduced', 'complete' or 'r'")
    found = results(apply("qr", array(a), mode=how))
    return found[0] if how == "r" else found


def _svd(ctx: Context, a: Operand, full_matrices: object = True, compute_uv: object = True) -> Any:
    both = build.static_bool(ctx, compute_uv, "compute_uv")
    node = apply(
        "svd",
        array(a),
        full_matrices=build.static_bool(ctx, full_matrices, "full_matrices"),
        compute_uv=both,
    )
    found = results(node)
    return found if both else found[0]


def _eigh(ctx: Context, a: Operand, UPLO: object = "L") -> Any:
    return results(apply("eigh", array(a), uplo=ctx.static(UPLO, "UPLO")))


def _eigvalsh(ctx: Context, a: Operand, UPLO: object = "L") -> Expr:
    return apply("eigvalsh", array(a), uplo=ctx.static(UPLO, "UPLO"))


# ------------------------------------------------------------------------- Python's builtins


def _to(op: str, kind: type) -> Callable[..., Any]:
    def fn(ctx: Context, x: Operand) -> Any:
        return apply(op, x) if isinstance(x, Expr) else kind(x)

    return fn


def _len(ctx: Context, obj: Any) -> Any:
    if isinstance(obj, Expr):
        shape = typed(obj).shape
        if not shape:
            raise ShapeError("len() of a scalar", hint="a scalar has no length")
        if isinstance(shape[0], Sym):
            raise UnsupportedError(
                "len() of an axis whose size only the run will know",
                hint="use mask.sum() for the number of kept rows",
            )
        return shape[0]
    return len(obj)


def _abs(ctx: Context, x: Operand) -> Any:
    return build.unary(ctx, "abs", x)


def _extreme(name: str) -> Callable[..., Any]:
    def fn(ctx: Context, *args: Operand) -> Any:
        values = list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        if len(values) < 2 or any(isinstance(v, Expr) and typed(v).ndim for v in values):
            raise UnsupportedError(
                f"Python's {name}() of an array", hint=f"use np.{name} or the method .{name}()"
            )
        if not any(isinstance(v, Expr) for v in values):
            return getattr(builtins, name)(*values)
        total = values[0]
        for value in values[1:]:
            if build.is_weak(total) and build.is_weak(value):
                total = apply(f"py.{name}", total, value)
                continue
            # Python keeps the first unless the next is strictly better.
            better = apply("less" if name == "min" else "greater", value, total)
            total = build.choose(
                apply("to_bool", better), [build.lift(value)], [build.lift(total)]
            )[0]
        return total

    return fn


def _pow(ctx: Context, base: Operand, exp: Operand) -> Any:
    return build.binary(ctx, "pow", base, exp)


def _type_call(dtype: type) -> Callable[..., Expr]:
    def fn(ctx: Context, x: Operand) -> Expr:
        node = build.lift(x)
        op = "strong" if typed(node).weak else "cast"
        return apply(op, node, dtype=np.dtype(dtype).name)

    return fn


def _default_rng(ctx: Context, seed: Operand = None) -> Any:
    if seed is None:
        raise ProgramError(
            "np.random.default_rng() without a seed gives other values in every run",
            hint="pass a seed: np.random.default_rng(0)",
        )
    node = build.lift(seed)
    if typed(node).ndim or typed(node).dtype.kind not in "iu":
        raise DTypeError("default_rng: the seed must be an integer", hint="np.random.default_rng(0)")
    return apply("rng_new", node)


# ------------------------------------------------------------------------------------ table

_METHOD_ONLY = frozenset(["flatten", "astype", "copy"])


def _table() -> dict[Any, Entry]:
    found: dict[Any, Entry] = {}

    def add(
        target: Any,
        name: str,
        fn: Callable[..., Any],
        group: str,
        method: str = "",
        view: bool = False,
    ) -> None:
        found[target] = Entry(name, fn, group, method, view)

    for name in BINARY:
        add(getattr(np, name), f"np.{name}", _binary_ufunc(name), "elementwise")
    for name in UNARY:
        add(getattr(np, name), f"np.{name}", _unary_ufunc(name), "elementwise")
    add(np.where, "np.where", _where, "elementwise")
    add(np.clip, "np.clip", _clip, "elementwise", "clip")
    add(np.round, "np.round", _round, "elementwise", "round")
    add(np.around, "np.around", _round, "elementwise")
    for name in ("sum", "prod", "mean"):
        add(getattr(np, name), f"np.{name}", _with_dtype(name), "reductions", name)
    for name in ("min", "max", "any", "all"):
        add(getattr(np, name), f"np.{name}", _plain_reduction(name), "reductions", name)
    for name in ("var", "std"):
        add(getattr(np, name), f"np.{name}", _spread(name), "reductions", name)
    for name in ("argmin", "argmax"):
        add(getattr(np, name), f"np.{name}", _arg_reduction(name), "reductions", name)
    add(np.count_nonzero, "np.count_nonzero", _plain_reduction("count_nonzero"), "reductions")
    for name in ("cumsum", "cumprod"):
        add(getattr(np, name), f"np.{name}", _cumulative(name), "order and counting", name)
    add(np.diff, "np.diff", _diff, "order and counting")
    for name in ("sort", "argsort"):
        method = "argsort" if name == "argsort" else ""
        add(getattr(np, name), f"np.{name}", _sorter(name), "order and counting", method)
    add(np.bincount, "np.bincount", _bincount, "order and counting")
    add(np.unique, "np.unique", _unique, "order and counting")
    add(np.matmul, "np.matmul", _matmul, "products")
    add(np.dot, "np.dot", _dot, "products", "dot")
    add(np.vdot, "np.vdot", _vdot, "products")
    add(np.inner, "np.inner", _inner, "products")
    add(np.outer, "np.outer", _outer, "products")
    add(np.linalg.multi_dot, "np.linalg.multi_dot", _multi_dot, "products")
    add(np.einsum, "np.einsum", _einsum, "products")
    add(np.trace, "np.trace", _trace, "products", "trace")
    add(np.diag, "np.diag", _diag, "products", view=True)
    add(np.diagonal, "np.diagonal", _diagonal, "products", "diagonal", view=True)
    for name in ("tril", "triu"):
        add(getattr(np, name), f"np.{name}", _triangle(name), "products")
    for name, value in (("zeros", 0), ("ones", 1), ("empty", 0)):
        add(getattr(np, name), f"np.{name}", _filled(value), "creation")
        add(getattr(np, f"{name}_like"), f"np.{name}_like", _like(value), "creation")
    add(np.full, "np.full", _full, "creation")
    add(np.full_like, "np.full_like", _full_like, "creation")
    add(np.eye, "np.eye", _eye, "creation")
    add(np.identity, "np.identity", _identity, "creation")
    add(np.arange, "np.arange", _arange, "creation")
    add(np.linspace, "np.linspace", _linspace, "creation")
    add(np.array, "np.array", _array, "creation")
    add(np.asarray, "np.asarray", _asarray, "creation", view=True)
    add(np.copy, "np.copy", _copy, "shapes", "copy")
    add("astype", "x.astype", _astype, "shapes", "astype", view=True)
    add("flatten", "x.flatten", _flatten, "shapes", "flatten")
    add(np.transpose, "np.transpose", _transpose, "shapes", "transpose", view=True)
    add(np.matrix_transpose, "np.matrix_transpose", _matrix_transpose, "shapes", view=True)
    add(np.reshape, "np.reshape", _reshape, "shapes", "reshape", view=True)
    add(np.ravel, "np.ravel", _ravel_fn, "shapes", "ravel", view=True)
    add(np.squeeze, "np.squeeze", _squeeze, "shapes", "squeeze", view=True)
    add(np.expand_dims, "np.expand_dims", _expand_dims, "shapes", view=True)
    add(np.broadcast_to, "np.broadcast_to", _broadcast_to, "shapes", view=True)
    add(np.concatenate, "np.concatenate", _concatenate, "shapes")
    add(np.vstack, "np.vstack", _vstack, "shapes")
    add(np.hstack, "np.hstack", _hstack, "shapes")
    add(np.column_stack, "np.column_stack", _column_stack, "shapes")
    add(np.stack, "np.stack", _stack, "shapes")
    linear = "linear algebra"
    add(np.linalg.norm, "np.linalg.norm", _norm, linear)
    add(np.linalg.solve, "np.linalg.solve", _solve, linear)
    add(np.linalg.inv, "np.linalg.inv", _inv, linear)
    add(np.linalg.pinv, "np.linalg.pinv", _pinv, linear)
    add(np.linalg.det, "np.linalg.det", _det, linear)
    add(np.linalg.slogdet, "np.linalg.slogdet", _slogdet, linear)
    add(np.linalg.cholesky, "np.linalg.cholesky", _cholesky, linear)
    add(np.linalg.lstsq, "np.linalg.lstsq", _lstsq, linear)
    add(np.linalg.qr, "np.linalg.qr", _qr, linear)
    add(np.linalg.svd, "np.linalg.svd", _svd, linear)
    add(np.linalg.eigh, "np.linalg.eigh", _eigh, linear)
    add(np.linalg.eigvalsh, "np.linalg.eigvalsh", _eigvalsh, linear)
    add(np.linalg.matmul, "np.linalg.matmul", _matmul, linear)
    add(np.linalg.trace, "np.linalg.trace", _trace, linear)
    add(np.linalg.diagonal, "np.linalg.diagonal", _diagonal, linear, view=True)
    python = "Python builtins"
    add(builtins.float, "float", _to("to_float", builtins.float), python)
    add(builtins.int, "int", _to("to_int", builtins.int), python)
    add(builtins.bool, "bool", lambda ctx, x: build.truth(x), python)
    add(builtins.len, "len", _len, python)
    add(builtins.abs, "abs", _abs, python)
    add(builtins.min, "min", _extreme("min"), python)
    add(builtins.max, "max", _extreme("max"), python)
    add(builtins.pow, "pow", _pow, python)
    for kind in (
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
        add(kind, f"np.{kind.__name__}", _type_call(kind), "creation")
    add(np.random.default_rng, "np.random.default_rng", _default_rng, "random")
    return found


FUNCTIONS: dict[Any, Entry] = _table()
"""Function object -> Entry; the strings "astype" and "flatten" stand for methods only."""

METHODS: dict[str, Entry] = {e.method: e for e in FUNCTIONS.values() if e.method}
METHODS["item"] = Entry("x.item", lambda ctx, x: _item(x), "Python builtins", "item")


def _item(x: Expr) -> Expr:
    kind = {"b": "to_bool", "i": "to_int", "u": "to_int", "f": "to_float"}[typed(x).dtype.kind]
    return apply(kind, x)


DRAWS: dict[str, tuple[tuple[tuple[str, object], ...], str]] = {
    "standard_normal": ((("size", None), ("dtype", "float64")), "float64"),
    "random": ((("size", None), ("dtype", "float64")), "float64"),
    "normal": ((("loc", 0.0), ("scale", 1.0), ("size", None)), "float64"),
    "uniform": ((("low", 0.0), ("high", 1.0), ("size", None)), "float64"),
    "exponential": ((("scale", 1.0), ("size", None)), "float64"),
    "integers": ((("low", None), ("high", None), ("size", None)), "int64"),
    "permutation": ((("x", None),), "int64"),
}
"""Draws of a Generator: argument names with defaults, and the dtype."""


def draw(
    ctx: Context, rng: Expr, method: str, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Expr, Expr]:
    """Return (value, next generator) for `rng.method(*args, **kwargs)`."""
    if method not in DRAWS:
        raise UnsupportedError(
            f"the draw {method!r}", hint=f"supported draws: {', '.join(sorted(DRAWS))}"
        )
    names = [name for name, _ in DRAWS[method][0]]
    given = dict(DRAWS[method][0])
    if len(args) > len(names) or not set(kwargs) <= set(names):
        raise UnsupportedError(
            f"{method}: unknown or too many arguments", hint=f"arguments are {', '.join(names)}"
        )
    given.update(zip(names, args, strict=False))
    given.update(kwargs)
    dtype = DRAWS[method][1]
    static: dict[str, Any] = {}
    if "dtype" in given:
        dtype = build.static_dtype(ctx, given.pop("dtype"))
        static["dtype"] = dtype
    size = given.pop("size", None)
    shape = None if size is None else _known_shape(ctx, size)
    if method == "permutation":
        given["x"] = _known_shape(ctx, given["x"])[0]
    present = {k: v for k, v in given.items() if v is not None}
    if any(isinstance(v, Expr) and typed(v).ndim for v in present.values()):
        raise UnsupportedError(f"{method} with array parameters", hint="draw, then scale")
    made = (given["x"],) if method == "permutation" else shape
    node = apply(
        "draw", rng, *present.values(), method=method, size=shape, kwargs=tuple(present),
        shape=() if made is None else made, result=dtype, **static,
    )
    value, state = results(node)
    return value, state
