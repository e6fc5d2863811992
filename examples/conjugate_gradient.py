"""Conjugate gradients on the normal equations A' A x = A' b."""

from __future__ import annotations

from typing import Any

import numpy as np


def conjugate_gradient(A, b, iters=50, tol=1e-10):
    """Return x [n] and the norm of A' (b - A x), computed anew at the end.

    A [m, n], b [m].  Stops where the recurred residual is `tol` times the first one.
    """
    x = np.zeros(A.shape[1])
    r = A.T @ b
    p = r
    rr = r @ r
    stop = tol * tol * rr
    for _ in range(iters):
        if rr <= stop:
            break
        curvature = p @ (A.T @ A @ p)
        if curvature <= 0:
            break
        alpha = rr / curvature
        x = x + alpha * p
        r = r - alpha * (A.T @ A @ p)
        new = r @ r
        p = r + new / rr * p
        rr = new
    return x, np.linalg.norm(A.T @ b - A.T @ A @ x)


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments."""
    m, n, iters = {"small": (60, 8, 20), "medium": (20_000, 100, 50)}[size]
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    return {"A": A, "b": A @ rng.standard_normal(n) + rng.standard_normal(m), "iters": iters}
