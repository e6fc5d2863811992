"""PageRank by power iteration, with restart vector and dangling nodes."""

from __future__ import annotations

from typing import Any

import numpy as np


def pagerank(A, restart, damping=0.85, tol=1e-12, max_iter=200):
    """Return the rank r [n] of every node; it sums to 1.

    A [n, n] has the weight of the edge from i to j in row i, column j; `restart` [n] sums to 1.
    A node without outgoing edges hands its rank to the restart vector.
    """
    out = A.sum(axis=1)
    dangling = out == 0
    P = A / np.where(dangling, 1.0, out)[:, None]
    r = restart
    delta = np.inf
    for _ in range(max_iter):
        if delta <= tol:
            break
        lost = np.sum(np.where(dangling, r, 0.0))
        new = damping * (P.T @ r + lost * restart) + (1 - damping) * restart
        delta = np.sum(np.abs(new - r))
        r = new
    return r


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments: a random directed graph in which some nodes have no outgoing edge."""
    n, degree = {"small": (25, 3), "medium": (2000, 8)}[size]
    rng = np.random.default_rng(seed)
    A = (rng.random((n, n)) < degree / n).astype(np.float64)
    A[:: max(n // 5, 1), :] = 0
    return {"A": A, "restart": np.full(n, 1 / n)}
