"""Sparse is storage, not meaning: every operation on CSR equals NumPy on dense copies."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lineal.kernels import sparse
from lineal.kernels.elementwise import BINARY, UNARY
from lineal.kernels.registry import KERNELS, bind, get
from lineal.kernels.specs import predict_storage

DTYPES = ["bool", "int8", "int16", "int32", "int64"]
DTYPES += ["uint8", "uint16", "uint32", "uint64", "float32", "float64"]
SHAPES = [(5, 4), (1, 1), (0, 3), (3, 0), (1, 6), (6, 1)]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
FULL = ("slice", None, None, None)


class T:
    """A value's type, as the planner would hand it in."""

    def __init__(self, x):
        self.shape, self.dtype = np.shape(x), np.asarray(x).dtype


def run(fn, *args, **kwargs):
    with np.errstate(all="ignore"):
        try:
            return fn(*args, **kwargs)
        except (TypeError, ValueError, IndexError, OverflowError, np.linalg.LinAlgError) as error:
            return type(error)


def agree(same, op, values, attrs=None, rtol=None):
    """Check op on `values` (some sparse) against the dense kernel, and the predicted form."""
    attrs = attrs or {}
    dense_values = [v.toarray() if sp.issparse(v) else v for v in values]
    want = run(get(op), *dense_values, **attrs)
    got = run(get(op, sparse=True), *values, **attrs)
    if isinstance(want, type):
        assert got is want
        return got
    assert not isinstance(got, type), got
    same(got, want, rtol)
    storages = tuple("sparse" if sp.issparse(v) else "dense" for v in values)
    for types in (None, tuple(T(v) for v in dense_values)):
        if predict_storage(op, storages, attrs, types) == "dense":
            assert not sp.issparse(got)
    assert not sp.issparse(run(bind(op, attrs, True, "dense"), *values))
    same(run(bind(op, attrs, True, "sparse"), *values), want, rtol)
    return got


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", [*UNARY, "copy"])
def test_unary(same, matrix, op, dtype):
    for shape in SHAPES:
        agree(same, op, [sp.csr_array(matrix(dtype, shape))])


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int64", "uint8", "uint64", "float32", "float64"]
)
@pytest.mark.parametrize("op", BINARY)
def test_binary(same, matrix, op, dtype):
    for shape in SHAPES:
        a, b = matrix(dtype, shape), matrix(dtype, shape, 1)
        s, t = sp.csr_array(a), sp.csr_array(b)
        for pair in ((s, t), (s, s), (s, b), (a, t)):
            agree(same, op, pair)
        for other in (b[:1], b[:, :1], b[0] if len(b) else b.reshape(-1)):
            agree(same, op, (s, other))
            agree(same, op, (other, s))
        agree(same, op, (s, sp.csr_array(b[:1])))
        agree(same, op, (sp.csr_array(a[:, :1]), sp.csr_array(b[:1])))
        for scalar in (0, 1, 3, -2, 2.5, True, np.float32(2), np.float64(np.nan), np.inf):
            agree(same, op, (s, scalar))
            agree(same, op, (scalar, s))


@pytest.mark.parametrize("other", DTYPES)
@pytest.mark.parametrize("op", ["add", "multiply", "divide", "matmul", "maximum", "less"])
def test_mixed_dtypes(same, matrix, op, other):
    for dtype in DTYPES:
        s, t = sp.csr_array(matrix(dtype, (4, 4))), sp.csr_array(matrix(other, (4, 4), 1))
        agree(same, op, (s, t))
        agree(same, op, (s, t.toarray()))


REDUCTIONS = [
    "sum", "prod", "mean", "min", "max", "any", "all", "count_nonzero", "var", "std"
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions(same, matrix, op, dtype):
    for shape in SHAPES:
        for x in (matrix(dtype, shape), np.ones(shape, dtype), np.zeros(shape, dtype)):
            for at, axis in enumerate((None, 0, 1, (0,), (0, 1), (), 2)):
                keepdims = (at + x.size) % 2 == 0
                agree(same, op, [sp.csr_array(x)], {"axis": axis, "keepdims": keepdims})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wanted", ["float32", "float64", "int64", "int8", "float16", "bool"])
def test_reductions_in_a_given_dtype(same, matrix, dtype, wanted):
    for op in ("sum", "prod", "mean", "var"):
        for axis in (None, 0, 1):
            s = sp.csr_array(matrix(dtype, (5, 4)))
            agree(same, op, [s], {"axis": axis, "dtype": wanted})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_positions(same, matrix, op, dtype):
    for shape in SHAPES:
        for seed in range(4):
            x = matrix(dtype, shape, seed)
            for axis in (None, 0, 1):
                for m in (x, x * np.asarray(0, dtype), np.ones_like(x)):
                    for keepdims in (False, True):
                        attrs = {"axis": axis, "keepdims": keepdims}
                        agree(same, op, [sp.csr_array(m)], attrs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_norm_trace_diag(same, matrix, dtype):
    for shape in SHAPES:
        s = sp.csr_array(matrix(dtype, shape))
        for ord in (None, "fro", 1, -1, np.inf, -np.inf, 2, "nuc"):
            agree(same, "norm", [s], {"ord": ord, "axis": None, "keepdims": False}, 1e-5)
            agree(same, "norm", [s], {"ord": ord, "axis": (0, 1), "keepdims": True}, 1e-5)
        for ord in (None, 0, 1, 2, 3, np.inf, -np.inf):
            for axis in (0, 1):
                agree(same, "norm", [s], {"ord": ord, "axis": axis, "keepdims": True}, 1e-5)
        for k in range(-7, 8):
            agree(same, "trace", [s], {"offset": k})
            agree(same, "diag", [s], {"k": k})
            agree(same, "tril", [s], {"k": k})
            agree(same, "triu", [s], {"k": k})


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(same, matrix, dtype):
    for m, k, n in ((5, 4, 3), (1, 1, 1), (0, 3, 2), (3, 0, 2), (2, 3, 0)):
        a, b = matrix(dtype, (m, k)), matrix(dtype, (k, n), 1)
        s, t = sp.csr_array(a), sp.csr_array(b)
        for pair in ((s, t), (s, b), (a, t), (s, b[:, 0] if n else b), (a[0] if m else a, t)):
            agree(same, "matmul", pair)


SPECS = [
    ((("slice", 1, 4, 2), FULL), ()),
    ((("slice", 3, None, -1), ("slice", 0, 2, 1)), ()),
    ((FULL, ("slice", 3, 0, -2)), ()),
    ((("slice", 2, 2, 1),), ()),
    ((("int", 0),), (np.int64(-2),)),
    ((("int", 0), FULL), (1,)),
    ((FULL, ("int", 0)), (3,)),
    ((("int", 0), ("int", 1)), (1, -1)),
    ((("int", 0),), (9,)),
    ((("array", 0),), (np.array([3, 0, 0, -1]),)),
    ((("array", 0), FULL), (np.array([True, False, True, False, True]),)),
    ((("array", 0),), (np.array([True, False]),)),
    ((("array", 0),), (np.zeros(0, dtype=int),)),
    ((("array", 0),), (np.array([7]),)),
    ((FULL, ("array", 0)), (np.array([3, 1, 1]),)),
    ((("slice", 0, 3, 1), ("array", 0)), (np.array([False, True, True, False]),)),
    ((("array", 0), ("array", 1)), (np.array([0, 4, 2]), np.array([1, -1, 0]))),
    ((("array", 0), ("int", 1)), (np.array([0, 4, 2]), 1)),
    ((("int", 0), ("array", 1)), (2, np.array([0, 1]))),
    ((("new",), ("int", 0)), (1,)),
    ((("int", 0), ("new",)), (1,)),
    ((FULL, ("int", 0), ("new",)), (1,)),
    ((FULL, FULL, ("int", 0)), (1,)),
    ((("array", 0),), (np.arange(20).reshape(5, 4) % 3 == 0,)),
    ((("array", 0),), (np.array([[0, 1], [2, 3]]),)),
]


@pytest.mark.parametrize(("spec", "values"), SPECS)
@pytest.mark.parametrize("dtype", ["bool", "int8", "float64"])
def test_getitem(same, matrix, spec, values, dtype):
    s = sp.csr_array(matrix(dtype, (5, 4)))
    agree(same, "getitem", [s, *values], {"spec": spec})
    agree(same, "getitem", [sp.csr_array(s.shape, dtype=dtype), *values], {"spec": spec})


@pytest.mark.parametrize("dtype", DTYPES)
def test_shape_changes(same, matrix, dtype):
    for shape in SHAPES:
        x = matrix(dtype, shape)
        s = sp.csr_array(x)
        agree(same, "transpose", [s])
        for target in ((x.size, 1), (1, x.size), (x.size,), shape[::-1], (-1, 1), (2, 7)):
            agree(same, "reshape", [s], {"shape": target})
        for other in ("int8", "float32", dtype):
            t = sp.csr_array(matrix(other, shape, 1))
            for axis in (0, 1, None):
                agree(same, "concatenate", [s, t, s], {"axis": axis})
                agree(same, "concatenate", [s, t.toarray()], {"axis": axis})
        agree(same, "concatenate", [s, sp.csr_array((2, 9), dtype=dtype)], {"axis": 0})
        for target in DTYPES:
            agree(same, "cast", [s], {"dtype": target})
        agree(same, "cast", [s], {"dtype": "float16"})
        agree(same, "round", [s], {"decimals": 1})
        agree(same, "broadcast_to", [s], {"shape": (2, *shape)})


def test_the_rest_runs_on_dense_copies(same, matrix):
    s = sp.csr_array(matrix("float64", (4, 4)) + 20 * np.eye(4))
    for op, attrs in [
        ("cumsum", {"axis": 1}),
        ("cumprod", {"axis": None}),
        ("diff", {"n": 1, "axis": 0}),
        ("sort", {"axis": 1}),
        ("argsort", {"axis": 0}),
        ("unique", {"return_counts": True}),
        ("inv", {}),
        ("det", {}),
        ("slogdet", {}),
        ("pinv", {"rcond": None}),
        ("qr", {"mode": "reduced"}),
        ("svd", {"full_matrices": False, "compute_uv": True}),
        ("eigvalsh", {"uplo": "L"}),
        ("clip", {"has_lo": False, "has_hi": False}),
        ("to_bool", {}),
    ]:
        agree(same, op, [s], attrs)
    agree(same, "solve", [s, np.ones(4)])
    agree(same, "where", [s > 1, s, 0])
    agree(same, "outer", [s, s])
    agree(same, "einsum", [s, s], {"subscripts": "ij,jk->ik"})
    agree(same, "setitem", [s, s], {"spec": (FULL,)})
    agree(same, "clip", [s, -1.0, 2.0], {"has_lo": True, "has_hi": True})
    agree(same, "clip", [s, 1.0], {"has_lo": True, "has_hi": False})
    assert get("to_float", True)(sp.csr_array([[2.0]])) == 2.0


def test_every_result_promised_sparse_is_sparse(matrix):
    x = matrix("float64", (5, 4))
    s, t, v = sp.csr_array(x), sp.csr_array(matrix("float64", (5, 4), 1)), np.arange(1.0, 5)
    cases = [
        ("multiply", (s, x), {}),
        ("multiply", (v, s), {}),
        ("multiply", (3, s), {}),
        ("multiply", (s, np.ones((5, 1))), {}),
        ("divide", (s, v), {}),
        ("divide", (s, 2.0), {}),
        ("power", (s, 2), {}),
        ("add", (s, t), {}),
        ("maximum", (s, t), {}),
        ("not_equal", (s, t), {}),
        ("logical_and", (s, x), {}),
        ("sqrt", (abs(s),), {}),
        ("transpose", (s,), {}),
        ("tril", (s,), {"k": 0}),
        ("matmul", (s, sp.csr_array(x.T)), {}),
        ("concatenate", (s, t), {"axis": 0}),
        ("concatenate", (s, t), {"axis": 1}),
        ("cast", (s,), {"dtype": "float32"}),
        ("reshape", (s,), {"shape": (4, 5)}),
        ("getitem", (s, np.array([2, 0])), {"spec": (("array", 0),)}),
        ("getitem", (s,), {"spec": (FULL, ("slice", 0, 2, 1))}),
        ("round", (s,), {"decimals": 1}),
    ]
    for op, values, attrs in cases:
        storages = tuple("sparse" if sp.issparse(v) else "dense" for v in values)
        types = tuple(T(v.toarray() if sp.issparse(v) else v) for v in values)
        assert predict_storage(op, storages, attrs, types) == "sparse", op
        assert sp.issparse(get(op, True)(*values, **attrs)), op


def test_known_scalars_keep_comparisons_sparse(same, matrix):
    x = matrix("float64", (5, 4))
    s = sp.csr_array(x)
    for op, c, form in [
        ("greater", 0, "sparse"),
        ("not_equal", 0, "sparse"),
        ("maximum", 0.0, "sparse"),
        ("greater_equal", 1, "sparse"),
        ("greater", -1, "dense"),
        ("add", 1, "dense"),
        ("power", 0, "dense"),
    ]:
        types = (T(x), T(c))
        # power is sparse unless the exponent is known not to keep zeros
        found = predict_storage(op, ("sparse", "dense"), {}, types, (None, c))
        if op != "power":
            assert found == form, op
        got = bind(op, {}, True, "sparse")(s, c)
        assert sp.issparse(got) == (form == "sparse"), op
        same(got, get(op)(x, c))
    assert predict_storage("greater", ("sparse", "dense"), {}, None) == "dense"


def test_operands_are_never_written(matrix):
    s = sp.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 0]), np.array([0, 3, 3])), shape=(2, 3)
    )
    before = (s.data.copy(), s.indices.copy(), s.indptr.copy())
    for op in ("square", "sum", "transpose", "negative", "copy"):
        get(op, True)(s)
    get("matmul", True)(s, s.T)
    for now, then in zip((s.data, s.indices, s.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_every_format_is_taken(same, matrix):
    x = matrix("float64", (6, 6))
    for form in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok"):
        for s in (sp.csr_array(x).asformat(form), sp.csr_matrix(x).asformat(form)):
            same(get("multiply", True)(s, s), x * x)
            same(get("matmul", True)(s, x), x @ x)
    same(get("exp", True)(sp.coo_array(np.array([0.0, 1.0]))), np.exp([0.0, 1.0]))


NASTY = np.array(
    [[np.nan, 0, 2.0, 0], [0, 0, 0, 0], [0, np.inf, 0, -1.0], [0, -np.inf, 0, 0], [1, 2, 3, 4]]
)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_and_infinity_next_to_implicit_zeros(same, matrix, dtype):
    x = NASTY.astype(dtype)
    s, o = sp.csr_array(x), matrix(dtype, x.shape, 3)
    for op in BINARY:
        for a, b in ((s, sp.csr_array(o)), (sp.csr_array(o), s), (sp.csr_array(o), x), (x, s)):
            agree(same, op, (a, b))
    for op in UNARY:
        agree(same, op, [s])
    for op in [*REDUCTIONS, "argmin", "argmax"]:
        for axis in (None, 0, 1):
            agree(same, op, [s], {"axis": axis})
    for a, b in ((s, o.T), (o.T, s), (s, x.T), (s, x[0]), (x[:, 1], s), (o, x.T)):
        for left in [a] if sp.issparse(a) or a.ndim == 1 else [a, sp.csr_array(a)]:
            for right in [b] if sp.issparse(b) or b.ndim == 1 else [b, sp.csr_array(b)]:
                agree(same, "matmul", (left, right))
    for ord in (None, 1, np.inf):
        agree(same, "norm", [s], {"ord": ord, "axis": None, "keepdims": False})


def test_warnings_are_numpys():
    x = np.array([[1.0, 0, np.inf], [0, 2.0, 0], [0, 1e300, 0]])
    s, y = sp.csr_array(x), np.array([[0, 1.0, 1e300], [1.0, 0, 0], [0, 1.0, 1.0]])
    cases = [(op, (s,), (x,)) for op in ("log", "sqrt", "reciprocal", "sum", "prod", "var")]
    for op in ("divide", "multiply", "remainder", "power", "matmul"):
        cases += [(op, (s, sp.csr_array(y)), (x, y)), (op, (s, y), (x, y)), (op, (x, s), (x, x))]
    for op, values, dense in cases:
        seen: list[list[str]] = [[], []]
        for log, fn, args in ((seen[0], get(op), dense), (seen[1], get(op, True), values)):
            with np.errstate(all="call", call=lambda kind, _, log=log: log.append(kind)):
                fn(*args)
        assert set(seen[0]) == set(seen[1]), op


def test_overflow_in_prod_depends_on_where_the_zero_is(same):
    x = np.array([[0, 1e200, 1e200], [1e200, 1e200, 0], [1e200, 0, 1e200]])
    for axis in (None, 0, 1):
        agree(same, "prod", [sp.csr_array(x)], {"axis": axis})
        agree(same, "prod", [sp.csr_array(x.T)], {"axis": axis})


# Cases of the reports


def test_pains_D1_dispatch(same, matrix):
    x, d = matrix("float64", (40, 30)), matrix("float64", (40, 30), 1)
    for form in (sp.csr_matrix, sp.csr_array):
        s = form(x)
        agree(same, "matmul", (s, d.T))
        same(get("matmul", True)(get("transpose", True)(s), s), x.T @ x)
        agree(same, "sum", [s])
        agree(same, "sum", [s], {"axis": 0})
        same(get("multiply", True)(s, 2), x * 2)
        same(get("add", True)(s, d), x + d)
        agree(same, "mean", [s], {"axis": 1})


def test_pains_D2_joining_empty_blocks(same, matrix):
    x = matrix("float64", (3, 5))
    parts = [x, np.zeros((0, 5)), np.zeros((2, 5))]
    got = agree(same, "concatenate", [sp.csr_array(p) for p in parts], {"axis": 0})
    assert sp.issparse(got)


def test_pains_D4_elementwise_is_not_matrix_product():
    a = sp.csr_matrix(np.diag([0.82, 0.84, 0]))
    b = sp.csr_matrix(np.array([[0, 0, 0.41], [0.90, 0, 0], [0, 0, 0]]))
    product = get("matmul", True)(a, b).toarray()
    assert product[0, 2] == pytest.approx(0.3362)
    assert product[1, 0] == pytest.approx(0.756)
    assert get("multiply", True)(a, b).nnz == 0


def test_pains_D5_row_broadcast_stays_sparse(same):
    s = sp.random_array((2500, 39200), density=1e-3, rng=np.random.default_rng(0), format="csr")
    v = np.arange(39200.0) + 1
    for op in ("multiply", "divide"):
        got = get(op, True)(s, v)
        assert sp.issparse(got)
        assert got.nnz <= s.nnz
    small = sp.csr_array([[1.0, 0, 2], [0, 0, 3]])
    agree(same, "divide", (small, np.array([1.0, 0, 2])))  # 0/0 is NaN, as dense
    full = sp.csr_array([[1.0, 0, 2], [2, 0, 3]])
    got = agree(same, "divide", (full, np.array([0.0, 1, 2])))
    assert sp.issparse(got)  # no implicit zero meets the zero divisor


def test_pains_D7_zeros_stay_zero(same):
    s = sp.csr_array(np.array([[1.0, 0, 2, 1], [0, 3, 0, 1], [1, 0, 0, 1]]))
    got = agree(same, "divide", (s, get("mean", True)(s, axis=0)))
    assert sp.issparse(got)
    assert got.toarray()[1, 0] == 0


def test_pains_D8_index_width(monkeypatch):
    assert sparse.index_dtype(2**31 - 1) == np.int32
    assert sparse.index_dtype(2**31) == np.int64
    wide = sp.coo_array(([1.0], ([0], [2**31 - 1])), shape=(1, 2**31))
    got = get("square", True)(wide)
    assert got.indices.dtype == np.int64
    assert get("sum", True)(got) == 1.0

    rng = np.random.default_rng(0)
    flat = np.sort(rng.choice(10**10, 100, replace=False))
    s = sp.coo_array((np.arange(1.0, 101), np.divmod(flat, 10**5)), shape=(10**5, 10**5))
    got = get("reshape", True)(s, shape=(20_000, 500_000)).tocoo()
    np.testing.assert_array_equal(got.row.astype(np.int64) * 500_000 + got.col, flat)

    monkeypatch.setattr(sparse, "INDEX_LIMIT", 100)
    block = sp.csr_array(np.ones((6, 10)))
    joined = get("concatenate", True)(block, block, axis=0)
    assert joined.nnz == 120
    assert joined.indices.dtype == joined.indptr.dtype == np.int64


@pytest.mark.parametrize("transposed", [False, True])
def test_pains_D13_full_row_and_column_in_an_empty_matrix(same, transposed):
    x = np.zeros((8, 9))
    x[3, :] = np.arange(1, 10)
    x[:, 5] = np.arange(1, 9)
    x = x.T if transposed else x
    s = sp.csr_array(x)
    for axis in (0, 1):
        agree(same, "prod", [s], {"axis": axis})
        agree(same, "min", [s], {"axis": axis})
    same(get("matmul", True)(get("transpose", True)(s), s), x.T @ x)


def test_pains_D14_duplicates_unsorted_and_explicit_zeros(same):
    twice = sp.coo_array(([1.0, 2.0], ([0, 0], [0, 0])), shape=(2, 2))
    assert get("square", True)(twice).toarray()[0, 0] == 9.0
    messy = sp.csr_array(
        (np.array([4.0, 0.0, 1.0]), np.array([2, 1, 0]), np.array([0, 3, 3])), shape=(2, 3)
    )
    for op in UNARY:
        agree(same, op, [messy])
    for op in (*REDUCTIONS, "argmin", "argmax"):
        for axis in (None, 0, 1):
            agree(same, op, [messy], {"axis": axis})
    good = sp.csr_array(np.eye(3))
    for damage in ("indptr", "indices"):
        bad = good.copy()
        if damage == "indptr":
            bad.indptr[:] = [0, 3, 1, 3]
        else:
            bad.indices[0] = 17
        with pytest.raises(ValueError, match="sparse input"):
            sparse.canonical(bad, check=True)


def test_pains_D17_mixed_contraction(same):
    d, s = np.ones((5, 5)), sp.csr_array(np.array([[1, 1, 0.5, 1, 1]]).T)
    same(get("matmul", True)(d.T, s)[:, 0], np.full(5, 4.5))
    agree(same, "einsum", (d, s), {"subscripts": "ji,jk->ik"})


def test_pains_B8_one_by_one(same):
    one = sp.csr_array([[2.0]])
    for op in REDUCTIONS:
        agree(same, op, [one])
    agree(same, "matmul", (one, one))
    agree(same, "inv", [one])


def test_pains_F2_sparse_sums_widen(same):
    for dtype in DTYPES:
        for axis in (None, 0, 1):
            agree(same, "sum", [sp.csr_array(np.ones((3, 200), dtype))], {"axis": axis})


def test_pains_F8_sparse_mean_of_large_integers(same):
    agree(same, "mean", [sp.csr_array(np.full((500, 1), 20150515061816532))])
    agree(same, "sum", [sp.csr_array(np.full((500, 1), 20150515061816532))])


def test_all_tables_name_real_operations():
    from lineal.kernels import sparse_table

    assert set(sparse_table.KERNELS) <= set(KERNELS)
