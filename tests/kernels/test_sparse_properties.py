"""Random CSR operands, as awkward as they come, against NumPy on dense copies."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lineal.kernels.sparse import canonical
from tests.kernels.test_sparse_kernels import BINARY, REDUCTIONS, UNARY, agree

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
DTYPES = ["bool", "int8", "uint8", "int64", "float32", "float64"]


@st.composite
def shapes(draw):
    return draw(st.integers(0, 6)), draw(st.integers(0, 6))


@st.composite
def csr(draw, shape, dtype, special=True):
    """CSR with full and empty rows and columns, explicit zeros, perhaps unsorted and doubled."""
    m, n = shape
    dtype = np.dtype(dtype)
    pool = [0, 1, 2, 3] if dtype.kind in "bu" else [0, 1, -1, 2, -3, 7]
    if dtype.kind == "f":
        pool += [0.5, -2.25] + ([np.nan, np.inf, -np.inf] if special else [])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    keep = rng.random(shape) < draw(st.sampled_from([0.0, 0.1, 0.4, 0.9, 1.0]))
    if m and draw(st.booleans()):
        keep[rng.integers(m)] = draw(st.booleans())
    if n and draw(st.booleans()):
        keep[:, rng.integers(n)] = draw(st.booleans())
    rows, cols = np.nonzero(keep)
    data = np.array(pool)[rng.integers(0, len(pool), len(rows))].astype(dtype)
    if draw(st.booleans()) and len(rows):  # entries twice, in any order
        order = rng.permutation(np.r_[np.arange(len(rows)), rng.integers(len(rows), size=2)])
        by_row = order[np.argsort(rows[order], kind="stable")]
        indptr = np.r_[0, np.cumsum(np.bincount(rows[by_row], minlength=m))]
        return sp.csr_array((data[by_row], cols[by_row], indptr), shape=shape)
    return sp.csr_array((data, (rows, cols)), shape=shape)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_binary(same, data):
    shape = data.draw(shapes())
    a = data.draw(csr(shape, data.draw(st.sampled_from(DTYPES))))
    b = data.draw(csr(shape, data.draw(st.sampled_from(DTYPES))))
    cut = data.draw(st.sampled_from(["whole", "row", "column", "one"]))
    if cut == "row":
        b = b[:1]
    elif cut == "column":
        b = b[:, :1]
    elif cut == "one":
        b = b[:1, :1]
    b = data.draw(st.sampled_from([b, canonical(b).toarray()]))
    pair = data.draw(st.permutations([a, b]))
    for op in BINARY:
        agree(same, op, [canonical(v) if sp.issparse(v) else v for v in pair])


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_unary_and_reductions(same, data):
    s = data.draw(csr(data.draw(shapes()), data.draw(st.sampled_from(DTYPES))))
    for op in UNARY:
        agree(same, op, [s])
    for op in (*REDUCTIONS, "argmin", "argmax"):
        for axis in (None, 0, 1):
            agree(same, op, [s], {"axis": axis, "keepdims": data.draw(st.booleans())})


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_products(same, data):
    m, k, n = (data.draw(st.integers(0, 6)) for _ in range(3))
    a = data.draw(csr((m, k), data.draw(st.sampled_from(DTYPES))))
    b = data.draw(csr((k, n), data.draw(st.sampled_from(DTYPES))))
    x, y = a.toarray(), b.toarray()
    for pair in ((a, b), (a, y), (x, b)):
        agree(same, "matmul", pair)
    if n:
        agree(same, "matmul", (a, y[:, 0]))
    if m:
        agree(same, "matmul", (x[0], b))
