"""Kernels that move or select entries of CSR operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from lineal.kernels import products, shapes
from lineal.kernels.sparse import (
    Csr,
    build,
    dense,
    index_dtype,
    is_sparse,
    operand,
    recast,
    rows_of,
    select,
    transposed,
)


def transpose(x: Any) -> Any:
    """Exchange the axes: x [m, n] -> [n, m], sparse."""
    s = operand(x)
    return transposed(s) if is_sparse(s) else np.transpose(s)


def reshape(x: Any, shape: tuple[int, ...] | int) -> Any:
    """Same elements in row-major order; sparse where the new shape has two axes."""
    s = operand(x)
    target = (shape,) if isinstance(shape, int) else tuple(shape)
    if not is_sparse(s):
        return np.reshape(s, target)
    m, n = s.shape
    if len(target) != 2 or not m * n or m * n >= 2**63:
        return np.reshape(s.toarray(), target)
    rows, cols = target
    if rows == -1 and cols > 0:
        rows = m * n // cols
    if cols == -1 and rows > 0:
        cols = m * n // rows
    if rows * cols != m * n or rows < 0 or cols < 0:
        raise ValueError(f"cannot reshape array of size {m * n} into shape {target}")
    # Row-major positions need 64 bits long before either shape does.
    flat = rows_of(s.indptr).astype(np.int64) * n + s.indices
    new_rows, indices = np.divmod(flat, cols)
    indptr = np.zeros(rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(new_rows, minlength=rows), out=indptr[1:])
    return build(s.data, indices, indptr, (rows, cols))


def concatenate(*xs: Any, axis: int | None = 0) -> Any:
    """Join along `axis`; sparse where all operands are."""
    parts = [operand(x) for x in xs]
    if axis is None or not all(is_sparse(p) for p in parts) or axis not in (0, 1, -1, -2):
        return np.concatenate([dense(p) for p in parts], axis=axis)
    axis %= 2
    if len({p.shape[1 - axis] for p in parts}) != 1:
        # NumPy's own words, at no cost.
        return np.concatenate([np.broadcast_to(0, p.shape) for p in parts], axis=axis)
    dtype = np.result_type(*(p.dtype for p in parts))
    parts = [recast(p, dtype) for p in parts]
    if axis == 1:
        joined = sp.hstack(parts, format="csr", dtype=dtype)
        joined = sp.csr_array(joined)
        joined.sum_duplicates()
        return joined
    nnz = sum(p.nnz for p in parts)
    shape = (sum(p.shape[0] for p in parts), parts[0].shape[1])
    index = index_dtype(nnz, *shape)
    indptr = np.zeros(shape[0] + 1, dtype=index)
    row, before = 0, 0
    for p in parts:
        indptr[row + 1 : row + p.shape[0] + 1] = p.indptr[1:].astype(index) + before
        row, before = row + p.shape[0], before + p.nnz
    indices = np.concatenate([p.indices.astype(index, copy=False) for p in parts])
    return build(np.concatenate([p.data for p in parts]), indices, indptr, shape)


def tril(x: Any, k: int = 0) -> Any:
    """Entries up to diagonal `k`."""
    s = operand(x)
    if not is_sparse(s):
        return products.tril(s, k)
    return select(s, s.data, s.indices - rows_of(s.indptr) <= k)


def triu(x: Any, k: int = 0) -> Any:
    """Entries from diagonal `k`."""
    s = operand(x)
    if not is_sparse(s):
        return products.triu(s, k)
    return select(s, s.data, s.indices - rows_of(s.indptr) >= k)


def getitem(x: Any, *values: Any, spec: shapes.Spec) -> Any:
    """Index `x`; sparse where both axes are taken by slices and at most one index vector."""
    s = operand(x)
    values = tuple(dense(operand(v)) for v in values)
    if not is_sparse(s):
        return shapes.getitem(s, *values, spec=spec)
    index = list(shapes.index_of(spec, values))
    kinds = [entry[0] for entry in spec]
    arrays = [at for at, kind in enumerate(kinds) if kind == "array"]
    masks = [at for at in arrays if np.ndim(index[at]) == 2 and _boolean(index[at])]
    if masks:
        if len(spec) != 1 or np.shape(index[0]) != s.shape:
            return shapes.getitem(s.toarray(), *values, spec=spec)
        index = list(np.nonzero(index[0]))
        return _points(s, *index)
    while sum(kind != "new" for kind in kinds) < 2:
        kinds.append("slice")
        index.append(slice(None))
    if "new" in kinds or sum(kind != "new" for kind in kinds) > 2:
        return _through_dense(s, kinds, index)
    for at in arrays:
        if np.ndim(index[at]) != 1:
            return _through_dense(s, kinds, index)
        index[at] = _positions(index[at], s.shape[at], at)
    if len(arrays) == 2:
        return _points(s, *np.broadcast_arrays(*index))
    if "int" in kinds:
        return _through_dense(s, kinds, index)
    rows, cols = index
    out = s
    if not _whole(rows, s.shape[0]):
        out = out[rows]
    if not _whole(cols, s.shape[1]):
        out = out[:, cols]
    if out is s:
        return s
    out = sp.csr_array(out)
    if not out.has_canonical_format:
        # A column taken twice is two columns now; only the order can be off.
        out.sort_indices()
        out.has_canonical_format = True
    return out


def _whole(index: Any, length: int) -> bool:
    return isinstance(index, slice) and index.indices(length) == (0, length, 1)


def _boolean(index: Any) -> bool:
    return bool(np.asarray(index).dtype == np.bool_)


def _positions(index: Any, length: int, axis: int) -> Any:
    """Return an index vector as non-negative positions; IndexError in NumPy's words."""
    index = np.asarray(index)
    probe = np.broadcast_to(np.zeros((), dtype=np.int8), (length,))
    if index.dtype == np.bool_ and index.shape == (length,):
        return np.flatnonzero(index)
    probe[index]  # raises for what NumPy refuses
    return np.where(index < 0, index + length, index)


def _points(s: Csr, rows: Any, cols: Any) -> Any:
    """Return the values at positions (rows[i], cols[i]), dense [len(rows)]."""
    if not len(rows):
        return np.zeros(0, dtype=s.dtype)
    if not s.nnz:
        return np.zeros(len(rows), dtype=s.dtype)
    # Canonical order makes row-major positions sorted: a binary search finds each.
    n = s.shape[1]
    keys = rows_of(s.indptr).astype(np.int64) * n + s.indices
    wanted = np.asarray(rows).astype(np.int64) * n + cols
    at = np.minimum(np.searchsorted(keys, wanted), s.nnz - 1)
    return np.where(keys[at] == wanted, s.data[at], s.dtype.type(0))


def _through_dense(s: Csr, kinds: list[str], index: list[Any]) -> Any:
    """Cut with the slices and integers while sparse, then let NumPy index what is left."""
    cut: list[Any] = []
    rest: list[Any] = []
    axis = 0
    for kind, element in zip(kinds, index, strict=True):
        if kind == "new":
            rest.append(None)
            continue
        if axis >= 2:
            return s.toarray()[tuple(index)]  # too many indices: NumPy's error
        if kind == "slice":
            cut.append(element)
            rest.append(slice(None))
        elif kind == "int" and not isinstance(element, (bool, np.bool_)):
            k = int(_positions(element, s.shape[axis], axis))
            cut.append(slice(k, k + 1))
            rest.append(0)
        else:
            cut.append(slice(None))
            rest.append(element)
        axis += 1
    for at, element in enumerate(cut):
        if not _whole(element, s.shape[at]):
            s = s[element] if at == 0 else s[:, element]
    return s.toarray()[tuple(rest)]


KERNELS: dict[str, Callable[..., Any]] = {
    "transpose": transpose,
    "reshape": reshape,
    "concatenate": concatenate,
    "tril": tril,
    "triu": triu,
    "getitem": getitem,
}
