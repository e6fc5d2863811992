"""Comparison and data shared by the kernel tests."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

DTYPES = ["bool", "int8", "int16", "int32", "int64"]
DTYPES += ["uint8", "uint16", "uint32", "uint64", "float32", "float64"]


def _same(got, want, rtol=None):
    """Assert equal value, shape, dtype and NaN/Inf mask; sparse results are expanded first."""
    if isinstance(want, tuple):
        assert isinstance(got, tuple)
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            _same(g, w, rtol)
        return
    if sp.issparse(got):
        assert type(got) is sp.csr_array
        assert got.has_canonical_format
        check = sp.csr_array((got.data, got.indices, got.indptr), shape=got.shape)
        check.check_format(full_check=True)
        assert check.has_canonical_format
        got = got.toarray()
    if not isinstance(want, (np.ndarray, np.generic)):
        assert type(got) is type(want)
        assert got == want or (got != got and want != want)
        return
    assert isinstance(got, (np.ndarray, np.generic)), type(got)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    if rtol is None:
        rtol = {2: 1e-2, 4: 3e-5, 8: 1e-12}[want.dtype.itemsize]
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(
        np.where(np.isinf(got), got, 0), np.where(np.isinf(want), want, 0)
    )
    finite = np.isfinite(want)
    scale = float(np.max(np.abs(want[finite]), initial=0))
    np.testing.assert_allclose(got[finite], want[finite], rtol=rtol, atol=rtol * scale)


@pytest.fixture(scope="session")
def same():
    return _same


def _matrix(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    keep = rng.random(shape) < 0.35
    if dtype.kind == "b":
        return keep
    if dtype.kind == "f":
        return (rng.integers(-40, 40, shape) / 8 * keep).astype(dtype)
    lo = 0 if dtype.kind == "u" else -9
    return (rng.integers(lo, 10, shape) * keep).astype(dtype)


@pytest.fixture(scope="session")
def matrix():
    """Build a repeatable matrix [m, n], about a third of it non-zero."""
    return _matrix
