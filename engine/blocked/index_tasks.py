"""Indexing inside blocks; all positions are local to the block and inside its bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from lineal.engine.blocked.tasks import dense, is_sparse, join


def take(axis: int, index: Any, block: Any) -> Any:
    """Return the entries `index` (slice, positions or mask) of one axis; never a view."""
    index = dense(index)
    if is_sparse(block):
        if isinstance(index, np.ndarray) and index.dtype.kind == "b":
            index = np.flatnonzero(index)
        part = block[index, :] if axis == 0 else block[:, index]
        return part.tocsr()
    part = block[index] if axis == 0 else block[:, index]
    return np.array(part) if isinstance(index, slice) else part


def count(mask: Any) -> Any:
    """Return the number of true entries as a 1-D array of one."""
    return np.array([np.count_nonzero(dense(mask))], dtype=np.intp)


def masked(mask: Any, block: Any) -> Any:
    """Return the entries where a mask of the block's shape holds, row by row."""
    return dense(block)[dense(mask)]


def merge(axis: int, order: Any, *parts: Any) -> Any:
    """Put gathered parts together and bring them into the order of the index."""
    return take(axis, order, join(parts, axis))


def points(rows: Any, columns: Any, block: Any) -> Any:
    """Return the entries at pairs of positions."""
    if is_sparse(block):
        return np.asarray(dense(block[rows, columns])).ravel()
    return block[rows, columns]


def pick_entries(index: tuple[int, ...], block: Any) -> Any:
    """Return the part at integer positions; -1 keeps an axis whole."""
    if is_sparse(block):
        block = block.tocsr()
        rows = slice(None) if index[0] < 0 else slice(index[0], index[0] + 1)
        columns = slice(None) if index[1] < 0 else slice(index[1], index[1] + 1)
        part = block[rows, :].toarray()[:, columns]
        where = tuple(slice(None) if i < 0 else 0 for i in index)
        return part[where].copy()
    part = block[tuple(slice(None) if i < 0 else i for i in index)]
    return np.array(part) if isinstance(part, np.ndarray) else part


def put(index: tuple[Any, ...], block: Any, value: Any) -> Any:
    """Return a copy of the block with `value` written at `index`, axis by axis."""
    from lineal.kernels.registry import get

    if is_sparse(block):
        spec: list[tuple[Any, ...]] = []
        arrays: list[Any] = []
        for item in index:
            if isinstance(item, slice):
                spec.append(("slice", item.start, item.stop, item.step))
            else:
                kind = "array" if isinstance(item, np.ndarray) else "int"
                spec.append((kind, len(arrays)))
                arrays.append(item)
        return get("setitem", True)(block, value, *arrays, spec=tuple(spec))
    result = block.copy()
    result[index] = dense(value)
    return result
