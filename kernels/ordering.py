"""Dense kernels that depend on order: sorting, running sums, differences, counting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running sum along `axis`; over the flattened array where it is None."""
    return np.cumsum(x, axis=axis, dtype=dtype)


def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running product along `axis`; over the flattened array where it is None."""
    return np.cumprod(x, axis=axis, dtype=dtype)


def diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    """`n`-th difference along `axis`."""
    return np.diff(x, n=n, axis=axis)


def sort(x: Any, axis: int | None = -1, kind: Any = None) -> Any:
    """Sorted copy along `axis`, NaN last."""
    return np.sort(x, axis=axis, kind=kind)


def argsort(x: Any, axis: int | None = -1, kind: Any = None) -> Any:
    """Positions that sort `x` along `axis`."""
    return np.argsort(x, axis=axis, kind=kind)


def bincount(x: Any, *weights: Any, minlength: int = 0) -> Any:
    """Count (or add the weights of) each non-negative integer in `x` [n]."""
    return np.bincount(x, weights[0] if weights else None, minlength)


def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    """Sorted distinct elements; with flags the tuple (values, index, inverse, counts)."""
    unique: Any = np.unique  # its overloads want the flags as literals
    return unique(
        x,
        return_index=return_index,
        return_inverse=return_inverse,
        return_counts=return_counts,
    )


KERNELS: dict[str, Callable[..., Any]] = {
    "cumsum": cumsum,
    "cumprod": cumprod,
    "diff": diff,
    "sort": sort,
    "argsort": argsort,
    "bincount": bincount,
    "unique": unique,
}
