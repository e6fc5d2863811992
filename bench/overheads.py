"""What Lineal adds: per operator, per expression planned, per iteration on a cluster, at import."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

import lineal as la

from .measure import REPEATS

OPERATORS = 200


@la.program
def long_loop(x, iters=1000):
    for _ in range(iters):
        x = x + 1.0
        x = x * 0.5
        x = x - 0.25
        x = x * 1.5
    return x


@la.program
def normal_equations(A, b):
    return np.linalg.solve(A.T @ A, A.T @ b)


@la.program
def descent(A, b, iters=20, alpha=1e-9):
    x = np.zeros((A.shape[1], 1))
    for _ in range(iters):
        x = x - alpha * (A.T @ (A @ x - b))
    return x


def operator_overhead() -> tuple[float, str]:
    """Return microseconds that an operator costs over NumPy's own call (8 floats, in a loop)."""
    x = np.ones(8)
    iters = 1000
    long_loop(x, iters)
    gaps = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        long_loop.python(x, iters)
        plain = time.perf_counter() - start
        start = time.perf_counter()
        long_loop(x, iters)
        gaps.append((time.perf_counter() - start - plain) / (4 * iters) * 1e6)
    return statistics.median(gaps), f"{min(gaps):.2f}..{max(gaps):.2f}"


def planning(program: Any, *specs: Any) -> tuple[float, str]:
    """Return milliseconds to plan `program` anew in a warm process."""
    times = []
    for _ in range(2 * REPEATS):
        fresh = la.Program(program.__lineal_source__)
        start = time.perf_counter()
        fresh.plan(*specs)
        times.append((time.perf_counter() - start) * 1e3)
    kept = times[REPEATS:]
    return statistics.median(kept), f"{min(kept):.2f}..{max(kept):.2f}"


def import_time() -> tuple[float, str]:
    """Return seconds that `import lineal` takes over `import numpy`, in fresh processes."""
    gaps = []
    for _ in range(REPEATS):
        both = []
        for line in ("import numpy", "import numpy, lineal"):
            code = (
                f"import time; t = time.perf_counter(); {line}; print(time.perf_counter() - t)"
            )
            done = subprocess.run(
                [sys.executable, "-c", code], check=True, capture_output=True, text=True
            )
            both.append(float(done.stdout))
        gaps.append(both[1] - both[0])
    return statistics.median(gaps), f"{min(gaps):.3f}..{max(gaps):.3f}"


def iteration_on_cluster(client: Any) -> tuple[float, str, set[int]]:
    """Return milliseconds per iteration on two workers, beyond the workers' own arithmetic.

    The matrix is small, so that what is measured is the round trip; the state is 100 kB.
    """
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(400, 12_500)), rng.normal(size=(400, 1))
    spec = la.ClusterSpec(workers=2, threads=1, driver_bytes=1_000_000, block_bytes=20_000_000)
    with la.Session(client, cluster=spec) as session:
        counts = {}
        for iters in (5, 45):
            times = []
            for _ in range(REPEATS + 1):
                start = time.perf_counter()
                descent.run(A, b, iters, session=session)
                times.append(time.perf_counter() - start)
            counts[iters] = times[1:]
        start = time.perf_counter()
        descent.python(A, b, 45)
        work = (time.perf_counter() - start) / 45
    each = [
        ((long - short) / 40 - work) * 1e3
        for short, long in zip(counts[5], counts[45], strict=True)
    ]
    return statistics.median(each), f"{min(each):.2f}..{max(each):.2f}", set()
