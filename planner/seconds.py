"""Predicted seconds of one execution of an operation, from a cluster's rates."""

from __future__ import annotations

from lineal.kernels.specs import Spec
from lineal.planner.cluster import ClusterSpec

_FACTOR = frozenset("solve inv pinv det slogdet cholesky lstsq qr svd eigh eigvalsh".split())
_ORDERING = frozenset("sort argsort unique bincount".split())
_TRANSCENDENTAL = frozenset(
    "exp exp2 expm1 log log2 log10 log1p power sin cos tan arcsin arccos arctan sinh cosh tanh "
    "arcsinh arccosh arctanh arctan2 hypot logaddexp cbrt draw".split()
)
_REDUCTIONS = frozenset(
    "sum prod mean min max any all count_nonzero var std argmin argmax norm trace cumsum "
    "cumprod".split()
)
_FREE = frozenset(
    "const input param item undef transpose reshape broadcast_to loop if literal dim".split()
)
_CALL_SECONDS = 2e-6
"""What calling a kernel costs besides its work."""


def kernel_class(op: str, sparse: bool) -> str:
    """Return the name of the rate that an operation runs at."""
    if op in ("matmul", "einsum", "outer"):
        return "sparse" if sparse else "matmul"
    if op in _FACTOR:
        return "factor"
    if op in _ORDERING:
        return "ordering"
    if op in _TRANSCENDENTAL:
        return "transcendental"
    if op in _REDUCTIONS:
        return "reduction"
    if op in ("copy", "concatenate", "getitem", "setitem", "cast", "full", "eye", "diag"):
        return "copy"
    return "elementwise"


def seconds(op: str, spec: Spec, sparse: bool, cluster: ClusterSpec) -> float:
    """Return predicted seconds of one execution on one slot."""
    if op in _FREE:
        return 0.0
    kind = kernel_class(op, sparse)
    if kind in ("matmul", "sparse", "factor"):
        # A product of few flops per byte is bound by reading its operands.
        work = max(
            spec.flops * cluster.rate(kind),
            (spec.bytes_read + spec.bytes_written) * cluster.rate("copy"),
        )
    else:
        work = (spec.bytes_read + spec.bytes_written) * cluster.rate(kind)
    return work + _CALL_SECONDS
