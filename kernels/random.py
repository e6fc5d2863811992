"""Seeded random draws as pure functions: a draw returns the next generator."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np


def rng_new(seed: Any = None) -> np.random.Generator:
    """Return a generator that starts from `seed`."""
    return np.random.default_rng(seed)


def draw(
    rng: np.random.Generator,
    *args: Any,
    method: str,
    size: tuple[int, ...] | int | None = None,
    kwargs: tuple[str, ...] = (),
    shape: object = None,
    result: object = None,
    **static: Any,
) -> tuple[Any, np.random.Generator]:
    """Call `rng.method` on a copy of `rng`; return (value, the copy after the draw).

    The last `len(kwargs)` of `args` are keyword values under the names `kwargs`.  `size` None is
    not passed on, so methods without a size (`permutation`) work.  `static` holds keyword
    arguments known at plan time, such as dtype or endpoint; `shape` and `result` only tell the
    planner the type of the value.
    """
    after = copy.deepcopy(rng)
    split = len(args) - len(kwargs)
    named = dict(zip(kwargs, args[split:], strict=True))
    if size is not None:
        named["size"] = size
    value = getattr(after, method)(*args[:split], **named, **static)
    return value, after
