"""Logistic regression by gradient descent, with an unpenalised intercept."""

from __future__ import annotations

from typing import Any

import numpy as np


def logistic_gradient(X, y, iters=100, step=0.1, penalty=1.0):
    """Return the coefficients w [d], the intercept c and the loss.  X [n, d], y [n] of 0 and 1.

    The loss is the mean of log(1 + exp(z)) - y z, with z = X w + c, plus penalty |w|^2 / (2 n).
    """
    n = X.shape[0]
    w = np.zeros(X.shape[1])
    c = 0.0
    for _ in range(iters):
        z = X @ w + c
        p = 1 / (1 + np.exp(-z))
        w = w - step * (X.T @ (p - y) + penalty * w) / n
        c = c - step * np.sum(p - y) / n
    z = X @ w + c
    loss = (np.sum(np.logaddexp(0, z) - y * z) + penalty / 2 * np.sum(w * w)) / n
    return w, c, loss


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments."""
    n, d, iters = {"small": (80, 6, 100), "medium": (20_000, 100, 200)}[size]
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    z = X @ rng.standard_normal(d) + 0.5
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(np.float64)
    return {"X": X, "y": y, "iters": iters, "step": 0.5}
