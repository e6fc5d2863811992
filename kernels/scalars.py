"""Kernels on Python scalars, and the bridges between them and NumPy values."""

from __future__ import annotations

from typing import Any

import numpy as np


def _scalar(x: Any) -> Any:
    # NumPy itself refuses float() of a (1, 1) array from 2.4 on; the language accepts one element.
    return x.item() if isinstance(x, np.ndarray) and x.size == 1 else x


def to_float(x: Any) -> float:
    """Return Python's `float(x)`; `x` is a scalar or an array of one element (else TypeError)."""
    return float(_scalar(x))


def to_int(x: Any) -> int:
    """Return Python's `int(x)`; `x` is a scalar or an array of one element (else TypeError)."""
    return int(_scalar(x))


def to_bool(x: Any) -> bool:
    """Return Python's `bool(x)`; `x` is a scalar or an array of one element (else ValueError)."""
    return bool(x)


def strong(x: Any, dtype: Any) -> Any:
    """Turn a Python scalar into a NumPy scalar of `dtype`, which then takes part in promotion."""
    return np.dtype(dtype).type(x)


def assert_(condition: Any, *token: Any, message: str | None = None) -> bool:
    """Return True, or raise AssertionError(`message`); `token` only orders it after other steps."""
    if not condition:
        raise AssertionError(message) if message else AssertionError()
    return True


def const(value: Any = None) -> Any:
    """Return `value` itself."""
    return value


def undef(type: Any = None) -> Any:
    """Return a stand-in for a value that is never used: zeros of `type`, taking no memory.

    `type` has `shape`, `dtype` and perhaps `weak`; with a shape not yet known the stand-in is None.
    """
    shape = getattr(type, "shape", None)
    if shape is None or not all(isinstance(dim, int) for dim in shape):
        return None
    zero = type.dtype.type(0)
    if not shape:
        return zero.item() if getattr(type, "weak", False) else zero
    return np.broadcast_to(zero, shape)
