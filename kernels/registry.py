"""Every operation's kernel by name, and how to get the leanest callable for a step.

A kernel is `fn(*values, **attrs)`; values are NumPy arrays, NumPy or Python scalars, and, in the
sparse form, `csr_array`.  This module loads neither SciPy nor Numba: the sparse form of a kernel
is imported when first asked for.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lineal.errors import UnsupportedError
from lineal.kernels import (
    arithmetic,
    creation,
    elementwise,
    factor,
    ordering,
    products,
    random,
    reductions,
    scalars,
    shapes,
)

__all__ = ["KERNELS", "Attrs", "Kernel", "bind", "get"]

Attrs = Mapping[str, Any] | Iterable[tuple[str, Hashable]]
"""Static attributes: a mapping, or the (name, value) pairs that plans hold."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One operation: its name, group and dense function.

    `group` is the module of duty ("elementwise", "reductions", ...); `binder` turns static
    attributes into a function of the values alone, None where `functools.partial` does.
    """

    name: str
    group: str
    dense: Callable[..., Any]
    binder: Callable[[dict[str, Any]], Callable[..., Any]] | None = None


_BINDERS: dict[str, Callable[[dict[str, Any]], Callable[..., Any]]] = {
    "clip": elementwise.bind_clip,
    "transpose": shapes.bind_transpose,
    "reshape": shapes.bind_reshape,
    "getitem": shapes.bind_getitem,
    "setitem": shapes.bind_setitem,
    **{name: reductions.binder(name) for name in reductions.KERNELS},
}

_GROUPS: tuple[tuple[str, Mapping[str, Callable[..., Any]]], ...] = (
    (
        "elementwise",
        {
            **elementwise.UFUNCS,
            "where": np.where,
            "clip": elementwise.clip,
            "round": elementwise.round_,
        },
    ),
    (
        "scalars",
        {
            **arithmetic.PYTHON,
            "to_float": scalars.to_float,
            "to_int": scalars.to_int,
            "to_bool": scalars.to_bool,
            "strong": scalars.strong,
            "assert_": scalars.assert_,
            "const": scalars.const,
            "undef": scalars.undef,
            "range_len": arithmetic.range_len,
        },
    ),
    ("reductions", reductions.KERNELS),
    ("ordering", ordering.KERNELS),
    ("products", products.KERNELS),
    ("creation", creation.KERNELS),
    ("shapes", shapes.KERNELS),
    ("factor", factor.KERNELS),
    ("random", {"rng_new": random.rng_new, "draw": random.draw}),
)

KERNELS: dict[str, Kernel] = {
    name: Kernel(name, group, fn, _BINDERS.get(name))
    for group, table in _GROUPS
    for name, fn in table.items()
}
"""Every operation that is not control flow."""


def _kernel(op: str) -> Kernel:
    try:
        return KERNELS[op]
    except KeyError:
        near = difflib.get_close_matches(op, KERNELS, 3)
        raise UnsupportedError(
            f"there is no kernel for the operation {op!r}",
            hint="one of " + ", ".join(near or sorted(KERNELS)),
        ) from None


def get(op: str, sparse: bool = False) -> Callable[..., Any]:
    """Return the kernel `fn(*values, **attrs)` of `op`.

    With `sparse` False no value may be sparse, and an elementwise operation is the ufunc itself.
    With `sparse` True any value may be; the result is a `csr_array` only where
    `specs.predict_storage` says "sparse".

    Raises
    ------
    UnsupportedError
        There is no such operation.
    """
    kernel = _kernel(op)
    if not sparse:
        return kernel.dense
    from lineal.kernels import sparse_table

    return sparse_table.get(op, kernel.dense)


def bind(
    op: str, attrs: Attrs = (), sparse: bool = False, storage: str | None = None
) -> Callable[..., Any]:
    """Return a function of the values alone, with `attrs` fixed.

    `storage` is the planned form of the result and counts only with `sparse`: "dense" makes an
    ndarray of whatever comes; "sparse" lets operations whose zeros depend on a scalar's value
    (`S > 0`, `maximum(S, 0)`) answer with a `csr_array` when the value allows it.

    Raises
    ------
    UnsupportedError
        There is no such operation.
    """
    fixed = dict(attrs)
    kernel = _kernel(op)
    if not sparse:
        if kernel.binder is not None:
            return kernel.binder(fixed)
        return partial(kernel.dense, **fixed) if fixed else kernel.dense
    from lineal.kernels import sparse_table

    return sparse_table.bind(op, kernel.dense, fixed, storage)
