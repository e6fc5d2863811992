"""Gaussian non-negative matrix factorisation by multiplicative updates (Lee and Seung)."""

from __future__ import annotations

from typing import Any

import numpy as np


def gnmf(V, W, H, iters=20, eps=1e-12):
    """Return the factors W [m, k], H [k, n] and |V - W H|.  V [m, n], all non-negative.

    `eps` keeps rows and columns without any entry at 0 rather than 0/0.
    """
    for _ in range(iters):
        H = H * (W.T @ V) / (W.T @ W @ H + eps)
        W = W * (V @ H.T) / (W @ H @ H.T + eps)
    return W, H, np.sqrt(np.sum((V - W @ H) ** 2))


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments; V is a product of sparse factors, with a row and a column of zeros."""
    m, n, k = {"small": (30, 20, 4), "medium": (2000, 1500, 10)}[size]
    rng = np.random.default_rng(seed)
    left = rng.random((m, k)) * (rng.random((m, k)) < 0.3)
    right = rng.random((k, n)) * (rng.random((k, n)) < 0.3)
    V = left @ right
    V[0, :] = 0
    V[:, 1] = 0
    return {"V": V, "W": 0.1 + rng.random((m, k)), "H": 0.1 + rng.random((k, n))}
