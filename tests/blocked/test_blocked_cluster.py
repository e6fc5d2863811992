"""The same steps on two worker processes: shipping, release, errors, deaths."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lineal.engine.blocked import BlockedRuntime
from lineal.engine.cluster import ClusterExecutor
from lineal.errors import RunError
from lineal.planner.cluster import ClusterSpec
from lineal.planner.placement import place
from tests.blocked.harness import same, step_of, value_of
from tests.blocked.interp import Interpreter, gradient_descent

pytestmark = [pytest.mark.cluster, pytest.mark.dask_versions]
SPEC = ClusterSpec(workers=2, threads=1, driver_bytes=100_000, block_bytes=60_000)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def make(client: Any, name: str = "test") -> BlockedRuntime:
    return BlockedRuntime(ClusterExecutor(client), SPEC, name)


def left_on(client: Any) -> int:
    """Number of tasks the scheduler knows, after it had time to forget the released ones."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        count = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        if not count:
            return 0
        time.sleep(0.05)
    return int(count)


def test_operators_dense_and_sparse(client: Any) -> None:
    rt = make(client)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 6))
    x[np.abs(x) < 0.8] = 0
    for value in (x, sparse.csr_array(x)):
        a = rt.adopt(value, value_of("%0", x, ((7, 0, 20, 3), (4, 2))))
        (t,) = rt.run(step_of("transpose", {}, 1, [x.T]), [a])
        (g,) = rt.run(step_of("matmul", {}, 2, [x.T @ x], place="driver"), [t, a])
        attrs = {"axis": 0, "keepdims": False}
        (v,) = rt.run(step_of("var", attrs, 1, [x.var(0)], place="driver"), [a])
        (m,) = rt.run(step_of("argmax", attrs, 1, [x.argmax(0)], place="driver"), [a])
        (e,) = rt.run(step_of("expm1", {}, 1, [x]), [a])
        mask = x[:, 0] > 0
        (k,) = rt.run(step_of("getitem", {"spec": (("array", 0),)}, 2, [x[mask]]), [a, mask])
        q, r = rt.run(step_of("qr", {"mode": "reduced"}, 1, list(np.linalg.qr(x))), [a])
        same(rt.fetch(g), x.T @ x)
        same(rt.fetch(v), x.var(0))
        same(rt.fetch(m), x.argmax(0))
        same(rt.fetch(e), np.expm1(x))
        same(rt.fetch(k), x[mask])
        same(rt.fetch(q) @ rt.fetch(r), x, rtol=1e-12)
        assert rt.fetch(e) is rt.fetch(e)
        found = rt.fetch(k)
        if not sparse.issparse(found):
            found += 1
    assert len(rt.flushes) <= 4
    del a, t, g, v, m, e, k, q, r
    rt.close()
    assert left_on(client) == 0


def test_loop_ships_its_input_once_i5(client: Any) -> None:
    """pains-I5: 40 MB of NumPy in ten iterations: no warning, sent once, task count constant."""
    plan, _ = gradient_descent(50_000, 100, 31)
    spec = ClusterSpec(workers=2, threads=1, memory_bytes=2**30, driver_bytes=2**20)
    placed = place(plan, spec)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(50_000, 100)), rng.normal(size=(50_000, 1))
    sent: list[int] = []
    executor = ClusterExecutor(client)
    ship = executor._ship

    def counted(jobs: Any) -> Any:
        sent.append(sum(job.program[0][2][0].nbytes for job in jobs.values()))
        return ship(jobs)

    executor._ship = counted  # type: ignore[method-assign]
    interpreter = Interpreter(BlockedRuntime(executor, spec, "gd"), placed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = interpreter.run(a, b)
    x = np.zeros((100, 1))
    for _ in range(31):
        x = x - 1e-4 * (a.T @ (a @ x - b))
    same(found, x, rtol=1e-6)
    assert sent[0] >= 40_000_000
    assert sum(sent[1:]) == 0
    assert interpreter.iterations[3] == interpreter.iterations[30]
    assert left_on(client) == 0


def test_carried_blocks_stay_flat_i4(client: Any) -> None:
    """pains-I4: a loop without a fetch keeps neither results nor their past."""
    rt = make(client)
    x = np.zeros((20_000, 2))
    value = rt.adopt(x, value_of("%0", x, ((10_000, 10_000), (2,))))
    import lineal.engine.blocked.runtime as module

    old, module.LINEAGE_TASKS = module.LINEAGE_TASKS, 40
    try:
        step = step_of("add", {}, 2, [x])
        counts = []
        for k in range(60):
            (value,) = rt.run(step, [value, 1.0])
            rt.end_iteration([value])
            if k % 10 == 9:
                rt.executor.wait([block.key for block in value.blocks])
                counts.append(
                    client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
                )
        same(rt.fetch(value), x + 60)
    finally:
        module.LINEAGE_TASKS = old
    assert max(counts) <= 70
    rt.release(value)
    del value
    rt.close()
    assert left_on(client) == 0


def test_errors_come_back_as_they_are(client: Any) -> None:
    rt = make(client)
    x = np.ones((4, 2), dtype="i8")
    a = rt.adopt(x, value_of("%0", x, ((2, 2), (2,))))
    (y,) = rt.run(step_of("power", {}, 2, [x], text="y = X ** k"), [a, np.int64(-1)])
    with pytest.raises(ValueError, match="negative integer powers") as caught:
        rt.fetch(y)
    assert any("y = X ** k" in note for note in caught.value.__notes__)
    rt.release(y)
    same(rt.fetch(a), x)
    rt.close()


def test_mapped_files_are_read_by_the_workers(client: Any, tmp_path: Any) -> None:
    x = np.random.default_rng(0).normal(size=(300, 40))
    for order in ("C", "F"):
        path = tmp_path / f"{order}.npy"
        np.save(path, np.asarray(x, order=order))  # type: ignore[call-overload]
        rt = make(client)
        a = rt.adopt(np.load(path, mmap_mode="r"), value_of("%0", x, ((100, 200), (40,))))
        assert not any(job.data for job in rt._pending._jobs.values())  # type: ignore[union-attr]
        same(rt.fetch(a), x)
        rt.close()


def test_a_changed_file_is_refused(client: Any, tmp_path: Any) -> None:
    from lineal.errors import ReadError

    path = tmp_path / "x.npy"
    np.save(path, np.ones((20, 2)))
    rt = make(client)
    a = rt.adopt(np.load(path, mmap_mode="r"), value_of("%0", np.ones((20, 2)), ((10, 10), (2,))))
    np.save(path, np.ones((30, 2)))
    with pytest.raises(ReadError, match="changed while the program ran"):
        rt.fetch(a)
    rt.close()


def test_dask_arrays_are_used_block_by_block(client: Any) -> None:
    da = pytest.importorskip("dask.array")
    x = da.random.default_rng(0).normal(size=(40, 4), chunks=((13, 27), (4,)))
    right = x.compute()
    rt = make(client)
    a = rt.adopt(x, value_of("%0", right, x.chunks))
    attrs = {"axis": 0, "keepdims": False}
    (s,) = rt.run(step_of("sum", attrs, 1, [right.sum(0)], place="driver"), [a])
    same(rt.fetch(s), right.sum(0))
    (s,) = rt.run(step_of("max", attrs, 1, [right.max(0)], place="driver"), [a])
    same(rt.fetch(s), right.max(0))
    assert rt.flushes[1] < rt.flushes[0]
    del a, s
    rt.close()


def test_native_threads_are_limited_on_workers_i7(client: Any) -> None:
    """pains-I7: inside a task BLAS has one thread."""
    from threadpoolctl import threadpool_info

    from lineal.engine.blocked.graph import Job

    executor = ClusterExecutor(client)
    jobs: Any = {"lineal-t-info-0": Job((("", threadpool_info, ()),), (), False, False)}
    executor.submit(jobs, list(jobs))
    (info,) = executor.gather(list(jobs))
    assert {p["num_threads"] for p in info if p["user_api"] == "blas"} == {1}
    executor.close()


def test_floating_point_findings_come_home(client: Any) -> None:
    rt = make(client)
    x = np.array([[1.0], [0.0], [2.0]])
    a = rt.adopt(x, value_of("%0", x, ((1, 1, 1), (1,))))
    step = step_of("reciprocal", {}, 1, [x], text="y = 1 / x")
    (y,) = rt.run(step, [a])
    rt.fetch(y)
    assert rt.findings() == [("divide by zero", step)]
    assert rt.findings() == []
    (y,) = rt.run(step, [a])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        rt.fetch(y)
    rt.close()


def test_workers_without_the_package_are_told(client: Any, monkeypatch: Any) -> None:
    import lineal.engine.cluster as module

    monkeypatch.setattr(module, "NEEDED", "lineal.not_there")
    with pytest.raises(RunError, match="cannot import"):
        ClusterExecutor(client)


def test_shipped_input_survives_a_worker(client: Any) -> None:
    """A worker dies in the middle of a loop; its blocks are computed again from shipped data."""
    rt = make(client)
    x = np.random.default_rng(0).normal(size=(4000, 5))
    a = rt.adopt(x, value_of("%0", x, ((1000,) * 4, (5,))))
    (twice,) = rt.run(step_of("multiply", {}, 2, [x]), [a, 2.0])
    rt.flush()
    rt.executor.wait([block.key for block in twice.blocks])
    pids = client.run(os.getpid)
    os.kill(next(iter(pids.values())), signal.SIGKILL)
    (t,) = rt.run(step_of("transpose", {}, 1, [x.T]), [twice])
    (g,) = rt.run(step_of("matmul", {}, 2, [x.T @ x], place="driver"), [t, a])
    same(rt.fetch(g), 2 * x.T @ x)
    del a, twice, t, g
    rt.close()
    client.wait_for_workers(2, timeout=20)


def test_a_closed_client_is_told(client: Any) -> None:
    from distributed import Client

    other = Client(client.scheduler.address)
    rt = make(other)
    x = np.ones((4, 2))
    a = rt.adopt(x, value_of("%0", x, ((2, 2), (2,))))
    other.close()
    with pytest.raises(RunError, match="closed or has lost its scheduler"):
        rt.fetch(a)
    with pytest.raises(RunError, match="closed"):
        ClusterExecutor(other)


def test_interrupt_cancels_within_a_second(client: Any) -> None:
    import threading

    from lineal.engine.blocked.graph import Job

    executor = ClusterExecutor(client)
    jobs: Any = {
        f"lineal-t-sleep-{i}": Job((("", time.sleep, (3 + i,)),), (), False, False)
        for i in range(2)
    }
    executor.submit(jobs, list(jobs))
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        executor.gather(list(jobs))
    assert time.monotonic() - start < 1.5
    assert not executor._futures
