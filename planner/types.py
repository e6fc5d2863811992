"""What is known of a value before it exists: shape, dtype, density, properties.

Plain frozen data with no knowledge of expressions or NumPy functions.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

PROPERTIES = (
    "symmetric",
    "spd",
    "lower",
    "upper",
    "diagonal",
    "orthogonal",
    "permutation",
    "finite",
    "nonnegative",
)
"""The properties that a matrix can be declared or proven to have."""


@dataclass(frozen=True, slots=True)
class Sym:
    """A size that only the run will know, e.g. the number of rows that a mask keeps.

    `source` identifies where the size comes from (equal sources, equal sizes), `bound` is the
    largest value it can take, None when nothing bounds it.
    """

    source: Hashable
    bound: int | None = None
    name: str = field(default="?", compare=False)

    def __repr__(self) -> str:
        return self.name if self.bound is None else f"{self.name}<={self.bound}"


Dim = int | Sym
Shape = tuple[Dim, ...]


def upper(dim: Dim) -> int:
    """Return the largest value `dim` can take; an unbounded symbol counts as 2**31."""
    if isinstance(dim, Sym):
        return 2**31 if dim.bound is None else dim.bound
    return dim


@dataclass(frozen=True, slots=True)
class Type:
    """Shape, dtype and scalar kind of a value.

    `weak` marks a Python scalar (int, float, bool): it does not take part in dtype promotion
    (NEP 50).  `kind` is "array" for everything numeric, "rng" for a random generator.
    """

    shape: Shape
    dtype: np.dtype
    weak: bool = False
    kind: str = "array"

    @property
    def ndim(self) -> int:
        """Number of axes: 0, 1 or 2."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements; an upper bound where a size is symbolic."""
        total = 1
        for dim in self.shape:
            total *= upper(dim)
        return total

    @property
    def nbytes(self) -> int:
        """Bytes of the dense form; an upper bound where a size is symbolic."""
        return self.size * self.dtype.itemsize

    @property
    def static(self) -> bool:
        """Whether every size is known when the plan is made."""
        return not any(isinstance(dim, Sym) for dim in self.shape)

    def __str__(self) -> str:
        if self.kind != "array":
            return self.kind
        if self.weak:
            return {"b": "bool", "i": "int", "f": "float"}[self.dtype.kind]
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


class DensityKind(Enum):
    """How a density is known: counted, predicted, or bounded from above."""

    EXACT = "Exact"
    ESTIMATED = "Estimated"
    UPPER = "Upper bound"


@dataclass(frozen=True, slots=True)
class Density:
    """Share of non-zero entries, 0 to 1, and how it is known."""

    value: float
    kind: DensityKind

    def __str__(self) -> str:
        return f"{self.value:.3g} {self.kind.value}"


DENSE = Density(1.0, DensityKind.UPPER)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the caller or a check says of an input beyond its type.

    `storage` is "dense" or "sparse"; `chunks` are the caller's block sizes per axis (Dask
    arrays), empty otherwise; `properties` is a sorted subset of PROPERTIES; `bandwidth` is
    (lower, upper) or None.
    """

    storage: str = "dense"
    density: Density = DENSE
    properties: tuple[str, ...] = ()
    bandwidth: tuple[int, int] | None = None
    chunks: tuple[tuple[int, ...], ...] = ()
