"""Dense products and the kernels about a matrix's diagonal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def outer(a: Any, b: Any) -> Any:
    """Product of every pair: a [m], b [n] -> [m, n]."""
    return np.outer(a, b)


def trace(x: Any, offset: int = 0) -> Any:
    """Sum of the diagonal `offset` of x [m, n]."""
    return np.trace(x, offset=offset)


def diag(x: Any, k: int = 0) -> Any:
    """Diagonal `k` of x [m, n], or the matrix that has x [n] on its diagonal `k`."""
    return np.diag(x, k)


def tril(x: Any, k: int = 0) -> Any:
    """Lower triangle of x [m, n], up to diagonal `k`."""
    return np.tril(x, k)


def triu(x: Any, k: int = 0) -> Any:
    """Upper triangle of x [m, n], from diagonal `k`."""
    return np.triu(x, k)


def einsum(*xs: Any, subscripts: str) -> Any:
    """Einstein summation of `xs` in the order given."""
    return np.einsum(subscripts, *xs)


KERNELS: dict[str, Callable[..., Any]] = {
    "matmul": np.matmul,
    "outer": outer,
    "trace": trace,
    "diag": diag,
    "tril": tril,
    "triu": triu,
    "einsum": einsum,
}
