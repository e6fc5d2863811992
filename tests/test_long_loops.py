"""Loops of hundreds of iterations on two workers: nothing grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import lineal as la

if TYPE_CHECKING:
    from distributed import Client

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


@la.program
def descent(A, b, iters, alpha=1e-4):
    x = np.zeros((A.shape[1], 1))
    for _ in range(iters):
        x = x - alpha * (A.T @ (A @ x - b))
    return x


@la.program
def blocked_state(A, iters):
    """Carries a large value, so that the state itself stays on the workers."""
    X = A * 0.0
    for _ in range(iters):
        X = 0.5 * X + A
    return X.sum(axis=0)


SPEC = la.ClusterSpec(workers=2, threads=1, driver_bytes=20_000, block_bytes=100_000)


def _worker_bytes(client: Client) -> int:
    def resident() -> int:
        import gc

        import psutil

        gc.collect()
        return int(psutil.Process().memory_info().rss)

    return sum(client.run(resident).values())


def test_tasks_per_iteration_do_not_grow(client: Client) -> None:
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(4000, 20)), rng.normal(size=(4000, 1))
    with la.Session(client, cluster=SPEC) as session:
        x = descent.run(A, b, 250, session=session)
        graphs = session.history[-1].graphs
    assert np.allclose(x, descent.python(A, b, 250), rtol=1e-9)
    assert len(graphs) <= 252
    # The first graph carries the inputs; from then on every iteration sends the same work.
    assert graphs[5] == graphs[len(graphs) - 2]
    assert len(set(graphs[2:-1])) == 1


def test_the_plan_does_not_depend_on_the_count(client: Client) -> None:
    A, b = la.spec((4000, 20)), la.spec((4000, 1))
    short, long = (descent.plan(A, b, k, cluster=SPEC) for k in (5, 1000))
    assert short is long
    assert len(list(long.physical.steps())) < 20


def test_worker_memory_is_flat(client: Client) -> None:
    A = np.random.default_rng(0).normal(size=(50_000, 20))  # 8 MB in 8 blocks
    spec = la.ClusterSpec(workers=2, threads=1, driver_bytes=20_000, block_bytes=1_000_000)
    with la.Session(client, cluster=spec) as session:
        blocked_state.run(A, 20, session=session)
        before = _worker_bytes(client)
        found = blocked_state.run(A, 200, session=session)
        after = _worker_bytes(client)
    assert np.allclose(found, blocked_state.python(A, 200), rtol=1e-9)
    # 200 states are 1.6 GB; what may remain is the allocator's slack.
    assert after - before < 100e6
    keys = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
    assert keys == 0
