"""Inputs: what is taken, in which form, what is refused and how the refusal reads."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lineal.engine.inputs import declare, describe, full_facts, own, spec, to_numpy
from lineal.errors import DTypeError, InputError, LinealError, OptionError, ShapeError
from lineal.planner.types import Density, DensityKind, Type

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


# -- NumPy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 2), (2, 3)])
def test_ndarray_is_taken_as_it_is(dtype: str, shape: tuple[int, ...]) -> None:
    A = np.ones(shape, dtype)
    bound = describe(A, "A")
    assert bound.kind == "array"
    assert bound.value is A
    assert bound.type == Type(shape, np.dtype(dtype))
    assert bound.facts.storage == "dense"
    assert str(bound.facts.density) == "1 Upper bound"


@pytest.mark.parametrize("dtype", ["i4", "f8", "u2"])
def test_foreign_byte_order_is_converted(dtype: str) -> None:
    A = np.arange(6).reshape(2, 3).astype(np.dtype(dtype).newbyteorder("S"))
    bound = describe(A, "A")
    assert bound.value.dtype.isnative
    assert bound.type.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(bound.value, A)


@pytest.mark.parametrize(
    ("value", "error", "said", "remedy"),
    [
        (np.ones(2, complex), DTypeError, "complex", ".real"),
        (np.ones(2, np.float16), DTypeError, "float16", "np.float32"),
        (np.ones(2, np.longdouble), DTypeError, "only float32 and float64", "np.float64"),
        (np.array([1, "a"], object), DTypeError, "object", "astype"),
        (np.array(["a"]), DTypeError, "strings", "astype"),
        (np.array([b"a"]), DTypeError, "byte strings", "astype"),
        (np.array(["2020-01-01"], "M8[D]"), DTypeError, "dates", "subtract"),
        (np.array([1], "m8[s]"), DTypeError, "time", "divide"),
        (np.zeros(2, [("a", "f8"), ("b", "i4")]), DTypeError, "structured", "fields"),
        (np.ones((2, 2, 2)), InputError, "3 dimensions", "reshape"),
        (np.matrix([[1.0]]), InputError, "np.matrix", "np.asarray(A)"),
        (np.ma.masked_equal([1, 2], 2), InputError, "masked", "filled"),
        (np.rec.array([(1, 2.0)]), InputError, "subclass", "np.asarray(A)"),
        ([1.0, 2.0], InputError, "list", "np.asarray(A)"),
        ({"a": 1}, InputError, "dict", "NumPy array"),
        (1 + 2j, DTypeError, "complex", "real"),
        (np.complex64(1), DTypeError, "complex", ".real"),
        (np.float16(1), DTypeError, "float16", "float32"),
        ((1, np.ones(2)), InputError, "tuple", "own parameter"),
        (np.random.default_rng(0), InputError, "Generator", "seed"),
        (np.random.RandomState(0), InputError, "RandomState", "seed"),
        (Fraction(1, 2), InputError, "Fraction", "float(A)"),
        (object(), InputError, "object", "NumPy array"),
    ],
)
def test_refusals_name_operand_and_remedy(
    value: Any, error: type[LinealError], said: str, remedy: str
) -> None:
    with pytest.raises(error) as caught:
        describe(value, "A")
    text = str(caught.value)
    assert said in text
    assert remedy in text.split("Try: ")[1]
    assert any(operand.startswith("A: ") for operand in caught.value.operands)


def test_memory_map_stays_a_map(tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", np.arange(6.0).reshape(2, 3))
    mapped = np.load(tmp_path / "A.npy", mmap_mode="r")
    value = describe(mapped, "A").value
    assert type(value) is np.ndarray
    assert np.shares_memory(value, mapped)


# -- scalars and static values -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [
        (3, "scalar", "int"),
        (2.5, "scalar", "float"),
        (True, "static", "bool"),
        (np.float32(2), "scalar", "float32[]"),
        (np.float64(2), "scalar", "float64[]"),  # a subclass of float, but not weak
        (np.int8(2), "scalar", "int8[]"),
        (np.bool_(True), "scalar", "bool[]"),
        (None, "static", "None"),
        ("fro", "static", "None"),
        ((2, None, ("a", 1.5)), "static", "None"),
        (np.float32, "static", "None"),
        (np.dtype("i4"), "static", "None"),
        (float, "static", "None"),
    ],
)
def test_scalars_and_static_values(value: Any, kind: str, shown: str) -> None:
    bound = describe(value, "s")
    assert (bound.kind, str(bound.type)) == (kind, shown)
    assert bound.value == value
    assert type(bound.value) is type(value)


# -- SciPy sparse --------------------------------------------------------------------------------

FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("family", ["array", "matrix"])
@pytest.mark.parametrize("dtype", ["?", "i4", "f4", "f8"])
def test_every_sparse_format(form: str, family: str, dtype: str) -> None:
    D = (np.arange(24).reshape(4, 6) % 5 == 0).astype(dtype)
    S = getattr(sp, f"{form}_{family}")(D)
    before = pickle.dumps(S)
    bound = describe(S, "S")
    assert type(bound.value) is sp.csr_array
    assert bound.value.has_canonical_format
    assert bound.type == Type((4, 6), np.dtype(dtype))
    assert bound.facts.storage == "sparse"
    assert bound.facts.density == Density(np.count_nonzero(D) / 24, DensityKind.EXACT)
    np.testing.assert_array_equal(bound.value.toarray(), D)
    assert pickle.dumps(S) == before, "the caller's object was written"


def test_canonical_csr_is_shared() -> None:
    S = sp.random_array((50, 40), density=0.1, format="csr", rng=0)
    value = describe(S, "S").value
    assert value is not S
    assert np.shares_memory(value.data, S.data)
    assert np.shares_memory(value.indices, S.indices)


def test_pains_d14_duplicates_are_summed() -> None:
    S = sp.coo_array(([1.0, 2.0], ([0, 0], [0, 0])), shape=(2, 2))
    value = describe(S, "S").value
    assert value.nnz == 1
    assert value[0, 0] == 3.0
    assert (value * value)[0, 0] == 9.0  # 5 where the parts are squared one by one
    assert S.nnz == 2


def test_pains_d14_unsorted_indices_and_duplicates_in_csr() -> None:
    S = sp.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3, 3])), shape=(2, 3)
    )
    value = describe(S, "S").value
    np.testing.assert_array_equal(value.toarray(), [[2, 0, 5], [0, 0, 0]])
    np.testing.assert_array_equal(value.indices, [0, 2])
    np.testing.assert_array_equal(S.indices, [2, 0, 2])  # the caller's is as it was
    np.testing.assert_array_equal(S.data, [1, 2, 4])


def test_pains_d14_explicit_zeros_are_not_counted() -> None:
    S = sp.csr_array((np.array([0.0, 5.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    bound = describe(S, "S")
    assert bound.value.nnz == 1
    assert bound.facts.density == Density(0.5, DensityKind.EXACT)
    assert S.nnz == 2


def test_pains_d14_cancelling_duplicates() -> None:
    S = sp.coo_array(([1.0, -1.0], ([0, 0], [1, 1])), shape=(1, 2))
    assert describe(S, "S").value.nnz == 0


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("indptr", [0, 2, 1, 3], "indptr decreases at 2"),
        ("indptr", [1, 2, 3, 3], "indptr[0] is 1"),
        ("indptr", [0, 1, 2], "3 entries, not 4"),
        ("indptr", [0, 1, 2, 9], "ends at 9"),
        ("indices", [0, 3, 1], "index 3 at position 1"),
        ("indices", [0, -1, 1], "index -1 at position 1"),
    ],
)
def test_pains_d14_damaged_index_arrays(form: str, field: str, value: Any, said: str) -> None:
    S = getattr(sp, f"{form}_array")(np.eye(3))
    setattr(S, field, np.array(value, dtype=S.indices.dtype))
    with pytest.raises(InputError, match="damaged sparse matrix") as caught:
        describe(S, "S")
    assert said in str(caught.value)
    assert "S: " in str(caught.value)


def test_pains_d14_damaged_coordinates() -> None:
    S = sp.coo_array(np.eye(3))
    S.coords = (np.array([0, 1, 7]), np.array([0, 1, 2]))
    with pytest.raises(InputError, match="coordinate along axis 0 7 at position 2"):
        describe(S, "S")


def test_wide_matrix_keeps_wide_indices() -> None:
    S = sp.coo_array(([1.0], ([0], [2**31])), shape=(1, 2**31 + 1))
    value = describe(S, "S").value
    assert value.indices.dtype == np.int64
    assert value[0, 2**31] == 1.0


def test_sparse_vector_becomes_dense() -> None:
    bound = describe(sp.coo_array(np.array([0.0, 2.0, 0.0])), "v")
    np.testing.assert_array_equal(bound.value, [0, 2, 0])
    assert bound.facts.storage == "dense"


def test_sparse_complex_is_refused() -> None:
    with pytest.raises(DTypeError, match="complex"):
        describe(sp.csr_array(np.eye(2) * 1j), "S")


def test_empty_sparse_matrix_has_density_zero() -> None:
    assert full_facts(describe(sp.csr_array((0, 5)), "S").value).density.value == 0.0


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(-2, 2)), min_size=0, max_size=30
    ),
    st.sampled_from(["coo", "csr", "csc"]),
)
def test_any_triplets_equal_their_dense_form(
    triplets: list[tuple[int, int, int]], form: str
) -> None:
    rows, columns, data = (np.array([t[k] for t in triplets], dtype=int) for k in range(3))
    S = sp.coo_array((data.astype(float), (rows, columns)), shape=(5, 4)).asformat(form)
    value = describe(S, "S").value
    np.testing.assert_array_equal(value.toarray(), S.toarray())
    assert value.nnz == np.count_nonzero(S.toarray())


# -- Dask ----------------------------------------------------------------------------------------


@pytest.mark.dask_versions
def test_dask_array_stays_lazy_with_its_chunks() -> None:
    da = pytest.importorskip("dask.array")
    A = da.ones((10, 4), chunks=((3, 0, 7), (4,)))
    bound = describe(A, "A")
    assert bound.value is A
    assert bound.type == Type((10, 4), np.dtype("f8"))
    assert bound.facts.chunks == ((3, 0, 7), (4,))
    assert bound.facts.storage == "dense"


@pytest.mark.dask_versions
def test_dask_array_of_unknown_length() -> None:
    da = pytest.importorskip("dask.array")
    v = da.arange(10, chunks=5)
    with pytest.raises(InputError) as caught:
        describe(v[v > 3], "v")
    assert "v.compute_chunk_sizes()" in str(caught.value)
    kept = describe(v[v > 3].compute_chunk_sizes(), "v")
    assert kept.facts.chunks == ((1, 5),)


@pytest.mark.dask_versions
@pytest.mark.parametrize("block", [sp.csr_array, sp.csr_matrix])
def test_dask_array_of_sparse_blocks(block: Any) -> None:
    da = pytest.importorskip("dask.array")
    dense = np.eye(6)
    A = da.from_array(dense, chunks=(2, 6)).map_blocks(block, meta=block((0, 0)))
    bound = describe(A, "A")
    assert bound.facts.storage == "sparse"
    np.testing.assert_array_equal(A.blocks[0, 0].compute().toarray(), dense[:2])


@pytest.mark.dask_versions
def test_dask_array_refusals() -> None:
    da = pytest.importorskip("dask.array")
    with pytest.raises(InputError, match="3 dimensions"):
        describe(da.ones((2, 2, 2)), "A")
    with pytest.raises(DTypeError, match="complex"):
        describe(da.ones(3, dtype=complex), "A")
    with pytest.raises(InputError, match="MaskedArray"):
        describe(da.ma.masked_equal(da.arange(3), 1), "A")


@pytest.mark.dask_versions
def test_dask_frame_lengths_are_computed_once() -> None:
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"a": np.arange(10), "b": np.arange(10) / 2})
    bound = describe(dd.from_pandas(frame, npartitions=3), "X")
    assert bound.type == Type((10, 2), np.dtype("f8"))
    assert sum(bound.facts.chunks[0]) == 10
    assert len(bound.facts.chunks[0]) == 3
    np.testing.assert_array_equal(bound.value.compute(), frame.to_numpy())


@pytest.mark.dask_versions
def test_dask_frame_of_mixed_types() -> None:
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"a": [True, False], "b": pd.array([1, 2], "Int32"), "c": [1, 2]})
    bound = describe(dd.from_pandas(frame, npartitions=1), "X")
    assert bound.type.dtype == np.int64
    np.testing.assert_array_equal(bound.value.compute(), [[1, 1, 1], [0, 2, 2]])
    with pytest.raises(InputError, match="column 'd'"):
        describe(dd.from_pandas(frame.assign(d=["x", "y"]), npartitions=1), "X")


# -- pandas --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        ({"a": [1.0, 2.0], "b": [3.0, 4.0]}, "f8"),
        ({"a": [1, 2], "b": [0.5, np.nan]}, "f8"),
        ({"a": [True, False], "b": [1, 2]}, "i8"),  # pandas alone makes an object array of it
        ({"a": [True, False]}, "?"),
        ({"a": pd.array([1, 2], "Int8"), "b": pd.array([1, 2], "UInt8")}, "i2"),
        ({"a": pd.array([True, False], "boolean"), "b": pd.array([1.5, 2], "Float32")}, "f4"),
        ({"a": pd.arrays.SparseArray([0.0, 1.0])}, "f8"),
        ({"a": pd.arrays.SparseArray([0.0, np.nan])}, "f8"),
        ({}, "f8"),
    ],
)
def test_frame(columns: dict[str, Any], dtype: str) -> None:
    frame = pd.DataFrame(columns)
    before = frame.copy(deep=True)
    bound = describe(frame, "X")
    assert bound.type == Type(frame.shape, np.dtype(dtype))
    expected = np.array([np.asarray(c, dtype=dtype) for c in columns.values()], dtype=dtype).T
    np.testing.assert_array_equal(bound.value, expected.reshape(frame.shape))
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (["x", "y"], "not numbers"),
        (pd.Categorical([1, 2]), "not numbers"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "not numbers"),
        (pd.interval_range(0, 2), "not numbers"),
        (pd.array([1, None], "Int64"), "misses a value in row 1"),
        (pd.array([None, True], "boolean"), "misses a value in row 0"),
        (np.array([1j, 2]), "complex"),
    ],
)
def test_frame_refusals_name_the_column(column: Any, said: str) -> None:
    frame = pd.DataFrame({"good": [1.0, 2.0], "bad": column})
    with pytest.raises(LinealError) as caught:
        describe(frame, "X")
    assert said in str(caught.value)
    assert "'bad'" in str(caught.value)
    with pytest.raises(LinealError):
        describe(frame["bad"], "X")


def test_frame_with_equal_column_names() -> None:
    frame = pd.DataFrame([[1, 2.5], [3, 4.5]], columns=["a", "a"])
    np.testing.assert_array_equal(describe(frame, "X").value, [[1, 2.5], [3, 4.5]])


def test_series() -> None:
    bound = describe(pd.Series([1, 2, 3], dtype="Int32", name="y"), "y")
    assert bound.type == Type((3,), np.dtype("i4"))
    np.testing.assert_array_equal(bound.value, [1, 2, 3])


# -- own and to_numpy ----------------------------------------------------------------------------


def test_own_copies_or_shares_as_told() -> None:
    A = np.ones(3)
    assert own(A, copy=False) is A
    copied = own(A)
    A[0] = 9
    assert copied[0] == 1
    S = sp.csr_array(np.eye(3))
    assert not np.shares_memory(own(S).data, S.data)
    assert np.shares_memory(own(S, copy=None).data, S.data)
    assert own(2.5) == 2.5
    with pytest.raises(InputError, match="without a copy"):
        own(sp.csc_array(np.eye(3)), copy=False)
    with pytest.raises(InputError, match="list"):
        own([1, 2])


def test_to_numpy_is_the_dense_copy() -> None:
    da = pytest.importorskip("dask.array")
    D = np.array([[0.0, 2.0], [3.0, 0.0]])
    lazy_sparse = da.from_array(D, chunks=(2, 2)).map_blocks(
        sp.csr_array, meta=sp.csr_array((0, 0))
    )
    for value in (D, sp.coo_matrix(D), da.from_array(D, chunks=1), pd.DataFrame(D), lazy_sparse):
        dense = to_numpy(value)
        assert type(dense) is np.ndarray
        assert not np.shares_memory(dense, D)
        np.testing.assert_array_equal(dense, D)
    assert to_numpy(3) == 3
    with pytest.raises(InputError, match="no data"):
        to_numpy(spec((2, 2)))


# -- spec ----------------------------------------------------------------------------------------


def test_spec() -> None:
    bound = describe(spec((10**8, 1000), density=0.01, nonnegative=True), "A")
    assert bound.planned_only
    assert bound.type == Type((10**8, 1000), np.dtype("f8"))
    assert bound.facts.storage == "sparse"
    assert bound.facts.density == Density(0.01, DensityKind.ESTIMATED)
    assert bound.facts.properties == ("nonnegative",)
    assert describe(spec(5, "f4"), "v").type == Type((5,), np.dtype("f4"))
    assert describe(spec((4, 4), spd=True), "H").facts.properties == ("spd", "symmetric")
    assert spec((4, 4), diagonal=True).bandwidth == (0, 0)
    assert spec((4, 6), chunks=((2, 2), (6,))).chunks == ((2, 2), (6,))
    assert spec((2, 2)) == spec((2, 2))
    assert hash(spec((2, 2))) == hash(spec((2, 2)))


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"shape": (2, 3, 4)}, ShapeError, "3 dimensions"),
        ({"shape": (2.5, 3)}, ShapeError, "2.5"),
        ({"shape": (-1, 3)}, ShapeError, "negative"),
        ({"shape": (2, 3), "density": 1.5}, InputError, "density"),
        ({"shape": (2, 3), "density": float("nan")}, InputError, "density"),
        ({"shape": (2, 3), "symmetric": True}, InputError, "square"),
        ({"shape": 3, "lower": True}, InputError, "not a matrix"),
        ({"shape": (2, 2), "hermitian": True}, OptionError, "symmetric"),
        ({"shape": (2, 2), "dtype": "c16"}, DTypeError, "complex"),
        ({"shape": (2, 2), "storage": "csr"}, OptionError, "'sparse'"),
        ({"shape": (2, 2), "bandwidth": (1,)}, InputError, "pair"),
        ({"shape": (2, 2), "chunks": ((1, 2), (2,))}, ShapeError, "add up"),
    ],
)
def test_spec_refusals(arguments: dict[str, Any], error: type[LinealError], said: str) -> None:
    with pytest.raises(error) as caught:
        spec(**arguments)
    assert said in str(caught.value)


# -- declare -------------------------------------------------------------------------------------

_SYMMETRIC = np.array([[2.0, 1.0], [1.0, 3.0]])
_LOWER = np.array([[1.0, 0.0], [2.0, 3.0]])
_TURN = np.array([[0.6, -0.8], [0.8, 0.6]])
_SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("matrix", "facts", "known"),
    [
        (_SYMMETRIC, {"symmetric": True}, {"symmetric"}),
        (_SYMMETRIC, {"spd": True}, {"spd", "symmetric"}),
        (_LOWER, {"lower": True}, {"lower"}),
        (_LOWER.T, {"upper": True}, {"upper"}),
        (np.eye(2), {"diagonal": True}, {"diagonal", "lower", "upper", "symmetric"}),
        (_TURN, {"orthogonal": True}, {"orthogonal"}),
        (_SWAP, {"permutation": True}, {"permutation", "orthogonal", "finite", "nonnegative"}),
        (_LOWER, {"finite": True, "nonnegative": True}, {"finite", "nonnegative"}),
        (_LOWER, {"bandwidth": (1, 0)}, {"lower"}),
        (_LOWER, {"symmetric": False}, set()),
        (np.array([[np.nan]]), {"symmetric": True}, {"symmetric"}),
        (np.zeros((0, 0)), {"spd": True, "finite": True}, {"spd", "symmetric", "finite"}),
    ],
)
def test_declared_facts_that_hold(
    form: str, matrix: np.ndarray, facts: dict[str, Any], known: set[str]
) -> None:
    A = declare(matrix if form == "dense" else sp.csr_array(matrix), **facts)
    bound = describe(A, "A")
    assert set(bound.facts.properties) == known
    assert bound.facts.storage == form
    np.testing.assert_array_equal(np.asarray(A), matrix)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("matrix", "facts", "said"),
    [
        (_LOWER, {"symmetric": True}, "symmetric, but entry [0, 1] is 0.0 and [1, 0] is 2.0"),
        (-np.eye(2), {"spd": True}, "diagonal entry [0, 0] is -1.0"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), {"spd": True}, "smallest eigenvalue is -1"),
        (_LOWER.T, {"lower": True}, "lower, but entry [0, 1] is 2.0"),
        (_LOWER, {"upper": True}, "upper, but entry [1, 0] is 2.0"),
        (_LOWER, {"diagonal": True}, "entry [1, 0] is 2.0"),
        (_LOWER, {"bandwidth": (0, 1)}, "entry [1, 0] is 2.0"),
        (_SYMMETRIC, {"orthogonal": True}, "columns 0 and 0 have product 5"),
        (2 * _SWAP, {"permutation": True}, "entry [0, 1] is 2.0"),
        (np.array([[1.0, 0.0], [1.0, 0.0]]), {"permutation": True}, "column 0 has 2 ones"),
        (np.array([[1.0, np.inf]]), {"finite": True}, "finite, but entry [0, 1] is inf"),
        (np.array([[1.0], [np.nan]]), {"finite": True}, "entry [1, 0] is nan"),
        (np.array([[1.0, 0.0], [0.0, -2.0]]), {"nonnegative": True}, "entry [1, 1] is -2.0"),
        (np.ones((2, 3)), {"symmetric": True}, "not square"),
    ],
)
def test_declared_facts_that_do_not_hold(
    form: str, matrix: np.ndarray, facts: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        declare(matrix if form == "dense" else sp.csr_array(matrix), **facts)
    assert said in str(caught.value)
    assert "A: " in str(caught.value)
    assert caught.value.hint


def test_declare_checks_large_matrices_on_a_sample() -> None:
    n = 2500
    A = np.zeros((n, n), dtype=np.float32)
    declare(A, symmetric=True)
    A[n - 1, 0] = 1.0  # the last row is in the sample
    with pytest.raises(InputError, match="symmetric"):
        declare(A, symmetric=True)
    with pytest.raises(InputError, match=r"entry \[2499, 0\]"):
        declare(A, upper=True)


def test_declare_adds_to_what_was_declared() -> None:
    A = declare(declare(_SYMMETRIC, symmetric=True), finite=True)
    assert A.properties == ("finite", "symmetric")
    assert (A.shape, A.dtype, A.ndim) == ((2, 2), np.dtype("f8"), 2)
    with pytest.raises(OptionError, match="hermitian"):
        declare(_SYMMETRIC, hermitian=True)


def test_declare_on_a_vector_and_on_integers() -> None:
    assert declare(np.arange(3), finite=True, nonnegative=True).properties == (
        "finite",
        "nonnegative",
    )
    with pytest.raises(InputError, match=r"entry \[1\] is -1"):
        declare(np.array([0, -1]), nonnegative=True)
    with pytest.raises(InputError, match="not a matrix"):
        declare(np.arange(3), lower=True)


@pytest.mark.dask_versions
def test_declare_on_a_dask_array_checks_the_shape_only() -> None:
    da = pytest.importorskip("dask.array")
    A = declare(da.ones((4, 4), chunks=2), symmetric=True)
    bound = describe(A, "A")
    assert bound.facts.properties == ("symmetric",)
    assert bound.facts.chunks == ((2, 2), (2, 2))
    with pytest.raises(InputError, match="square"):
        declare(da.ones((4, 3), chunks=2), symmetric=True)
