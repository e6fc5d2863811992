"""Dense kernels that move or select elements. Results may be views of the operands."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

Spec = tuple[tuple[Any, ...], ...]
"""One entry per index element; see `index_of`."""


def transpose(x: Any) -> Any:
    """Exchange the axes: x [m, n] -> [n, m]; 1-D and 0-d values stay as they are."""
    return np.transpose(x)


def reshape(x: Any, shape: tuple[int, ...]) -> Any:
    """Same elements in row-major order under `shape`."""
    return np.reshape(x, shape)


def dim(x: Any, axis: int) -> int:
    """Return the size of `x` along `axis`, for sizes that only the run knows."""
    return int(x.shape[axis])


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Read-only view of `x` repeated to `shape`."""
    return np.broadcast_to(x, shape)


def concatenate(*xs: Any, axis: int | None = 0) -> Any:
    """Join `xs` along `axis`."""
    return np.concatenate(xs, axis=axis)


def index_of(spec: Spec, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the NumPy index that `spec` describes.

    An element is ("slice", start, stop, step) as Python's slice.indices resolves it, except that
    stop is None for "to the end" when step < 0; ("new",) a new axis; ("int", k) or ("array", k)
    the scalar, integer array or boolean array `values[k]`.
    """
    return tuple(
        slice(*entry[1:])
        if entry[0] == "slice"
        else None
        if entry[0] == "new"
        else values[entry[1]]
        for entry in spec
    )


def getitem(x: Any, *values: Any, spec: Spec) -> Any:
    """Return `x` at the index `spec` describes; a view where all its elements are slices."""
    return x[index_of(spec, values)]


def setitem(x: Any, v: Any, *values: Any, spec: Spec) -> Any:
    """Return a copy of `x`, same dtype, with `v` at the index `spec` describes."""
    result = np.array(x)
    result[index_of(spec, values)] = v
    return result


def bind_transpose(attrs: dict[str, Any]) -> Callable[..., Any]:
    """Return the transpose as an attribute look-up."""
    return operator.attrgetter("T")


def bind_reshape(attrs: dict[str, Any]) -> Callable[..., Any]:
    """Return `reshape` with its shape fixed; the method itself, without np.reshape's dispatch."""
    shape = attrs["shape"]

    def bound(x: Any) -> Any:
        return x.reshape(shape) if isinstance(x, np.ndarray) else np.reshape(x, shape)

    return bound


def _template(spec: Spec) -> tuple[tuple[Any, ...], tuple[tuple[int, int], ...]]:
    fixed = index_of(spec, (None,) * (1 + max((e[1] for e in spec if e[0] in _TAKES), default=-1)))
    holes = tuple((at, entry[1]) for at, entry in enumerate(spec) if entry[0] in _TAKES)
    return fixed, holes


_TAKES = ("int", "array")


def bind_getitem(attrs: dict[str, Any]) -> Callable[..., Any]:
    """Return `getitem` with the index template built once."""
    fixed, holes = _template(attrs["spec"])
    if not holes:
        return operator.itemgetter(fixed)
    if fixed == (None,) and holes == ((0, 0),):
        return lambda x, value: x[value,]
    if len(holes) == 1 and holes[0][1] == 0:
        at = holes[0][0]
        before, after = fixed[:at], fixed[at + 1 :]
        return lambda x, value: x[(*before, value, *after)]

    def bound(x: Any, *values: Any) -> Any:
        index = list(fixed)
        for at, k in holes:
            index[at] = values[k]
        return x[tuple(index)]

    return bound


def bind_assign(attrs: dict[str, Any]) -> Callable[..., Any]:
    """Return `setitem` that writes into `x` itself and returns it, for an `x` nobody else holds."""
    fixed, holes = _template(attrs["spec"])

    def bound(x: Any, v: Any, *values: Any) -> Any:
        index = fixed
        if holes:
            filled = list(fixed)
            for at, k in holes:
                filled[at] = values[k]
            index = tuple(filled)
        x[index] = v
        return x

    return bound


def bind_setitem(attrs: dict[str, Any]) -> Callable[..., Any]:
    """Return `setitem` with the index template built once: writes into a copy of `x`."""
    assign = bind_assign(attrs)
    return lambda x, v, *values: assign(np.array(x), v, *values)


KERNELS: dict[str, Callable[..., Any]] = {
    "transpose": transpose,
    "reshape": reshape,
    "broadcast_to": broadcast_to,
    "concatenate": concatenate,
    "getitem": getitem,
    "setitem": setitem,
    "dim": dim,
}
