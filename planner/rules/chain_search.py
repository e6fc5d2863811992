"""The search over the orders of one matrix chain: dynamic programming over intervals.

Knows sizes, densities and loops of the factors, not expressions.  (Godbole, IEEE Trans. Comput.
C-22, 1973.)
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from lineal.kernels import specs
from lineal.planner.cluster import ClusterSpec
from lineal.planner.seconds import seconds

Weights = Mapping[Any, float]
"""How often each loop's body runs over the whole run."""

Splits = dict[tuple[int, int], int]
"""Where each interval of factors that the chosen order has is split."""


class ChainSearch:
    """Orders of a product of factors.

    Parameters
    ----------
    shapes : sequence of (rows, columns)
        Of the factors; a vector at an end is a row or a column.
    densities : sequence of float
        1.0 for dense storage.
    loops : sequence of frozenset
        The loops whose iteration each factor depends on.
    itemsize : int
        Bytes per element.
    cluster : ClusterSpec
        Whose rates price a product.
    """

    def __init__(
        self,
        shapes: Sequence[tuple[int, int]],
        densities: Sequence[float],
        loops: Sequence[frozenset[Hashable]],
        itemsize: int,
        cluster: ClusterSpec,
    ) -> None:
        self._shapes = list(shapes)
        self._loops = list(loops)
        self._itemsize = itemsize
        self._cluster = cluster
        self._density = {(i, i): d for i, d in enumerate(densities)}
        self._seconds: dict[tuple[int, int, int], float] = {}
        self._inside: dict[tuple[int, int], frozenset[Hashable]] = {}

    @property
    def mixed(self) -> bool:
        """Whether some factors change more often than others."""
        return len(set(self._loops)) > 1

    def _weight(self, i: int, j: int, weights: Weights) -> float:
        inside = self._inside.get((i, j))
        if inside is None:
            inside = self._inside[i, j] = frozenset().union(*self._loops[i : j + 1])
        return max((weights[x] for x in inside), default=1.0)

    def product(self, i: int, k: int, j: int) -> float:
        """Return the seconds of joining factors i..k with k+1..j once."""
        found = self._seconds.get((i, k, j))
        if found is None:
            a = (self._shapes[i][0], self._shapes[k][1])
            b = (self._shapes[k + 1][0], self._shapes[j][1])
            da, db = self._density_of(i, k), self._density_of(k + 1, j)
            made, _ = specs.result_density("matmul", (a, b), (da, db))
            # An interval's density is taken from the first order that reaches it.
            made = self._density.setdefault((i, j), made)
            kept = tuple(d if d < 1.0 else None for d in (da, db, made))
            size = self._itemsize
            spec = specs.cost("matmul", (a, b), ((a[0], b[1]),), (size, size, size), kept)
            found = seconds("matmul", spec, da < 1.0 or db < 1.0, self._cluster)
            self._seconds[i, k, j] = found
        return found

    def _density_of(self, i: int, j: int) -> float:
        if (i, j) not in self._density:
            self.product(i, i, j)
        return self._density[i, j]

    def best(self, weights: Weights) -> tuple[float, Splits]:
        """Return (seconds over the run, splits) of the cheapest order; ties go left."""
        n = len(self._shapes)
        cost = {(i, i): 0.0 for i in range(n)}
        splits: Splits = {}
        for length in range(2, n + 1):
            for i in range(n - length + 1):
                j = i + length - 1
                weight = self._weight(i, j, weights)
                options = [
                    (cost[i, k] + cost[k + 1, j] + self.product(i, k, j) * weight, k)
                    for k in range(i, j)
                ]
                cost[i, j], splits[i, j] = min(options)
        return cost[0, n - 1], _reachable(splits, n)

    def cost(self, splits: Splits, weights: Weights) -> float:
        """Return the seconds over the run of a given order."""
        return sum(
            self.product(i, k, j) * self._weight(i, j, weights) for (i, j), k in splits.items()
        )


def _reachable(splits: Splits, n: int) -> Splits:
    """Return the splits of the chosen order alone."""
    found: Splits = {}
    stack = [(0, n - 1)]
    while stack:
        i, j = stack.pop()
        if i < j:
            k = found[i, j] = splits[i, j]
            stack += [(i, k), (k + 1, j)]
    return found
