"""Connected components: every node takes the least label among its neighbours, until none can."""

from __future__ import annotations

from typing import Any

import numpy as np


def connected_components(A):
    """Return for every node the least node number in its component [n].

    A [n, n] is non-zero where there is an edge, in either direction.
    """
    n = A.shape[0]
    linked = (A + A.T) != 0
    label = np.arange(n)
    changed = True
    while changed:
        least = np.min(np.where(linked, label[None, :], n), axis=1)
        new = np.minimum(label, least)
        changed = np.any(new != label)
        label = new
    return label


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments: a sparse random graph, mostly of small components."""
    n, degree = {"small": (30, 0.7), "medium": (1500, 0.8)}[size]
    rng = np.random.default_rng(seed)
    return {"A": (rng.random((n, n)) < degree / n).astype(np.float64)}
