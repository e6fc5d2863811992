"""Placing plans: where values go, what is inserted, what it costs, when it is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lineal.engine.blocked import BlockedRuntime
from lineal.engine.threads import ThreadExecutor
from lineal.errors import MemoryLimitError, OptionError
from lineal.planner.cluster import ClusterSpec
from lineal.planner.layouts import balanced, even, intersect, sliced
from lineal.planner.placement import check_memory, default_splits, place
from lineal.planner.plan import Block, PhysicalPlan, Step, Value
from lineal.planner.types import Sym, Type
from tests.blocked.interp import Builder, Interpreter, gradient_descent, with_frees

MIB = 2**20
SMALL = ClusterSpec(workers=2, threads=1, driver_bytes=100_000, block_bytes=60_000)


def straight(b: Builder, inputs: list[str], steps: list[Step], outputs: list[str]) -> PhysicalPlan:
    body = with_frees(Block(tuple(steps), tuple(outputs)))
    return PhysicalPlan("p", tuple(b.values[n] for n in inputs), body, tuple(outputs))


def run(plan: PhysicalPlan, cluster: ClusterSpec, *inputs: Any) -> tuple[Any, Interpreter]:
    interpreter = Interpreter(BlockedRuntime(ThreadExecutor(2), cluster, plan.name), plan)
    return interpreter.run(*inputs), interpreter


@pytest.mark.parametrize(
    "kw",
    [
        {"workers": -1},
        {"threads": 0},
        {"memory_bytes": 1.5},
        {"bandwidth_bytes_per_s": 0},
        {"rates": (("gemm", 1e-9),)},
        {"rates": (("matmul", -1.0),)},
        {"task_overhead_s": float("nan")},
        {"driver_bytes": True},
    ],
)
def test_cluster_refuses_nonsense(kw: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        ClusterSpec(**kw)


def test_cluster_defaults() -> None:
    assert ClusterSpec(memory_bytes=100 * MIB).driver_bytes == 50 * MIB
    assert ClusterSpec(workers=2).driver_bytes == 32 * MIB
    assert ClusterSpec(workers=2, rates=(("copy", 1.0),)).rate("matmul") > 0


def test_split_arithmetic() -> None:
    assert even(0, 5) == (0,)
    assert even(7, 3) == (3, 3, 1)
    assert balanced(7, 3) == (3, 2, 2)
    assert intersect((4, 3), (2, 5)) == (2, 2, 3)
    assert intersect((0, 7), (0, 7)) == (0, 7)
    assert sliced((4, 3), 6, None, -2) == (2, 2)
    assert sliced((4, 3), 4, 4, 1) == (0,)


def test_default_splits() -> None:
    tall = Value("A", Type((1000, 10), np.dtype("f8")))
    assert len(default_splits(tall, SMALL)[0]) == 4  # two per slot
    wide = Value("A", Type((4, 100_000), np.dtype("f8")))
    rows, columns = default_splits(wide, SMALL)
    assert rows == (1, 1, 1, 1)
    assert max(columns) * 8 <= SMALL.block_bytes
    unknown = Value("A", Type((Sym("m", 1000), 10), np.dtype("f8")))
    assert sum(default_splits(unknown, SMALL)[0]) == 1000


def test_small_plans_are_left_alone() -> None:
    plan, _ = gradient_descent(50, 4, 3)
    assert place(plan, SMALL) is plan


def test_gradient_descent_is_placed_and_runs() -> None:
    plan, _ = gradient_descent(2000, 10, 12)
    placed = place(plan, SMALL)
    assert placed == place(plan, SMALL)
    by_name = {v.name: v for s in placed.steps() for v in s.outputs}
    a, b = placed.inputs
    assert a.place == "blocked"
    assert b.place == "driver"  # 16 kB: its parts travel in the tasks
    assert by_name["%out"].place == "driver"
    assert not [s for s in placed.steps() if s.op in ("scatter", "gather")]
    rng = np.random.default_rng(0)
    data = rng.normal(size=(2000, 10)), rng.normal(size=(2000, 1))
    found, interpreter = run(placed, SMALL, *data)
    right, _ = run(plan, ClusterSpec(), *data)
    np.testing.assert_allclose(found, right, rtol=1e-9)
    assert len(set(interpreter.iterations[1:])) == 1  # the first one ships the input


def test_large_aligned_operands_are_cut_once() -> None:
    plan, _ = gradient_descent(20_000, 10, 3)
    placed = place(plan, SMALL)
    a, b = placed.inputs
    assert (a.place, b.place) == ("blocked", "blocked")
    assert a.splits[0] == b.splits[0]


def test_callers_chunks_are_kept() -> None:
    plan, _ = gradient_descent(30, 4, 2, place="blocked", splits=((7, 20, 3), (4,)))
    placed = place(plan, SMALL)
    assert placed.inputs[0].splits == ((7, 20, 3), (4,))
    data = np.random.default_rng(1).normal(size=(30, 4)), np.ones((30, 1))
    found, _ = run(placed, SMALL, *data)
    x = np.zeros((4, 1))
    for _ in range(2):
        x = x - 1e-4 * (data[0].T @ (data[0] @ x - data[1]))
    np.testing.assert_allclose(found, x, rtol=1e-9)


def test_no_blocked_form_gathers_with_a_note() -> None:
    b = Builder()
    b.input("v", (40_000,))
    steps: list[Step] = []
    s = b.step(steps, "sort", "v", shape=(40_000,), axis=0, kind=None)
    t = b.step(steps, "sum", "v", shape=(), axis=None, keepdims=False, dtype=None)
    placed = place(straight(b, ["v"], steps, [s, t]), SMALL)
    ops = [step.op for step in placed.steps()]
    assert ops == ["gather", "sort", "sum"]
    sort = placed.body.steps[1]
    assert sort.note == "gathered: no blocked form of sort"
    assert "v.d1" in sort.frees
    v = np.random.default_rng(2).normal(size=40_000)
    (found, total), _ = run(placed, SMALL, v)
    np.testing.assert_array_equal(found, np.sort(v))
    assert total == pytest.approx(v.sum())


def test_gather_of_an_invariant_is_hoisted() -> None:
    """A blocked value from outside that a loop needs whole is gathered once, lazily."""
    b = Builder()
    b.input("v", (40_000,))
    top: list[Step] = []
    trip = b.const(top, 3)
    x0 = b.const(top, 0.0)
    b.values["x"] = replace(b.values[x0], name="x")
    body: list[Step] = []
    s = b.step(body, "sort", "v", shape=(40_000,), axis=0, kind=None)
    m = b.step(body, "min", s, shape=(), axis=None, keepdims=False, dtype=None)
    x1 = b.step(body, "add", "x", m, shape=())
    test: list[Step] = []
    true = b.const(test, True)
    loop = Step(
        "loop",
        (("n", 1),),
        (trip, x0),
        (Value("%out", Type((), np.dtype("f8"))),),
        params=("%k", "x"),
        blocks=(Block(tuple(test), (true,)), Block(tuple(body), (x1,))),
    )
    plan = PhysicalPlan(
        "p", (b.values["v"],), with_frees(Block((*top, loop), ("%out",))), ("%out",)
    )
    placed = place(plan, SMALL)
    inner = placed.body.steps[-1].blocks[1]
    assert [(o.level, o.steps[0].op) for o in inner.once] == [(0, "gather")]
    v = np.random.default_rng(3).normal(size=40_000)
    found, _ = run(placed, SMALL, v)
    assert found == pytest.approx(3 * v.min())


def test_loop_carried_value_becomes_blocked() -> None:
    """The initial value is in the driver, the next one blocked: blocked wins, the first is cut."""
    b = Builder()
    b.input("A", (20_000, 1))
    b.input("x0", (20_000, 1))
    top: list[Step] = []
    trip = b.const(top, 4)
    b.values["x"] = replace(b.values["x0"], name="x", label="x")
    body: list[Step] = []
    x1 = b.step(body, "add", "x", "A", shape=(20_000, 1))
    true_steps: list[Step] = []
    true = b.const(true_steps, True)
    loop = Step(
        "loop",
        (("n", 1),),
        (trip, "x0"),
        (Value("%out", Type((20_000, 1), np.dtype("f8"))),),
        params=("%k", "x"),
        blocks=(Block(tuple(true_steps), (true,)), Block(tuple(body), (x1,))),
    )
    inputs = (b.values["A"], b.values["x0"])
    plan = PhysicalPlan("p", inputs, with_frees(Block((*top, loop), ("%out",))), ("%out",))
    placed = place(plan, SMALL)
    assert {v.name: v.place for s in placed.steps() for v in s.outputs}["%out"] == "blocked"
    a, x = np.ones((20_000, 1)), np.zeros((20_000, 1))
    found, interpreter = run(placed, SMALL, a, x)
    np.testing.assert_array_equal(found, 4 * a)
    assert len(set(interpreter.iterations[1:])) == 1


def test_large_results_of_small_operands_are_blocked() -> None:
    b = Builder()
    b.input("x", (400, 1))
    b.input("y", (1, 400))
    steps: list[Step] = []
    p = b.step(steps, "matmul", "x", "y", shape=(400, 400))
    q = b.step(steps, "add", p, "y", shape=(400, 400))
    e = b.step(steps, "eye", shape=(400, 400), n=400, m=400, k=0, dtype="float64")
    z = b.step(steps, "add", q, e, shape=(400, 400))
    t = b.step(steps, "trace", z, shape=(), offset=0)
    placed = place(straight(b, ["x", "y"], steps, [t]), SMALL)
    assert next(s for s in placed.steps() if s.op == "scatter").inputs == ("x",)
    assert placed.body.steps[-1].outputs[0].place == "driver"
    x, y = np.arange(400.0)[:, None], np.ones((1, 400))
    found, _ = run(placed, SMALL, x, y)
    assert found == np.trace(x @ y + y + np.eye(400))


def test_memory_limit_names_the_operator() -> None:
    b = Builder()
    b.input("v", (40_000_000,))
    steps: list[Step] = []
    s = b.step(steps, "sort", "v", shape=(40_000_000,), axis=0, kind=None)
    cluster = ClusterSpec(workers=2, memory_bytes=256 * MIB)
    placed = place(straight(b, ["v"], steps, [s]), cluster)  # planning and explaining still work
    assert placed.moved_bytes >= 2 * 320e6
    with pytest.raises(MemoryLimitError, match=r"gather v.*needs up to 610\.4 MiB.*has 256\.0 MiB"):
        check_memory(placed, cluster)


def test_streamed_product_fits_where_its_operand_does_not_add_up() -> None:
    """pains-C1: the bound of X.T @ X does not grow with the number of rows."""
    bounds = []
    for n in (200_000, 800_000):
        b = Builder()
        b.input("X", (n, 50))
        steps: list[Step] = []
        xt = b.step(steps, "transpose", "X", shape=(50, n))
        g = b.step(steps, "matmul", xt, "X", shape=(50, 50))
        cluster = ClusterSpec(threads=2, memory_bytes=60 * MIB, block_bytes=MIB)
        placed = place(straight(b, ["X"], steps, [g]), cluster)
        check_memory(placed, cluster)
        bounds.append(placed.peak_bytes)
    assert bounds[0] == pytest.approx(bounds[1], rel=0.05)


def test_planned_splits_are_the_runs() -> None:
    """What the planner says of blocks is what the engine makes (sizes known)."""
    b = Builder()
    b.input("A", (3000, 8))
    steps: list[Step] = []
    full = ("slice", None, None, None)
    c = b.step(steps, "getitem", "A", shape=(1400, 8), spec=(("slice", 100, 2900, 2), full))
    d = b.step(steps, "diff", c, shape=(1399, 8), n=1, axis=0)
    e = b.step(steps, "concatenate", d, "A", shape=(4399, 8), axis=0)
    f = b.step(steps, "reshape", e, shape=(35192,), **{})
    steps[-1] = replace(steps[-1], attrs=(("shape", (35192,)),))
    g = b.step(steps, "cumsum", f, shape=(35192,), axis=0, dtype=None)
    placed = place(straight(b, ["A"], steps, [c, d, e, f, g]), SMALL)
    planned = {v.name: v.splits for s in placed.steps() for v in s.outputs}
    runtime = BlockedRuntime(ThreadExecutor(1), SMALL, "p")
    interpreter = Interpreter(runtime, placed)
    a = np.random.default_rng(0).normal(size=(3000, 8))
    interpreter.env["A"] = runtime.adopt(a, placed.inputs[0])
    interpreter.places["A"] = "blocked"
    interpreter.block(placed.body)
    for name in (c, d, e, f, g):
        assert interpreter.env[name].splits == planned[name]
