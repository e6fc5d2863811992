"""Putting gathered blocks together: new, writable memory that aliases nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lineal.engine.blocked import tasks
from lineal.engine.blocked.grid import BlockedArray, places, region

BATCH_BYTES = 128 * 2**20
"""Bytes of blocks that are gathered at a time."""


def single(array: BlockedArray, value: Any) -> Any:
    """Return the value of an array of one block."""
    if tasks.is_sparse(value):
        value = tasks.flip(value) if array.flipped else value
        return value.tocsr().copy()
    if not isinstance(value, np.ndarray):
        return value
    if array.ndim == 0 and value.ndim == 0:
        return value[()]
    return np.array(value.T if array.flipped else value, order="C")


def many(array: BlockedArray, gather: Callable[[Sequence[Any]], list[Any]]) -> Any:
    """Gather the blocks batch by batch into the whole value.

    Dense unless every block is sparse.
    """
    grid = list(places(array.splits))
    itemsize = array.dtype.itemsize if array.dtype is not None else 8
    result: Any = None
    sparse_blocks: dict[tuple[int, ...], Any] = {}
    batch: list[tuple[int, ...]] = []
    size = 0

    def fill() -> None:
        nonlocal result
        values = gather([array.stored(*place).key for place in batch])
        for place, value in zip(batch, values, strict=True):
            if tasks.is_sparse(value):
                sparse_blocks[place] = tasks.flip(value) if array.flipped else value
                continue
            if result is None:
                result = np.empty(array.shape, dtype=value.dtype)
            part = value.T if array.flipped else value
            result[region(array.splits, place)] = part
        batch.clear()

    for place in grid:
        part = region(array.splits, place)
        size += itemsize * int(np.prod([s.stop - s.start for s in part]))
        batch.append(place)
        if size > BATCH_BYTES:
            fill()
            size = 0
    if batch:
        fill()
    if result is None:
        columns = len(array.splits[1]) if array.ndim == 2 else 0
        return tasks.assemble(columns, *(sparse_blocks[place] for place in grid))
    for place, value in sparse_blocks.items():
        result[region(array.splits, place)] = value.toarray()
    return result
