"""Label propagation with local and global consistency (Zhou and others, 2004)."""

from __future__ import annotations

from typing import Any

import numpy as np


def label_propagation(W, Y, alpha=0.9, iters=100):
    """Return scores [n, c] and the best label [n] of every node.

    W [n, n] is symmetric with non-negative weights; Y [n, c] has a 1 where a label is known.
    A node without edges keeps what it started with.
    """
    degree = np.sum(W, axis=1)
    scale = 1 / np.sqrt(np.where(degree > 0, degree, 1.0))
    S = scale[:, None] * W * scale[None, :]
    F = Y
    for _ in range(iters):
        F = alpha * S @ F + (1 - alpha) * Y
    return F, np.argmax(F, axis=1)


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments: three groups, one known label each, and a node without edges."""
    n, c = {"small": (24, 3), "medium": (1500, 3)}[size]
    rng = np.random.default_rng(seed)
    group = np.arange(n) % c
    likely = np.where(group[:, None] == group[None, :], 12 / n, 1 / n)
    W = np.triu(rng.random((n, n)) < likely, 1).astype(np.float64)
    W = W + W.T
    W[n - 1, :] = 0
    W[:, n - 1] = 0
    Y = np.zeros((n, c))
    Y[np.arange(c), group[:c]] = 1
    return {"W": W, "Y": Y}
