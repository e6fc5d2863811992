"""Elementwise kernels: the bare NumPy ufuncs by name, and the few that are not ufuncs.

Dense operands only; what a sparse operand means is `sparse_elementwise`'s business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

BINARY: tuple[str, ...] = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "power",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "logaddexp",
    "arctan2",
    "hypot",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "equal",
    "not_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "copysign",
)
"""Ufuncs of two operands."""

UNARY: tuple[str, ...] = (
    "negative",
    "positive",
    "absolute",
    "fabs",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "cbrt",
    "square",
    "reciprocal",
    "sign",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "isnan",
    "isinf",
    "isfinite",
    "logical_not",
    "invert",
    "signbit",
)
"""Ufuncs of one operand."""

UFUNCS: dict[str, np.ufunc] = {name: getattr(np, name) for name in BINARY + UNARY}
"""Operation name to the ufunc itself: calling it costs nothing over NumPy."""


def clip(x: Any, *bounds: Any, has_lo: bool = True, has_hi: bool = True) -> Any:
    """Limit `x` to `bounds`; the bound whose flag is False is left out of `bounds`."""
    rest = iter(bounds)
    lo = next(rest) if has_lo else None
    hi = next(rest) if has_hi else None
    return np.clip(x, lo, hi)


def bind_clip(attrs: dict[str, Any]) -> Callable[..., Any]:
    """Return `clip` with its flags decided."""
    has_lo, has_hi = attrs.get("has_lo", True), attrs.get("has_hi", True)
    if has_lo and has_hi:
        return np.clip
    if has_lo:
        return lambda x, lo: np.clip(x, lo, None)
    if has_hi:
        return lambda x, hi: np.clip(x, None, hi)
    return lambda x: np.clip(x, None, None)


def round_(x: Any, decimals: int = 0) -> Any:
    """Round to `decimals`, halves to even."""
    return np.round(x, decimals)
