"""The lazy runtime on threads: graphs, liveness, errors, memory."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from lineal.engine.blocked import BlockedRuntime
from lineal.engine.blocked.graph import Job, Pending, execute
from lineal.engine.threads import ThreadExecutor, native
from lineal.errors import RunError, Span
from lineal.planner.cluster import ClusterSpec
from lineal.planner.placement import place
from tests.blocked.harness import runtime, same, step_of, value_of
from tests.blocked.interp import Interpreter, gradient_descent

SMALL = ClusterSpec(workers=2, threads=1, driver_bytes=100_000, block_bytes=60_000)


def test_one_graph_per_fetch() -> None:
    rt = runtime()
    x = np.arange(12.0).reshape(6, 2)
    a = rt.adopt(x, value_of("%0", x, ((2, 2, 2), (2,))))
    attrs = {"axis": None, "keepdims": False}
    (total,) = rt.run(step_of("sum", attrs, 1, [x.sum()], place="driver"), [a])
    (top,) = rt.run(step_of("max", attrs, 1, [x.max()], place="driver"), [a])
    (twice,) = rt.run(step_of("multiply", {}, 2, [x]), [a, total])  # not fetched in between
    assert rt.flushes == []
    assert rt.fetch(total) == 66.0
    assert len(rt.flushes) == 1
    assert rt.fetch(top) == 11.0
    assert len(rt.flushes) == 1  # came with the first
    same(rt.fetch(twice), x * 66.0)


def test_dead_work_is_not_done() -> None:
    rt = runtime()
    x = np.ones((4, 4))
    a = rt.adopt(x, value_of("%0", x, ((2, 2), (4,))))
    rt.run(step_of("exp", {}, 1, [x]), [a])  # nobody holds the result
    rt.flush()
    assert rt.flushes == [2]  # the input's blocks only


def test_results_are_released_i4() -> None:
    """pains-I4: nothing stays behind, over many iterations."""
    rt = runtime()
    x = np.ones((8, 8))
    value = rt.adopt(x, value_of("%0", x, ((4, 4), (8,))))
    step = step_of("add", {}, 2, [x])
    sizes = []
    for _ in range(40):
        (value,) = rt.run(step, [value, 1.0])
        rt.end_iteration([value])
        sizes.append(len(rt.executor._results))
    assert set(sizes) == {2}
    assert len(set(rt.flushes[1:])) == 1
    same(rt.fetch(value), x + 40)
    rt.release(value)
    del value
    rt.close()
    assert not rt.executor._results


def test_result_is_writable_and_alone_i11() -> None:
    """pains-I11, I10: results are writable, inputs stay untouched."""
    x = np.ones((4, 2))
    for cut in (((4,), (2,)), ((2, 2), (2,))):
        rt = runtime()
        a = rt.adopt(x, value_of("%0", x, cut))
        found = rt.fetch(a)
        found += 5
        assert (x == 1).all()
        (t,) = rt.run(step_of("reshape", {"shape": (8,)}, 1, [np.ones(8)]), [a])
        rt.fetch(t)[:] = 7
        assert (x == 1).all()


def test_tasks_per_iteration_are_constant_i1() -> None:
    """pains-I1: iteration 3 and 30 submit the same number of tasks."""
    plan, _ = gradient_descent(3000, 10, 31)
    placed = place(plan, SMALL)
    interpreter = Interpreter(BlockedRuntime(ThreadExecutor(2), SMALL, "gd"), placed)
    rng = np.random.default_rng(0)
    interpreter.run(rng.normal(size=(3000, 10)), rng.normal(size=(3000, 1)))
    assert interpreter.iterations[3] == interpreter.iterations[30]


def test_gram_holds_few_blocks_c1() -> None:
    """pains-C1: live results of X.T @ X do not grow with the number of blocks beyond the input."""
    extra = []
    for blocks in (16, 64):
        executor = ThreadExecutor(1)
        rt = BlockedRuntime(executor, ClusterSpec(), "p")
        x = np.random.default_rng(0).normal(size=(blocks * 20, 5))
        a = rt.adopt(x, value_of("%0", x, ((20,) * blocks, (5,))))
        rt.flush()
        (t,) = rt.run(step_of("transpose", {}, 1, [x.T]), [a])
        (g,) = rt.run(step_of("matmul", {}, 2, [x.T @ x]), [t, a])
        executor.peak_live = 0
        same(rt.fetch(g), x.T @ x)
        extra.append(executor.peak_live - blocks)
    assert extra[0] <= 12
    assert extra[1] <= extra[0] + 4  # one more level of the tree


def test_chains_become_one_task() -> None:
    """A.T @ (A @ x - b) reads each block once: one task per block, and the tree."""
    rt = runtime()
    x = np.random.default_rng(0).normal(size=(80, 5))
    a = rt.adopt(x, value_of("%0", x, ((20,) * 4, (5,))))
    rt.flush()
    (p,) = rt.run(step_of("matmul", {}, 2, [np.ones((80, 1))]), [a, np.ones((5, 1))])
    (r,) = rt.run(step_of("subtract", {}, 2, [np.ones((80, 1))]), [p, 1.0])
    (t,) = rt.run(step_of("transpose", {}, 1, [x.T]), [a])
    (g,) = rt.run(step_of("matmul", {}, 2, [np.ones((5, 1))]), [t, r])
    rt.release(p), rt.release(r)
    same(rt.fetch(g), x.T @ (x @ np.ones((5, 1)) - 1.0))
    assert rt.flushes[-1] == 5


def test_long_chains_do_not_recurse() -> None:
    rt = runtime()
    x = np.zeros((4, 1))
    value = rt.adopt(x, value_of("%0", x, ((2, 2), (1,))))
    step = step_of("add", {}, 2, [x])
    for _ in range(5000):
        (value,) = rt.run(step, [value, 1.0])
    same(rt.fetch(value), x + 5000)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_keeps_its_type_and_names_the_line(threads: int) -> None:
    rt = runtime(threads)
    x = np.ones((4, 2), dtype="i8")
    a = rt.adopt(x, value_of("%0", x, ((2, 2), (2,))))
    span = Span("prog.py", 12, 4, 10, "    y = X ** k", "f")
    step = step_of("power", {}, 2, [x], text="y = X ** k", spans=(span,))
    (y,) = rt.run(step, [a, np.int64(-1)])
    with pytest.raises(ValueError, match="negative integer powers") as caught:
        rt.fetch(y)
    note = "\n".join(caught.value.__notes__)
    assert "y = X ** k" in note
    assert "line 12" in note
    rt.release(y)
    assert rt.fetch(a).sum() == 8  # the runtime is still usable


def test_errstate_reaches_the_threads() -> None:
    rt = runtime(2)
    x = np.array([[1.0], [0.0], [2.0]])
    a = rt.adopt(x, value_of("%0", x, ((1, 1, 1), (1,))))
    (y,) = rt.run(step_of("reciprocal", {}, 1, [x]), [a])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        rt.fetch(y)


def test_use_after_release_is_an_error() -> None:
    rt = runtime()
    x = np.ones((4, 2))
    a = rt.adopt(x, value_of("%0", x, ((2, 2), (2,))))
    rt.release(a)
    with pytest.raises(RunError, match="released"):
        rt.fetch(a)


def test_interrupt_leaves_within_a_second() -> None:
    executor = ThreadExecutor(2)
    release = threading.Event()

    def stuck() -> None:
        release.wait(5)

    jobs: Any = {f"k{i}": Job((("", stuck, ()),), (), False, False) for i in range(4)}
    real = threading.Condition.wait
    calls = []

    def interrupted(self: Any, timeout: float | None = None) -> bool:
        if timeout == 0.5:
            calls.append(1)
            if len(calls) > 1:
                raise KeyboardInterrupt
        return real(self, timeout)

    start = time.monotonic()
    threading.Condition.wait = interrupted  # type: ignore[method-assign]
    try:
        with pytest.raises(KeyboardInterrupt):
            executor.submit(jobs, list(jobs))
    finally:
        threading.Condition.wait = real  # type: ignore[method-assign]
        release.set()
    assert time.monotonic() - start < 1
    ok: Any = {"a": Job((("", lambda: 3, ()),), (), False, False)}
    executor.submit(ok, ["a"])
    assert executor.gather(["a"]) == [3]


def test_native_threads_are_limited_and_restored() -> None:
    from threadpoolctl import threadpool_info

    def blas() -> set[int]:
        return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}

    before = blas()
    with native.one_thread():
        with native.one_thread():
            pass
        assert blas() == {1}
    assert blas() == before


def test_fusion_keeps_what_others_need() -> None:
    from collections import deque

    pending = Pending(deque(), "t")
    a = pending.add("l", "", int, (4,))
    b = pending.add("l", "", abs, (a,))
    c = pending.add("l", "", float, (b,))
    d = pending.add("l", "", str, (b,))
    jobs, keep = pending.take()
    assert set(keep) == {a.key, b.key, c.key, d.key}
    assert len(jobs) == 4
    e = pending.add("l", "", int, (4,))
    f = pending.add("l", "", abs, (e,))
    del e
    jobs, keep = pending.take()
    assert list(jobs) == [f.key]
    assert execute(jobs[f.key].program) == 4  # type: ignore[union-attr]


def test_dask_arrays_bring_their_own_tasks_b_and_c() -> None:
    """A Dask array's blocks are computed once, however often they are used."""
    da = pytest.importorskip("dask.array")
    x = np.random.default_rng(0).normal(size=(10, 4))
    calls = []

    def counted(block: Any) -> Any:
        calls.append(block.shape)
        return block * 2

    source = da.from_array(x, chunks=((3, 7), (2, 2))).map_blocks(counted, dtype="f8", meta=x[:0])
    calls.clear()
    rt = runtime(1)
    a = rt.adopt(source, value_of("%0", x, source.chunks))
    attrs = {"axis": 0, "keepdims": False}
    for _ in range(3):
        (s,) = rt.run(step_of("sum", attrs, 1, [x.sum(0)], place="driver"), [a])
        same(rt.fetch(s), (x * 2).sum(0))
    assert len(calls) == 4


def test_dask_array_of_unknown_chunks_is_refused() -> None:
    da = pytest.importorskip("dask.array")
    from lineal.errors import InputError

    x = da.from_array(np.arange(10.0), chunks=5)
    with pytest.raises(InputError, match="compute_chunk_sizes"):
        runtime().adopt(x[x > 3], value_of("%0", np.ones(3), ((3,),)))


def test_mapped_file(tmp_path: Any) -> None:
    path = tmp_path / "x.npy"
    x = np.random.default_rng(0).normal(size=(30, 4))
    np.save(path, x)
    mapped = np.load(path, mmap_mode="r")
    rt = runtime()
    a = rt.adopt(mapped, value_of("%0", x, ((10, 20), (4,))))
    same(rt.fetch(a), x)


def test_block_counts_do_not_change_results() -> None:
    """The tree is fixed by the blocks: threads do not change a single bit."""
    x = np.random.default_rng(0).normal(size=(500, 6))
    found = []
    for threads in (1, 2, 2):
        rt = runtime(threads)
        a = rt.adopt(x, value_of("%0", x, ((10,) * 50, (6,))))
        (t,) = rt.run(step_of("transpose", {}, 1, [x.T]), [a])
        (g,) = rt.run(step_of("matmul", {}, 2, [x.T @ x]), [t, a])
        found.append(rt.fetch(g).tobytes())
    assert len(set(found)) == 1


def test_what_queued_work_reads_is_not_released() -> None:
    """An iteration that fetched leaves later work queued; its inputs must survive until then."""
    rt = runtime()
    x = np.ones((4, 2))
    value = rt.adopt(x, value_of("%0", x, ((2, 2), (2,))))
    attrs = {"axis": None, "keepdims": False}
    for k in range(5):
        (total,) = rt.run(step_of("sum", attrs, 1, [x.sum()], place="driver"), [value])
        assert rt.fetch(total) == 8 * (k + 1)
        (value,) = rt.run(step_of("add", {}, 2, [x]), [value, 1.0])  # queued over the end
        rt.end_iteration([value])
    same(rt.fetch(value), x + 5)


def test_two_runs_share_an_executor() -> None:
    """One run's clean-up must not take what the other's queue reads."""
    executor = ThreadExecutor(1)
    x = np.ones((4, 2))
    first, second = (BlockedRuntime(executor, ClusterSpec(), name) for name in "ab")
    a = first.adopt(x, value_of("%0", x, ((2, 2), (2,))))
    first.flush()
    (b,) = first.run(step_of("add", {}, 2, [x]), [a, 1.0])
    del a
    c = second.adopt(x, value_of("%0", x, ((2, 2), (2,))))
    same(second.fetch(c), x)
    same(first.fetch(b), x + 1)


@pytest.mark.parametrize("threads", [1, 2])
def test_floating_point_findings_name_their_step(threads: int) -> None:
    rt = runtime(threads)
    x = np.array([[1.0], [0.0], [2.0]])
    a = rt.adopt(x, value_of("%0", x, ((1, 1, 1), (1,))))
    step = step_of("reciprocal", {}, 1, [x], text="y = 1 / x")
    (y,) = rt.run(step, [a])
    rt.fetch(y)
    assert rt.findings() == [("divide by zero", step)]
    assert rt.findings() == []
    (y,) = rt.run(step, [a])
    with np.errstate(divide="ignore"):
        rt.fetch(y)
    assert rt.findings() == []
