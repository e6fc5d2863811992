"""Block sizes along an axis, and which operators have a blocked form.

A split is a tuple of block sizes that add up to the axis' length; it has at least one block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from lineal.planner.types import Type, upper

Split = tuple[int, ...]

ELEMENTWISE = frozenset(
    """
    add subtract multiply divide floor_divide remainder power maximum minimum fmax fmin logaddexp
    arctan2 hypot less less_equal greater greater_equal equal not_equal logical_and logical_or
    logical_xor bitwise_and bitwise_or bitwise_xor negative positive absolute fabs exp exp2 expm1
    log log2 log10 log1p sqrt cbrt square reciprocal sign sin cos tan arcsin arccos arctan sinh
    cosh tanh arcsinh arccosh arctanh floor ceil trunc rint isnan isinf isfinite logical_not invert
    signbit copysign where clip round cast copy todense
    """.split()
)
"""Operators that work entry by entry with NumPy's broadcasting."""

REDUCTIONS = frozenset(
    "sum prod mean min max any all count_nonzero var std argmin argmax norm".split()
)
CREATIONS = frozenset(("full", "eye", "arange", "linspace"))
_ALWAYS = (
    ELEMENTWISE
    | (REDUCTIONS - {"norm"})
    | frozenset(
        """
        matmul outer trace diag tril triu transpose reshape broadcast_to concatenate cumsum
        cumprod diff bincount scatter gather
        """.split()
    )
)


def starts(split: Split) -> tuple[int, ...]:
    """Return the offsets of the blocks and, last, the axis' length."""
    return (0, *accumulate(split))


def even(length: int, block: int) -> Split:
    """Cut `length` into blocks of `block` entries, the last one shorter; (0,) for length 0."""
    if length <= 0:
        return (0,)
    block = max(1, min(block, length))
    whole, rest = divmod(length, block)
    return (block,) * whole + ((rest,) if rest else ())


def balanced(length: int, count: int) -> Split:
    """Cut `length` into at most `count` blocks whose sizes differ by one at most."""
    if length <= 0:
        return (0,)
    count = max(1, min(count, length))
    small, extra = divmod(length, count)
    return (small + 1,) * extra + (small,) * (count - extra)


def intersect(*splits: Split) -> Split:
    """Return the coarsest split that has every boundary of `splits` (which must agree in length).

    Equal splits are returned as they are; otherwise blocks without entries are dropped.
    """
    first = splits[0]
    if all(split == first for split in splits):
        return first
    edges = sorted({edge for split in splits for edge in starts(split)})
    sizes = tuple(b - a for a, b in pairwise(edges))
    return sizes or (0,)


def fit(length: int, planned: Split) -> Split:
    """Return `planned` if it adds up to `length`, else blocks of the planned size.

    Plans hold upper bounds for sizes that only the run knows.
    """
    if sum(planned) == length and planned:
        return planned
    return even(length, max(planned, default=length))


def refusal(
    op: str, attrs: Mapping[str, object], types: Sequence[Type], blocked: Sequence[bool]
) -> str:
    """Return why `op` has no blocked form for operands of `types`; empty when it has one.

    `blocked` tells which operands are blocked.  Sizes known only at the run count with their
    upper bound; the engine gathers when the true size turns out too small.
    """
    if any(t.kind != "array" or t.ndim > 2 for t in types):
        return f"no blocked form of {op} for this operand"
    if op in _ALWAYS or op in CREATIONS:
        return ""
    if op == "norm":
        spectral = attrs.get("axis") is None and types[0].ndim == 2
        if spectral and attrs.get("ord") in (2, -2, "nuc"):
            return "no blocked form of the spectral and nuclear norms"
        if isinstance(attrs.get("axis"), tuple) and attrs.get("ord") not in (None, "fro"):
            return "no blocked form of a matrix norm over a tuple of axes"
        return ""
    if op in ("qr", "svd", "lstsq"):
        return _tall(op, attrs, types, blocked)
    if op in ("getitem", "setitem"):
        return _index(op, attrs, types, blocked)
    return f"no blocked form of {op}"


def _tall(
    op: str, attrs: Mapping[str, object], types: Sequence[Type], blocked: Sequence[bool]
) -> str:
    if types[0].ndim != 2 or not blocked[0]:
        return f"no blocked form of {op} for this operand"
    rows, columns = upper(types[0].shape[0]), upper(types[0].shape[1])
    if rows < columns:
        return f"no blocked form of {op} of a matrix with more columns than rows"
    if op == "qr" and attrs.get("mode", "reduced") not in ("reduced", "r"):
        return f"no blocked form of qr with mode {attrs.get('mode')!r}"
    if op == "svd" and attrs.get("compute_uv", True) and attrs.get("full_matrices", True):
        return "no blocked form of svd with full matrices"
    return ""


def _index(
    op: str, attrs: Mapping[str, object], types: Sequence[Type], blocked: Sequence[bool]
) -> str:
    spec = attrs.get("spec")
    if not isinstance(spec, tuple):
        return f"no blocked form of {op} with this index"
    values = types[1:] if op == "getitem" else types[2:]
    kinds = [entry[0] for entry in spec if isinstance(entry, tuple)]
    arrays = [entry for entry in spec if isinstance(entry, tuple) and entry[0] == "array"]
    if op == "setitem" and not blocked[0]:
        return "no blocked form of setitem into a value of the driver"
    if any(values[entry[1]].ndim == 2 for entry in arrays):
        whole = (
            len(arrays) == len(spec) == 1
            and values[arrays[0][1]].dtype.kind == "b"
            and types[0].ndim == 2
        )
        if not whole or (op == "setitem" and types[1].ndim):
            return f"no blocked form of {op} with a two-dimensional index array"
    if len(arrays) > 1 and (op == "setitem" or "new" in kinds):
        return f"no blocked form of {op} with two index arrays"
    if len(arrays) > 1 and any(values[entry[1]].dtype.kind == "b" for entry in arrays):
        return f"no blocked form of {op} with two index arrays of which one is a mask"
    if arrays and "int" in kinds and "new" in kinds:
        return f"no blocked form of {op} with an integer, an array and a new axis together"
    if op == "setitem" and "new" in kinds:
        return "no blocked form of setitem with a new axis"
    return ""


def sliced(split: Split, start: int | None, stop: int | None, step: int | None) -> Split:
    """Return the block sizes that a slice of an axis has; untouched blocks go, (0,) if all do."""
    edges = starts(split)
    chosen = range(edges[-1])[slice(start, stop, step)]
    sizes = []
    for low, high in pairwise(edges):
        count = len(_within(chosen, low, high))
        if count:
            sizes.append(count)
    if chosen.step < 0:
        sizes.reverse()
    return tuple(sizes) or (0,)


def _within(chosen: range, low: int, high: int) -> range:
    """Return the part of a range (as an increasing one) that lies in [low, high)."""
    if not len(chosen):
        return range(0)
    up = chosen if chosen.step > 0 else chosen[::-1]
    first = max(0, -(-(low - up.start) // up.step))
    last = max(0, -(-(high - up.start) // up.step))
    return up[min(first, len(up)) : min(last, len(up))]
