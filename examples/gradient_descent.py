"""Gradient descent for least squares: min over x of |A x - b|^2."""

from __future__ import annotations

from typing import Any

import numpy as np


def gradient_descent(A, b, iters=100, alpha=1e-6):
    """Return x [n, 1] after `iters` steps of length `alpha`.  A [m, n], b [m, 1]."""
    x = np.zeros((A.shape[1], 1))
    for _ in range(iters):
        x = x - alpha * 2 * A.T @ (A @ x - b)
    return x


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments; the step is half of the largest that converges."""
    m, n, iters = {"small": (60, 8, 100), "medium": (20_000, 100, 200)}[size]
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    b = A @ rng.standard_normal((n, 1)) + 0.1 * rng.standard_normal((m, 1))
    alpha = 0.5 / np.linalg.norm(A, 2) ** 2
    return {"A": A, "b": b, "iters": iters, "alpha": float(alpha)}
