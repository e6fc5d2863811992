"""The programs whose plans are held as golden files; their line numbers are part of those."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import lineal as la
from lineal.planner.cluster import ClusterSpec
from lineal.planner.plan import PhysicalPlan

# Written by hand: plans must not depend on the machine that runs the tests.
HERE = ClusterSpec(workers=0, threads=2, memory_bytes=8 * 2**30)
WORKERS = ClusterSpec(workers=4, threads=2, memory_bytes=4 * 2**30)


@la.program
def gd(A, b, iters=100, alpha=1e-4):
    x = np.zeros((A.shape[1], 1))
    for _ in range(iters):
        x = x - alpha * (A.T @ (A @ x - b))
    return x


@la.program
def dfp(A, b, iters=20, alpha=1e-6):
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


@la.program
def search(A, b, tol=1e-6):
    x = np.zeros(A.shape[1])
    k = 0
    while k < 500:
        g = A.T @ (A @ x - b)
        if np.linalg.norm(g) < tol:
            break
        if k > 10:
            step = 0.5
        elif k > 5:
            step = 0.7
        else:
            step = 1.0
            for _ in range(3):
                x = x * 0.99
        x = x - step * g
        k += 1
    return x, k


@la.program
def pagerank(G, damping=0.85, iters=30):
    n = G.shape[0]
    rank = np.full(n, 1 / n)
    for _ in range(iters):
        rank = damping * (G @ rank) + (1 - damping) / n
    return rank


@la.program
def centred(X):
    mean = X.mean(axis=0)
    Z = X - mean
    return mean, Z.T @ Z / (X.shape[0] - 1)


@la.program
def normal(A, b):
    return np.linalg.solve(A.T @ A, A.T @ b)


def _gd_blocked() -> la.Plan:
    return gd.plan(la.spec((2_000_000, 200)), la.spec((2_000_000, 1)), cluster=WORKERS)


_PLANS: dict[str, Callable[[], la.Plan]] = {
    "gd": lambda: gd.plan(la.spec((1000, 20)), la.spec((1000, 1)), cluster=HERE),
    "gd_blocked": _gd_blocked,
    "dfp": lambda: dfp.plan(la.spec((10_000, 50)), la.spec((10_000, 1)), cluster=HERE),
    "search": lambda: search.plan(la.spec((1000, 20)), la.spec((1000,)), cluster=HERE),
    "pagerank": lambda: pagerank.plan(la.spec((5000, 5000), density=0.001), cluster=HERE),
    "centred": lambda: centred.plan(la.spec((500, 12), dtype="float32"), cluster=HERE),
    "normal": lambda: normal.plan(la.spec((300, 8)), la.spec((300,)), cluster=HERE),
}
NAMES = tuple(_PLANS)


def plan(name: str) -> PhysicalPlan:
    """Plan one of the programs afresh."""
    return _PLANS[name]().physical
