"""Kernels that make arrays from static descriptions, and casts and copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def full_like(value: Any, model: Any, dtype: Any = None) -> Any:
    """Return an array of `model`'s shape filled with `value`."""
    return np.full(model.shape, value, dtype=dtype)


def literal(values: tuple[Any, ...], dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return the array of the flat `values` in the given shape."""
    return np.array(values, dtype=dtype).reshape(shape)


def full(value: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
    """Array of `shape` with `value` everywhere."""
    return np.full(shape, value, dtype=dtype)


def eye(n: int, m: int | None = None, k: int = 0, dtype: Any = float) -> Any:
    """Ones on diagonal `k` of an [n, m] matrix of zeros."""
    return np.eye(n, m, k, dtype=dtype)


def arange(start: Any, stop: Any, step: Any = 1, dtype: Any = None) -> Any:
    """Values from `start` below `stop` by `step`."""
    return np.arange(start, stop, step, dtype=dtype)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None) -> Any:
    """`num` evenly spaced values from `start` to `stop`."""
    return np.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)


def cast(x: Any, dtype: Any) -> Any:
    """Copy of `x` with elements converted to `dtype`; a scalar stays a (NumPy) scalar."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.astype(dtype)
    return np.asarray(x).astype(dtype)[()]


def copy(x: Any) -> Any:
    """Copy that shares no storage; scalars are immutable and come back as they are."""
    return x.copy() if isinstance(x, np.ndarray) else x


def todense(x: Any) -> Any:
    """Return `x` as an ndarray; itself if it is one already."""
    return x.toarray() if hasattr(x, "toarray") else x


KERNELS: dict[str, Callable[..., Any]] = {
    "full": full,
    "full_like": full_like,
    "literal": literal,
    "eye": eye,
    "arange": arange,
    "linspace": linspace,
    "cast": cast,
    "copy": copy,
    "todense": todense,
}
