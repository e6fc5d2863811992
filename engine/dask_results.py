"""Results as Dask arrays: blocks stay where they were computed."""

from __future__ import annotations

import secrets
from itertools import product
from typing import Any

import numpy as np

from lineal.engine.blocked.tasks import flip


def as_dask(value: Any, runtime: Any) -> Any:
    """Return one result: a blocked value as a Dask array over its blocks, others as they are.

    On a cluster the blocks are futures, so the data stays on the workers as long as the Dask
    array lives; in-process they are this process's own arrays.
    """
    if not hasattr(value, "splits") or not value.splits:
        return runtime.fetch(value) if hasattr(value, "splits") else value
    if value.held is not None or any(-1 in split for split in value.splits):
        return _from_driver(runtime.fetch(value))
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    blocks = [_block(b, value.flipped) for b in runtime.handles(value)]
    name = f"lineal-result-{secrets.token_hex(8)}"
    graph: dict[Any, Any] = {
        (name, *index): block
        for index, block in zip(product(*map(range, value.grid)), blocks, strict=True)
    }
    meta = np.empty((0,) * value.ndim, dtype=value.dtype)
    layer = HighLevelGraph.from_collections(name, graph, dependencies=[])
    return da.Array(layer, name, chunks=value.splits, meta=meta)


def _block(handle: Any, flipped: bool) -> Any:
    if not hasattr(handle, "key"):  # this process's own array
        if not isinstance(handle, np.ndarray):
            return handle
        return np.array(handle.T if flipped else handle)
    return (flip, handle) if flipped else handle


def _from_driver(value: Any) -> Any:
    import dask.array as da

    return da.from_array(value) if isinstance(value, np.ndarray) and value.ndim else value
