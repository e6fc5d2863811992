"""Principal components by power iteration with deflation."""

from __future__ import annotations

from typing import Any

import numpy as np


def pca_power(X, start, iters=100):
    """Return directions V [d, k] and variances [k], with divisor n - 1.

    X [n, d]; `start` [d, k] holds the first guess of each direction.
    """
    k = start.shape[1]
    centred = X - np.mean(X, axis=0)
    C = centred.T @ centred / max(X.shape[0] - 1, 1)
    V = np.zeros((X.shape[1], k))
    variances = np.zeros(k)
    for j in range(k):
        v = start[:, j]
        for _ in range(iters):
            v = C @ v
            v = v / np.maximum(np.linalg.norm(v), 1e-300)
        variances[j] = v @ C @ v
        V[:, j] = v
        C = C - variances[j] * np.outer(v, v)
    return V, variances


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments: variances fall by half from one direction to the next."""
    n, d, k = {"small": (60, 6, 3), "medium": (20_000, 60, 5)}[size]
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    X = (rng.standard_normal((n, d)) * 0.7 ** np.arange(d)) @ turn + 5.0
    return {"X": X, "start": rng.standard_normal((d, k))}
