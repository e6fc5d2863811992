"""Facts that a caller states: `spec` for data that is not here, `declare` for data that is.

`declare` checks what it is told, cheaply; what a check cannot see stays the caller's word.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lineal.engine.convert import check_dtype, convert, is_dask_array, is_sparse, shown
from lineal.errors import InputError, OptionError, ShapeError
from lineal.planner.types import PROPERTIES, Sym

if __name__ != "lineal.engine.declare":  # a second copy of a class breaks isinstance
    raise ImportError("import this module as lineal.engine.declare")

SAMPLED_ROWS = 64
"""How many rows (or columns) of a large matrix a sampled check looks at."""

FULL_CHECK = 2048
"""Up to this many rows a matrix is checked for symmetry entry by entry."""

CHOLESKY_CHECK = 512
"""Up to this many rows positive definiteness is checked by a factorisation."""

_SQUARE = ("symmetric", "spd", "orthogonal", "permutation")
_MATRIX = (*_SQUARE, "lower", "upper", "diagonal")
_IMPLIED = {
    "spd": ("symmetric",),
    "diagonal": ("lower", "upper"),
    "permutation": ("orthogonal", "finite", "nonnegative"),
}


@dataclass(frozen=True, slots=True)
class Spec:
    """A matrix that is not here: what a plan needs to know of it.  Built by `spec`.

    `density` is the share of non-zero entries, 0 to 1.  `properties` is sorted.
    """

    shape: tuple[int | Sym, ...]
    dtype: np.dtype
    density: float = 1.0
    storage: str = "dense"
    properties: tuple[str, ...] = ()
    bandwidth: tuple[int, int] | None = None
    chunks: tuple[tuple[int, ...], ...] = ()

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class DeclaredArray:
    """An array together with facts that were declared of it.  Built by `declare`.

    `value` is the array in the engine's form.  Changing its contents afterwards makes the
    declared facts the caller's own risk.
    """

    value: Any
    properties: tuple[str, ...]
    bandwidth: tuple[int, int] | None = None
    original: Any = field(default=None, repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return tuple(self.value.shape)

    @property
    def dtype(self) -> np.dtype:
        """Element type of the array."""
        dtype: np.dtype = self.value.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions of the array."""
        return len(self.value.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        value = self.value
        if is_sparse(value) or is_dask_array(value):
            if copy is False:
                raise ValueError("a dense array of this value cannot be had without a copy")
            dense = value.toarray() if is_sparse(value) else np.asarray(value)
            return dense if dtype is None else dense.astype(dtype, copy=False)
        return np.array(value, dtype=dtype, copy=copy)


def spec(
    shape: int | tuple[int, ...],
    dtype: Any = np.float64,
    density: float = 1.0,
    *,
    storage: str | None = None,
    chunks: tuple[tuple[int, ...], ...] = (),
    bandwidth: tuple[int, int] | None = None,
    **properties: bool,
) -> Spec:
    """Describe an array that is not here, to plan without data.

    Parameters
    ----------
    shape : int or tuple of int
        At most two sizes, each 0 or more.
    dtype : dtype-like
    density : float
        Share of non-zero entries, 0 to 1; below 1 the array is taken to be stored sparse.
    storage : {"dense", "sparse"}, optional
        How it is stored, where `density` does not tell.
    chunks : tuple of tuple of int
        Block sizes per axis, for an array that will come in blocks.
    bandwidth : (lower, upper), optional
        How many diagonals below and above the main one hold non-zeros.
    **properties : bool
        symmetric, spd, lower, upper, diagonal, orthogonal, permutation, finite, nonnegative.

    Raises
    ------
    InputError, ShapeError, DTypeError, OptionError
    """
    sizes = _shape(shape)
    operand = f"spec: {dtype}{list(sizes)}"
    kind = check_dtype(np.dtype(dtype), operand)
    if isinstance(density, bool) or not 0.0 <= float(density) <= 1.0:
        raise InputError(f"density={density!r} is not a share of entries", hint="a number 0 to 1")
    if storage not in (None, "dense", "sparse"):
        raise OptionError(f"storage={storage!r} is unknown", hint="'dense' or 'sparse'")
    names, band = _stated(properties, bandwidth, sizes, operand)
    held = storage or ("sparse" if density < 1.0 and len(sizes) == 2 else "dense")
    blocks = tuple(tuple(operator.index(size) for size in axis) for axis in chunks)
    if blocks and tuple(map(sum, blocks)) != sizes:
        raise ShapeError(f"chunks {blocks} do not add up to shape {sizes}", operands=(operand,))
    return Spec(sizes, kind, float(density), held, names, band, blocks)


def declare(
    A: Any,
    *,
    bandwidth: tuple[int, int] | None = None,
    name: str = "A",
    **properties: bool,
) -> DeclaredArray:
    """Return `A` together with facts that hold for it; the planner may rely on them.

    What is checked: lower, upper, diagonal, bandwidth, permutation, finite and nonnegative
    exactly; symmetric exactly up to 2048 rows, on 64 rows above; spd by symmetry and a positive
    diagonal, and by a Cholesky factorisation up to 512 rows; orthogonal on 64 columns.  Of a
    Dask array only the shape is checked, since its entries may not be cheap to have.

    Parameters
    ----------
    A : array-like, 1-D or 2-D
        NumPy, SciPy sparse, Dask or pandas.
    bandwidth : (lower, upper), optional
        How many diagonals below and above the main one hold non-zeros.
    name : str
        How errors call it.
    **properties : bool
        symmetric, spd, lower, upper, diagonal, orthogonal, permutation, finite, nonnegative.

    Raises
    ------
    InputError
        A fact does not hold; names the fact and the first offending entry.
    """
    if isinstance(A, DeclaredArray):
        properties = {**dict.fromkeys(A.properties, True), **properties}
        bandwidth = bandwidth or A.bandwidth
        A = A.value
    value = convert(A, name).value
    operand = shown(value, name)
    names, band = _stated(properties, bandwidth, tuple(value.shape), operand)
    if not is_dask_array(value):
        for fact in sorted(fact for fact, holds in properties.items() if holds):
            _CHECKS[fact](value, fact, operand)  # what these imply needs no check of its own
        if band is not None:
            _check_band(value, *band, f"bandwidth={band}", operand)
    return DeclaredArray(value, names, band, A)


def _shape(shape: Any) -> tuple[int | Sym, ...]:
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    sizes: list[int | Sym] = []
    for size in given:
        if isinstance(size, Sym):
            sizes.append(size)
            continue
        try:
            sizes.append(operator.index(size))
        except TypeError:
            raise ShapeError(
                f"{size!r} in shape {shape!r} is not a size", hint="integers, 0 or more"
            ) from None
        if sizes[-1] < 0:  # type: ignore[operator]  # an int was appended just now
            raise ShapeError(f"shape {shape!r} has a negative size", hint="integers, 0 or more")
    if len(sizes) > 2:
        raise ShapeError(
            f"shape {shape!r} has {len(sizes)} dimensions", hint="at most two are supported"
        )
    return tuple(sizes)


def _stated(
    properties: dict[str, bool],
    bandwidth: tuple[int, int] | None,
    shape: tuple[Any, ...],
    operand: str,
) -> tuple[tuple[str, ...], tuple[int, int] | None]:
    """Return the sorted facts with what they imply, after checking them against the shape."""
    for fact in properties:
        if fact not in PROPERTIES:
            raise OptionError(
                f"there is no fact {fact!r}", hint="one of " + ", ".join((*PROPERTIES, "bandwidth"))
            )
    names = {fact for fact, holds in properties.items() if holds}
    band = _bandwidth(bandwidth, operand)
    for fact in names | ({"bandwidth"} if band else set()):
        if len(shape) != 2 and (fact in _MATRIX or fact == "bandwidth"):
            raise InputError(
                f"declared {fact}, but it is not a matrix",
                operands=(operand,),
                hint="facts of structure belong to two-dimensional arrays",
            )
        if fact in _SQUARE and shape[0] != shape[1]:
            raise InputError(
                f"declared {fact}, but it is not square",
                operands=(operand,),
                hint=f"leave out {fact}=True",
            )
    if "diagonal" in names:
        band = (0, 0)
    if band is not None:
        names |= {"lower"} if band[1] == 0 else set()
        names |= {"upper"} if band[0] == 0 else set()
    if {"lower", "upper"} <= names:
        names.add("diagonal")
        band = (0, 0)
    for fact in tuple(names):
        names.update(_IMPLIED.get(fact, ()))
    if "diagonal" in names and shape[0] == shape[1]:
        names.add("symmetric")
    return tuple(sorted(names)), band


def _bandwidth(bandwidth: Any, operand: str) -> tuple[int, int] | None:
    if bandwidth is None:
        return None
    try:
        lower, upper = (operator.index(width) for width in bandwidth)
    except (TypeError, ValueError):
        lower = upper = -1
    if lower < 0 or upper < 0:
        raise InputError(
            f"bandwidth={bandwidth!r} is not a pair of counts",
            operands=(operand,),
            hint="(diagonals below, diagonals above), each 0 or more",
        )
    return lower, upper


# -- checks -------------------------------------------------------------------------------------


def _refuse(fact: str, operand: str, reason: str, hint: str = "") -> InputError:
    return InputError(
        f"declared {fact}, but {reason}",
        operands=(operand,),
        hint=hint or f"leave out {fact.split('=')[0]}, or repair the data",
    )


def _row_blocks(value: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (first row, rows) in pieces of about a million entries, to bound the checks' memory."""
    rows = max(1, 2**20 // max(1, int(np.prod(value.shape[1:]))))
    for start in range(0, len(value), rows):
        yield start, value[start : start + rows]


def _where(index: Any) -> str:
    return "[" + ", ".join(str(int(i)) for i in index) + "]"


def _check_entries(value: Any, fact: str, operand: str) -> None:
    """Check finite or nonnegative: NaN is neither."""
    good = np.isfinite if fact == "finite" else (lambda block: block >= 0)
    if is_sparse(value):
        bad = np.flatnonzero(~good(value.data))
        if len(bad):
            row = int(np.searchsorted(value.indptr, bad[0], side="right")) - 1
            where = _where((row, value.indices[bad[0]]))
            raise _refuse(fact, operand, f"entry {where} is {value.data[bad[0]]}")
        return
    if value.ndim == 0:
        value = value.reshape(1)
    for start, block in _row_blocks(value):
        ok = good(block)
        if not ok.all():
            at = np.argwhere(~ok)[0]
            where = _where((at[0] + start, *at[1:]))
            raise _refuse(fact, operand, f"entry {where} is {block[tuple(at)]}")


def _check_band(value: Any, lower: int, upper: int, fact: str, operand: str) -> None:
    """Check that no entry lies more than `lower` diagonals below or `upper` above the main one."""
    if is_sparse(value):
        rows = np.repeat(np.arange(value.shape[0]), np.diff(value.indptr))
        offset = value.indices - rows
        bad = np.flatnonzero((offset > upper) | (-offset > lower))
        if len(bad):
            where = _where((rows[bad[0]], value.indices[bad[0]]))
            raise _refuse(fact, operand, f"entry {where} is {value.data[bad[0]]}")
        return
    columns = np.arange(value.shape[1])
    for start, block in _row_blocks(value):
        offset = columns - np.arange(start, start + len(block))[:, None]
        bad = (block != 0) & ((offset > upper) | (-offset > lower))
        if bad.any():
            at = np.argwhere(bad)[0]
            where = _where((at[0] + start, at[1]))
            raise _refuse(fact, operand, f"entry {where} is {block[tuple(at)]}")


def _check_lower(value: Any, fact: str, operand: str) -> None:
    _check_band(value, value.shape[0], 0, fact, operand)


def _check_upper(value: Any, fact: str, operand: str) -> None:
    _check_band(value, 0, value.shape[1], fact, operand)


def _check_diagonal(value: Any, fact: str, operand: str) -> None:
    _check_band(value, 0, 0, fact, operand)


def _sample(size: int, count: int) -> np.ndarray:
    """Return at most `count` positions spread evenly over 0..size-1, ends included."""
    return np.unique(np.linspace(0, max(size - 1, 0), min(size, count)).astype(np.int64))


def _dense(value: Any) -> np.ndarray:
    dense: np.ndarray = value.toarray() if is_sparse(value) else value
    return dense


def _check_symmetric(value: Any, fact: str, operand: str) -> None:
    size = value.shape[0]
    chosen = np.arange(size) if size <= FULL_CHECK else _sample(size, SAMPLED_ROWS)
    turned = value.T.tocsr() if is_sparse(value) else value.T
    for start in range(0, len(chosen), SAMPLED_ROWS):
        rows = chosen[start : start + SAMPLED_ROWS]
        ours, theirs = _dense(value[rows]), _dense(turned[rows])
        differ = (ours != theirs) & ~((ours != ours) & (theirs != theirs))  # NaN matches NaN
        if differ.any():
            at = np.argwhere(differ)[0]
            i, j = int(rows[at[0]]), int(at[1])
            reason = f"entry [{i}, {j}] is {ours[tuple(at)]} and [{j}, {i}] is {theirs[tuple(at)]}"
            raise _refuse(fact, operand, reason, "(A + A.T) / 2 where only rounding differs")


def _check_spd(value: Any, fact: str, operand: str) -> None:
    _check_symmetric(value, fact, operand)
    diagonal = value.diagonal()
    bad = np.flatnonzero(~(diagonal > 0))
    if len(bad):
        i = int(bad[0])
        raise _refuse(fact, operand, f"diagonal entry [{i}, {i}] is {diagonal[i]}")
    if 0 < value.shape[0] <= CHOLESKY_CHECK:
        try:
            np.linalg.cholesky(_dense(value).astype(np.float64))
        except np.linalg.LinAlgError:
            least = float(np.linalg.eigvalsh(_dense(value).astype(np.float64))[0])
            reason = f"it is not positive definite: its smallest eigenvalue is {least:.3g}"
            raise _refuse(fact, operand, reason) from None


def _check_orthogonal(value: Any, fact: str, operand: str) -> None:
    size = value.shape[0]
    columns = _sample(size, SAMPLED_ROWS) if size else np.arange(0)
    eps = np.finfo(value.dtype).eps if value.dtype.kind == "f" else np.finfo(np.float64).eps
    chosen = _dense(value[:, columns])
    product = np.asarray(value.T @ chosen, dtype=np.float64)  # [n, columns]
    product[columns, np.arange(len(columns))] -= 1.0
    bad = ~(np.abs(product) <= np.sqrt(eps))
    if bad.any():
        i, k = np.argwhere(bad)[0]
        j = int(columns[k])
        found = product[i, k] + (1.0 if i == j else 0.0)
        raise _refuse(fact, operand, f"columns {int(i)} and {j} have product {found:.6g}")


def _check_permutation(value: Any, fact: str, operand: str) -> None:
    rows, columns = value.nonzero()
    entries = np.asarray(value[rows, columns]).ravel()
    wrong = np.flatnonzero(entries != 1)
    if len(wrong):
        k = wrong[0]
        raise _refuse(fact, operand, f"entry {_where((rows[k], columns[k]))} is {entries[k]}")
    for what, index in (("row", rows), ("column", columns)):
        counts = np.bincount(index, minlength=value.shape[0])
        bad = np.flatnonzero(counts != 1)
        if len(bad):
            raise _refuse(fact, operand, f"{what} {bad[0]} has {counts[bad[0]]} ones, not one")


_CHECKS = {
    "symmetric": _check_symmetric,
    "spd": _check_spd,
    "lower": _check_lower,
    "upper": _check_upper,
    "diagonal": _check_diagonal,
    "orthogonal": _check_orthogonal,
    "permutation": _check_permutation,
    "finite": _check_entries,
    "nonnegative": _check_entries,
}
