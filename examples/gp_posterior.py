"""Gaussian process regression: mean and variance at new points."""

from __future__ import annotations

from typing import Any

import numpy as np


def rbf(X, Z, length):
    """Return the kernel matrix [n, m] of the rows of X [n, d] and Z [m, d]."""
    distance = np.zeros((X.shape[0], Z.shape[0]))
    for k in range(X.shape[1]):
        distance = distance + (X[:, k][:, None] - Z[:, k][None, :]) ** 2
    return np.exp(-0.5 * distance / length**2)


def gp_posterior(X, y, Z, length=1.0, noise=0.1):
    """Return the posterior's mean [m] and variance [m] at Z [m, d], given X [n, d] and y [n]."""
    K = rbf(X, X, length) + noise * np.eye(X.shape[0])
    cross = rbf(X, Z, length)
    L = np.linalg.cholesky(K)
    weights = np.linalg.solve(L.T, np.linalg.solve(L, y))
    half = np.linalg.solve(L, cross)
    covariance = rbf(Z, Z, length) - half.T @ half
    return cross.T @ weights, np.diag(covariance)


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments."""
    n, m, d = {"small": (40, 10, 2), "medium": (1000, 300, 4)}[size]
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)
    return {"X": X, "y": y, "Z": rng.uniform(-2, 2, (m, d))}
