"""k-means by Lloyd's iteration; a cluster that loses all its points moves to the worst point."""

from __future__ import annotations

from typing import Any

import numpy as np


def kmeans(X, start, max_iter=50):
    """Return centres [k, d], labels [n], inertia and the iterations done.

    X [n, d]; `start` [k, d] holds the first centres.  Stops when no label changes.
    """
    k = start.shape[0]
    C = start.copy()
    D = np.zeros((X.shape[0], k))
    labels = np.full(X.shape[0], -1)
    done = 0
    for _ in range(max_iter):
        for j in range(k):
            D[:, j] = np.sum((X - C[j, :]) ** 2, axis=1)
        new = np.argmin(D, axis=1)
        if np.all(new == labels):
            break
        labels = new
        member = labels[:, None] == np.arange(k)
        count = np.sum(member, axis=0)
        C = np.where(count[:, None] > 0, (member.T @ X) / np.maximum(count, 1)[:, None], C)
        distance = np.sum((X - C[labels, :]) ** 2, axis=1)
        for j in range(k):
            if count[j] == 0:
                worst = np.argmax(distance)
                C[j, :] = X[worst, :]
                distance[worst] = 0.0
        done = done + 1
    return C, labels, np.sum((X - C[labels, :]) ** 2), done


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments: points around k centres, started at the first k points."""
    n, d, k = {"small": (60, 3, 4), "medium": (20_000, 20, 10)}[size]
    rng = np.random.default_rng(seed)
    centres = 4 * rng.standard_normal((k, d))
    X = centres[rng.integers(0, k, n)] + rng.standard_normal((n, d))
    return {"X": X, "start": X[:k].copy()}
