"""Alternating least squares for a low-rank model of a rating matrix."""

from __future__ import annotations

from typing import Any

import numpy as np


def als(R, V, iters=10, penalty=0.1):
    """Return the factors U [m, k] and V [n, k].  R [m, n], V [n, k] is where to start.

    A rating that is missing counts as 0, as for implicit feedback.
    """
    k = V.shape[1]
    U = np.zeros((R.shape[0], k))
    for _ in range(iters):
        U = np.linalg.solve(V.T @ V + penalty * np.eye(k), V.T @ R.T).T
        V = np.linalg.solve(U.T @ U + penalty * np.eye(k), U.T @ R).T
    return U, V


def als_observed(R, M, V, iters=5, penalty=0.1):
    """Return the factors U [m, k] and V [n, k] fitted to the entries where the mask M is 1."""
    m = R.shape[0]
    n = R.shape[1]
    k = V.shape[1]
    U = np.zeros((m, k))
    V = V.copy()
    for _ in range(iters):
        for i in range(m):
            seen = M[i, :][:, None] * V
            U[i, :] = np.linalg.solve(seen.T @ V + penalty * np.eye(k), seen.T @ R[i, :])
        for j in range(n):
            seen = M[:, j][:, None] * U
            V[j, :] = np.linalg.solve(seen.T @ U + penalty * np.eye(k), seen.T @ R[:, j])
    return U, V


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments of `als`; some rows and columns have no rating."""
    m, n, k = {"small": (30, 20, 4), "medium": (3000, 2000, 10)}[size]
    rng = np.random.default_rng(seed)
    R = rng.integers(1, 6, (m, n)) * (rng.random((m, n)) < 0.2).astype(np.float64)
    R[3, :] = 0
    R[:, 5] = 0
    return {"R": R, "V": rng.standard_normal((n, k))}


def inputs_observed(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments of `als_observed`."""
    m, n, k = {"small": (12, 9, 3), "medium": (200, 150, 5)}[size]
    rng = np.random.default_rng(seed)
    M = (rng.random((m, n)) < 0.5).astype(np.float64)
    R = rng.integers(1, 6, (m, n)) * M
    return {"R": R, "M": M, "V": rng.standard_normal((n, k))}
