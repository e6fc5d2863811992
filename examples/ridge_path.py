"""Ridge regression for a path of penalties."""

from __future__ import annotations

from typing import Any

import numpy as np


def ridge_path(X, y, lambdas):
    """Return the coefficients [d, k], one column per penalty.  X [n, d], y [n], lambdas [k]."""
    d = X.shape[1]
    W = np.zeros((d, lambdas.shape[0]))
    for i in range(lambdas.shape[0]):
        W[:, i] = np.linalg.solve(X.T @ X + lambdas[i] * np.eye(d), X.T @ y)
    return W


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments: 20 penalties from 1e-3 to 1e3."""
    n, d = {"small": (60, 8), "medium": (20_000, 100)}[size]
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)
    return {"X": X, "y": y, "lambdas": np.logspace(-3, 3, 20)}
