"""all_finite: one pass, no temporaries of the operand's size."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from lineal.kernels.finite import CHUNK_ELEMENTS, all_finite

BAD = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bad", BAD)
def test_one_bad_entry_anywhere_is_found(dtype, bad):
    for shape in ((3,), (CHUNK_ELEMENTS + 7,), (3, CHUNK_ELEMENTS + 1), (CHUNK_ELEMENTS // 2, 5)):
        x = np.ones(shape, dtype)
        for view in (x, x.T, x[::-1]):
            assert all_finite(view)
        x[..., -1] = bad
        for view in (x, x.T, x[::-1], x[::2] if x.ndim == 2 else x[-1:]):
            assert not all_finite(view)


def test_sum_that_overflows_is_still_finite():
    assert all_finite(np.full(10, 1e308))
    assert all_finite(np.array([1e308, 1e308, -1e308, -1e308]))
    assert not all_finite(np.array([np.inf, -np.inf]))
    assert all_finite(np.full(1000, np.finfo("f4").max, "f4"))


@pytest.mark.parametrize(
    ("x", "want"),
    [
        (1.0, True),
        (float("nan"), False),
        (3, True),
        (True, True),
        (10**400, True),
        (np.float32("inf"), False),
        (np.int8(3), True),
        (np.zeros((0, 3)), True),
        (np.array(np.nan), False),
        (np.ones(3, bool), True),
    ],
)
def test_scalars_integers_and_empty(x, want):
    assert all_finite(x) is want


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_sparse_formats(form):
    x = np.eye(4)
    assert all_finite(sp.csr_array(x).asformat(form))
    x[1, 2] = np.inf
    assert not all_finite(sp.csr_array(x).asformat(form))


def test_memory_mapped_file(tmp_path):
    path = tmp_path / "x.npy"
    x = np.ones((1000, 300))
    np.save(path, x)
    assert all_finite(np.load(path, mmap_mode="r"))
    x[-1, -1] = np.nan
    np.save(path, x)
    assert not all_finite(np.load(path, mmap_mode="r"))


def test_takes_no_temporaries_even_where_the_sum_overflows():
    x = np.full((2000, 1000), 1e308)
    tracemalloc.start()
    try:
        assert all_finite(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**20
