"""Where values are computed and how often: hoisting, branches, tests of loops, lifetimes."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import lineal as la
from lineal.engine.interpreter import Executable
from lineal.planner.plan import Step
from tests.planner.written import planned, run_counted, written

A = np.random.default_rng(0).normal(size=(4, 4)) / 4
B = np.random.default_rng(1).normal(size=(4, 4)) / 4
NO_RULES = {"rewrites": ("chain_order",)}


def both(function: Any, *inputs: Any) -> Any:
    """Run counted, compare with NumPy, and return the counts."""
    with la.options(**NO_RULES):
        plan = planned(function, *inputs)
    values, calls = run_counted(plan, *inputs)
    expected = function(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for found, want in zip(values, expected, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12)
    return calls


# -- hoisting


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_constant_of_a_loop_is_computed_once_if_at_all(trips: int) -> None:
    function = written("A, B, n", "x = A", "for _ in range(n):", "    x = x + A @ B", "return x")
    assert both(function, A, B, trips)["matmul"] == (1 if trips else 0)


@pytest.mark.parametrize(("outer", "inner"), [(0, 3), (3, 0), (3, 1), (3, 4)])
def test_constant_of_an_inner_loop_is_computed_once_per_outer_iteration(
    outer: int, inner: int
) -> None:
    function = written(
        "A, B, n, m",
        "x = A",
        "for i in range(n):",
        "    for _ in range(m):",
        "        x = x / 2 + (x * 0 + A @ B) + np.exp(A * i)",
        "return x",
    )
    calls = both(function, A, B, outer, inner)
    assert calls["exp"] == (outer if inner else 0)
    assert calls["matmul"] == (1 if outer * inner else 0)


def test_constant_goes_out_of_three_loops() -> None:
    function = written(
        "A, B, n",
        "x = A",
        "for _ in range(n):",
        "    for _ in range(n):",
        "        for _ in range(n):",
        "            x = x / 2 + A @ B",
        "return x",
    )
    assert both(function, A, B, 3)["matmul"] == 1


@pytest.mark.parametrize(("bound", "taken"), [(1e9, 0), (-1e9, 1)])
def test_constant_under_a_branch_waits_for_the_branch(bound: float, taken: int) -> None:
    function = written(
        "A, B, n, bound",
        "x = A",
        "for _ in range(n):",
        "    if x.sum() > bound:",
        "        x = x + A @ B",
        "    else:",
        "        x = x / 2",
        "return x",
    )
    assert both(function, A, B, 5, bound)["matmul"] == taken


def test_constant_under_a_branch_is_kept_once_computed() -> None:
    function = written(
        "A, B, n",
        "x = A",
        "for i in range(n):",
        "    if i % 2 == 1:",
        "        x = x + A @ B",
        "return x",
    )
    assert both(function, A, B, 6)["matmul"] == 1


def test_value_of_both_branches_is_computed_once() -> None:
    function = written(
        "A, B, flag",
        "if flag > 0:",
        "    x = A @ B + 1",
        "else:",
        "    x = A @ B - 1",
        "return x",
    )
    assert both(function, A, B, 1.0)["matmul"] == 1


def test_value_of_an_untaken_branch_is_not_computed() -> None:
    function = written(
        "A, B, flag", "x = A", "if flag > 0:", "    x = np.linalg.inv(A) @ B", "return x"
    )
    calls = both(function, A, B, -1.0)
    assert calls["inv"] == calls["matmul"] == 0
    assert both(function, A, B, 1.0)["inv"] == 1


def test_unused_results_are_not_computed() -> None:
    function = written("A, B", "y = np.exp(A) @ B", "return A + B")
    assert not {"exp", "matmul"} & set(both(function, A, B))


def test_what_a_test_and_the_body_share_is_computed_once() -> None:
    function = written(
        "A",
        "x = A",
        "while np.abs(x).sum() > 1e-3:",
        "    x = x / (2 + np.abs(x).sum())",
        "return x",
    )
    calls = both(function, A)
    tests = calls["greater"] + calls["py.gt"]
    assert calls["absolute"] == calls["sum"] == tests
    assert calls["divide"] == tests - 1 > 1


# -- size of plans


def _steps(plan: Any) -> int:
    return len(list(plan.physical.steps()))


def test_plan_of_a_long_loop_is_no_longer() -> None:
    def plan(trips: int) -> Any:
        lines = ("x = A", f"for i in range({trips}):", "    x = x / 2 + i * (A @ B)", "return x")
        return planned(written("A, B", *lines), A, B)

    assert _steps(plan(10)) == _steps(plan(1000))
    given = written("A, n", "x = A", "for i in range(n):", "    x = x / 2 + i", "return x")
    program = la.program(given)
    assert program.plan(A, 10) is program.plan(A, 1000)


def test_300_branches_on_an_argument() -> None:
    """The plan is for the branch that is taken; another argument gets its own."""
    lines = ["if n == 0:", "    x = A"]
    for k in range(1, 300):
        lines += [f"elif n == {k}:", f"    x = A * {k}"]
    function = written("A, n", *lines, "else:", "    x = -A", "return x")
    program = la.program(function)
    assert _steps(program.plan(A, 150)) < 10
    for n in (0, 1, 150, 299, 300):
        assert np.array_equal(program(A, n), function(A, n))


def test_300_branches_on_data() -> None:
    lines = ["s = A.sum()", "if s < 0:", "    x = A"]
    for k in range(1, 300):
        lines += [f"elif s < {k}:", f"    x = A * {k}"]
    function = written("A", *lines, "else:", "    x = -A", "return x")
    plan = planned(function, A)
    assert _steps(plan) < 300 * 8
    for total in (-1.0, 0.5, 150.5, 298.5, 400.0):
        given = np.full((4, 4), total / 16)
        values, calls = run_counted(plan, given)
        assert np.array_equal(values[0], function(given))
        assert calls["multiply"] + calls["negative"] <= 1


def test_300_branches_in_a_row() -> None:
    lines = ["x = A"]
    for k in range(300):
        lines += [f"if n > {k}:", f"    x = x + {k}"]
    function = written("A, n", *lines, "return x")
    assert both(function, A, 100)["add"] == 100


# -- lifetimes


def test_every_value_dies_after_its_last_use() -> None:
    function = written(
        "A, B, n",
        "x = A @ B",
        "for _ in range(n):",
        "    y = np.exp(x)",
        "    z = y + A",
        "    x = z / (1 + np.abs(z).sum())",
        "w = x @ x",
        "return w + 1",
    )
    plan = planned(function, A, B, 3)
    freed = [name for step in plan.physical.steps() for name in step.frees]
    assert len(freed) == len(set(freed))
    for step in plan.physical.steps():
        later = False
        for other in plan.physical.steps():
            if later and other.depth == step.depth:
                assert not set(step.frees) & set(other.inputs)
            later = later or other is step
    made = {v.name for step in plan.physical.steps() for v in step.outputs}
    carried = {name for step in plan.physical.steps() for b in step.blocks for name in b.results}
    assert made - set(freed) - carried == set(plan.physical.outputs)


def test_a_freed_value_is_really_gone() -> None:
    function = written("A, B", "y = np.exp(A)", "z = y @ B", "w = np.tanh(z)", "return w + 1")
    big = np.ones((500, 500))  # 2 MB
    alive: list[int] = []

    def watch(step: Step, values: list[Any]) -> None:
        alive.append(tracemalloc.get_traced_memory()[0])

    executable = Executable(planned(function, big, big).physical, watch)
    tracemalloc.start()
    try:
        executable.run([big, big])
    finally:
        tracemalloc.stop()
    # Watched before a step's operands die: an operand and a result, whatever the step.
    assert max(alive) < 2.5 * big.nbytes


def test_live_bytes_are_flat_over_a_thousand_iterations() -> None:
    function = written(
        "A, n",
        "x = A",
        "for i in range(n):",
        "    y = np.tanh(x) + i * 1e-3",
        "    x = y - y.mean()",
        "return x",
    )
    big = np.random.default_rng(0).normal(size=(100, 100))  # 80 kB
    plan = planned(function, big, 10)
    executable = Executable(plan.physical)

    def peak(trips: int) -> int:
        tracemalloc.start()
        try:
            executable.run([big, trips])
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    short, long = peak(10), peak(1000)
    assert long - short < big.nbytes / 2
    assert long < plan.peak_bytes + 2**16
