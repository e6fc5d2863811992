"""DFP (Davidon, Fletcher, Powell): quasi-Newton for least squares, with a fixed step."""

from __future__ import annotations

from typing import Any

import numpy as np


def dfp(A, b, iters=20, alpha=1e-6):
    """Return x [n, 1] after `iters` steps of length `alpha`.  A [m, n], b [m, 1]."""
    x = np.zeros((A.shape[1], 1))
    H = np.eye(A.shape[1])
    for _ in range(iters):
        g = 2 * A.T @ (A @ x - b)
        d = -H @ g
        x = x + alpha * d
        H = (
            H
            - (H @ A.T @ A @ d @ d.T @ A.T @ A @ H) / (d.T @ A.T @ A @ H @ A.T @ A @ d)
            + (d @ d.T) / (2 * d.T @ A.T @ A @ d)
        )
    return x


def dfp_guarded(A, b, x0, iters=20, alpha=1e-6):
    """Return x [n, 1] and how many updates were skipped for want of curvature.

    Started at the optimum, or where the objective is flat along d, the update would be 0/0.
    """
    x = x0
    H = np.eye(A.shape[1])
    skipped = 0
    for _ in range(iters):
        g = 2 * A.T @ (A @ x - b)
        d = -H @ g
        x = x + alpha * d
        q = A.T @ A @ d
        if np.minimum(d.T @ q, q.T @ H @ q)[0, 0] > 1e-200:
            H = H - (H @ q @ q.T @ H) / (q.T @ H @ q) + (d @ d.T) / (2 * d.T @ q)
        else:
            skipped = skipped + 1
    return x, skipped


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments of `dfp`."""
    m, n, iters = {"small": (60, 8, 20), "medium": (20_000, 100, 20)}[size]
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    b = A @ rng.standard_normal((n, 1)) + 0.1 * rng.standard_normal((m, 1))
    # The first step, along the gradient, may not overshoot; later steps are Newton's, shortened.
    return {"A": A, "b": b, "iters": iters, "alpha": float(0.5 / np.linalg.norm(A, 2) ** 2)}


def inputs_guarded(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments of `dfp_guarded`."""
    arguments = inputs(size, seed)
    return {**arguments, "x0": np.zeros((arguments["A"].shape[1], 1))}
