"""The sparse-aware form of every kernel; what has none of its own runs on dense copies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lineal.kernels import sparse_elementwise, sparse_products, sparse_reductions, sparse_shapes
from lineal.kernels.sparse import dense, is_sparse, operand

Fn = Callable[..., Any]

KERNELS: dict[str, Fn] = {
    **sparse_elementwise.KERNELS,
    **sparse_reductions.KERNELS,
    **sparse_products.KERNELS,
    **sparse_shapes.KERNELS,
}


def expand(fn: Fn) -> Fn:
    """Return `fn` on dense copies of whatever comes sparse."""

    def kernel(*values: Any, **attrs: Any) -> Any:
        return fn(*[dense(v) if is_sparse(v) else v for v in values], **attrs)

    return kernel


def get(op: str, fallback: Fn) -> Fn:
    """Return the sparse-aware kernel of `op`; `fallback` is its dense one."""
    return KERNELS.get(op) or expand(fallback)


def bind(op: str, fallback: Fn, attrs: dict[str, Any], storage: str | None) -> Fn:
    """Return the sparse-aware kernel of `op` with `attrs` fixed; see `registry.bind`."""
    fn = get(op, fallback)
    if storage == "sparse":
        fn = sparse_elementwise.BY_VALUE.get(op, fn)
    if op == "const":
        value = operand(attrs.get("value"))
        return lambda: value
    if attrs:
        fn = partial(fn, **attrs)
    return _dense_result(fn) if storage == "dense" else fn


def _dense_result(fn: Fn) -> Fn:
    def kernel(*values: Any) -> Any:
        return dense(fn(*values))

    return kernel
