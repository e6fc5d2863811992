"""Dense kernels: each is NumPy's function, bound or not, and the fast path stays bare."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from lineal.errors import UnsupportedError
from lineal.kernels.registry import KERNELS, bind, get

A = np.array([[1.5, -2.0, 0.0], [0.25, 4.0, np.nan]])
V = np.array([3, 1, 2, 1])
SPD = np.array([[4.0, 1.0], [1.0, 3.0]])
FULL = ("slice", None, None, None)

CASES = [
    ("clip", (A, -1.0, 2.0), {"has_lo": True, "has_hi": True}, np.clip(A, -1.0, 2.0)),
    ("clip", (A, 0.5), {"has_lo": True, "has_hi": False}, np.clip(A, 0.5, None)),
    ("clip", (A, 0.5), {"has_lo": False, "has_hi": True}, np.clip(A, None, 0.5)),
    ("round", (A,), {"decimals": 1}, np.round(A, 1)),
    ("where", (A > 0, A, 0), {}, np.where(A > 0, A, 0)),
    ("strong", (3,), {"dtype": "int8"}, np.int8(3)),
    ("to_float", (np.array([[2]]),), {}, 2.0),
    ("to_int", (np.float64(2.7),), {}, 2),
    ("to_bool", (np.array([0.0]),), {}, False),
    ("py.pow", (2, 100), {}, 2**100),
    ("py.min", (1, 2.5), {}, 1),
    ("py.not", (0,), {}, True),
    ("py.floordiv", (-7, 2), {}, -4),
    ("range_len", (0, 10, 3), {}, 4),
    ("range_len", (5, 0, 1), {}, 0),
    ("const", (), {"value": 7}, 7),
    ("assert_", (np.bool_(True), 1), {"message": "m"}, True),
    ("sum", (A,), {"axis": 0, "keepdims": True, "dtype": None}, A.sum(0, keepdims=True)),
    ("sum", (V,), {"axis": (0,), "keepdims": False, "dtype": "float32"}, V.sum(dtype="f4")),
    ("std", (V,), {"axis": None, "keepdims": False, "dtype": None, "ddof": 1}, V.std(ddof=1)),
    ("argmax", (A,), {"axis": None, "keepdims": False}, A.argmax()),
    ("count_nonzero", (A,), {"axis": 1, "keepdims": False, "dtype": None}, np.array([2, 3])),
    ("cumsum", (A,), {"axis": 1, "dtype": None}, A.cumsum(1)),
    ("cumprod", (V,), {"axis": None, "dtype": None}, V.cumprod()),
    ("diff", (V,), {"n": 2, "axis": 0}, np.diff(V, 2)),
    ("sort", (A,), {"axis": 1, "kind": None}, np.sort(A, 1)),
    ("argsort", (V,), {"axis": 0, "kind": "stable"}, np.argsort(V, kind="stable")),
    ("bincount", (V,), {"minlength": 6}, np.bincount(V, minlength=6)),
    ("bincount", (V, V / 2), {"minlength": 0}, np.bincount(V, V / 2)),
    ("unique", (V,), {}, np.unique(V)),
    ("unique", (V,), {"return_inverse": True}, np.unique(V, return_inverse=True)),
    ("outer", (V, V), {}, np.outer(V, V)),
    ("trace", (A,), {"offset": 1}, A.trace(1)),
    ("diag", (V,), {"k": -1}, np.diag(V, -1)),
    ("tril", (A,), {"k": -1}, np.tril(A, -1)),
    ("einsum", (SPD, SPD), {"subscripts": "ij,ij->i"}, np.einsum("ij,ij->i", SPD, SPD)),
    ("full", (2,), {"shape": (2, 3), "dtype": "float32"}, np.full((2, 3), 2, "f4")),
    ("eye", (), {"n": 2, "m": 3, "k": 1, "dtype": "int8"}, np.eye(2, 3, 1, "i1")),
    ("arange", (), {"start": 0, "stop": 5, "step": 2, "dtype": None}, np.arange(0, 5, 2)),
    (
        "linspace",
        (),
        {"start": 0, "stop": 1, "num": 4, "endpoint": False, "dtype": None},
        np.linspace(0, 1, 4, endpoint=False),
    ),
    ("cast", (V,), {"dtype": "float32"}, V.astype("f4")),
    ("cast", (3,), {"dtype": "int8"}, np.int8(3)),
    ("copy", (V,), {}, V),
    ("transpose", (A,), {}, A.T),
    ("reshape", (A,), {"shape": (3, 2)}, A.reshape(3, 2)),
    ("broadcast_to", (V,), {"shape": (2, 4)}, np.broadcast_to(V, (2, 4))),
    ("concatenate", (A, A), {"axis": 1}, np.hstack([A, A])),
    ("getitem", (A,), {"spec": (("slice", 1, None, -1), FULL)}, A[1::-1]),
    ("getitem", (A, 1), {"spec": (("int", 0),)}, A[1]),
    ("getitem", (A, 1, 2), {"spec": (("int", 0), ("int", 1))}, A[1, 2]),
    ("getitem", (A, V - 1), {"spec": (FULL, ("array", 0))}, A[:, V - 1]),
    ("getitem", (V,), {"spec": (("new",), FULL)}, V[None, :]),
    ("getitem", (A, A > 0), {"spec": (("array", 0),)}, A[A > 0]),
    ("setitem", (V, 9, 0), {"spec": (("int", 0),)}, np.array([9, 1, 2, 1])),
    ("setitem", (V, 7.9), {"spec": (("slice", 0, 2, 1),)}, np.array([7, 7, 2, 1])),
    ("norm", (SPD,), {"ord": "nuc", "axis": None, "keepdims": False}, np.linalg.norm(SPD, "nuc")),
    ("solve", (SPD, SPD[0]), {}, np.linalg.solve(SPD, SPD[0])),
    ("inv", (SPD,), {}, np.linalg.inv(SPD)),
    ("pinv", (SPD,), {"rcond": None}, np.linalg.pinv(SPD)),
    ("det", (SPD,), {}, np.linalg.det(SPD)),
    ("slogdet", (SPD,), {}, tuple(np.linalg.slogdet(SPD))),
    ("cholesky", (SPD,), {"upper": True}, np.linalg.cholesky(SPD, upper=True)),
    ("qr", (SPD,), {"mode": "reduced"}, tuple(np.linalg.qr(SPD))),
    ("qr", (SPD,), {"mode": "r"}, np.linalg.qr(SPD, "r")),
    ("svd", (SPD,), {"full_matrices": False, "compute_uv": True}, tuple(np.linalg.svd(SPD))),
    ("svd", (SPD,), {"full_matrices": True, "compute_uv": False}, np.linalg.svd(SPD)[1]),
    ("eigh", (SPD,), {"uplo": "L"}, tuple(np.linalg.eigh(SPD))),
    ("eigvalsh", (SPD,), {"uplo": "U"}, np.linalg.eigvalsh(SPD)),
]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("op", "values", "attrs", "want"), CASES)
def test_kernel_is_numpys_function_plain_and_bound(same, op, values, attrs, want, sparse):
    same(get(op, sparse)(*values, **attrs), want)
    same(bind(op, attrs, sparse)(*values), want)
    same(bind(op, tuple(attrs.items()), sparse)(*values), want)


def test_every_operation_has_a_kernel():
    ops = """add subtract multiply divide floor_divide remainder power maximum minimum fmax fmin
    logaddexp arctan2 hypot less less_equal greater greater_equal equal not_equal logical_and
    logical_or logical_xor bitwise_and bitwise_or bitwise_xor negative positive absolute fabs exp
    exp2 expm1 log log2 log10 log1p sqrt cbrt square reciprocal sign sin cos tan arcsin arccos
    arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint isnan isinf isfinite
    logical_not invert signbit copysign where clip round py.add py.sub py.mul py.truediv
    py.floordiv py.mod py.pow py.neg py.pos py.abs py.lt py.le py.gt py.ge py.eq py.ne py.not
    py.min py.max to_float to_int to_bool strong sum prod mean min max any all count_nonzero var
    std argmin argmax cumsum cumprod diff sort argsort bincount unique matmul outer trace diag tril
    triu full eye arange linspace cast copy transpose reshape broadcast_to concatenate getitem
    setitem norm solve inv pinv det slogdet cholesky lstsq qr svd eigh eigvalsh einsum rng_new draw
    assert_ const range_len undef dim todense literal full_like""".split()
    assert sorted(ops) == sorted(KERNELS)


def test_elementwise_dense_kernel_is_the_ufunc_itself():
    for name in ("add", "exp", "matmul", "multiply"):
        assert get(name) is getattr(np, name)
        assert bind(name) is getattr(np, name)


def test_unknown_operation_lists_near_names():
    with pytest.raises(UnsupportedError, match="multiply"):
        get("mutliply")


def test_import_loads_neither_scipy_nor_numba():
    code = (
        "import sys, lineal.kernels, lineal.kernels.registry, lineal.kernels.specs, "
        "lineal.kernels.finite; "
        "sys.exit(any(m in sys.modules for m in ('scipy', 'numba', 'dask', 'sympy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_setitem_leaves_its_operand_alone():
    x = np.arange(4)
    get("setitem")(x, 9, spec=(FULL,))
    assert x.tolist() == [0, 1, 2, 3]


def test_draw_does_not_advance_the_given_generator():
    rng = get("rng_new")(7)
    first, after = get("draw")(rng, method="normal", size=(3,))
    again, _ = get("draw")(rng, method="normal", size=(3,))
    second, _ = bind("draw", {"method": "normal", "size": (3,)})(after)
    ref = np.random.default_rng(7)
    np.testing.assert_array_equal(first, ref.normal(size=3))
    np.testing.assert_array_equal(again, first)
    np.testing.assert_array_equal(second, ref.normal(size=3))


def test_draw_takes_values_by_name_and_static_keywords():
    rng = get("rng_new")(1)
    draw = bind("draw", {"method": "integers", "size": (5,), "kwargs": ("high",), "dtype": np.int8})
    got, _ = draw(rng, 2, 9)
    np.testing.assert_array_equal(
        got, np.random.default_rng(1).integers(2, high=9, size=5, dtype=np.int8)
    )
    got, _ = get("draw")(rng, 6, method="permutation")
    np.testing.assert_array_equal(got, np.random.default_rng(1).permutation(6))


def test_assert_raises_with_its_message():
    with pytest.raises(AssertionError, match="too far"):
        get("assert_")(np.bool_(False), message="too far")


def test_undef_takes_no_memory():
    huge = get("undef")(type=SimpleNamespace(shape=(10**9, 10), dtype=np.dtype("f8")))
    assert huge.shape == (10**9, 10)
    assert get("undef")() is None


@pytest.mark.parametrize("bad", [np.ones(2), np.ones((2, 2))])
def test_pains_A11_more_than_one_element_is_no_scalar(bad):
    for op in ("to_float", "to_int", "to_bool"):
        with pytest.raises((TypeError, ValueError)):
            get(op)(bad)


def test_pains_A11_one_by_one_matrix_acts_as_a_scalar(same):
    s, a = np.array([[2.0]]), np.ones((2, 2))
    assert get("to_float")(s) == 2.0
    assert get("to_bool")(s > 1e-3) is True
    same(get("multiply")(a, s), a * 2)
    same(get("divide")(a, np.float64(2)), a / 2)


@pytest.mark.parametrize(
    ("a", "b"), [((3, 1), (5, 2)), ((1,), (3,)), ((3, 4), (3, 4)), ((), (2, 2))]
)
@pytest.mark.parametrize("sparse", [False, True])
def test_pains_A1_mismatched_matmul_raises(a, b, sparse):
    from scipy.sparse import csr_array

    x, y = np.ones(a), np.ones(b)
    with pytest.raises(ValueError, match=r"matmul"):
        get("matmul", sparse)(x, csr_array(y) if sparse and len(b) == 2 else y)


@pytest.mark.parametrize(
    ("a", "b", "shape"), [((4, 3), (3,), (4,)), ((3,), (3, 4), (4,)), ((3,), (3,), ())]
)
def test_pains_A7_matmul_of_vectors(same, a, b, shape):
    got = get("matmul")(np.ones(a), np.ones(b))
    assert np.shape(got) == shape


def test_pains_A2_double_contraction():
    x = np.ones((4, 5))
    assert get("trace")(x.T @ x) == 20.0
    assert get("sum")(get("multiply")(x, x)) == 20.0


def test_pains_A13_residuals_per_right_side():
    rng = np.random.default_rng(0)
    x = rng.random((20, 3))
    coef, res, rank, _ = get("lstsq")(x, rng.random((20, 2)), rcond=None)
    assert (coef.shape, res.shape, int(rank)) == ((3, 2), (2,), 3)
    assert get("lstsq")(x, rng.random(20))[1].shape == (1,)


def test_pains_A14_arg_reduction_axes():
    a = np.arange(6.0).reshape(2, 3)
    assert get("argmin")(a) == 0
    assert get("argmin")(a, axis=0).shape == (3,)
    assert get("argmin")(a, axis=1).shape == (2,)
    with pytest.raises(np.exceptions.AxisError):
        get("argmin")(a, axis=2)


@pytest.mark.parametrize(("a", "b"), [((3, 0), (0, 2)), ((0, 3), (3, 4)), ((5, 0), (0, 7))])
@pytest.mark.parametrize("sparse", [False, True])
def test_pains_B7_empty_products(same, a, b, sparse):
    from scipy.sparse import csr_array

    x, y = np.ones(a), np.ones(b)
    got = get("matmul", sparse)(csr_array(x) if sparse else x, y)
    same(got, np.zeros((a[0], b[1])))


def test_pains_B1_reductions_after_a_filter():
    v = np.arange(4)
    kept = v[v != 0]
    assert get("min")(kept) == 1
    assert get("max")(kept) == 3
    assert get("std")(kept) == pytest.approx(0.8164965809)
    assert get("argmin")(kept) == 0


def test_pains_F2_sum_widens_small_integers():
    want = dict(int8="i8", int16="i8", int32="i8", uint8="u8", uint32="u8", bool="i8")
    for dtype, out in want.items():
        assert get("sum")(np.ones(3, dtype)).dtype == np.dtype(out)
        assert bind("sum", {"axis": None})(np.ones(3, dtype)).dtype == np.dtype(out)


def test_pains_F4_python_integer_out_of_range():
    from scipy.sparse import csr_array

    for sparse, x in ((False, np.ones(2, "i1")), (True, csr_array(np.ones((1, 2), "i1")))):
        with pytest.raises(OverflowError, match="int8"):
            get("multiply", sparse)(x, 128)


@pytest.mark.parametrize("sparse", [False, True])
def test_pains_F5_weak_and_strong_scalars(sparse):
    from scipy.sparse import csr_array

    store = csr_array if sparse else np.asarray
    f4, i1 = store(np.ones((2, 2), "f4")), store(np.ones((2, 2), "i1"))
    assert get("multiply", sparse)(f4, 2.5).dtype == np.float32
    assert get("multiply", sparse)(f4, np.float64(2.5)).dtype == np.float64
    assert get("add", sparse)(i1, 1).dtype == np.int8
    assert get("multiply", sparse)(f4, np.array(2.0)).dtype == np.float64


def test_pains_F1_F8_F11_F14_mean_and_sum(same):
    assert get("mean")(np.ones((10, 10), "f4"), axis=0).dtype == np.float32
    big = np.full(500, 20150515061816532)
    assert get("mean")(big) == pytest.approx(2.0150515061816532e16, rel=1e-15)
    assert get("sum")(big) == -8371486542801285616
    assert bind("sum", {"dtype": "float64"})(np.ones(3, "f4")).dtype == np.float64
    assert get("std")(np.arange(10)) == pytest.approx(2.8722813232690143)
