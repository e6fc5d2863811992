"""Whether a value holds only finite numbers, in one pass without temporaries of its size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

CHUNK_ELEMENTS = 1 << 17
"""Elements looked at together: 1 MiB of float64, still in cache for a second look."""


def all_finite(x: Any) -> bool:
    """Tell whether `x` has neither NaN nor infinity.

    `x` is a dense or memory-mapped array, a SciPy sparse array (its stored values are looked at),
    or a scalar.  Integers and booleans are finite without a look.
    """
    if isinstance(x, float):
        return math.isfinite(x)
    if isinstance(x, np.ndarray):
        return _array(x)
    if isinstance(x, np.generic):
        return x.dtype.kind != "f" or bool(np.isfinite(x))
    if hasattr(x, "tocsr"):
        # The other formats' `data` holds padding (dia) or lists (lil).
        return _array(x.data if x.format in ("csr", "csc", "coo", "bsr") else x.tocsr().data)
    if isinstance(x, int):
        return True
    return _array(np.asarray(x))


def _array(x: np.ndarray[Any, Any]) -> bool:
    if x.dtype.kind in "biu" or not x.size:
        return True
    if x.dtype.kind != "f":
        return all(bool(np.isfinite(part).all()) for part in _chunks(x))
    return all(_finite(part) for part in _chunks(x))


def _finite(part: np.ndarray[Any, Any]) -> bool:
    # A sum of which one term is NaN or infinite is never finite, so a finite sum is a proof; the
    # reverse does not hold (finite terms may overflow), hence the second look.
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.add.reduce(part, axis=None)
    return math.isfinite(total) or bool(np.isfinite(part).all())


def _chunks(x: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    if x.size <= CHUNK_ELEMENTS:
        yield x
        return
    if x.ndim == 1:
        for start in range(0, x.size, CHUNK_ELEMENTS):
            yield x[start : start + CHUNK_ELEMENTS]
        return
    if x.ndim == 2 and abs(x.strides[0]) < abs(x.strides[1]):
        x = x.T  # follow the memory
    rows = max(1, CHUNK_ELEMENTS // max(1, math.prod(x.shape[1:])))
    for start in range(0, x.shape[0], rows):
        block = x[start : start + rows]
        if rows == 1:
            yield from _chunks(block[0])
        else:
            yield block
