"""Tall QR, SVD and least squares on blocks against LAPACK on the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lineal.engine.blocked.factor_tasks import factor_stack, triangle_of_stack
from tests.blocked.harness import check, run_blocked, runtime, same, step_of, value_of

CUTS: list[Any] = [
    ((40,), (5,)),
    ((20, 20), (5,)),
    ((10, 10, 10, 10), (3, 2)),
    ((1,) * 40, (5,)),
    ((0, 3, 0, 30, 7), (5,)),
    ((2,) * 20, (2, 0, 3)),
]


def tall(dtype: str = "f8", seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(40, 5)).astype(dtype)


@pytest.mark.parametrize("cut", CUTS, ids=range(len(CUTS)))
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_qr_equals_lapack_with_its_signs(cut: Any, dtype: str) -> None:
    for seed in range(3):
        check("qr", {"mode": "reduced"}, [tall(dtype, seed)], [cut], rtol=1e-10)
    check("qr", {"mode": "r"}, [tall(dtype)], [cut], rtol=1e-10)


def test_qr_of_a_square_and_of_triangles() -> None:
    square = tall()[:5]
    check("qr", {"mode": "reduced"}, [square], [((2, 2, 1), (5,))], rtol=1e-10)
    deficient = tall()
    deficient[:, 3] = deficient[:, 1]
    q, r = run_blocked("qr", {"mode": "reduced"}, [deficient], [CUTS[3]])
    np.testing.assert_allclose(q @ r, deficient, atol=1e-12)
    np.testing.assert_allclose(q.T @ q, np.eye(5), atol=1e-12)


@pytest.mark.parametrize("cut", CUTS, ids=range(len(CUTS)))
def test_svd(cut: Any) -> None:
    attrs = {"full_matrices": False, "compute_uv": True}
    check("svd", attrs, [tall()], [cut], rtol=1e-9)
    check("svd", {"full_matrices": True, "compute_uv": False}, [tall()], [cut], rtol=1e-9)


@pytest.mark.parametrize("cut", CUTS, ids=range(len(CUTS)))
@pytest.mark.parametrize("width", [None, 1, 2])
def test_lstsq(cut: Any, width: int | None) -> None:
    shape = (40,) if width is None else (40, width)
    b = np.random.default_rng(7).normal(size=shape)
    rows = (cut[0],) if width is None else (cut[0], (width,))
    for other in (None, rows):
        check("lstsq", {"rcond": None}, [tall(), b], [cut, other], rtol=1e-9)
    integers = (tall() * 10).astype("i4")
    check("lstsq", {"rcond": None}, [integers, b], [cut, None], rtol=1e-9)


def test_lstsq_of_deficient_rank_has_least_norm() -> None:
    a = tall()
    a[:, 4] = a[:, 0] + a[:, 1]
    b = np.random.default_rng(7).normal(size=(40, 2))
    check("lstsq", {"rcond": None}, [a, b], [CUTS[4], None], rtol=1e-9)
    check("lstsq", {"rcond": 0.5}, [tall(), b[:, 0]], [CUTS[2], None], rtol=1e-9)


def test_lstsq_of_sparse_rows_d10() -> None:
    """pains-D10: the same data sparse and dense give the same coefficients."""
    a = tall()
    a[np.abs(a) < 0.7] = 0
    b = np.random.default_rng(7).normal(size=40)
    check("lstsq", {"rcond": None}, [sparse.csr_array(a), b], [CUTS[4], None])
    check("qr", {"mode": "reduced"}, [sparse.csr_array(a)], [CUTS[3]])


def test_qr_tree_is_bounded_g11() -> None:
    """pains-G11: no node of the tree reads more than four triangles, whatever the blocks."""
    rt = runtime()
    x = np.random.default_rng(0).normal(size=(500, 3))
    blocked = rt.adopt(x, value_of("%0", x, ((1,) * 500, (3,))))
    only = rt.run(step_of("qr", {"mode": "r"}, 1, [np.zeros((3, 3))]), [blocked])
    assert only[0].shape == (3, 3)
    stacks = [
        job
        for job in rt._pending._jobs.values()
        if job.program[0][1] is triangle_of_stack  # type: ignore[union-attr]
        or job.program[0][1] is factor_stack  # type: ignore[union-attr]
    ]
    assert stacks
    assert max(len(job.deps) for job in stacks) == 4
    q, r = rt.run(step_of("qr", {"mode": "reduced"}, 1, [x, np.eye(3)]), [blocked])
    same(rt.fetch(q) @ rt.fetch(r), x)


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_lstsq_scales(scale: float) -> None:
    a = tall() * scale
    b = np.random.default_rng(7).normal(size=40)
    x, _, rank, _ = run_blocked("lstsq", {"rcond": None}, [a, b], [CUTS[1], None])
    assert rank == 5
    np.testing.assert_allclose(x, np.linalg.lstsq(a, b, rcond=None)[0], rtol=1e-9)
