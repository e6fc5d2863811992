"""Chain order against the textbook's dynamic program, and by how often a product is computed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

import lineal as la
from lineal.planner.build import apply
from lineal.planner.expr import Expr, make, walk
from lineal.planner.logical import Leaf, Logical
from lineal.planner.pipeline import Request, compile_until
from lineal.planner.types import Type
from tests.planner.written import nodes, planned, run_counted, written

ONE_RATE = la.ClusterSpec(
    rates=(("matmul", 1.0), ("copy", 1e-30)), memory_bytes=2**60, driver_bytes=2**60
)
"""A second for every flop of a product, nothing for reading: flops alone decide."""


def textbook(sizes: Sequence[int]) -> int:
    """Return the fewest scalar multiplications for factors [sizes[i], sizes[i + 1]] (CLRS 14.2)."""
    n = len(sizes) - 1
    best = [[0] * n for _ in range(n)]
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            best[i][j] = min(
                best[i][k] + best[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            )
    return best[0][n - 1]


def chain(sizes: Sequence[int], rng: np.random.Generator) -> Logical:
    """Return the product of factors of these sizes, bracketed at random."""
    leaves = tuple(
        make("input", name=f"M{i}", type=Type((m, n), np.dtype(np.float64)))
        for i, (m, n) in enumerate(itertools.pairwise(sizes))
    )
    parts: list[Expr] = list(leaves)
    while len(parts) > 1:
        k = int(rng.integers(len(parts) - 1))
        parts[k : k + 2] = [apply("matmul", parts[k], parts[k + 1])]
    return Logical("chain", leaves, (parts[0],), Leaf(0))


def multiplications(program: Logical) -> int:
    """Count the scalar multiplications of a program's products."""
    total = 0
    for node in walk(program.outputs):
        if node.op == "matmul":
            (m, k), (_, n) = (child.cache["type"].shape for child in node.inputs)  # type: ignore[attr-defined]
            total += m * k * n
    return total


@pytest.mark.parametrize("seed", range(200))
def test_order_is_the_textbooks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    length = int(rng.integers(3, 21))
    sizes = [int(s) for s in rng.choice([1, 10, 100, 1000, 5000], size=length + 1)]
    program = chain(sizes, rng)
    chosen = compile_until(Request(program, cluster=ONE_RATE), "optimised").logical
    leaves = [node for node in walk(chosen.outputs) if node.op == "input"]
    assert leaves == list(program.inputs)
    # Another order must save a thousandth to be taken.
    assert textbook(sizes) <= multiplications(chosen) <= textbook(sizes) * 1.001


def test_clrs_example() -> None:
    sizes = (30, 35, 15, 5, 10, 20, 25)
    for seed in range(10):
        program = chain(sizes, np.random.default_rng(seed))
        plan = compile_until(Request(program, cluster=ONE_RATE), "physical").plan
        assert plan is not None
        assert plan.flops == 30_250 == 2 * textbook(sizes)


def test_longer_chains_than_the_search_takes_keep_their_order() -> None:
    rng = np.random.default_rng(0)
    program = chain([int(s) for s in rng.choice([1, 10], size=250)], rng)
    done = compile_until(Request(program, cluster=ONE_RATE), "optimised").logical
    assert done.outputs == program.outputs


# -- chains with parts that a loop does not change

STEPS = written("A, B, x, iters", "for _ in range(iters):", "    x = A @ B @ x", "return x")
FLAT = written("A, B, x, iters", "for _ in range(iters):", "    x = A @ (B @ x)", "return x")


def _arguments(iters: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    # A @ B costs 200,000 flops once and leaves 200 an iteration; A @ (B @ x) costs 40,000 each.
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(10, 1000)) / 100, rng.normal(size=(1000, 10)) / 100
    return A, B, rng.normal(size=(10, 1)), iters


@pytest.mark.parametrize("function", [STEPS, FLAT])
@pytest.mark.parametrize(("iters", "hoisted"), [(1, False), (4, False), (7, True), (100, True)])
def test_order_counts_what_the_loop_repeats(function: object, iters: int, hoisted: bool) -> None:
    arguments = _arguments(iters)
    plan = planned(function, *arguments, cluster=ONE_RATE)  # type: ignore[arg-type]
    values, calls = run_counted(plan, *arguments)
    assert calls["matmul"] == (1 + iters if hoisted else 2 * iters)
    assert plan.flops == (200_000 + 200 * iters if hoisted else 40_000 * iters)
    np.testing.assert_allclose(values[0], STEPS(*arguments), rtol=1e-9)


def test_another_count_is_planned_anew_where_it_decides() -> None:
    program = la.program(STEPS)
    few, many = (program.plan(*_arguments(k), cluster=ONE_RATE) for k in (1, 100))
    assert few is not many
    assert program.plan(*_arguments(120), cluster=ONE_RATE) is many
    assert program.plan(*_arguments(2), cluster=ONE_RATE) is few


@pytest.mark.parametrize("function", [STEPS, FLAT])
def test_a_loop_without_trips_computes_nothing(function: object) -> None:
    program = la.program(function)  # type: ignore[arg-type]
    plan = program.plan(*_arguments(100), cluster=ONE_RATE)
    arguments = _arguments(0)
    values, calls = run_counted(plan, *arguments)  # the hoisting plan, whatever its guards say
    assert calls["matmul"] == 0
    assert np.array_equal(values[0], arguments[2])


def test_a_shared_product_stays_a_factor() -> None:
    function = written("A, B, x", "P = A @ B", "return P @ x, P")
    A, B, x, _ = _arguments(0)
    plan = planned(function, A, B, x, cluster=ONE_RATE)
    assert len(nodes(plan, "matmul")) == 2


def test_sparse_factors_are_priced_by_their_entries() -> None:
    import scipy.sparse as sp

    cluster = la.ClusterSpec(
        rates=(("matmul", 1.0), ("sparse", 1.0), ("copy", 1e-30)),
        memory_bytes=2**60, driver_bytes=2**60,
    )  # fmt: skip
    function = written("S, B, C", "return S @ B @ C")
    B, C = np.ones((1000, 50)), np.ones((50, 500))
    held = planned(function, sp.eye_array(1000, format="csr"), B, C, cluster=cluster)
    dense = planned(function, np.eye(1000), B, C, cluster=cluster)
    # S @ B is 1e5 flops with the identity stored sparse, and 1e8 dense.
    assert held.flops < dense.flops / 2
