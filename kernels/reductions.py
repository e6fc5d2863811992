"""Dense reductions. `axis` is None, an int or a tuple of non-negative ints."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

_REDUCE: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
}


def sum_(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """Sum over `axis`; small ints widen to the default int, floats keep their dtype."""
    return _REDUCE["sum"].reduce(x, axis=axis, dtype=dtype, keepdims=keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """Multiply over `axis`; dtypes as in `sum_`."""
    return _REDUCE["prod"].reduce(x, axis=axis, dtype=dtype, keepdims=keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """Average over `axis`; ints are added as float64, so large ints cannot wrap."""
    return np.mean(x, axis=axis, dtype=dtype, keepdims=keepdims)


def min_(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """Least element over `axis`, NaN if any is NaN; ValueError for an empty axis."""
    return _REDUCE["min"].reduce(x, axis=axis, keepdims=keepdims)


def max_(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """Greatest element over `axis`, NaN if any is NaN; ValueError for an empty axis."""
    return _REDUCE["max"].reduce(x, axis=axis, keepdims=keepdims)


def any_(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """Tell whether some element over `axis` is true (NaN is)."""
    return _REDUCE["any"].reduce(x, axis=axis, keepdims=keepdims)


def all_(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """Tell whether every element over `axis` is true (NaN is)."""
    return _REDUCE["all"].reduce(x, axis=axis, keepdims=keepdims)


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """Count the elements over `axis` that are not 0."""
    return np.count_nonzero(x, axis=axis, keepdims=keepdims)


def var(
    x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None, ddof: float = 0
) -> Any:
    """Variance over `axis`, divisor n - `ddof`; centred before squaring."""
    return np.var(x, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)


def std(
    x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None, ddof: float = 0
) -> Any:
    """Square root of `var`."""
    return np.std(x, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)


def argmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Index of the first least element (first NaN if there is one); flat where `axis` is None."""
    return np.argmin(x, axis=axis, keepdims=keepdims)


def argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Index of the first greatest element (first NaN if any); flat where `axis` is None."""
    return np.argmax(x, axis=axis, keepdims=keepdims)


KERNELS: dict[str, Callable[..., Any]] = {
    "sum": sum_,
    "prod": prod,
    "mean": mean,
    "min": min_,
    "max": max_,
    "any": any_,
    "all": all_,
    "count_nonzero": count_nonzero,
    "var": var,
    "std": std,
    "argmin": argmin,
    "argmax": argmax,
}


def binder(name: str) -> Callable[[dict[str, Any]], Callable[..., Any]]:
    """Return the function that fixes the attributes of reduction `name`.

    The bound form calls `ufunc.reduce` directly: np.sum's own dispatch costs more than the sum
    of a short vector.
    """
    ufunc = _REDUCE.get(name)
    if ufunc is None:
        return lambda attrs: partial(KERNELS[name], **attrs)
    takes_dtype = name in ("sum", "prod")

    def bind(attrs: dict[str, Any]) -> Callable[..., Any]:
        kwargs: dict[str, Any] = {"axis": attrs.get("axis")}
        if attrs.get("keepdims"):
            kwargs["keepdims"] = True
        if takes_dtype and attrs.get("dtype") is not None:
            kwargs["dtype"] = np.dtype(attrs["dtype"])
        return partial(ufunc.reduce, **kwargs)

    return bind
