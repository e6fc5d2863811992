"""Dense linear algebra: norms, solvers, decompositions. Several results come as a plain tuple."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Vector or matrix norm as `np.linalg.norm`."""
    return np.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)


def solve(a: Any, b: Any) -> Any:
    """Solution x of a x = b; a [n, n], b [n] or [n, r]. LinAlgError when singular."""
    return np.linalg.solve(a, b)


def inv(a: Any) -> Any:
    """Inverse of a [n, n]. LinAlgError when singular."""
    return np.linalg.inv(a)


def pinv(a: Any, rcond: Any = None) -> Any:
    """Moore-Penrose inverse of a [m, n] -> [n, m]."""
    return np.linalg.pinv(a, rcond=rcond)


def det(a: Any) -> Any:
    """Determinant of a [n, n]."""
    return np.linalg.det(a)


def slogdet(a: Any) -> tuple[Any, Any]:
    """Sign and log of the absolute determinant of a [n, n]."""
    sign, logdet = np.linalg.slogdet(a)
    return sign, logdet


def cholesky(a: Any, upper: bool = False) -> Any:
    """Triangular factor of a [n, n], symmetric positive definite (else LinAlgError)."""
    return np.linalg.cholesky(a, upper=upper)


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, ...]:
    """Least squares: solution, residual sums, rank, singular values."""
    return tuple(np.linalg.lstsq(a, b, rcond=rcond))


def qr(a: Any, mode: Any = "reduced") -> Any:
    """Q and R of a [m, n]; mode "r" gives R alone."""
    result = np.linalg.qr(a, mode=mode)
    return result if isinstance(result, np.ndarray) else tuple(result)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """U, singular values and V'; without `compute_uv` the singular values alone."""
    if not compute_uv:
        return np.linalg.svd(a, full_matrices=full_matrices, compute_uv=False)
    u, s, vt = np.linalg.svd(a, full_matrices=full_matrices)
    return u, s, vt


def eigh(a: Any, uplo: Any = "L") -> tuple[Any, Any]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric [n, n]."""
    values, vectors = np.linalg.eigh(a, UPLO=uplo)
    return values, vectors


def eigvalsh(a: Any, uplo: Any = "L") -> Any:
    """Eigenvalues, ascending, of a symmetric [n, n]."""
    return np.linalg.eigvalsh(a, UPLO=uplo)


KERNELS: dict[str, Callable[..., Any]] = {
    "norm": norm,
    "solve": solve,
    "inv": inv,
    "pinv": pinv,
    "det": det,
    "slogdet": slogdet,
    "cholesky": cholesky,
    "lstsq": lstsq,
    "qr": qr,
    "svd": svd,
    "eigh": eigh,
    "eigvalsh": eigvalsh,
}
