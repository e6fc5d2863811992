"""Elementwise kernels on CSR operands.

A result is stored sparse when the operation provably gives 0 where nothing is stored; a NaN or
infinity that meets an implicit zero sends the operation to NumPy on dense copies, so its mask is
NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from lineal.kernels.elementwise import BINARY, UFUNCS, UNARY, clip
from lineal.kernels.finite import all_finite
from lineal.kernels.sparse import (
    Array,
    Csr,
    build,
    dense,
    is_sparse,
    like,
    operand,
    prune,
    rows_of,
    select,
)
from lineal.kernels.specs import ABSORBING_FIRST, ABSORBING_SECOND, PAIRWISE, ZERO_UNARY, fits

Fn = Callable[..., Any]


def unary(name: str) -> Fn:
    """Return the kernel of ufunc `name`, sparse in and out where f(0) = 0."""
    f = UFUNCS[name]
    if name not in ZERO_UNARY:
        return lambda x: f(dense(operand(x)))

    def kernel(x: Any) -> Any:
        s = operand(x)
        if not is_sparse(s):
            return f(s)
        # Expanding a stored -0.0 gives +0.0; only signbit can tell.
        return like(s, f(s.data + 0) if name == "signbit" and s.dtype.kind == "f" else f(s.data))

    return kernel


def binary(name: str, by_value: bool = False) -> Fn:
    """Return the kernel of ufunc `name`.

    With `by_value` a scalar operand that gives f(0, scalar) = 0 leaves the result sparse for
    every operation, not only for those that absorb zeros.
    """
    f = UFUNCS[name]

    def kernel(a: Any, b: Any) -> Any:
        a, b = operand(a), operand(b)
        left, right = is_sparse(a), is_sparse(b)
        if not left and not right:
            return f(a, b)
        if left and right:
            if name not in PAIRWISE:
                return f(dense(a), dense(b))
            if a.shape == b.shape:
                return pairwise(name, a, b)
            if fits(a.shape, b.shape):
                b, right = dense(b), False
            else:
                a, left = dense(a), False
        absorbs = name in (ABSORBING_FIRST if left else ABSORBING_SECOND)
        if absorbs or (by_value and np.ndim(b if left else a) == 0):
            return mixed(name, a, b) if left else mixed(name, b, a, swap=True)
        return f(dense(a), dense(b))

    return kernel


def pairwise(name: str, a: Csr, b: Csr) -> Any:
    """Apply `name`, one of PAIRWISE, to two CSR arrays of one shape."""
    f = UFUNCS[name]
    same = a.indptr is b.indptr and a.indices is b.indices
    if not same and a.nnz == b.nnz:
        same = np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)
    if same:
        return prune(like(a, f(a.data, b.data)))
    # Codes 1 (only a), 2 (only b), 3 (both) add up to the union pattern in row-major order, the
    # order in which a.data and b.data already are.
    codes = _codes(a, 1) + _codes(b, 2)
    if not codes.has_canonical_format:
        codes.sum_duplicates()
    if name in ("logical_and", "bitwise_and") or (
        name == "multiply" and all_finite(a.data) and all_finite(b.data)
    ):
        in_a = codes.data[codes.data != 2] == 3
        in_b = codes.data[codes.data != 1] == 3
        return prune(select(codes, _scatter(codes, f(a.data[in_a], b.data[in_b])), codes.data == 3))
    values_a = np.zeros(codes.nnz, dtype=a.dtype)
    values_b = np.zeros(codes.nnz, dtype=b.dtype)
    values_a[codes.data != 2] = a.data
    values_b[codes.data != 1] = b.data
    return prune(build(f(values_a, values_b), codes.indices, codes.indptr, a.shape))


def _codes(s: Csr, code: int) -> Csr:
    data = np.full(s.nnz, code, dtype=np.int8)
    out = sp.csr_array((data, s.indices, s.indptr), shape=s.shape, copy=False)
    out.has_canonical_format = True
    return out


def _scatter(codes: Csr, values: Array) -> Array:
    full = np.zeros(codes.nnz, dtype=values.dtype)
    full[codes.data == 3] = values
    return full


def mixed(name: str, s: Csr, d: Any, swap: bool = False) -> Any:
    """Apply `name` to sparse `s` and dense or scalar `d` (`swap`: to `d` and `s`).

    Sparse where f(0, d) = 0 at every implicit zero, else dense.
    """
    f = UFUNCS[name]
    shape = np.shape(d)
    if not fits(s.shape, shape) or not _keeps_zeros(name, s, d, swap):
        return f(d, s.toarray()) if swap else f(s.toarray(), d)
    at = _values_at(s, d, shape)
    return prune(like(s, f(at, s.data) if swap else f(s.data, at)))


def _values_at(s: Csr, d: Any, shape: tuple[int, ...]) -> Any:
    """Return what `d`, broadcast to the shape of `s`, holds where `s` has an entry."""
    if not shape:
        return d
    m, n = s.shape
    d = np.asarray(d)
    if len(shape) == 1 or shape[0] == 1 != m:
        row = d.reshape(-1)
        return row[0:1] if len(row) == 1 else row[s.indices]
    if shape[1] == 1 != n:
        return np.repeat(d[:, 0], np.diff(s.indptr))
    return d[rows_of(s.indptr), s.indices]


def _keeps_zeros(name: str, s: Csr, d: Any, swap: bool) -> bool:
    f = UFUNCS[name]
    shape = np.shape(d)
    whole = len(shape) == 2 and shape[0] != 1 and shape[1] != 1
    if whole:
        return _absorbed(name, np.asarray(d))
    zero = np.zeros((1,) * max(1, len(shape)), dtype=s.dtype)
    try:
        with np.errstate(all="ignore"):
            at_zero = f(d, zero) if swap else f(zero, d)
    except (TypeError, ValueError):
        return False  # whether it is an error is NumPy's to say: not for arrays without elements
    bad = np.atleast_1d(at_zero != 0)
    if name in ("floor_divide", "remainder") and np.asarray(d).dtype.kind in "biu":
        bad |= np.atleast_1d(np.asarray(d) == 0)  # 0 // 0 is 0 for ints, but NumPy warns
    if not bad.any():
        return True
    if not shape or d.size == 1 or s.nnz == 0:
        return False
    # A row or column vector: its bad places do no harm where the sparse operand is full.
    along_rows = len(shape) == 2 and shape[1] == 1 != s.shape[1]
    if along_rows:
        counts, full = np.diff(s.indptr), s.shape[1]
    else:
        counts, full = np.bincount(s.indices, minlength=s.shape[1]), s.shape[0]
    if counts.size != bad.size:
        return False
    return bool((counts[bad.reshape(-1)] == full).all())


def _absorbed(name: str, d: Array) -> bool:
    """Tell whether f(0, d) = 0 everywhere for a whole matrix `d`, without a matrix of zeros."""
    if name in ("logical_and", "bitwise_and"):
        return True
    if name == "multiply":
        return all_finite(d)
    if name in ("divide", "floor_divide", "remainder"):
        return np.count_nonzero(d) == d.size and (all_finite(d) or not np.isnan(d).any())
    return False


def _clip_by_value(*args: Any, **attrs: Any) -> Any:
    s = operand(args[0])
    bounds = tuple(dense(operand(b)) for b in args[1:])
    if is_sparse(s) and all(np.ndim(b) == 0 for b in bounds):
        zero = clip(np.zeros(1, dtype=s.dtype), *bounds, **attrs)
        if not zero[0]:
            return prune(like(s, clip(s.data, *bounds, **attrs)))
    return clip(dense(s), *bounds, **attrs)


def round_(x: Any, decimals: int = 0) -> Any:
    """Round stored values; zeros stay zeros."""
    s = operand(x)
    return like(s, np.round(s.data, decimals)) if is_sparse(s) else np.round(s, decimals)


def cast(x: Any, dtype: Any) -> Any:
    """Convert stored values; dense for a dtype that has no sparse form."""
    from lineal.kernels import creation

    s = operand(x)
    return like(s, s.data.astype(dtype)) if is_sparse(s) else creation.cast(s, dtype)


def copy(x: Any) -> Any:
    """Copy values and indices."""
    s = operand(x)
    if not is_sparse(s):
        return np.array(s) if isinstance(s, np.ndarray) else s
    return build(s.data.copy(), s.indices.copy(), s.indptr.copy(), s.shape)


KERNELS: dict[str, Fn] = {
    **{name: unary(name) for name in UNARY},
    **{name: binary(name) for name in BINARY},
    "round": round_,
    "cast": cast,
    "copy": copy,
}

BY_VALUE: dict[str, Fn] = {
    **{name: binary(name, by_value=True) for name in BINARY},
    "clip": _clip_by_value,
}
"""Forms that may stay sparse because of a scalar's value (`bind(..., storage="sparse")`)."""
