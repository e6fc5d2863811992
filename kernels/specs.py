"""What a kernel costs and how its result is stored, from shapes alone.

Pure functions of sizes: no arrays, no clock, no SciPy.  The planner reads this module and nothing
else of the kernels.

FLOPs are one per multiply and one per add.  `peak_bytes` is an upper bound of operands, results
and the kernel's temporaries together (for sparse results: given the density handed in), not
counting the dense fall-back that a NaN or infinity next to an implicit zero forces.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

__all__ = ["Spec", "cost", "predict_storage", "result_density"]

Shape = tuple[int, ...]
Attrs = Mapping[str, Any] | Iterable[tuple[str, Hashable]]

ZERO_UNARY = frozenset(
    "negative positive absolute fabs expm1 log1p sqrt cbrt square sign sin tan arcsin arctan sinh "
    "tanh arcsinh arctanh floor ceil trunc rint isnan isinf signbit".split()
)
"""Ufuncs of one operand with f(0) = 0."""

PAIRWISE = frozenset(
    "add subtract multiply maximum minimum fmax fmin hypot less greater not_equal logical_and "
    "logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split()
)
"""Ufuncs with f(0, 0) = 0: two sparse operands of one shape give a sparse result."""

ABSORBING_FIRST = frozenset(
    "multiply divide floor_divide remainder power logical_and bitwise_and".split()
)
"""Ufuncs with f(0, d) = 0 for almost every d: sparse if the first operand is (and d allows it)."""

ABSORBING_SECOND = frozenset("multiply logical_and bitwise_and".split())
"""The same for the second operand."""

_SAME_PATTERN = frozenset("negative positive absolute fabs sign square cbrt copy".split())
_INTERSECT = frozenset("multiply logical_and bitwise_and".split())


class TypeLike(Protocol):
    """What this module needs to know of a value's type (`lineal.planner.types.Type` has it)."""

    @property
    def shape(self) -> tuple[Any, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...


@dataclass(frozen=True, slots=True)
class Spec:
    """Cost of one execution of a kernel.

    Attributes
    ----------
    flops : float
        Multiplies plus adds.
    bytes_read, bytes_written : float
        Operands read once, results written once.
    peak_bytes : float
        Upper bound of what is held at once, operands and results included.
    """

    flops: float
    bytes_read: float
    bytes_written: float
    peak_bytes: float


# Storage


def predict_storage(
    op: str,
    storages: tuple[str, ...],
    attrs: Attrs = (),
    types: tuple[TypeLike | None, ...] | None = None,
    values: tuple[object, ...] | None = None,
) -> str:
    """Return the planned form, "dense" or "sparse", of the result of `op`.

    "dense" is a promise: the kernel returns an ndarray or scalar.  "sparse" is the form as long
    as no NaN or infinity (or zero divisor) meets an implicit zero.  `types` sharpens the answer
    for broadcasts, 1-D operands, masks and float16; `values` gives operands known at plan time
    (others None): a known scalar c with f(0, c) = 0 makes "sparse" possible for any elementwise
    operation, and needs `registry.bind(..., storage="sparse")`.
    """
    a = dict(attrs)
    sparse = [
        kind == "sparse" and (types is None or _ndim(types, at) in (None, 2))
        for at, kind in enumerate(storages)
    ]
    if op == "const":
        return "sparse" if hasattr(a.get("value"), "tocsr") else "dense"
    if not any(sparse):
        return "dense"
    return "sparse" if _stays_sparse(op, sparse, a, types, values) else "dense"


def _stays_sparse(
    op: str,
    sparse: list[bool],
    attrs: dict[str, Any],
    types: tuple[TypeLike | None, ...] | None,
    values: tuple[object, ...] | None,
) -> bool:
    if op in ("transpose", "tril", "triu", "copy", "round"):
        return sparse[0] and not (op == "round" and _half(op, types))
    if op in ZERO_UNARY:
        return not _half(op, types)
    if op == "cast":
        return bool(np.dtype(attrs["dtype"]) != np.float16)
    if op == "reshape":
        shape = attrs["shape"]
        return isinstance(shape, tuple) and len(shape) == 2
    if op in ("concatenate", "matmul"):
        if op == "concatenate" and attrs.get("axis", 0) is None:
            return False
        return all(sparse)
    if op == "getitem":
        return sparse[0] and _index_keeps_matrix(attrs["spec"], types)
    if len(sparse) == 2 and (op in PAIRWISE or op in ABSORBING_FIRST or op in _COMPARES):
        return _binary_sparse(op, sparse, types, values)
    if op == "clip" and values is not None and sparse[0]:
        return _known_zero(op, values, attrs)
    return False


_COMPARES = frozenset(
    "less_equal greater_equal equal logaddexp arctan2 copysign divide remainder".split()
)


def _binary_sparse(
    op: str,
    sparse: list[bool],
    types: tuple[TypeLike | None, ...] | None,
    values: tuple[object, ...] | None,
) -> bool:
    shapes = (_shape(types, 0), _shape(types, 1))
    if _half(op, types):
        return False
    first, second = sparse
    if first and second:
        if op not in PAIRWISE:
            return False
        if None in shapes or shapes[0] == shapes[1]:
            return True
        if not all(isinstance(d, int) for s in shapes if s is not None for d in s):
            return False  # which one is repeated, only the run knows
        # The one that is repeated is expanded; the other decides.
        out = np.broadcast_shapes(*(s for s in shapes if s is not None))
        first, second = shapes[0] == out, shapes[0] != out and shapes[1] == out
    if not (first or second):
        return False
    own, other = (shapes[0], shapes[1]) if first else (shapes[1], shapes[0])
    if own is not None and other is not None and not fits(own, other):
        return False
    if op in (ABSORBING_FIRST if first else ABSORBING_SECOND):
        # power has no rule for matrices of exponents.
        return op != "power" or other is None or other.count(1) >= len(other) - 1
    return values is not None and _known_zero(op, values, {})


def _known_zero(op: str, values: tuple[object, ...], attrs: dict[str, Any]) -> bool:
    known: list[Any] = [v for v in values if v is not None]
    if any(np.ndim(v) != 0 for v in known):
        return False
    if op == "clip":
        if len(known) != len(values) - 1:
            return False
        rest = list(known)
        lo = rest.pop(0) if attrs.get("has_lo", True) else 0
        hi = rest.pop(0) if attrs.get("has_hi", True) else 0
        return bool(lo <= 0 <= hi)
    if len(known) != 1:
        return False
    args = [0.0 if v is None else v for v in values]
    with np.errstate(all="ignore"):
        try:
            return bool(getattr(np, op)(*args) == 0)
        except (TypeError, ValueError):
            return False


def fits(own: Shape, other: Shape) -> bool:
    """Tell whether `other` broadcasts to the shape `own`."""
    if len(other) > len(own):
        return False
    return all(o in (1, d) for o, d in zip(reversed(other), reversed(own), strict=False))


def _shape(types: tuple[TypeLike | None, ...] | None, at: int) -> Any:
    found = types[at] if types is not None and at < len(types) else None
    return None if found is None else found.shape


def _ndim(types: tuple[TypeLike | None, ...], at: int) -> int | None:
    shape = _shape(types, at)
    return None if shape is None else len(shape)


def _half(op: str, types: tuple[TypeLike | None, ...] | None) -> bool:
    """Tell whether NumPy gives float16 (of int8 or bool), which has no sparse form."""
    if types is None or any(t is None for t in types):
        return False
    dtypes = [t.dtype for t in types if t is not None]
    small = all(d.kind in "biu" and d.itemsize == 1 for d in dtypes)
    return small and (op in _FLOATING or (op == "round" and dtypes[0].kind == "b"))


_FLOATING = frozenset(
    "expm1 log1p sqrt cbrt sin tan arcsin arctan sinh tanh arcsinh arctanh fabs rint hypot".split()
)


def _index_keeps_matrix(spec: Any, types: tuple[TypeLike | None, ...] | None) -> bool:
    kinds = [entry[0] for entry in spec]
    if "new" in kinds or "int" in kinds or len(kinds) > 2 or kinds.count("array") > 1:
        return False
    for entry in spec:
        if entry[0] == "array" and types is not None:
            ndim = _ndim(types, 1 + entry[1])
            if ndim is not None and ndim != 1:
                return False
    return True


# Density


def result_density(
    op: str, shapes: tuple[Shape, ...], densities: tuple[float, ...], attrs: Attrs = ()
) -> tuple[float, str]:
    """Return (share of entries of the result that are not 0, how it is known).

    `shapes` and `densities` are the operands'.  The kind is "exact" (given exact operands),
    "estimated" (entries placed independently and uniformly: the average case) or "upper".  All
    hold as long as no NaN or infinity (or zero divisor) meets a zero.
    """
    a = dict(attrs)
    value, kind = _density(op, shapes, densities, a)
    return min(1.0, max(0.0, value)), kind


def _density(
    op: str, shapes: tuple[Shape, ...], d: tuple[float, ...], attrs: dict[str, Any]
) -> tuple[float, str]:
    if not d:
        return _created(op, attrs)
    if op in ("transpose", "reshape") or op in _SAME_PATTERN:
        return d[0], "exact"
    if op in ZERO_UNARY or op in ("cast", "round"):
        return d[0], "upper"
    if op == "matmul" and len(d) == 2:
        if not all(d):
            return 0.0, "exact"
        inner = shapes[0][-1] if shapes[0] else 1
        if not inner:
            return 0.0, "exact"
        if min(d) >= 1.0:
            return 1.0, "upper"
        return -math.expm1(inner * math.log1p(-min(d[0] * d[1], 1 - 1e-16))), "estimated"
    if op == "outer":
        return d[0] * d[1], "exact"
    if op in _INTERSECT and len(d) == 2:
        if not all(d):
            return 0.0, "exact"
        return d[0] * d[1], "upper" if max(d) >= 1.0 else "estimated"
    if op in ABSORBING_FIRST and len(d) == 2:
        return d[0], "upper"
    if op in PAIRWISE and len(d) == 2:
        if min(d) == 0.0 and op not in ("less", "greater", "maximum", "minimum", "fmax", "fmin"):
            return max(d), "exact"
        return d[0] + d[1] - d[0] * d[1], "estimated" if max(d) < 1.0 else "upper"
    if op == "concatenate":
        sizes = [math.prod(s) for s in shapes]
        total = sum(sizes)
        found = sum(n * v for n, v in zip(sizes, d, strict=True)) / total if total else 0.0
        return found, "exact"
    if op in ("tril", "triu"):
        m, n = shapes[0]
        return d[0] * _triangle(op, m, n, int(attrs.get("k", 0))), "estimated"
    if op in ("getitem", "broadcast_to"):
        return d[0], "exact" if op == "broadcast_to" or d[0] in (0.0, 1.0) else "estimated"
    if op in ("sum", "any", "max", "min", "norm", "count_nonzero", "mean"):
        merged = _reduced(shapes[0], attrs.get("axis"))
        if d[0] >= 1.0 or not merged:
            return 1.0, "upper"
        return -math.expm1(merged * math.log1p(-d[0])), "estimated"
    return 1.0, "upper"


def _created(op: str, attrs: dict[str, Any]) -> tuple[float, str]:
    if op == "eye":
        n = int(attrs["n"])
        m = n if attrs.get("m") is None else int(attrs["m"])
        k = int(attrs.get("k") or 0)
        ones = max(0, min(n, m - k) if k >= 0 else min(n + k, m))
        return (ones / (n * m) if n * m else 0.0), "exact"
    return 1.0, "upper"


def _triangle(op: str, m: int, n: int, k: int) -> float:
    """Return the share of an [m, n] matrix that lies in the triangle."""
    if not m * n:
        return 0.0
    # Rows i keep columns j <= i + k; those i with 0 <= i + k < n - 1 keep i + k + 1 of them.
    lo, hi = max(0, -k), min(m, max(0, n - 1 - k))
    rising = (hi - lo) * (lo + hi - 1) // 2 + (hi - lo) * (k + 1) if hi > lo else 0
    kept = rising + max(0, m - max(hi, 0, min(m, -k))) * n
    if op == "tril":
        return kept / (m * n)
    return 1.0 - (_triangle("tril", m, n, k - 1))


def _reduced(shape: Shape, axis: Any) -> int:
    """Return how many elements each result element of a reduction merges."""
    if axis is None:
        return math.prod(shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    return math.prod(shape[i] for i in axes)


# Cost

_SLACK = 1 << 17
"""Bytes for ufunc buffers and the objects themselves."""

_FREE = frozenset(
    "transpose reshape broadcast_to concatenate getitem setitem cast copy full eye arange diag "
    "tril triu const undef strong to_float to_int to_bool assert_ range_len rng_new".split()
)


def cost(
    op: str,
    shapes: tuple[Shape, ...],
    out_shapes: tuple[Shape, ...],
    itemsizes: tuple[int, ...] = (),
    densities: tuple[float | None, ...] = (),
    attrs: Attrs = (),
) -> Spec:
    """Return the cost of one execution of `op`.

    Parameters
    ----------
    op : str
        Operation name.
    shapes, out_shapes : tuple of shapes
        Of operands and results; 0-size axes are fine.
    itemsizes : tuple of int
        Bytes per element of the operands, then of the results; 8 where missing.
    densities : tuple of float or None
        For the operands, then for the results: None (also where missing) when stored dense, else
        the share of entries that sparse storage holds.
    attrs : mapping or pairs
        The operation's static attributes.
    """
    a = dict(attrs)
    n_in, total = len(shapes), len(shapes) + len(out_shapes)
    sizes = [*itemsizes, *[8] * (total - len(itemsizes))]
    kept = [*densities, *[None] * (total - len(densities))]
    every = [*shapes, *out_shapes]
    held = [_nbytes(s, w, d) for s, w, d in zip(every, sizes, kept, strict=True)]
    read, written = float(sum(held[:n_in])), float(sum(held[n_in:]))
    if op in ("transpose", "reshape", "broadcast_to") and kept[:1] == [None]:
        written = 0.0  # a view
    flops = _flops(op, shapes, out_shapes, kept, a)
    peak = sum(held) + _temporaries(op, every, n_in, sizes, kept, held, a) + _SLACK
    return Spec(float(flops), read, written, float(peak))


def _nbytes(shape: Shape, itemsize: int, density: float | None) -> float:
    size = math.prod(shape)
    if density is None or len(shape) != 2:
        return size * itemsize
    nnz = math.ceil(size * density)
    index = 8 if max(nnz, *shape) > 2**31 - 1 else 4
    return nnz * (itemsize + index) + (shape[0] + 1) * index


def _share(density: float | None) -> float:
    return 1.0 if density is None else density


def _flops(
    op: str,
    shapes: tuple[Shape, ...],
    outs: tuple[Shape, ...],
    kept: list[float | None],
    attrs: dict[str, Any],
) -> float:
    if op in _FREE:
        return 0.0
    n_out = float(math.prod(outs[0])) if outs else 0.0
    if op == "matmul":
        inner = shapes[0][-1] if shapes[0] else 0
        return 2.0 * n_out * inner * _share(kept[0]) * _share(kept[1])
    if op in ("outer", "linspace", "draw"):
        return n_out
    if op == "einsum":
        return _einsum_flops(shapes, str(attrs.get("subscripts", "")))
    if op in _DECOMPOSITIONS:
        return _factor_flops(op, shapes, attrs)
    if op == "trace":
        return float(min(shapes[0], default=0))
    n_in = float(math.prod(shapes[0])) * _share(kept[0]) if shapes else 0.0
    if op in ("var", "std"):
        return 4.0 * n_in  # mean, centre, square, add
    if op == "norm":
        return 2.0 * n_in
    if op in _REDUCTIONS:
        return n_in
    if op in ("sort", "argsort", "unique"):
        return n_in * math.log2(n_in) if n_in > 1 else 0.0
    if op == "diff":
        return n_out * int(attrs.get("n", 1))
    return n_out * _share(kept[len(shapes)] if len(kept) > len(shapes) else None)


_REDUCTIONS = frozenset(
    "sum prod mean min max any all count_nonzero argmin argmax cumsum cumprod bincount".split()
)
_DECOMPOSITIONS = frozenset(
    "solve inv det slogdet cholesky qr svd eigh eigvalsh pinv lstsq".split()
)


def _factor_flops(op: str, shapes: tuple[Shape, ...], attrs: dict[str, Any]) -> float:
    """Return the leading terms for a decomposition of a [m, n].

    Counts: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed. (2013): LU 3.2, Cholesky
    4.2, Householder QR 5.2, least squares by SVD 5.5, symmetric QR 8.3, SVD 8.6 (R-bidiagonal).
    """
    m, n = (*shapes[0], 1, 1)[:2]
    if op in ("solve", "lstsq"):
        r = shapes[1][1] if len(shapes[1]) == 2 else 1
    big, small = float(max(m, n)), float(min(m, n))
    if op == "solve":
        return 2.0 / 3.0 * n**3 + 2.0 * n**2 * r
    if op == "inv":
        return 2.0 * n**3
    if op in ("det", "slogdet"):
        return 2.0 / 3.0 * n**3
    if op == "cholesky":
        return n**3 / 3.0
    if op == "qr":
        flops = 2.0 * big * small**2 - 2.0 / 3.0 * small**3
        if m < n:
            flops = 2.0 * m**2 * n - 2.0 / 3.0 * m**3
        # Forming Q explicitly costs as much again.
        return flops if attrs.get("mode") == "r" else 2.0 * flops
    if op == "eigh":
        return 9.0 * n**3
    if op == "eigvalsh":
        return 4.0 / 3.0 * n**3
    thin = 6.0 * big * small**2 + 20.0 * small**3
    if op == "svd":
        if not attrs.get("compute_uv", True):
            return 2.0 * big * small**2 + 2.0 * small**3
        if attrs.get("full_matrices", True):
            return 4.0 * big**2 * small + 22.0 * small**3
        return thin
    if op == "pinv":
        return thin + 2.0 * big * small**2
    # lstsq by singular values, then two products per right side.
    return 2.0 * big * small**2 + 11.0 * small**3 + 2.0 * (big + small) * small * r


def _einsum_flops(shapes: tuple[Shape, ...], subscripts: str) -> float:
    """One product per extra operand and one add, over the whole index space (as np.einsum does)."""
    terms = subscripts.replace(" ", "").split("->")[0].split(",")
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=False):
        for letter, size in zip(term.replace("...", ""), shape, strict=False):
            sizes[letter] = max(size, sizes.get(letter, 0)) if size != 0 else 0
    space = float(math.prod(sizes.values()))
    return space * max(1, len(shapes))


_KEEPS_SPARSE = frozenset(
    "var std norm mean count_nonzero argmin argmax trace getitem tril triu round".split()
)
"""Operations whose kernels read a CSR operand as it is."""


def _temporaries(
    op: str,
    shapes: list[Shape],
    n_in: int,
    sizes: list[int],
    kept: list[float | None],
    held: list[float],
    attrs: dict[str, Any],
) -> float:
    """Return a bound of the bytes held beside operands and results."""
    counts = [math.prod(s) for s in shapes]
    dense_in = [float(n * w) for n, w in zip(counts[:n_in], sizes[:n_in], strict=True)]
    extra = 0.0
    if any(k is not None for k in kept[:n_in]):
        extra += _sparse_temporaries(op, shapes, n_in, sizes, kept, held, dense_in)
    first = counts[0] if counts else 0
    wide = float(first * max(8, sizes[0] if sizes else 8))
    if kept[:1] != [None] and kept[:1] and op in _KEEPS_SPARSE:
        wide = 2.0 * held[0]
    outs = counts[n_in:]
    out = outs[0] if outs else 0
    factor = {
        "var": 2,
        "std": 2,
        "norm": 5,
        "sort": 2,
        "argsort": 2,
        "unique": 8,
        "bincount": 3,
        "diff": 3,
        "round": 2,
        "clip": 1,
        "where": 1,
        "getitem": 0,
        "tril": 2,
        "triu": 2,
        "setitem": 1,
        "cumsum": 1,
        "cumprod": 1,
        "argmin": 1,
        "argmax": 1,
        "linspace": 0,
        "trace": 1,
        "mean": 1,
        "count_nonzero": 1,
    }.get(op, 0)
    extra += factor * wide
    if op in ("tril", "triu"):
        extra += out
    if op == "linspace":
        extra += 3 * out * 8
    if op in ("getitem", "setitem"):
        # Index vectors become int64 positions, masks a list of positions per axis.
        index = counts[1 if op == "getitem" else 2 : n_in]
        extra += 3 * 8 * sum(index) + (8 * out if index else 0)
    if op == "bincount":
        extra += 8 * sum(counts[1:n_in])
    if op in ("matmul", "outer", "einsum"):
        # Operands of another dtype than the result's, or not BLAS-able, are copied whole.
        dense = [n for n, k in zip(counts[:n_in], kept[:n_in], strict=True) if k is None]
        extra += sum(n * max(8, *sizes) for n in dense) + out * 8
    if op in _DECOMPOSITIONS:
        m, n = (*shapes[0], 1, 1)[:2]
        big, small = max(m, n), min(m, n)
        vectors = attrs.get("compute_uv", True)
        full = op == "svd" and vectors and attrs.get("full_matrices", True)
        work = 6 * big * small + 12 * small * small + 70 * big
        if full:
            work += 2 * big * big
        if op == "lstsq":
            work += 4 * sum(counts[1:n_in])
        if op == "solve":
            work += 3 * sum(counts[1:n_in])
        extra += 8 * work
    if op == "draw":
        extra += 2 * 8 * out + sum(dense_in)
    return extra


def _sparse_temporaries(
    op: str,
    shapes: list[Shape],
    n_in: int,
    sizes: list[int],
    kept: list[float | None],
    held: list[float],
    dense_in: list[float],
) -> float:
    """Return the bound for kernels that take CSR: index work, or dense copies where they expand."""
    sparse_result = any(k is not None for k in kept[n_in:])
    stored = sum(h for h, k in zip(held[:n_in], kept[:n_in], strict=True) if k is not None)
    work = 6.0 * stored + 8.0 * sum(sum(s) for s in shapes[:n_in]) * 4
    if op == "matmul":
        return work + (4.0 * held[n_in] if sparse_result else 2.0 * held[n_in])
    if sparse_result:
        return work + 3.0 * sum(held[n_in:])
    if op in _REDUCTIONS - {"cumsum", "cumprod", "bincount"} or op in (
        "var",
        "std",
        "norm",
        "trace",
        "diag",
        "getitem",
    ):
        return work + 3.0 * sum(held[n_in:])
    return work + sum(w for w, k in zip(dense_in, kept[:n_in], strict=True) if k is not None)
