"""BFGS for least squares, with the exact step along each direction."""

from __future__ import annotations

from typing import Any

import numpy as np


def bfgs(A, b, x0, iters=20, tol=1e-10):
    """Return x [n, 1], the iterations done, and the updates skipped for want of curvature.

    A [m, n], b [m, 1], x0 [n, 1].  Stops where the gradient is `tol` times |A' b|.
    """
    x = x0
    H = np.eye(A.shape[1])
    I = np.eye(A.shape[1])  # noqa: E741
    done = 0
    skipped = 0
    for _ in range(iters):
        g = 2 * A.T @ (A @ x - b)
        if np.linalg.norm(g) <= tol * np.linalg.norm(2 * A.T @ b):
            break
        d = -H @ g
        curvature = (d.T @ A.T @ A @ d)[0, 0]
        if curvature > 1e-200:
            s = -(g.T @ d)[0, 0] / (2 * curvature) * d
            x = x + s
            y = 2 * A.T @ (A @ x - b) - g
            if (y.T @ s)[0, 0] > 1e-200:
                rho = 1 / (y.T @ s)
                H = (I - rho * s @ y.T) @ H @ (I - rho * y @ s.T) + rho * s @ s.T
            else:
                skipped = skipped + 1
        else:
            skipped = skipped + 1
        done = done + 1
    return x, done, skipped


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments."""
    m, n, iters = {"small": (60, 8, 12), "medium": (20_000, 100, 20)}[size]
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    b = A @ rng.standard_normal((n, 1)) + 0.1 * rng.standard_normal((m, 1))
    return {"A": A, "b": b, "x0": np.zeros((n, 1)), "iters": iters}
