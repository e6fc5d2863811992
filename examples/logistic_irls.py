"""Logistic regression by Newton's method, as iteratively re-weighted least squares."""

from __future__ import annotations

from typing import Any

import numpy as np


def logistic_irls(X, y, iters=10, penalty=1.0):
    """Return the coefficients w [d] and the loss.  X [n, d], y [n] of 0 and 1.

    The sigmoid is written with tanh, which does not overflow.
    """
    d = X.shape[1]
    w = np.zeros(d)
    for _ in range(iters):
        p = 0.5 * (1 + np.tanh(0.5 * (X @ w)))
        weights = p * (1 - p)
        gradient = X.T @ (p - y) + penalty * w
        hessian = X.T @ (weights[:, None] * X) + penalty * np.eye(d)
        w = w - np.linalg.solve(hessian, gradient)
    z = X @ w
    return w, np.sum(np.logaddexp(0, z) - y * z) + penalty / 2 * np.sum(w * w)


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments."""
    n, d = {"small": (80, 6), "medium": (20_000, 100)}[size]
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    z = X @ rng.standard_normal(d)
    return {"X": X, "y": (rng.random(n) < 1 / (1 + np.exp(-z))).astype(np.float64)}
