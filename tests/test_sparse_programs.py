"""Sparse inputs through loops and branches: storage is no meaning, and "dense" is a promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import lineal as la


def scale(A, n):
    for _ in range(n):
        A = A / A.max()
    return A


def squares(A, n):
    for _ in range(n):
        A = A @ A * 0.1
    return A


def swap(A, B, n):
    for _ in range(n):
        A, B = B, A
    return A, B


def densify(A, n):
    for _ in range(n):
        A = A + 1
    return A


def rows(A, n):
    for _ in range(n):
        A = A / A.sum(axis=1)[:, None]
    return A


def diagonal(A, n):
    B = A.copy()
    for i in range(n):
        B[i, i] = 1
    return B


def shortest(A, n):
    for _ in range(n):
        A = np.minimum(A, A + A.T)
    return A


def branch(A, x):
    if x.sum() > 0:
        B = A
    else:
        B = A + x
    return B @ x


def both_sparse(A, x):
    B = A * 2.0 if x.sum() > 0 else A.T
    return B


def half(A, n):
    for _ in range(n):
        A = A * 0.5
    return A


def until(A, tol):
    while np.abs(A).max() > tol:
        A = A * 0.5
    return A.sum(axis=0)


LOOPS: tuple[Callable[..., Any], ...] = (
    scale, squares, densify, rows, diagonal, shortest, half,
)  # fmt: skip


def _dense(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_dense(v) for v in value)
    return value.toarray() if sp.issparse(value) else value


def _matrix() -> np.ndarray:
    A = np.diag([1.0, 2.0, 3.0, 4.0])
    A[0, 3] = A[3, 0] = 5.0
    return A


@pytest.mark.parametrize("algebra", ["real", "strict"])
@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_loops(function: Callable[..., Any], n: int, algebra: str) -> None:
    A = _matrix()
    found = la.program(function).run(sp.csr_array(A), n, algebra=algebra)
    assert np.allclose(_dense(found), function(A, n), rtol=1e-12)


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_loops_on_blocks(function: Callable[..., Any]) -> None:
    A = _matrix()
    with la.Session(cluster=la.ClusterSpec(threads=2, driver_bytes=20, block_bytes=40)) as session:
        found = la.program(function).run(sp.csr_array(A), 3, session=session)
    assert np.allclose(_dense(found), function(A, 3), rtol=1e-12)


@pytest.mark.parametrize("kinds", [("s", "s"), ("s", "d"), ("d", "s")])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_swapped_values(kinds: tuple[str, str], n: int) -> None:
    A, B = _matrix(), _matrix() * 7
    given = [sp.csr_array(M) if k == "s" else M for M, k in zip((A, B), kinds, strict=True)]
    found = la.program(swap)(*given, n)
    for want, got in zip(swap(A, B, n), found, strict=True):
        assert np.array_equal(_dense(got), want)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("function", [branch, both_sparse])
def test_branches(function: Callable[..., Any], sign: float) -> None:
    A, x = _matrix(), sign * np.ones(4)
    assert np.allclose(_dense(la.program(function)(sp.csr_array(A), x)), function(A, x))


def test_while_on_sparse() -> None:
    A = _matrix()
    assert np.allclose(la.program(until)(sp.csr_array(A), 0.1), until(A, 0.1))


def test_what_stays_sparse_is_planned_and_returned_so() -> None:
    S = sp.csr_array(_matrix())
    program = la.program(half)
    assert isinstance(program(S, 3), sp.csr_array)
    assert not any(s.op == "todense" for s in program.plan(S, 3).physical.steps())
    assert isinstance(la.program(both_sparse)(S, np.ones(4)), sp.csr_array)


def test_what_becomes_dense_is_told_in_the_plan() -> None:
    S = sp.csr_array(_matrix())
    plan = la.program(densify).plan(S, 3)
    assert [s.op for s in plan.physical.steps()].count("todense") == 1
    assert "todense(A)" in plan.explain()


def test_the_memory_bound_counts_what_is_stored() -> None:
    @la.program
    def product(A, v):
        return A @ v

    G = sp.random_array((20_000, 20_000), density=2e-4, rng=np.random.default_rng(0)).tocsr()
    assert product.plan(G, np.ones(20_000)).peak_bytes < 30e6
