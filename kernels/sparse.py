"""Storage of sparse operands: what form they come in, canonical CSR, and index widths.

Sparse is storage, not meaning: every kernel gives what NumPy gives on dense copies.  A sparse
operand is two-dimensional CSR with sorted columns, no duplicates, and perhaps explicit zeros;
anything else is brought to that form by `operand` first, on a copy.  The sign of a zero that is
not stored is not kept (-1 * S has +0.0 there).  Results may share index arrays with operands.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lineal.errors import InputError

Array = np.ndarray[Any, Any]
Csr = Any  # scipy.sparse.csr_array: its stubs' shape and dtype parameters say nothing we use

INDEX_LIMIT = 2**31 - 1
"""Largest value a 32-bit index can hold; above it indices are 64-bit."""

_STORABLE = frozenset("?bBhHiIlLqQfd")


def is_sparse(x: Any) -> bool:
    """Tell whether `x` is a SciPy sparse array or matrix of any format."""
    return bool(sp.issparse(x))


def operand(x: Any) -> Any:
    """Return `x` as kernels take it: canonical csr_array, ndarray or scalar.

    Only a 2-D sparse value of a dtype the language has stays sparse.
    """
    if not is_sparse(x):
        return x
    if x.ndim != 2 or x.dtype.char not in _STORABLE:
        return x.toarray()
    return canonical(x)


def canonical(x: Any, check: bool = False) -> Csr:
    """Return sparse `x` [m, n] as csr_array with sorted, distinct columns; never writes to `x`.

    With `check` the index arrays are looked at as well: InputError where they are not those of a
    CSR array (pointers that fall, columns out of range).
    """
    s = x if type(x) is sp.csr_array else sp.csr_array(x)
    if check:
        try:
            s.check_format(full_check=True)
        except ValueError as error:
            raise InputError(
                f"a sparse input is damaged: {error}", hint="build it anew from its entries"
            ) from error
        if s.nnz and (s.indices.min() < 0 or s.indices.max() >= s.shape[1]):
            raise InputError("a sparse input has column indices outside its shape")
        if np.any(np.diff(s.indptr) < 0):
            raise InputError("a sparse input has row pointers that fall")
    if not s.has_canonical_format:
        s = s.copy()
        s.sum_duplicates()
    return s


def build(data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Any:
    """Return the canonical csr_array of the given parts, or an ndarray if it cannot hold the dtype.

    SciPy has no sparse float16 (which NumPy gives for e.g. sqrt of int8).
    """
    if data.dtype.char not in _STORABLE:
        out = np.zeros(shape, dtype=data.dtype)
        out[rows_of(indptr), indices] = data
        return out
    matrix: Csr = sp.csr_array((data, indices, indptr), shape=shape, copy=False)
    if index_dtype(len(data), *shape) == np.int64 and matrix.indices.dtype != np.int64:
        matrix.indices = matrix.indices.astype(np.int64)
        matrix.indptr = matrix.indptr.astype(np.int64)
    matrix.has_canonical_format = True
    return matrix


def index_dtype(*maxima: int) -> np.dtype[Any]:
    """Return the index dtype that holds every one of `maxima`."""
    wide = any(int(value) > INDEX_LIMIT for value in maxima)
    return np.dtype(np.int64 if wide else np.int32)


def like(s: Csr, data: Array) -> Any:
    """Return `s` with other stored values."""
    return build(data, s.indices, s.indptr, s.shape)


def rows_of(indptr: Array) -> Array:
    """Return the row of every stored entry."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def select(s: Csr, data: Array, keep: Array) -> Any:
    """Return `s` with values `data`, and only the entries where `keep` [nnz] is true."""
    counts = np.zeros(len(data) + 1, dtype=np.int64)
    np.cumsum(keep, out=counts[1:])
    return build(data[keep], s.indices[keep], counts[s.indptr], s.shape)


def prune(s: Any) -> Any:
    """Drop explicit zeros where they are more than a tenth of what is stored."""
    if not is_sparse(s) or np.count_nonzero(s.data) >= 0.9 * s.nnz:
        return s
    return select(s, s.data, s.data != 0)


def dense(x: Any) -> Any:
    """Return `x` with any sparse storage expanded: same shape and dtype, a new array."""
    return x.toarray() if is_sparse(x) else x


def transposed(s: Csr) -> Csr:
    """Return the transpose [n, m] of `s` [m, n] as canonical csr_array."""
    t = sp.csr_array(s.T)
    t.has_canonical_format = True  # the conversion walks rows in order
    return t


def recast(s: Csr, dtype: Any) -> Csr:
    """Return `s` with its stored values as `dtype`; `s` itself if they are."""
    return s if s.dtype == dtype else like(s, s.data.astype(dtype))
