"""HITS: hub and authority scores of a directed graph (Kleinberg)."""

from __future__ import annotations

from typing import Any

import numpy as np


def hits(A, iters=100):
    """Return hubs h [n] and authorities a [n], each of sum 1.  A [n, n], edge i to j in A[i, j].

    Of a graph without edges both are 0.
    """
    h = np.ones(A.shape[0])
    a = np.zeros(A.shape[0])
    for _ in range(iters):
        a = A.T @ h
        a = a / np.maximum(np.linalg.norm(a), 1e-300)
        h = A @ a
        h = h / np.maximum(np.linalg.norm(h), 1e-300)
    return h / np.maximum(np.sum(h), 1e-300), a / np.maximum(np.sum(a), 1e-300)


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments: a random directed graph with some popular nodes."""
    n, degree = {"small": (25, 3), "medium": (2000, 8)}[size]
    rng = np.random.default_rng(seed)
    popular = np.where(np.arange(n) % 5 == 0, 3.0, 0.5)
    return {"A": (rng.random((n, n)) < degree / n * popular).astype(np.float64)}
