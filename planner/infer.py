"""Shape and dtype of every operation, by NumPy's own rules, before anything runs.

One function per family of operations.  Each raises a ProgramError without a place in the source;
the front ends add the line and the operands' names.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import numpy as np

from lineal.errors import DTypeError, ProgramError, ShapeError
from lineal.planner.expr import Expr
from lineal.planner.types import Dim, Shape, Sym, Type, upper

Types = Type | tuple[Type, ...]

BINARY = (
    "add subtract multiply divide floor_divide remainder power maximum minimum fmax fmin "
    "logaddexp arctan2 hypot copysign less less_equal greater greater_equal equal not_equal "
    "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor"
).split()
UNARY = (
    "negative positive absolute fabs exp exp2 expm1 log log2 log10 log1p sqrt cbrt square "
    "reciprocal sign sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh "
    "floor ceil trunc rint isnan isinf isfinite signbit logical_not invert"
).split()
ELEMENTWISE = frozenset([*BINARY, *UNARY, "where", "clip", "round"])
REDUCTIONS = frozenset("sum prod mean min max any all count_nonzero var std argmin argmax".split())
COMMUTATIVE = frozenset(
    "add multiply maximum minimum fmax fmin logaddexp hypot equal not_equal logical_and "
    "logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split()
)
VIEWS = frozenset("transpose reshape broadcast_to".split())

SUPPORTED = frozenset(np.dtype(c) for c in "?bhilqBHILQfd")
_WEAK: dict[str, object] = {"b": True, "i": 1, "f": 1.0}

BOOL, INT, FLOAT = np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64)
PY_BOOL = Type((), BOOL, weak=True)
PY_INT = Type((), INT, weak=True)
PY_FLOAT = Type((), FLOAT, weak=True)
RNG = Type((), np.dtype(object), kind="rng")


def check_dtype(dtype: np.dtype, what: str = "the result") -> np.dtype:
    """Return `dtype` in native byte order, or raise DTypeError if the language has no such type."""
    dtype = np.dtype(dtype)
    if not dtype.isnative:
        dtype = dtype.newbyteorder("=")
    if dtype in SUPPORTED:
        return dtype
    if dtype == np.float16:
        hint = "convert the operand first, e.g. x.astype(np.float32)"
    elif dtype.kind == "c":
        hint = "keep real and imaginary parts in two arrays"
    else:
        hint = "use bool, an integer type, float32 or float64"
    raise DTypeError(f"{what} would have dtype {dtype}, which is not supported", hint=hint)


def type_of(node: Expr) -> Types:
    """Return the Type of `node`, a tuple of Types if it has several results."""
    known = node.cache.get("type")
    if known is None:
        stack = [node]
        while stack:
            part = stack[-1]
            missing = [child for child in part.inputs if "type" not in child.cache]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if "type" not in part.cache:
                part.cache["type"] = _infer(part)
        known = node.cache["type"]
    return cast(Types, known)


def typed(node: Expr) -> Type:
    """Return the Type of a node with one result."""
    found = type_of(node)
    if isinstance(found, tuple):
        raise ProgramError(f"{node.op} has {len(found)} results where one value is needed")
    return found


def _infer(node: Expr) -> Types:
    rule = RULES.get(node.op)
    if rule is None:
        raise ProgramError(f"unknown operation {node.op!r}")
    return rule(node)


# ---------------------------------------------------------------------------------- shapes


def join_dim(a: Dim, b: Dim) -> Dim | None:
    """Return the broadcast of two sizes, None if they cannot fit.

    A symbolic size against a number is the number's (the run checks it); two different symbolic
    sizes give a new one.
    """
    if a == b:
        return a
    if not isinstance(a, Sym) and a == 1:
        return b
    if not isinstance(b, Sym) and b == 1:
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


def _settle(a: Dim, b: Dim) -> Dim:
    return b if isinstance(a, Sym) else a


def limit2d(shape: Shape) -> Shape:
    """Return `shape`; ShapeError if it has more than two axes."""
    if len(shape) > 2:
        raise ShapeError(
            f"the result would have {len(shape)} dimensions {show_shape(shape)}; at most two are "
            "supported",
            hint="loop over the leading axis, or reshape to two dimensions",
        )
    return shape


# ---------------------------------------------------------------------------- elementwise


def _stand_in(node: Expr, type_: Type) -> tuple[Any, ...]:
    if not type_.weak:
        return ("a", type_.dtype)
    if node.op == "const":
        return ("c", type(node.attr("value")).__name__, node.attr("value"))
    return ("w", type_.dtype.kind)


@lru_cache(maxsize=65536, typed=True)
def _ufunc_dtype(name: str, operands: tuple[tuple[Any, ...], ...]) -> np.dtype:
    values: list[Any] = []
    for operand in operands:
        if operand[0] == "a":
            values.append(np.empty(0, operand[1]))
        elif operand[0] == "c":
            values.append(operand[2])
        else:
            values.append(_WEAK[operand[1]])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "clip":
            clipped: np.dtype = np.clip(*values).dtype
            return clipped
        made: np.dtype = np.asarray(getattr(np, name)(*values)).dtype
        return made


def _elementwise(name: str, nodes: tuple[Expr, ...]) -> Type:
    types = [typed(n) for n in nodes]
    for type_ in types:
        if type_.kind != "array":
            raise DTypeError(f"{name} of a random generator", hint="draw an array from it first")
    try:
        dtype = _ufunc_dtype(
            name, tuple(_stand_in(n, t) for n, t in zip(nodes, types, strict=True))
        )
    except OverflowError as error:
        raise DTypeError(str(error), hint="convert the array with astype to a wider type") from None
    except TypeError as error:
        raise DTypeError(
            f"{name} is not defined for {', '.join(str(t.dtype) for t in types)}: {error}",
            hint="convert the operand first, e.g. x.astype(int) or x.astype(float)",
        ) from None
    shape = broadcast(*(t.shape for t in types))
    return Type(limit2d(shape), check_dtype(dtype, f"{name}"))


def _ufunc(node: Expr) -> Type:
    return _elementwise(node.op, node.inputs)


def _where(node: Expr) -> Type:
    _, a, b = node.inputs
    shape = broadcast(*(typed(n).shape for n in node.inputs))
    dtype = _where_dtype(_stand_in(a, typed(a)), _stand_in(b, typed(b)))
    return Type(limit2d(shape), check_dtype(dtype, "where"))


@lru_cache(maxsize=4096, typed=True)
def _where_dtype(a: tuple[Any, ...], b: tuple[Any, ...]) -> np.dtype:
    values: list[Any] = [
        np.empty(0, s[1]) if s[0] == "a" else (s[2] if s[0] == "c" else _WEAK[s[1]]) for s in (a, b)
    ]
    try:
        x, y = values
        made: np.dtype = np.where(np.empty(0, bool), x, y).dtype
        return made
    except OverflowError as error:
        raise DTypeError(str(error), hint="convert the array with astype to a wider type") from None


def _round(node: Expr) -> Type:
    x = typed(node.inputs[0])
    return Type(
        x.shape, np.dtype(np.float64) if x.weak and x.dtype.kind == "f" else _round_dtype(x)
    )


def _round_dtype(x: Type) -> np.dtype:
    with np.errstate(all="ignore"):
        return check_dtype(np.round(np.empty(0, x.dtype)).dtype, "round")


# ----------------------------------------------------------------------------- reductions


def axes_of(axis: object, ndim: int) -> tuple[int, ...]:
    """Return the axes that an `axis` argument names."""
    if axis is None:
        return tuple(range(ndim))
    return axis if isinstance(axis, tuple) else (cast(int, axis),)


def _reduced(shape: Shape, axis: object, keepdims: bool) -> Shape:
    gone = axes_of(axis, len(shape))
    if keepdims:
        return tuple(1 if i in gone else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in gone)


@lru_cache(maxsize=4096)
def _reduction_dtype(op: str, dtype: np.dtype, asked: str | None) -> np.dtype:
    sample = np.ones(1, dtype)
    if op in ("argmin", "argmax", "any", "all", "count_nonzero"):
        return np.dtype(np.asarray(getattr(np, op)(sample)).dtype)
    if op in ("min", "max"):
        return dtype
    made: np.dtype = getattr(np, op)(sample, dtype=asked).dtype
    return made


def _reduction(node: Expr) -> Type:
    x = typed(node.inputs[0])
    axis = node.attr("axis")
    gone = axes_of(axis, x.ndim)
    if node.op in ("min", "max", "argmin", "argmax") and any(x.shape[a] == 0 for a in gone):
        raise ShapeError(
            f"{node.op} over an empty axis of shape {show_shape(x.shape)} has no value",
            hint="test the size first; NumPy raises here too",
        )
    try:
        dtype = _reduction_dtype(node.op, x.dtype, cast("str | None", node.attr("dtype")))
    except TypeError as error:
        raise DTypeError(
            f"{node.op} of {x.dtype}: {error}", hint="convert the operand with astype first"
        ) from None
    shape = _reduced(x.shape, axis, bool(node.attr("keepdims")))
    return Type(shape, check_dtype(dtype, node.op))


def _cumulative(node: Expr) -> Type:
    x = typed(node.inputs[0])
    name = "cumsum" if node.op == "cumsum" else "cumprod"
    dtype = getattr(np, name)(np.ones(1, x.dtype), dtype=node.attr("dtype")).dtype
    size: Dim = math.prod(upper(d) for d in x.shape) if x.static else Sym((node,), x.size)
    shape = (size,) if node.attr("axis") is None else x.shape
    return Type(shape, check_dtype(dtype, node.op))


def _diff(node: Expr) -> Type:
    x = typed(node.inputs[0])
    n, axis = cast(int, node.attr("n")), cast(int, node.attr("axis"))
    size = x.shape[axis]
    shrunk: Dim
    if isinstance(size, Sym):
        shrunk = Sym(("diff", size.source, n), size.bound, f"{size.name}-{n}")
    else:
        shrunk = max(size - n, 0)
    shape = tuple(shrunk if i == axis else d for i, d in enumerate(x.shape))
    return Type(shape, x.dtype)


def _sort(node: Expr) -> Type:
    x = typed(node.inputs[0])
    shape = x.shape
    if node.attr("axis") is None:
        shape = (x.size,) if x.static else (Sym((node,), x.size),)
    return Type(shape, INT if node.op == "argsort" else x.dtype)


def _bincount(node: Expr) -> Type:
    x = typed(node.inputs[0])
    if x.ndim != 1 or x.dtype.kind not in "bui":
        raise DTypeError(
            f"bincount needs a 1-D integer array, not {x}", hint="use x.ravel().astype(int)"
        )
    if len(node.inputs) == 2 and not same_dim(x.shape[0], typed(node.inputs[1]).shape[0]):
        raise ShapeError(
            "bincount: x and weights must have the same length", hint="give one weight per entry"
        )
    dim = Sym(("bincount", node), None, "bins")
    return Type((dim,), FLOAT if len(node.inputs) == 2 else INT)


def _unique(node: Expr) -> Types:
    x = typed(node.inputs[0])
    kept = Sym(("unique", node.inputs[0]), x.size, "unique")
    results = [Type((kept,), x.dtype)]
    if node.attr("return_index"):
        results.append(Type((kept,), INT))
    if node.attr("return_inverse"):
        results.append(Type(x.shape, INT))
    if node.attr("return_counts"):
        results.append(Type((kept,), INT))
    return results[0] if len(results) == 1 else tuple(results)


# ------------------------------------------------------------------------------- products


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
    dtype = _ufunc_dtype("add", (("a", a.dtype), ("a", b.dtype)))
    return Type(shape, check_dtype(dtype, "matmul"))


def _outer(node: Expr) -> Type:
    a, b = (typed(n) for n in node.inputs)
    dtype = _ufunc_dtype("multiply", (("a", a.dtype), ("a", b.dtype)))
    return Type((a.shape[0], b.shape[0]), check_dtype(dtype, "outer"))


def _need2d(x: Type, name: str) -> None:
    if x.ndim != 2:
        raise ShapeError(
            f"{name} needs a matrix, not shape {show_shape(x.shape)}",
            hint="make it two-dimensional, e.g. with x[:, None] or reshape",
        )


def _trace(node: Expr) -> Type:
    x = typed(node.inputs[0])
    _need2d(x, "trace")
    return Type((), _reduction_dtype("sum", x.dtype, None))


def _diag(node: Expr) -> Type:
    x = typed(node.inputs[0])
    k = cast(int, node.attr("k"))
    if x.ndim == 1:
        n = x.shape[0]
        if isinstance(n, Sym):
            return Type((n, n), x.dtype)
        return Type((n + abs(k), n + abs(k)), x.dtype)
    _need2d(x, "diag")
    rows, cols = x.shape
    if isinstance(rows, Sym) or isinstance(cols, Sym):
        return Type((Sym(("diag", node), min(upper(rows), upper(cols)), "diag"),), x.dtype)
    length = min(rows + min(k, 0), cols - max(k, 0))
    return Type((max(length, 0),), x.dtype)


def _triangle(node: Expr) -> Type:
    x = typed(node.inputs[0])
    _need2d(x, node.op)
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


# -------------------------------------------------------------------- creation and shapes


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


# -------------------------------------------------------------------------- linear algebra


@lru_cache(maxsize=256)
def _inexact(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float32) if dtype == np.float32 else FLOAT


def _factor_type(*types: Type) -> np.dtype:
    kinds = {_inexact(t.dtype) for t in types}
    return FLOAT if FLOAT in kinds else np.dtype(np.float32)


def _square(x: Type, name: str) -> Dim:
    _need2d(x, name)
    if not same_dim(x.shape[0], x.shape[1]):
        raise ShapeError(
            f"{name} needs a square matrix, not shape {show_shape(x.shape)}",
            hint="use np.linalg.lstsq for a rectangular system",
        )
    return _settle(x.shape[0], x.shape[1])


def _solve(node: Expr) -> Type:
    a, b = (typed(n) for n in node.inputs)
    n = _square(a, "solve")
    if not b.shape or not same_dim(n, b.shape[0]):
        raise ShapeError(
            f"solve: {show_shape(a.shape)} and right side {show_shape(b.shape)} do not fit",
            hint=f"the right side needs {n} rows",
        )
    return Type(b.shape, _factor_type(a, b))


def _square_out(node: Expr) -> Type:
    x = typed(node.inputs[0])
    _square(x, node.op)
    return Type(x.shape, _factor_type(x))


def _pinv(node: Expr) -> Type:
    x = typed(node.inputs[0])
    _need2d(x, "pinv")
    return Type((x.shape[1], x.shape[0]), _factor_type(x))


def _det(node: Expr) -> Type:
    x = typed(node.inputs[0])
    _square(x, "det")
    return Type((), _factor_type(x))


def _slogdet(node: Expr) -> Types:
    return (_det(node), _det(node))


def _min_dim(a: Dim, b: Dim, tag: object) -> Dim:
    if isinstance(a, Sym) or isinstance(b, Sym):
        return Sym(("min", tag), min(upper(a), upper(b)), "rank")
    return min(a, b)


def _lstsq(node: Expr) -> Types:
    a, b = (typed(n) for n in node.inputs)
    _need2d(a, "lstsq")
    if not b.shape or not same_dim(a.shape[0], b.shape[0]):
        raise ShapeError(
            f"lstsq: {show_shape(a.shape)} and right side {show_shape(b.shape)} do not fit",
            hint=f"the right side needs {a.shape[0]} rows",
        )
    dtype = _factor_type(a, b)
    rows, cols = a.shape
    sides: Dim = 1 if b.ndim == 1 else b.shape[1]
    # Residuals are empty when the rank is short or the system is not overdetermined.
    residuals = Sym(("residuals", node), upper(sides), "residuals")
    singular = _min_dim(rows, cols, node)
    return (
        Type((cols, *b.shape[1:]), dtype),
        Type((residuals,), dtype),
        Type((), np.dtype(np.int32)),
        Type((singular,), dtype),
    )


def _qr(node: Expr) -> Types:
    x = typed(node.inputs[0])
    _need2d(x, "qr")
    m, n = x.shape
    k = _min_dim(m, n, node)
    dtype = _factor_type(x)
    mode = node.attr("mode")
    if mode == "r":
        return Type((k, n), dtype)
    if mode == "complete":
        return (Type((m, m), dtype), Type((m, n), dtype))
    return (Type((m, k), dtype), Type((k, n), dtype))


def _svd(node: Expr) -> Types:
    x = typed(node.inputs[0])
    _need2d(x, "svd")
    m, n = x.shape
    k = _min_dim(m, n, node)
    dtype = _factor_type(x)
    if not node.attr("compute_uv"):
        return Type((k,), dtype)
    if node.attr("full_matrices"):
        return (Type((m, m), dtype), Type((k,), dtype), Type((n, n), dtype))
    return (Type((m, k), dtype), Type((k,), dtype), Type((k, n), dtype))


def _eigh(node: Expr) -> Types:
    x = typed(node.inputs[0])
    n = _square(x, node.op)
    dtype = _factor_type(x)
    if node.op == "eigvalsh":
        return Type((n,), dtype)
    return (Type((n,), dtype), Type((n, n), dtype))


def _norm(node: Expr) -> Type:
    x = typed(node.inputs[0])
    dtype = np.dtype(np.float32) if x.dtype == np.float32 else FLOAT
    axis = node.attr("axis")
    order = node.attr("ord")
    if axis is None and order is not None and x.ndim > 2:
        raise ShapeError("norm with ord needs one or two dimensions")
    if order == 0 and x.ndim == 1 and x.dtype.kind in "fiu":
        dtype = FLOAT if x.dtype != np.float32 else np.dtype(np.float32)
    return Type(_reduced(x.shape, axis, bool(node.attr("keepdims"))), dtype)


# --------------------------------------------------------------- scalars, control, random


def _py(node: Expr) -> Type:
    kinds = [typed(n).dtype.kind for n in node.inputs]
    name = node.op.removeprefix("py.")
    if name in ("lt", "le", "gt", "ge", "eq", "ne", "not"):
        return PY_BOOL
    if name == "truediv" or "f" in kinds:
        return PY_FLOAT
    if name in ("min", "max") and set(kinds) == {"b"}:
        return PY_BOOL
    if name == "pow":
        exponent = node.inputs[1]
        value = exponent.attr("value") if exponent.op == "const" else None
        return PY_FLOAT if isinstance(value, int) and value < 0 else PY_INT
    return PY_INT


def _strong(node: Expr) -> Type:
    return Type((), np.dtype(cast(str, node.attr("dtype"))))


def _to_scalar(node: Expr) -> Type:
    x = typed(node.inputs[0])
    if x.static and x.size != 1:
        raise ShapeError(
            f"a scalar is needed, not an array of shape {show_shape(x.shape)}",
            hint="reduce it first, e.g. with x.any(), x.all(), x.sum() or an index",
        )
    return {"to_bool": PY_BOOL, "to_int": PY_INT, "to_float": PY_FLOAT}[node.op]


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


def _if(node: Expr) -> Types:
    n = cast(int, node.attr("n"))
    joined: list[Type] = []
    for a, b in zip(node.inputs[1 : 1 + n], node.inputs[1 + n :], strict=True):
        type_ = join_types(typed(a), typed(b))
        if type_ is None:
            raise ShapeError(
                f"a value is {typed(a)} on one path and {typed(b)} on the other",
                hint="give it the same shape and dtype on both paths",
            )
        joined.append(type_)
    return tuple(joined)


def _loop(node: Expr) -> Types:
    n = cast(int, node.attr("n"))
    return tuple(typed(p) for p in node.inputs[n : 2 * n])


def _item(node: Expr) -> Type:
    found = type_of(node.inputs[0])
    k = cast(int, node.attr("k"))
    if not isinstance(found, tuple):
        raise ProgramError("item of an operation with one result")
    return found[k]


def _draw(node: Expr) -> Types:
    shape = cast(Shape, node.attr("shape"))
    dtype = np.dtype(cast(str, node.attr("result")))
    if node.attr("size") is None and dtype.kind == "f":
        return (PY_FLOAT, RNG)  # a single draw is a Python float
    return (Type(limit2d(shape), dtype), RNG)


RULES: dict[str, Callable[[Expr], Types]] = {
    **{name: _ufunc for name in (*BINARY, *UNARY, "clip")},
    **{name: _reduction for name in REDUCTIONS},
    **{
        f"py.{name}": _py
        for name in (
            "add sub mul truediv floordiv mod pow neg pos abs lt le gt ge eq ne not min max".split()
        )
    },
    "where": _where,
    "round": _round,
    "cumsum": _cumulative,
    "cumprod": _cumulative,
    "diff": _diff,
    "sort": _sort,
    "argsort": _sort,
    "bincount": _bincount,
    "unique": _unique,
    "matmul": _matmul,
    "outer": _outer,
    "trace": _trace,
    "diag": _diag,
    "tril": _triangle,
    "triu": _triangle,
    "einsum": _einsum,
    "const": _const,
    "literal": _created,
    "full_like": lambda node: Type(
        typed(node.inputs[1]).shape, np.dtype(cast(str, node.attr("dtype")))
    ),
    "dim": lambda node: PY_INT,
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
    "solve": _solve,
    "inv": _square_out,
    "cholesky": _square_out,
    "pinv": _pinv,
    "det": _det,
    "slogdet": _slogdet,
    "lstsq": _lstsq,
    "qr": _qr,
    "svd": _svd,
    "eigh": _eigh,
    "eigvalsh": _eigh,
    "norm": _norm,
    "strong": _strong,
    "to_bool": _to_scalar,
    "to_int": _to_scalar,
    "to_float": _to_scalar,
    "range_len": lambda node: PY_INT,
    "assert_": lambda node: PY_BOOL,
    "if": _if,
    "loop": _loop,
    "item": _item,
    "rng_new": lambda node: RNG,
    "draw": _draw,
}
