"""The functions that run inside tasks: pure, on NumPy arrays and csr_arrays, no state.

They are imported by workers, so they know nothing of plans, executors or sessions.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np


def is_sparse(value: Any) -> bool:
    """Tell whether `value` is a SciPy sparse array, without loading SciPy for it."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(value))


def dense(value: Any) -> Any:
    """Return the dense form of a block."""
    return value.toarray() if is_sparse(value) else value


def kernel(op: str, attrs: tuple[tuple[str, Any], ...], *values: Any) -> Any:
    """Run the kernel of operator `op`."""
    from lineal.kernels.registry import get

    return get(op, any(is_sparse(value) for value in values))(*values, **dict(attrs))


def cut(index: tuple[slice, ...], value: Any) -> Any:
    """Return a part of a block that owns its memory, so that the whole block can go."""
    part = value[index if len(index) > 1 else index[0]]
    return part if is_sparse(part) else np.array(part)


def join(parts: Sequence[Any], axis: int) -> Any:
    """Put blocks side by side; sparse only when all are."""
    if len(parts) == 1:
        return parts[0]
    if all(is_sparse(part) for part in parts):
        from scipy import sparse

        stack = sparse.vstack if axis == 0 else sparse.hstack
        return sparse.csr_array(stack(list(parts), format="csr"))
    return np.concatenate([dense(part) for part in parts], axis=axis)


def assemble(columns: int, *parts: Any) -> Any:
    """Put the parts of a grid with `columns` columns (row by row) together; 0: 1-D parts."""
    if columns == 0:
        return join(parts, 0)
    rows = [join(parts[i : i + columns], 1) for i in range(0, len(parts), columns)]
    return join(rows, 0)


def flip(value: Any) -> Any:
    """Return the transposed block."""
    return value.T.tocsr() if is_sparse(value) else value.T


def multiply(flip_left: bool, flip_right: bool, left: Any, right: Any) -> Any:
    """Return the product of two blocks, either of them transposed first.

    A transposed sparse block next to a dense one is not converted: (S.T @ D) is (D.T @ S).T.
    """
    if flip_left and is_sparse(left) and not is_sparse(right):
        right = right if right.ndim == 1 or flip_right else right.T
        return kernel("matmul", (), right, left).T
    if flip_right and is_sparse(right) and not is_sparse(left):
        left = left if left.ndim == 1 or flip_left else left.T
        return kernel("matmul", (), right, left).T
    if flip_left:
        left = flip(left)
    if flip_right:
        right = flip(right)
    return kernel("matmul", (), left, right)


def add_all(*parts: Any) -> Any:
    """Return the sum of partial results, left to right."""
    total = parts[0]
    owned = False
    for part in parts[1:]:
        if is_sparse(total) or is_sparse(part):
            total, owned = kernel("add", (), total, part), False
        elif owned:
            np.add(total, part, out=total)
        else:
            total = np.add(total, part)  # the ufunc: 0-d integers wrap silently, as in arrays
            owned = isinstance(total, np.ndarray)
    return total


def combine(op: str, *parts: Any) -> Any:
    """Return the binary ufunc `op` folded over partial results, left to right."""
    ufunc = getattr(np, op)
    total = dense(parts[0])
    for part in parts[1:]:
        total = ufunc(total, dense(part))
    return total


def pick(index: int, value: tuple[Any, ...]) -> Any:
    """Return one of several results."""
    return value[index]


def squeeze(axes: tuple[int, ...], value: Any) -> Any:
    """Drop axes of length 1; a value without axes becomes a NumPy scalar."""
    result = np.squeeze(dense(value), axis=axes)
    return result[()] if result.ndim == 0 else result


def reshape(shape: tuple[int, ...], value: Any) -> Any:
    """Return the block in another shape, C order."""
    return kernel("reshape", (("shape", shape),), value)


def to_block(shape: tuple[int, ...], dtype: str, value: Any) -> Any:
    """Check a block that somebody else computed and bring it to a form that kernels take."""
    if hasattr(value, "tocsr"):
        from scipy import sparse

        value = sparse.csr_array(value)
        value.sum_duplicates()
    else:
        value = np.asarray(value)
    if value.shape != shape or value.dtype != np.dtype(dtype):
        from lineal.errors import InputError

        raise InputError(
            f"a block of a Dask array has shape {value.shape} and dtype {value.dtype}; its array "
            f"says {shape} and {dtype}",
            hint="correct the array's meta data, e.g. the arguments of map_blocks",
        )
    return value


def read_mapped(
    path: str,
    dtype: str,
    shape: tuple[int, ...],
    order: str,
    offset: int,
    index: tuple[slice, ...],
    size: int,
    mtime_ns: int,
) -> Any:
    """Read one block of a mapped file; the file must be the one that the run began with."""
    import os

    from lineal.errors import ReadError

    try:
        state = os.stat(path)
    except OSError as error:
        raise ReadError(f"{path} cannot be read any more: {error}") from error
    if (state.st_size, state.st_mtime_ns) != (size, mtime_ns):
        raise ReadError(f"{path} changed while the program ran", hint="run the program again")
    mapped = np.memmap(path, dtype=dtype, mode="r", shape=shape, offset=offset, order=order)  # type: ignore[call-overload]
    return np.array(mapped[index])
