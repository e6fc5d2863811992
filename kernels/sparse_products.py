"""Matrix products with CSR operands.

SciPy's products skip what is not stored, which is wrong where 0 * inf = NaN is due.  Those places
are found with products of the patterns and set afterwards, so no operand is ever expanded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lineal.kernels.finite import all_finite
from lineal.kernels.sparse import Array, Csr, dense, is_sparse, like, operand, recast, transposed


def matmul(a: Any, b: Any) -> Any:
    """Return a @ b by NumPy's rules; sparse @ sparse is sparse (dense if NaN is due)."""
    a, b = operand(a), operand(b)
    left, right = is_sparse(a), is_sparse(b)
    if not left and not right:
        return np.matmul(a, b)
    if np.ndim(a) == 0 or np.ndim(b) == 0 or a.shape[-1] != b.shape[0]:
        return np.matmul(_empty(a), _empty(b))  # raises, in NumPy's words
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype.kind == "f" and dtype.itemsize < 4:
        return np.matmul(dense(a), dense(b))
    if left and right:
        out = _both(recast(a, dtype), recast(b, dtype))
    elif left:
        out = _sparse_dense(recast(a, dtype), b.astype(dtype, copy=False))
    elif a.ndim == 1:
        out = _sparse_dense(transposed(recast(b, dtype)), a.astype(dtype, copy=False))
    else:
        out = _dense_sparse(a.astype(dtype, copy=False), recast(b, dtype))
    _warn(out, a, b)
    return out


def _warn(out: Any, a: Any, b: Any) -> None:
    """Raise the floating-point condition that NumPy would; SciPy's products are silent."""
    values = out.data if is_sparse(out) else out
    if all_finite(values):
        return
    if any(np.isinf(x.data if is_sparse(x) else x).any() for x in (a, b)):
        if np.isnan(values).any():
            np.matmul(np.zeros((1, 1)), np.full((1, 1), np.inf))
    elif np.isinf(values).any():
        np.matmul(np.full((1, 1), 1e300), np.full((1, 1), 1e300))


def _empty(x: Any) -> Any:
    """Return a stand-in for `x`: same shape and dtype, no memory."""
    if np.ndim(x) == 0:
        return x
    return np.broadcast_to(np.zeros((), dtype=x.dtype), x.shape)


def _sparse_dense(s: Csr, d: Array) -> Array:
    out = np.asarray(s @ d)
    if not all_finite(d):
        _spread(out, s, ~np.isfinite(d))
    return out


def _dense_sparse(d: Array, s: Csr) -> Array:
    # csc @ dense, as SciPy does it: no conversion of `s`.
    out = np.asarray((s.T @ d.T).T)
    if not all_finite(d):
        _spread(out.T, s.T.tocsr(), ~np.isfinite(d.T))
    return out


def _spread(out: Array, s: Csr, odd: Array) -> None:
    """Set NaN in `out` where a non-finite entry (`odd`) meets an entry that `s` does not store."""
    met = like(s, np.ones(s.nnz, dtype=np.int64)) @ odd.astype(np.int64)
    out[met < odd.sum(axis=0)] = np.nan


def _both(a: Csr, b: Csr) -> Any:
    out = a @ b
    out.sum_duplicates()  # sorts, as SciPy leaves rows unsorted
    if all_finite(a.data) and all_finite(b.data):
        return out
    full: Array = out.toarray()
    _spread_sparse(full, a, b)
    _spread_sparse(full.T, transposed(b), transposed(a))
    return full


def _spread_sparse(out: Array, a: Csr, b: Csr) -> None:
    """Set NaN in `out` where a stored non-finite entry of `a` meets an implicit zero of `b`."""
    odd = ~np.isfinite(a.data)
    if not odd.any():
        return
    marks = like(a, odd.astype(np.int64))
    due = np.asarray(marks.sum(axis=1))
    rows = np.flatnonzero(due)
    met = (marks[rows] @ like(b, np.ones(b.nnz, dtype=np.int64))).toarray()
    block = out[rows]
    block[met < due[rows][:, None]] = np.nan
    out[rows] = block


KERNELS: dict[str, Callable[..., Any]] = {"matmul": matmul}
