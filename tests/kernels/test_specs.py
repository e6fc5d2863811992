"""Costs, densities and storage predictions from shapes alone."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from lineal.kernels.registry import KERNELS, bind
from lineal.kernels.specs import cost, predict_storage, result_density

FULL = ("slice", None, None, None)

FLOPS = [
    ("matmul", ((3, 4), (4, 5)), ((3, 5),), {}, 2 * 3 * 4 * 5),
    ("matmul", ((4,), (4,)), ((),), {}, 8),
    ("matmul", ((3, 4), (4,)), ((3,),), {}, 24),
    ("add", ((3, 4), (4,)), ((3, 4),), {}, 12),
    ("exp", ((7,),), ((7,),), {}, 7),
    ("sum", ((3, 4),), ((3,),), {"axis": 1}, 12),
    ("transpose", ((3, 4),), ((4, 3),), {}, 0),
    ("reshape", ((3, 4),), ((12,),), {"shape": (12,)}, 0),
    ("cast", ((3, 4),), ((3, 4),), {"dtype": "float32"}, 0),
    ("getitem", ((3, 4),), ((4,),), {"spec": (("int", 0),)}, 0),
    ("solve", ((3, 3), (3, 2)), ((3, 2),), {}, 2 / 3 * 27 + 2 * 9 * 2),
    ("solve", ((3, 3), (3,)), ((3,),), {}, 2 / 3 * 27 + 2 * 9),
    ("inv", ((3, 3),), ((3, 3),), {}, 54),
    ("cholesky", ((3, 3),), ((3, 3),), {}, 9),
    ("qr", ((5, 3),), ((3, 3),), {"mode": "r"}, 2 * 5 * 9 - 18),
    ("eigh", ((3, 3),), ((3,), (3, 3)), {}, 9 * 27),
    ("einsum", ((3, 4), (4, 5)), ((3, 5),), {"subscripts": "ij,jk->ik"}, 120),
]


@pytest.mark.parametrize(("op", "shapes", "outs", "attrs", "flops"), FLOPS)
def test_flops_one_per_multiply_one_per_add(op, shapes, outs, attrs, flops):
    assert cost(op, shapes, outs, attrs=attrs).flops == pytest.approx(flops)


def test_sparse_products_count_stored_entries():
    assert cost("matmul", ((100, 50), (50, 10)), ((100, 10),), (), (0.1, None)).flops == 10_000
    both = cost("matmul", ((100, 50), (50, 10)), ((100, 10),), (), (0.1, 0.2, 0.3))
    assert both.flops == pytest.approx(2_000)
    assert cost("sum", ((100, 50),), ((),), (), (0.1,)).flops == pytest.approx(500)


def test_sparse_bytes_are_values_and_indices():
    spec = cost("negative", ((100, 50),), ((100, 50),), (8, 8), (0.1, 0.1))
    assert spec.bytes_read == spec.bytes_written == 500 * 12 + 101 * 4
    wide = cost("negative", ((1, 2**31),), ((1, 2**31),), (8, 8), (1e-9, 1e-9))
    assert wide.bytes_read == 3 * 16 + 2 * 8


@pytest.mark.parametrize("shapes", [((3, 0), (0, 2)), ((0, 3), (3, 4)), ((5, 0), (0, 7))])
def test_pains_B7_costs_of_empty_products(shapes):
    out = ((shapes[0][0], shapes[1][1]),)
    for densities in ((), (0.0, 0.0, 0.0), (0.5, None)):
        spec = cost("matmul", shapes, out, (), densities)
        assert spec.flops == 0
        assert spec.peak_bytes >= 0
    assert result_density("matmul", shapes, (1.0, 1.0))[0] in (0.0, 1.0)


@pytest.mark.parametrize("op", sorted(KERNELS))
def test_no_operation_divides_by_zero(op):
    attrs = {"axis": None, "subscripts": "ij,jk->ik", "n": 0, "k": 0}
    for shape in ((0, 0), (0, 3), (3, 0), (1, 1), (4, 3)):
        for densities in ((), (0.0,) * 3, (1.0,) * 3):
            spec = cost(op, (shape, shape), (shape,), (), densities, attrs)
            assert np.isfinite([spec.flops, spec.peak_bytes]).all()
            assert min(spec.flops, spec.bytes_read, spec.bytes_written, spec.peak_bytes) >= 0
        for d in ((0.0, 0.0), (1.0, 1.0), (0.3, 0.0)):
            value, kind = result_density(op, (shape, shape), d, attrs)
            assert 0 <= value <= 1
            assert kind in ("exact", "estimated", "upper")


def test_density_formulas():
    assert result_density("transpose", ((3, 4),), (0.25,)) == (0.25, "exact")
    value, kind = result_density("matmul", ((10, 20), (20, 5)), (0.1, 0.2))
    assert (value, kind) == (pytest.approx(1 - (1 - 0.02) ** 20), "estimated")
    assert result_density("add", ((3, 3),) * 2, (0.5, 0.2))[0] == pytest.approx(0.6)
    assert result_density("multiply", ((3, 3),) * 2, (0.5, 0.2))[0] == pytest.approx(0.1)
    assert result_density("multiply", ((3, 3),) * 2, (0.5, 1.0)) == (0.5, "upper")
    assert result_density("multiply", ((3, 3),) * 2, (0.5, 0.0)) == (0.0, "exact")
    assert result_density("eye", (), (), {"n": 4, "m": 5, "k": 1}) == (0.2, "exact")
    assert result_density("exp", ((3, 3),), (0.1,)) == (1.0, "upper")
    value, kind = result_density("concatenate", ((1, 4), (3, 4)), (1.0, 0.2), {"axis": 0})
    assert (value, kind) == (pytest.approx(0.4), "exact")


@pytest.mark.parametrize("op", ["tril", "triu"])
def test_density_of_triangles(op):
    for m, n in ((3, 5), (5, 3), (1, 1), (4, 4)):
        for k in range(-6, 7):
            want = getattr(np, op)(np.ones((m, n)), k).mean()
            assert result_density(op, ((m, n),), (1.0,), {"k": k})[0] == pytest.approx(want)


def test_density_of_random_products_is_near_the_estimate():
    rng = np.random.default_rng(0)
    a = sp.random_array((200, 100), density=0.05, rng=rng, format="csr")
    b = sp.random_array((100, 200), density=0.05, rng=rng, format="csr")
    value, _ = result_density("matmul", (a.shape, b.shape), (0.05, 0.05))
    assert (a @ b).nnz / 40_000 == pytest.approx(value, rel=0.1)


def test_predictions_without_sparse_operands_are_dense():
    for op in KERNELS:
        if op != "const":
            assert predict_storage(op, ("dense", "dense"), {"spec": (FULL,)}) == "dense"


# Peak memory: what tracemalloc sees (NumPy reports to it) never exceeds the bound.

N = (700, 300)
DENSE = [
    ("add", [N, N], {}),
    ("exp", [N], {}),
    ("power", [N, (300,)], {}),
    ("clip", [N, (), ()], {"has_lo": True, "has_hi": True}),
    ("where", [N, N, N], {}),
    ("round", [N], {"decimals": 2}),
    ("sum", [N], {"axis": 0}),
    ("mean", [N], {"axis": 1, "keepdims": True}),
    ("var", [N], {"axis": 0}),
    ("std", [N], {"axis": None}),
    ("norm", [N], {"ord": None, "axis": 1, "keepdims": False}),
    ("norm", [N], {"ord": 1, "axis": None, "keepdims": False}),
    ("argmax", [N], {"axis": 0}),
    ("cumsum", [N], {"axis": 1}),
    ("diff", [N], {"n": 2, "axis": 0}),
    ("sort", [N], {"axis": 0}),
    ("argsort", [N], {"axis": 1}),
    ("unique", [N], {"return_index": True, "return_inverse": True, "return_counts": True}),
    ("matmul", [N, (300, 200)], {}),
    ("matmul", [N, (300,)], {}),
    ("outer", [(500,), (400,)], {}),
    ("tril", [N], {"k": 0}),
    ("transpose", [N], {}),
    ("reshape", [N], {"shape": (210_000,)}),
    ("concatenate", [N, N], {"axis": 1}),
    ("cast", [N], {"dtype": "float64"}),
    ("getitem", [N], {"spec": (("slice", 0, 700, 2), FULL)}),
    ("setitem", [N, ()], {"spec": (("slice", 0, 100, 1),)}),
    ("linspace", [], {"start": 0, "stop": 1, "num": 100_000, "endpoint": True, "dtype": None}),
    ("eye", [], {"n": 400, "m": None, "k": 0, "dtype": "float64"}),
    ("solve", [(200, 200), (200, 50)], {}),
    ("inv", [(200, 200)], {}),
    ("pinv", [(300, 100)], {"rcond": None}),
    ("qr", [(700, 100)], {"mode": "reduced"}),
    ("svd", [(300, 100)], {"full_matrices": True, "compute_uv": True}),
    ("eigh", [(200, 200)], {"uplo": "L"}),
    ("lstsq", [(300, 100), (300, 4)], {"rcond": None}),
    ("einsum", [N, N], {"subscripts": "ij,ij->i"}),
]


def nbytes(x):
    if sp.issparse(x):
        return x.data.nbytes + x.indices.nbytes + x.indptr.nbytes
    return np.asarray(x).nbytes


def measure(fn, values):
    fn(*values)  # imports and caches are not the kernel's
    tracemalloc.start()
    try:
        result = fn(*values)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return result, peak + sum(nbytes(v) for v in values)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8"])
@pytest.mark.parametrize(("op", "shapes", "attrs"), DENSE)
def test_measured_peak_is_below_the_bound(op, shapes, attrs, dtype):
    rng = np.random.default_rng(0)
    values = [np.asarray(rng.integers(1, 9, s)).astype(dtype) for s in shapes]
    if op in ("solve", "inv", "eigh", "lstsq", "svd"):
        values[0] = values[0] + 20 * np.eye(*values[0].shape, dtype=dtype)
    result, peak = measure(bind(op, attrs), values)
    results = result if isinstance(result, tuple) else (result,)
    sizes = tuple(np.asarray(v).itemsize for v in (*values, *results))
    spec = cost(op, tuple(shapes), tuple(np.shape(r) for r in results), sizes, (), attrs)
    assert peak <= spec.peak_bytes


S, W = (2000, 500), (500, 2000)
SPARSE = [
    ("square", [S], "s", {}),
    ("add", [S, S], "ss", {}),
    ("multiply", [S, S], "ss", {}),
    ("multiply", [S, (500,)], "sd", {}),
    ("multiply", [S, (2000, 1)], "sd", {}),
    ("divide", [S, (500,)], "sd", {}),
    ("multiply", [S, S], "sd", {}),
    ("add", [S, S], "sd", {}),
    ("exp", [S], "s", {}),
    ("sum", [S], "s", {"axis": 0}),
    ("sum", [S], "s", {"axis": 1}),
    ("mean", [S], "s", {"axis": 1}),
    ("min", [S], "s", {"axis": 0}),
    ("prod", [S], "s", {"axis": 0}),
    ("var", [S], "s", {"axis": 0}),
    ("argmax", [S], "s", {"axis": 0}),
    ("count_nonzero", [S], "s", {"axis": 0}),
    ("norm", [S], "s", {"ord": None, "axis": None}),
    ("trace", [S], "s", {"offset": 0}),
    ("diag", [S], "s", {"k": 0}),
    ("matmul", [S, W], "ss", {}),
    ("matmul", [S, (500, 20)], "sd", {}),
    ("matmul", [S, (500,)], "sd", {}),
    ("matmul", [(20, 2000), S], "ds", {}),
    ("matmul", [(2000,), S], "ds", {}),
    ("transpose", [S], "s", {}),
    ("reshape", [S], "s", {"shape": W}),
    ("concatenate", [S, S], "ss", {"axis": 0}),
    ("concatenate", [S, S], "ss", {"axis": 1}),
    ("tril", [S], "s", {"k": 0}),
    ("cast", [S], "s", {"dtype": "float64"}),
    ("getitem", [S], "s", {"spec": (("slice", 0, 1000, 1), FULL)}),
    ("getitem", [S], "s", {"spec": (FULL, ("slice", 0, 100, 1))}),
    ("sort", [S], "s", {"axis": 0}),
    ("cumsum", [S], "s", {"axis": 1}),
]


@pytest.mark.parametrize("dtype", ["float64", "int8"])
@pytest.mark.parametrize(("op", "shapes", "forms", "attrs"), SPARSE)
def test_measured_peak_of_sparse_kernels_is_below_the_bound(op, shapes, forms, attrs, dtype):
    rng = np.random.default_rng(0)
    values = []
    for shape, form in zip(shapes, forms, strict=True):
        x = rng.integers(1, 9, shape).astype(dtype)
        if form == "s":
            x = sp.csr_array(x * (rng.random(shape) < 0.02).astype(dtype))
        values.append(x)
    result, peak = measure(bind(op, attrs, sparse=True), values)
    every = (*values, result)
    sizes = tuple(v.dtype.itemsize for v in every)
    densities = tuple(v.nnz / np.prod(v.shape) if sp.issparse(v) else None for v in every)
    spec = cost(op, tuple(shapes), (np.shape(result),), sizes, densities, attrs)
    assert peak <= spec.peak_bytes
