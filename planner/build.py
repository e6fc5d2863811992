"""Builds nodes from operands: lifting of Python values, operators, indexing.

Both front ends (source of a function, lazy arrays) come through here, so an operator means one
thing.  An operand is an Expr or a Python or NumPy scalar.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from lineal.errors import DTypeError, ProgramError, ShapeError, StaticValueError, UnsupportedError
from lineal.kernels.arithmetic import PYTHON
from lineal.planner.expr import Expr, make
from lineal.planner.infer import check_dtype, show_shape, type_of, typed
from lineal.planner.types import Dim, Shape, Sym, Type

Operand = Any
"""An Expr, or a Python or NumPy scalar."""


class Context:
    """What a builder may ask its front end.

    `static` turns a value that must be known at plan time into a Python value, or raises
    StaticValueError; `warn` reports a finding at the place that is being built.
    """

    def static(self, value: object, what: str) -> Any:
        """Return `value`, which must be known when the plan is made; `what` names it in errors."""
        if isinstance(value, Expr):
            if value.op == "const":
                return value.attr("value")
            raise StaticValueError(
                f"{what} must be known when the plan is made, and here it depends on data",
                hint="compute it from shapes, constants or integer arguments",
            )
        return value

    def try_static(self, expr: Expr) -> tuple[Any] | None:
        """Return (value,) if scalar arguments decide `expr`; the plan then relies on it."""
        return (expr.attr("value"),) if expr.op == "const" else None

    def warn(self, message: str) -> None:
        """Report `message` at the current place; ignored by default."""


def is_scalar_value(value: object) -> bool:
    """Tell whether `value` is a Python or NumPy number or bool."""
    return isinstance(value, (bool, int, float, np.generic)) and not isinstance(value, np.str_)


def lift(value: Operand) -> Expr:
    """Return `value` as a node; Python scalars stay weak (NEP 50)."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, np.generic):
        check_dtype(value.dtype, "the constant")
        return make("const", value=value)
    if isinstance(value, (bool, int, float)):
        return make("const", value=value)
    if isinstance(value, complex):
        raise DTypeError(
            "complex numbers are not supported",
            hint="keep real and imaginary parts in two arrays",
        )
    raise UnsupportedError(
        f"a value of type {type(value).__name__} cannot be used in a computation",
        hint="use arrays, numbers and bools",
    )


def apply(op: str, *operands: Operand, **attrs: Hashable) -> Expr:
    """Return the node for `op`, its shape and dtype checked."""
    node = make(op, [lift(x) for x in operands], **attrs)
    type_of(node)
    return node


def results(node: Expr) -> tuple[Expr, ...]:
    """Return the results of a node that has several, as `item` nodes."""
    types = type_of(node)
    if not isinstance(types, tuple):
        return (node,)
    return tuple(apply("item", node, k=k) for k in range(len(types)))


def is_weak(value: Operand) -> bool:
    """Tell whether `value` is a Python scalar, known or not."""
    if isinstance(value, Expr):
        return typed(value).weak
    return isinstance(value, (bool, int, float)) and not isinstance(value, np.generic)


def array(value: Operand) -> Expr:
    """Return `value` as a NumPy value: Python scalars get NumPy's default dtype."""
    node = lift(value)
    type_ = typed(node)
    if type_.kind != "array":
        raise DTypeError("a random generator is not an array")
    return apply("strong", node, dtype=type_.dtype.name) if type_.weak else node


# -------------------------------------------------------------------------------- operators

_UFUNC = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}


def _python(operation: Callable[..., Any], *values: object) -> Any:
    """Do Python arithmetic on values known at plan time; its failure is the program's."""
    try:
        return operation(*values)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ProgramError(
            f"{type(error).__name__}: {error}", hint="NumPy raises here too; change the values"
        ) from error


def binary(ctx: Context, name: str, a: Operand, b: Operand) -> Operand:
    """Return `a name b` as Python's operator gives it ("matmul" included)."""
    if name == "matmul":
        return apply("matmul", a, b)
    for value in (a, b):
        if not isinstance(value, Expr) and not is_scalar_value(value):
            lift(value)  # raises with the reason
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        bitwise = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
        return _python(bitwise.get(name) or PYTHON[f"py.{name}"], a, b)
    if is_weak(a) and is_weak(b):
        if name in ("and", "or", "xor") and all(typed(lift(v)).dtype.kind == "b" for v in (a, b)):
            one, two = lift(a), lift(b)
            if name == "xor":
                return apply("py.ne", one, two)
            known = make("const", value=name == "or")
            sides = ([two], [known]) if name == "and" else ([known], [two])
            return choose(one, *sides)[0]
        if f"py.{name}" not in PYTHON:
            raise UnsupportedError(
                f"bitwise {name} of two Python scalars",
                hint="use `and`, `or`, `not`, or NumPy arrays",
            )
        if name == "pow" and typed(lift(b)).dtype.kind == "i" and typed(lift(a)).dtype.kind != "f":
            b = ctx.static(b, "an integer exponent")
        return apply(f"py.{name}", a, b)
    if name == "pow":
        return _power(a, b)
    node = apply(_UFUNC[name], a, b)
    _warn_outer(ctx, name, a, b, node)
    return node


def _power(base: Operand, exponent: Operand) -> Expr:
    """X ** 2 -> square(x), x ** 0.5 -> sqrt(x), x ** -1 -> 1/x, as NumPy's own operator does."""
    if isinstance(base, Expr) and not isinstance(exponent, (Expr, np.generic)):
        type_ = typed(base)
        if type_.ndim and type_.dtype.kind == "f":
            fast = {2: "square", 0.5: "sqrt", -1: "reciprocal"}.get(exponent)
            if fast is not None and not isinstance(exponent, bool):
                return apply(fast, base)
        if type_.ndim and type_.dtype.kind in "iub" and type(exponent) is int:
            if exponent == 2:
                return apply("square", base)
            if exponent < 0 and type_.dtype.kind != "b" and type_.static and type_.size:
                raise DTypeError(
                    "an integer array cannot be raised to a negative integer power",
                    hint="convert it first, e.g. x.astype(float) ** -1",
                )
    return apply("power", base, exponent)


def _warn_outer(ctx: Context, name: str, a: Operand, b: Operand, node: Expr) -> None:
    """Warn where (n,) meets (n, 1): the result is (n, n), which is rarely meant (pains-A10)."""
    if name not in ("sub", "add") or not isinstance(a, Expr) or not isinstance(b, Expr):
        return
    one, two = typed(a), typed(b)
    if two.ndim == 1:
        one, two = two, one
    n = one.shape[0] if one.ndim == 1 else 0
    if one.ndim == 1 and two.ndim == 2 and two.shape == (n, 1) and n != 1:
        ctx.warn(
            f"operands of shape {show_shape(typed(a).shape)} and {show_shape(typed(b).shape)} "
            f"broadcast to {show_shape(typed(node).shape)}; if one value per row is meant, "
            "make both 1-D or both columns"
        )


def unary(ctx: Context, name: str, x: Operand) -> Operand:
    """Return -x, +x, ~x or abs(x) as Python's operator gives it."""
    if not isinstance(x, Expr):
        return _python(operator.invert if name == "invert" else PYTHON[f"py.{name}"], x)
    if is_weak(x):
        if name == "invert":
            raise UnsupportedError("~ of a Python scalar", hint="use `not`")
        return apply(f"py.{name}", x)
    ufunc = {"neg": "negative", "pos": "positive", "invert": "invert", "abs": "absolute"}[name]
    return apply(ufunc, x)


def truth(x: Operand) -> Operand:
    """Return bool(x): a Python bool where it is known, else a node of type bool."""
    if not isinstance(x, Expr):
        return bool(x)
    type_ = typed(x)
    if type_.weak and type_.dtype.kind == "b":
        return x
    if type_.static and type_.size != 1:
        raise ShapeError(
            f"the truth value of an array of shape {show_shape(type_.shape)} is ambiguous",
            hint="use x.any() or x.all()",
        )
    return apply("to_bool", x)


def choose_scalar(ctx: Context, condition: Expr, then: Expr, other: Expr) -> Expr:
    """Return `then if condition else other` for values whose types may differ.

    Where they do (a Python and a NumPy scalar, say) and scalar arguments decide the condition,
    the plan is made for the side that is taken, whose type is then NumPy's.
    """
    if typed(then) != typed(other):
        found = ctx.try_static(condition)
        if found is not None:
            return then if found[0] else other
    return choose(condition, [then], [other])[0]


def choose(condition: Expr, then: list[Expr], other: list[Expr]) -> tuple[Expr, ...]:
    """Return the values that are `then` if `condition` holds, else `other`."""
    n = len(then)
    node = apply("if", condition, *then, *other, n=n)
    return tuple(
        a if a is b else apply("item", node, k=k)
        for k, (a, b) in enumerate(zip(then, other, strict=True))
    )


# --------------------------------------------------------------------------------- indexing

Spec = tuple[tuple[Any, ...], ...]


def _resolve_slice(ctx: Context, part: slice, dim: Dim) -> tuple[Any, ...]:
    bounds = [
        None if v is None else ctx.static(v, "a slice bound")
        for v in (part.start, part.stop, part.step)
    ]
    for bound in bounds:
        if bound is not None and not isinstance(bound, (int, np.integer)):
            raise DTypeError(
                f"slice bounds must be integers, not {bound!r}", hint="convert it with int(...)"
            )
    if bounds[2] == 0:
        raise ShapeError("slice step cannot be zero", hint="use a step of 1, 2, ... or -1")
    if isinstance(dim, Sym):
        # The run resolves the bounds; they stay as written.
        return ("slice", *(None if b is None else int(b) for b in bounds))
    start, stop, step = slice(*(None if b is None else int(b) for b in bounds)).indices(dim)
    if (start, stop, step) == (0, dim, 1):
        return ("slice", None, None, None)
    return ("slice", start, None if step < 0 and stop == -1 else stop, step)


def parse_index(ctx: Context, x: Type, index: object) -> tuple[Spec, list[Expr]]:
    """Return the static index template and the index values for `x[index]`."""
    parts = list(index) if isinstance(index, tuple) else [index]
    used = 0
    if sum(part is Ellipsis for part in parts) > 1:
        raise ShapeError("an index can have only one ellipsis (...)", hint="write : for each axis")
    for part in parts:
        if isinstance(part, Expr) and typed(part).dtype.kind == "b" and typed(part).ndim:
            used += typed(part).ndim
        elif part is not None and part is not Ellipsis:
            used += 1
    if used > x.ndim:
        raise ShapeError(
            f"too many indices: {used} for shape {show_shape(x.shape)}",
            hint="drop an index, or add an axis with None",
        )
    spec: list[tuple[Any, ...]] = []
    values: list[Expr] = []
    axis = 0
    for part in parts:
        if part is Ellipsis:
            for _ in range(x.ndim - used):
                spec.append(("slice", None, None, None))
                axis += 1
        elif part is None:
            spec.append(("new",))
        elif isinstance(part, slice):
            spec.append(_resolve_slice(ctx, part, x.shape[axis]))
            axis += 1
        elif isinstance(part, (bool, np.bool_)):
            raise UnsupportedError("an index that is a single bool", hint="use a slice or a mask")
        elif isinstance(part, (int, np.integer)):
            dim = x.shape[axis]
            if not isinstance(dim, Sym) and not -dim <= part < dim:
                raise _out_of_bounds(part, axis, dim)
            spec.append(("int", len(values)))
            values.append(lift(int(part)))
            axis += 1
        elif isinstance(part, Expr):
            type_ = typed(part)
            if type_.dtype.kind not in "iub":
                raise DTypeError(
                    f"an index must be integer or boolean, not {type_.dtype}",
                    hint="convert it with int(...) or .astype(int)",
                )
            if type_.dtype.kind == "b" and type_.ndim == 0:
                raise UnsupportedError("an index that is a single bool", hint="use `if`")
            spec.append(("array" if type_.ndim else "int", len(values)))
            values.append(part)
            axis += type_.ndim if type_.dtype.kind == "b" else 1
        elif isinstance(part, (list, tuple)):
            node = literal(ctx, part)
            _check_bounds(part, x.shape[axis], axis)
            spec.append(("array", len(values)))
            values.append(node)
            axis += typed(node).ndim if typed(node).dtype.kind == "b" else 1
        else:
            if isinstance(part, float):
                raise DTypeError(
                    f"an index must be an integer, not {part!r}", hint="convert it with int(...)"
                )
            raise UnsupportedError(
                f"an index of type {type(part).__name__}",
                hint="use integers, slices, None, integer arrays or boolean masks",
            )
    return tuple(spec), values


def _out_of_bounds(index: object, axis: int, dim: int) -> ShapeError:
    allowed = f"indices from {-dim} to {dim - 1} are there" if dim else "the axis is empty"
    return ShapeError(
        f"index {index} is out of bounds for axis {axis} with size {dim}", hint=allowed
    )


def _check_bounds(part: Iterable[object], dim: Dim, axis: int) -> None:
    for item in part:
        if isinstance(item, int) and not isinstance(item, bool) and not isinstance(dim, Sym):
            if not -dim <= item < dim:
                raise _out_of_bounds(item, axis, dim)


def getitem(ctx: Context, x: Expr, index: object) -> Expr:
    """Return the node for `x[index]`; `x` itself for a full slice."""
    type_ = typed(x)
    if type_.weak or type_.kind != "array":
        raise ShapeError("a scalar cannot be indexed", hint="use it as it is")
    spec, values = parse_index(ctx, type_, index)
    return apply("getitem", x, *values, spec=spec)


def setitem(ctx: Context, x: Expr, index: object, value: Operand) -> Expr:
    """Return `x` with `x[index] = value` done, as a new value of the same dtype."""
    type_ = typed(x)
    if type_.weak or type_.kind != "array" or not type_.ndim:
        raise ShapeError("only arrays can be assigned into", hint="allocate with np.zeros first")
    spec, values = parse_index(ctx, type_, index)
    return apply("setitem", x, value, *values, spec=spec)


def is_view(spec: Spec) -> bool:
    """Tell whether indexing by `spec` shares storage with the indexed array."""
    return not any(entry[0] == "array" for entry in spec)


def literal(ctx: Context, values: object, dtype: object = None) -> Expr:
    """Return the array that np.array(values, dtype) makes from nested lists of numbers."""
    rows = list(values) if isinstance(values, (list, tuple)) else None
    if rows is None:
        return array(values)
    flat: list[Operand] = []
    shape: list[int] = []
    level: list[object] = [rows]
    while isinstance(level[0] if level else None, (list, tuple)):
        widths = {len(r) if isinstance(r, (list, tuple)) else -1 for r in level}
        if len(widths) != 1 or -1 in widths:
            raise ShapeError(
                "np.array of rows of different lengths", hint="give all rows the same length"
            )
        shape.append(widths.pop())
        level = [item for r in level for item in r]  # type: ignore[attr-defined]
    flat = level
    if len(shape) > 2:
        raise ShapeError(f"np.array of {len(shape)} dimensions; at most two are supported")
    if not any(isinstance(v, Expr) for v in flat):
        for v in flat:
            lift(v)
        made = np.array(flat, dtype=dtype)  # type: ignore[call-overload]
        check_dtype(made.dtype, "np.array")
        return apply(
            "literal", values=tuple(made.tolist()), dtype=made.dtype.name, shape=tuple(shape)
        )
    parts = [array(v) for v in flat]
    if any(typed(p).ndim == 1 for p in parts) and len(shape) == 1:
        stacked = [apply("reshape", p, shape=(1, *typed(p).shape)) for p in parts]
        return apply("concatenate", *stacked, axis=0)
    if any(typed(p).ndim for p in parts):
        raise UnsupportedError(
            "np.array of arrays", hint="use np.concatenate, np.vstack or np.hstack"
        )
    asked: Any = dtype
    wide = np.result_type(*(typed(p).dtype for p in parts)) if dtype is None else np.dtype(asked)
    columns = [apply("reshape", apply("cast", p, dtype=wide.name), shape=(1,)) for p in parts]
    joined = apply("concatenate", *columns, axis=0) if len(columns) > 1 else columns[0]
    return apply("reshape", joined, shape=tuple(shape)) if len(shape) > 1 else joined


# ------------------------------------------------------------------------- static arguments


def static_shape(ctx: Context, shape: object) -> Shape:
    """Return a shape argument as a tuple of non-negative sizes."""
    parts = shape if isinstance(shape, (tuple, list)) else (shape,)
    dims: list[Dim] = []
    for part in parts:
        if isinstance(part, Sym):
            dims.append(part)
            continue
        if isinstance(part, Expr) and part.op == "dim":
            dims.append(typed(part.inputs[0]).shape[part.attr("axis")])  # type: ignore[call-overload]
            continue
        size = ctx.static(part, "a shape")
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)):
            raise DTypeError(
                f"a shape must consist of integers, not {size!r}", hint="convert it with int(...)"
            )
        if size < 0:
            raise ShapeError(f"negative size {size} in a shape", hint="sizes start at 0")
        dims.append(int(size))
    return tuple(dims)


def static_axis(ctx: Context, axis: object, ndim: int) -> int | tuple[int, ...] | None:
    """Return an axis argument with non-negative axes, checked against `ndim`."""
    if axis is None:
        return None
    if isinstance(axis, (tuple, list)):
        found = tuple(sorted(_one_axis(ctx, a, ndim) for a in axis))
        if len(set(found)) != len(found):
            raise ShapeError(f"duplicate axis in {tuple(axis)}", hint="name each axis once")
        return found
    return _one_axis(ctx, axis, ndim)


def _one_axis(ctx: Context, axis: object, ndim: int) -> int:
    value = ctx.static(axis, "an axis")
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise DTypeError(
            f"an axis must be an integer, not {value!r}", hint="use an int, a tuple of ints or None"
        )
    if not -ndim <= value < ndim:
        raise ShapeError(
            f"axis {value} is out of bounds for an array of {ndim} dimension(s)",
            hint=f"use an axis from {-ndim} to {ndim - 1}" if ndim else "a scalar has no axes",
        )
    return int(value) % ndim


def static_dtype(ctx: Context, dtype: object) -> str:
    """Return the name of a dtype argument; errors name what is supported."""
    try:
        found = np.dtype(ctx.static(dtype, "a dtype"))
    except TypeError as error:
        raise DTypeError(
            f"{dtype!r} is not a dtype: {error}",
            hint="use bool, an integer type, np.float32 or np.float64",
        ) from None
    return check_dtype(found, "the array").name


def static_bool(ctx: Context, value: object, what: str) -> bool:
    """Return a flag argument."""
    return bool(ctx.static(value, what))
