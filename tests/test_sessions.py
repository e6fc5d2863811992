"""Sessions: where plans run, what they refuse, what they leave behind."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

import lineal as la

if TYPE_CHECKING:
    from distributed import Client

SMALL = {"driver_bytes": 1000, "block_bytes": 4000}


@la.program
def double(A):
    return 2 * A, A.sum(axis=0)


@la.program
def gram_loop(A, iters=3):
    G = np.zeros((A.shape[1], A.shape[1]))
    for _ in range(iters):
        G = G + A.T @ A
    return G


def test_dask_results_on_threads() -> None:
    A = np.arange(2000.0).reshape(500, 4)
    with la.Session(cluster=la.ClusterSpec(threads=2, **SMALL)) as session:
        twice, total = double.run(A, session=session, result="dask")
    assert type(twice).__module__.startswith("dask")
    assert len(twice.chunks[0]) > 1
    assert np.array_equal(twice.compute(), 2 * A)
    assert np.array_equal(np.asarray(total), A.sum(axis=0))


def test_dask_results_share_nothing_with_inputs() -> None:
    A = np.ones((500, 4))

    with la.Session(cluster=la.ClusterSpec(threads=2, **SMALL)) as session:
        (found,) = (double.run(A, session=session, result="dask")[0],)
    A[:] = 7
    assert np.array_equal(found.compute(), np.full((500, 4), 2.0))


@pytest.mark.cluster
@pytest.mark.dask_versions
def test_dask_results_stay_on_the_workers(client: Client) -> None:
    A = np.arange(2000.0).reshape(500, 4)
    spec = la.ClusterSpec(workers=2, threads=1, **SMALL)
    with la.Session(client, cluster=spec) as session:
        twice, _ = double.run(A, session=session, result="dask")
        assert len(twice.chunks[0]) > 1
        assert np.array_equal(client.compute(twice + 1).result(), 2 * A + 1)
    assert np.array_equal(client.compute(twice.T).result(), 2 * A.T)


def test_an_unknown_result_form_is_refused() -> None:
    with pytest.raises(la.errors.OptionError, match="'numpy' or 'dask'"):
        double.run(np.ones((2, 2)), result="cupy")


def test_memory_limit_refuses_before_the_run() -> None:
    A = np.ones((1000, 50))
    with la.Session(memory_limit=100_000) as session:
        with pytest.raises(la.errors.MemoryLimitError, match="needs up to"):
            gram_loop.run(A, session=session)
        assert session.history == []
        # Explain still works on a plan that cannot fit.
        assert "gram_loop" in gram_loop.plan(A, session=session).explain()


def test_history_keeps_runs_with_their_plans() -> None:
    with la.Session() as session:
        A = np.ones((5, 3))
        gram_loop.run(A, 2, session=session)
        gram_loop.run(A, 4, session=session)
        first, second = session.history
        assert np.array_equal(first.value, 2 * A.T @ A)
        assert list(second.iterations.values()) == [4]
        assert first.plan is second.plan
        assert "ran in" in second.report()


def test_a_closed_session_says_so() -> None:
    session = la.Session()
    session.close()
    with pytest.raises(la.errors.RunError, match="closed"):
        gram_loop.run(np.ones((3, 2)), session=session)


def test_many_threads_share_a_program_and_a_session() -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(n + 2, 3)) for n in range(8)]
    wrong: list[int] = []
    with la.Session() as session:

        def work(k: int) -> None:
            for _ in range(5):
                if not np.allclose(gram_loop.run(inputs[k], session=session),
                                   gram_loop.python(inputs[k])):
                    wrong.append(k)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_results_are_writable_and_own_their_memory() -> None:
    @la.program
    def views(A):
        return A, A.T, A.T.T, A[0], A.reshape(-1)

    A = np.ones((3, 2))
    found = views(A)
    for value in found:
        value += 1
    assert np.array_equal(A, np.ones((3, 2)))
    assert all((value == 2).all() for value in found)


def test_plan_of_other_shapes_is_refused() -> None:
    plan = gram_loop.plan(np.ones((4, 3)))
    with pytest.raises(la.errors.InputError, match=r"planned for dense float64\[4, 3\]"):
        plan.run(np.ones((5, 3)), 3)


def test_nan_inputs_run_the_strict_plan() -> None:
    @la.program
    def chain(A, B, x):
        return A @ B @ x

    A, B, x = np.ones((4, 30)), np.ones((30, 40)), np.ones((40, 1))
    A[0, 0] = np.nan
    B[3, 3] = np.inf
    with np.errstate(invalid="ignore"), la.Session() as session:
        found = chain.run(A, B, x, session=session)
        assert np.array_equal(found, chain.python(A, B, x), equal_nan=True)
        assert session.history[-1].plan.logical.algebra == "strict"


def test_warnings_of_blocked_steps_are_told_with_the_line() -> None:
    @la.program
    def logs(A):
        return np.log(A).sum()

    A = np.ones((500, 4))
    A[3, 3] = 0.0
    with la.Session(cluster=la.ClusterSpec(threads=2, **SMALL)) as session:
        with pytest.warns(RuntimeWarning, match="divide by zero") as told:
            found = logs.run(A, session=session)
    assert found == -np.inf
    assert [w.filename == __file__ for w in told] == [True]


def test_storage_is_reused_only_where_nobody_else_holds_it() -> None:
    @la.program
    def shared(A, iters):
        B = A.copy()
        C, D = B, B.T
        for i in range(iters):
            B = B.copy() if i == 3 else B
            E = B * 2
            E[0] = 1
            B = E
        return B, C, D

    A = np.arange(6.0).reshape(2, 3)
    for k, want in enumerate(shared.python(A, 5)):
        assert np.array_equal(shared(A, 5)[k], want)
    assert np.array_equal(A, np.arange(6.0).reshape(2, 3))


def test_a_plan_takes_inputs_of_its_own_form_only() -> None:
    import scipy.sparse as sp

    plan = gram_loop.plan(np.ones((4, 3)))
    for other in (sp.csr_array(np.ones((4, 3))), "text", None):
        with pytest.raises(la.errors.InputError, match="planned for dense"):
            plan.run(other, 3)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_what_numpy_gives_finite_stays_finite(dtype: str) -> None:
    @la.program
    def chain(A, B, C):
        return A @ B @ C

    @la.program
    def scaled(A, B):
        return (1e-6 * A) @ B

    large, small = (1e30, 1e-30) if dtype == "f4" else (1e200, 1e-200)
    A = np.full((40, 2), small, dtype)
    B, C = np.full((2, 40), large, dtype), np.full((40, 2), large, dtype)
    with np.errstate(all="ignore"):
        assert np.allclose(chain(A, B, C), chain.python(A, B, C), rtol=1e-4)
        top = np.finfo(dtype).max
        X, Y = np.full((3, 4), top * 1e-4, dtype), np.full((4, 2), 1e4, dtype)
        assert np.allclose(scaled(X, Y), scaled.python(X, Y), rtol=1e-4)


def test_sparse_blocks_of_a_dask_array_are_checked_for_nan() -> None:
    import dask.array as da
    import scipy.sparse as sp

    @la.program
    def gram_vector(A):
        return A.T @ A @ np.ones((A.shape[1], 1))

    P = np.eye(6, 4)
    blocks = da.from_array(P, chunks=(2, 4)).map_blocks(sp.csr_array)
    assert np.allclose(gram_vector(blocks), gram_vector.python(P))


def test_estimates_compare_placed_plans() -> None:
    @la.program
    def descent(A, b, iters=10, alpha=1e-9):
        x = np.zeros((A.shape[1], 1))
        for _ in range(iters):
            x = x - alpha * (A.T @ (A @ x - b))
        return x

    A, b = la.spec((60_000, 100)), la.spec((60_000, 1))
    near = la.ClusterSpec(workers=2, threads=1, driver_bytes=100_000, round_trip_s=0.0)
    far = la.ClusterSpec(workers=2, threads=1, driver_bytes=100_000, round_trip_s=0.5)
    plan = descent.plan(A, b, cluster=near)
    # No rule changes this program: as written and as planned are one plan.
    assert plan.physical.est_seconds == plan.physical.est_seconds_as_written
    # One result comes back to the driver in each of ten iterations.
    assert descent.plan(A, b, cluster=far).est_seconds == pytest.approx(plan.est_seconds + 5.0)


def test_dask_results_that_overflow_run_strictly() -> None:
    @la.program
    def chain(A, B, C):
        return A @ B @ C

    A, B, C = np.full((40, 2), 1e-200), np.full((2, 40), 1e200), np.full((40, 2), 1e200)
    spec = la.ClusterSpec(threads=2, driver_bytes=200, block_bytes=400)
    with la.Session(cluster=spec) as session:
        found = chain.run(A, B, C, session=session, result="dask")
    assert np.allclose(np.asarray(found), chain.python(A, B, C))
