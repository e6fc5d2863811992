"""What every rule needs: groups of operations, scalar types, the types of a node's inputs."""

from __future__ import annotations

from typing import cast

import numpy as np

from lineal.errors import DTypeError, ProgramError
from lineal.planner.expr import Expr
from lineal.planner.types import Type

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
WEAK: dict[str, object] = {"b": True, "i": 1, "f": 1.0}

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


def types_of(node: Expr) -> Types:
    """Return what `type_of` has found for an input; rules see nodes whose inputs are typed."""
    return cast(Types, node.cache["type"])


def typed(node: Expr) -> Type:
    """Return the Type of a node with one result, once it has been inferred."""
    found = types_of(node)
    if isinstance(found, tuple):
        raise ProgramError(f"{node.op} has {len(found)} results where one value is needed")
    return found
