"""Bringing inputs to the workers, once, in blocks.

Blocks of the driver's memory are sent as tasks that carry the data, not by `scatter`: a scattered
block that loses its worker is gone, and everything computed from it with it; a task is run again
on another worker.  The price is one copy in the scheduler.  Mapped files are read by the workers
where they see the file, so nothing is copied at all.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from lineal.engine.blocked import tasks
from lineal.engine.blocked.graph import Block, Executor, Pending, deliver
from lineal.engine.blocked.grid import BlockedArray, places, region
from lineal.errors import InputError
from lineal.planner.layouts import Split, fit
from lineal.planner.plan import Value


def adopt(
    pending: Pending, executor: Executor, value: Any, spec: Value, label: str, note: str
) -> BlockedArray:
    """Queue the blocks of an input; see `BlockedRuntime.adopt`."""
    if hasattr(value, "__dask_graph__"):
        return _dask(pending, value, label, note)
    shape = tuple(value.shape)
    planned = spec.splits or tuple((n,) for n in shape)
    splits = tuple(fit(n, split) for n, split in zip(shape, planned, strict=True))
    mapped = _mapped(executor, value)
    if mapped is not None:
        blocks = [
            pending.add(label, note, tasks.read_mapped, (*mapped[:5], part, *mapped[5:]))
            for part in (region(splits, place) for place in places(splits))
        ]
        return BlockedArray(splits, blocks, value.dtype)
    if tasks.is_sparse(value):
        from scipy import sparse

        if value.format != "csr" or not value.has_canonical_format:
            value = sparse.csr_array(value)
            value.sum_duplicates()
    blocks = []
    for place in places(splits):
        part = region(splits, place)
        block = value if all(len(s) == 1 for s in splits) else value[part]
        blocks.append(pending.add(label, note, deliver, (block,), data=True))
    return BlockedArray(splits, blocks, value.dtype)


def _mapped(executor: Executor, value: Any) -> tuple[Any, ...] | None:
    """Return what a worker needs to read a mapped file by itself, None if it cannot."""
    if not isinstance(value, np.memmap):
        return None
    base: Any = value.base
    if not isinstance(base, mmap.mmap):
        return None  # a view of a mapping no longer knows where in the file it is
    if value.filename is None or executor.workers == 0:
        return None
    path = os.fspath(value.filename)
    try:
        state = os.stat(path)
    except OSError:
        return None
    if not executor.sees_file(path, state.st_size, state.st_mtime_ns):
        return None
    order = "C" if value.flags.c_contiguous else "F"
    facts = (path, value.dtype.str, value.shape, order, value.offset)
    return (*facts, state.st_size, state.st_mtime_ns)


def _dask(pending: Pending, value: Any, label: str, note: str) -> BlockedArray:
    """Queue a Dask array's own tasks; its blocks are kept while the input lives."""
    from lineal.engine.cluster import foreign_graph

    splits: tuple[Split, ...] = tuple(tuple(int(n) for n in axis) for axis in _sizes(value))
    graph, keys = foreign_graph(value)
    pending.adopt(graph)
    blocks: list[Block] = []
    for place, key in zip(places(splits), keys, strict=True):
        sizes = tuple(split[i] for split, i in zip(splits, place, strict=True))
        source = pending.reference(key)
        blocks.append(pending.add(label, note, tasks.to_block, (sizes, value.dtype.name, source)))
    return BlockedArray(splits, blocks, value.dtype)


def _sizes(value: Any) -> tuple[tuple[Any, ...], ...]:
    chunks: tuple[tuple[Any, ...], ...] = value.chunks
    if any(n != n for axis in chunks for n in axis):  # NaN: a size that Dask does not know
        raise InputError(
            "a Dask array has chunks of unknown size",
            hint="call .compute_chunk_sizes() on it first",
        )
    if not chunks:
        return ()
    return chunks
