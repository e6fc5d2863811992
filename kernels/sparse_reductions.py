"""Reductions over CSR operands, in NumPy's dtypes, without expanding them.

What is not stored is a zero like any other: it takes part in min, max, prod, var and positions.
Shapes with no elements, and axes other than None, 0, 1 and (0, 1), go to NumPy on a dense copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lineal.kernels import factor, reductions
from lineal.kernels.sparse import (
    _STORABLE,
    Array,
    Csr,
    dense,
    is_sparse,
    like,
    operand,
    rows_of,
    select,
    transposed,
)

Fn = Callable[..., Any]
ALL = -1
"""Stands for "over both axes"."""


def _axis(axis: Any, s: Csr) -> int | None:
    """Return ALL, 0 or 1; None for what only the dense kernel should judge (errors included)."""
    if axis is None:
        return ALL
    axes = axis if isinstance(axis, tuple) else (axis,)
    found = sorted(a + 2 if a < 0 else a for a in axes)
    if found == [0, 1]:
        return ALL
    return found[0] if len(found) == 1 and found[0] in (0, 1) else None


def _out(values: Any, axis: int, keepdims: bool) -> Any:
    """Shape `values` (scalar, or 1-D along the kept axis) as NumPy would."""
    if not keepdims:
        return values
    if axis == ALL:
        return np.asarray(values).reshape(1, 1)
    return values.reshape(1, -1) if axis == 0 else values.reshape(-1, 1)


def by_row(ufunc: np.ufunc, s: Csr, data: Array, empty: Any = 0) -> Array:
    """Reduce the stored values `data` of each row of `s`; `empty` for rows with none."""
    out = np.full(s.shape[0], empty, dtype=data.dtype)
    filled = np.diff(s.indptr) > 0
    if filled.any():
        out[filled] = ufunc.reduceat(data, s.indptr[:-1][filled])
    return out


def _accumulator(ufunc: np.ufunc, dtype: Any, wanted: Any) -> np.dtype[Any]:
    if wanted is not None:
        wanted = np.dtype(wanted)
    else:
        wanted = ufunc.reduce(np.empty(0, dtype=dtype)).dtype
    found: np.dtype[Any] = wanted
    return found


def sum_of(s: Csr, data: Array, axis: int) -> Any:
    """Add the stored values `data` of `s` along `axis`, in their own dtype."""
    if axis == ALL:
        return np.add.reduce(data, dtype=data.dtype)
    if axis == 1:
        return by_row(np.add, s, data)
    return like(s, data).T @ np.ones(s.shape[0], dtype=data.dtype)


def _over(name: str, body: Callable[..., Any]) -> Fn:
    """Wrap `body(s, axis, **attrs)`, which sees only CSR with elements and axis ALL, 0 or 1."""
    fallback = reductions.KERNELS[name]

    def kernel(x: Any, axis: Any = None, keepdims: bool = False, **attrs: Any) -> Any:
        s = operand(x)
        if is_sparse(s) and s.shape[0] and s.shape[1]:
            place = _axis(axis, s)
            if place is not None:
                result = body(s, place, **attrs)
                if result is not NotImplemented:
                    return _out(result, place, keepdims)
        return fallback(dense(s), axis=axis, keepdims=keepdims, **attrs)

    kernel.__name__ = name
    return kernel


def _sum(s: Csr, axis: int, dtype: Any = None) -> Any:
    acc = _accumulator(np.add, s.dtype, dtype)
    if acc.char not in _STORABLE:
        return NotImplemented
    return sum_of(s, s.data.astype(acc, copy=False), axis)


def _lengths(s: Csr, axis: int) -> int:
    m, n = s.shape
    return int(m * n if axis == ALL else (m if axis == 0 else n))


def _mean(s: Csr, axis: int, dtype: Any = None) -> Any:
    if dtype is None and s.dtype.kind in "biu":
        dtype = np.float64
    acc = np.dtype(s.dtype if dtype is None else dtype)
    if acc.kind != "f" or acc.itemsize < 4:
        return NotImplemented
    total = sum_of(s, s.data.astype(acc, copy=False), axis)
    return total / _lengths(s, axis)


def _stored(s: Csr, axis: int) -> tuple[Csr, Array]:
    """Return `s` turned so that the reduced axis runs along rows, and its rows' entry counts."""
    t = transposed(s) if axis == 0 else s
    return t, np.diff(t.indptr)


def _extreme(ufunc: np.ufunc) -> Callable[..., Any]:
    def body(s: Csr, axis: int, dtype: Any = None) -> Any:
        zero = s.dtype.type(0)
        if axis == ALL:
            if not s.nnz:
                return zero
            best = ufunc.reduce(s.data)
            return best if s.nnz == s.shape[0] * s.shape[1] else ufunc(best, zero)
        t, counts = _stored(s, axis)
        best = by_row(ufunc, t, t.data)
        short = counts < t.shape[1]
        best[short] = ufunc(best[short], zero)
        return best

    return body


def _zero_times_inf() -> None:
    """Give the warning that NumPy's reduction gives where it meets 0 * inf."""
    np.multiply.reduce(np.array([0.0, np.inf]))


def _prod(s: Csr, axis: int, dtype: Any = None) -> Any:
    acc = _accumulator(np.multiply, s.dtype, dtype)
    if axis == ALL:
        if s.nnz == s.shape[0] * s.shape[1]:
            return np.multiply.reduce(s.data, dtype=acc)
        return _times_zero(s.data.astype(acc, copy=False), acc)
    t, counts = _stored(s, axis)
    data = t.data.astype(acc, copy=False)
    out = by_row(np.multiply, t, data, empty=1)
    short = counts < t.shape[1]
    if acc.kind == "f":
        with np.errstate(all="ignore"):
            lost = short & ~np.isfinite(out)
        sure = lost & (by_row(np.logical_or, t, ~np.isfinite(data)))
        out[short & ~lost] = 0
        out[sure] = np.nan
        if np.isinf(data).any():
            _zero_times_inf()
        for row in np.flatnonzero(lost & ~sure):
            # Finite values overflowed: whether a zero came first decides between 0 and NaN.
            line = np.zeros(t.shape[1], dtype=acc)
            part = slice(t.indptr[row], t.indptr[row + 1])
            line[t.indices[part]] = data[part]
            out[row] = np.multiply.reduce(line)
    else:
        out[short] = 0
    return out


def _times_zero(data: Array, acc: np.dtype[Any]) -> Any:
    """Return the product of `data` and at least one zero."""
    if acc.kind != "f":
        return acc.type(0)
    if not np.isfinite(data).all():
        if np.isinf(data).any():
            _zero_times_inf()
        return acc.type(np.nan)
    with np.errstate(all="ignore"):
        return NotImplemented if not np.isfinite(np.multiply.reduce(data)) else acc.type(0)


def count_of(s: Csr, axis: int) -> Any:
    """Count the entries of `s` that are not 0 along `axis`, as int64."""
    if axis == ALL:
        return np.count_nonzero(s.data)
    hits = s.data != 0
    if axis == 0:
        return np.bincount(s.indices[hits], minlength=s.shape[1])
    return by_row(np.add, s, hits.astype(np.int64))


def _any(s: Csr, axis: int, dtype: Any = None) -> Any:
    counts = count_of(s, axis)
    return np.bool_(counts > 0) if axis == ALL else counts > 0


def _all(s: Csr, axis: int, dtype: Any = None) -> Any:
    full = count_of(s, axis) == _lengths(s, axis)
    return np.bool_(full) if axis == ALL else full


def _count(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    s = operand(x)
    place = _axis(axis, s) if is_sparse(s) else None
    if place is None or not (s.shape[0] and s.shape[1]):
        return np.count_nonzero(dense(s), axis=axis, keepdims=keepdims)
    found = count_of(s, place)
    if place == ALL and not keepdims:
        # NumPy's own type: int or np.intp, depending on how the axis is spelled.
        return type(np.count_nonzero(np.empty((1, 1)), axis=axis))(found)
    return _out(found, place, keepdims)


def _var(s: Csr, axis: int, dtype: Any = None, ddof: float = 0) -> Any:
    n = _lengths(s, axis)
    if ddof >= n or (dtype is not None and np.dtype(dtype).kind != "f"):
        return NotImplemented
    mean = _mean(s, axis, dtype)
    if mean is NotImplemented:
        return NotImplemented
    if axis == ALL:
        centre, counts = mean, s.nnz
    elif axis == 0:
        centre, counts = mean[s.indices], np.bincount(s.indices, minlength=s.shape[1])
    else:
        counts = np.diff(s.indptr)
        centre = np.repeat(mean, counts)
    off = s.data - centre
    off *= off
    total = sum_of(s, off.astype(mean.dtype, copy=False), axis)
    # With nothing missing the second term is 0 * mean**2, NaN when the mean overflowed.
    rest = np.asarray(n - counts, dtype=mean.dtype)
    total = total + np.where(rest > 0, rest * np.where(rest > 0, mean, 0) ** 2, rest)
    result = total / np.asarray(n - ddof, dtype=mean.dtype)
    return result.astype(mean.dtype, copy=False)


def _std(s: Csr, axis: int, dtype: Any = None, ddof: float = 0) -> Any:
    found = _var(s, axis, dtype, ddof)
    return found if found is NotImplemented else np.sqrt(found)


def _position(name: str, ufunc: np.ufunc) -> Fn:
    best_of = _extreme(ufunc)

    def body(s: Csr, axis: int) -> Any:
        if axis == ALL:
            rows = best_of(s, 1)
            row = int(np.argmin(rows) if name == "argmin" else np.argmax(rows))
            return np.intp(row * s.shape[1] + int(_columns(s, rows)[row]))
        t, _ = _stored(s, axis)
        return _columns(t, best_of(t, 1))

    return _over(name, body)


def _columns(t: Csr, best: Array) -> Array:
    """Return the first column of each row of `t` where its value is `best` [m] (NaN = NaN)."""
    rows = rows_of(t.indptr)
    at = best[rows]
    equal = t.data == at
    if t.dtype.kind == "f":
        equal |= np.isnan(t.data) & np.isnan(at)
    out = _first(t, rows, equal, t.indices, default=np.zeros(t.shape[0], dtype=np.intp))
    zero = best == 0
    if zero.any():
        # The first zero is the first column that the row's non-zero entries skip.
        z = select(t, t.data, t.data != 0)
        z_rows = rows_of(z.indptr)
        rank = np.arange(z.nnz) - z.indptr[:-1][z_rows]
        gap = _first(z, z_rows, z.indices != rank, rank, np.diff(z.indptr).astype(np.intp))
        out[zero] = gap[zero]
    return out


def _first(s: Csr, rows: Array, hits: Array, values: Array, default: Array) -> Array:
    """Return, per row, `values` at the row's first hit, else `default`."""
    at = np.flatnonzero(hits)
    at_rows = rows[at]
    leads = np.ones(len(at), dtype=bool)
    leads[1:] = at_rows[1:] != at_rows[:-1]
    out = default.copy()
    out[at_rows[leads]] = values[at[leads]]
    return out


def trace(x: Any, offset: int = 0) -> Any:
    """Sum of diagonal `offset`, in the dtype that NumPy's sum has."""
    return np.add.reduce(diagonal(x, offset))


def diagonal(x: Any, k: int = 0) -> Any:
    """Diagonal `k` of sparse x [m, n], or `np.diag` of a dense x."""
    s = operand(x)
    if not is_sparse(s):
        return np.diag(s, k)
    m, n = s.shape
    if k >= n or k <= -m:
        return np.zeros(0, dtype=s.dtype)
    return np.asarray(s.diagonal(k))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Norm as `np.linalg.norm`; spectral and nuclear ones, and odd orders, on a dense copy."""
    s = operand(x)
    if is_sparse(s) and s.shape[0] and s.shape[1]:
        data = s.data if s.dtype.kind == "f" else s.data.astype(np.float64)
        place = _axis(axis, s)
        found: Any = NotImplemented
        if place == ALL and (axis is None or axis == (0, 1)):
            found = _matrix_norm(s, data, ord)
        elif place in (0, 1) and isinstance(axis, int):
            found = _vector_norm(s, data, ord, place)
        if found is not NotImplemented:
            return _out(found, ALL if place is None else place, keepdims)
    return factor.norm(dense(s), ord=ord, axis=axis, keepdims=keepdims)


def _matrix_norm(s: Csr, data: Array, ord: Any) -> Any:
    if ord is None or ord == "fro":
        return np.linalg.norm(data)
    if ord in (1, -1, np.inf, -np.inf):
        sums = sum_of(s, np.abs(data), 0 if abs(ord) == 1 else 1)
        return sums.max() if ord > 0 else sums.min()
    return NotImplemented


def _vector_norm(s: Csr, data: Array, ord: Any, axis: int) -> Any:
    if ord is None or ord == 2:
        return np.sqrt(sum_of(s, data * data, axis))
    if ord == 1:
        return sum_of(s, np.abs(data), axis)
    if ord == np.inf:
        return _extreme(np.maximum)(like(s, np.abs(data)), axis)
    if ord == 0:
        return count_of(s, axis).astype(data.dtype)
    return NotImplemented


KERNELS: dict[str, Fn] = {
    "sum": _over("sum", _sum),
    "prod": _over("prod", _prod),
    "mean": _over("mean", _mean),
    "min": _over("min", _extreme(np.minimum)),
    "max": _over("max", _extreme(np.maximum)),
    "any": _over("any", _any),
    "all": _over("all", _all),
    "count_nonzero": _count,
    "var": _over("var", _var),
    "std": _over("std", _std),
    "argmin": _position("argmin", np.minimum),
    "argmax": _position("argmax", np.maximum),
    "trace": trace,
    "diag": diagonal,
    "norm": norm,
}
