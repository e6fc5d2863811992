"""Block independence: every operator, however its operands are cut, equals NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.blocked.harness import check, run_blocked, runtime, same, step_of, value_of

N, M = 11, 6
ROWS = {
    "one": (11,),
    "equal-ish": (4, 4, 3),
    "uneven": (1, 7, 3),
    "single": (1,) * 11,
    "empty": (0, 5, 0, 6, 0),
}
COLS = {"one": (6,), "two": (4, 2), "empty": (0, 3, 3)}
GRIDS = [(rows, cols) for rows in ROWS.values() for cols in COLS.values()]
DTYPES = ["f8", "f4", "i8", "i4", "i1", "bool"]


def array(dtype: str, shape: tuple[int, ...] = (N, M), seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape) * 3
    x[np.abs(x) < 1] = 0
    return x.astype(dtype)


def csr(dtype: str = "f8", shape: tuple[int, ...] = (N, M), seed: int = 0) -> Any:
    return sparse.csr_array(array(dtype, shape, seed))


@pytest.fixture(params=range(len(GRIDS)), ids=[f"{r}x{c}" for r in ROWS for c in COLS])
def grid(request: pytest.FixtureRequest) -> Any:
    return GRIDS[request.param]


@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise(grid: Any, dtype: str) -> None:
    x, y = array(dtype), array(dtype, seed=1)
    other = (ROWS["uneven"], COLS["two"])
    check("add", {}, [x, y], [grid, grid])
    check("maximum", {}, [x, y], [grid, other])
    check("less", {}, [x, y[:, :1]], [grid, (other[0], (1,))])
    check("multiply", {}, [x, y[0]], [grid, None])
    check("multiply", {}, [x, y[0]], [grid, (other[1],)])
    check("where", {}, [x > 0, x, y], [grid, other, None])
    check("cast", {"dtype": "float32"}, [x], [grid])
    check("clip", {"has_lo": True, "has_hi": False}, [x, np.dtype(dtype).type(0)], [grid, None])


def test_elementwise_with_scalars(grid: Any) -> None:
    for dtype in ("f4", "i1"):
        check("multiply", {}, [array(dtype), 2], [grid, None])
        check("multiply", {}, [2.5, array(dtype)], [None, grid])
    check("round", {"decimals": 1}, [array("f8")], [grid])


def test_outer_broadcast(grid: Any) -> None:
    x, y = array("f8", (N, 1)), array("f8", (1, M), 1)
    check("subtract", {}, [x, y], [(grid[0], (1,)), ((1,), grid[1])])
    check("subtract", {}, [x, y[0]], [(grid[0], (1,)), None])


@pytest.mark.parametrize("dtype", DTYPES)
def test_matmul(grid: Any, dtype: str) -> None:
    a, b = array(dtype, (N, M)), array(dtype, (M, 4), 1)
    rows, cols = grid
    tall = array(dtype, (N, 3), 2)
    check("matmul", {}, [a, b], [grid, None])
    check("matmul", {}, [a, b], [grid, ((2, 4), (3, 1))])
    check("matmul", {}, [b.T, a.T], [None, (cols, rows)])
    check("matmul", {}, [a, b[:, 0]], [grid, None])
    check("matmul", {}, [a[:, 0], a], [(rows,), grid])
    check("matmul", {}, [a[:, 0], tall[:, 1]], [(rows,), None])
    check("matmul", {}, [a.T, tall], [(cols, rows), ((5, 6), (3,))])
    check("outer", {}, [a[:, 0], b[0]], [(rows,), None])
    check("outer", {}, [a[:, 0], a[0]], [(rows,), (cols,)])


def test_lazy_transpose_product(grid: Any) -> None:
    for a in (array("f8"), csr()):
        b = array("f8", (N, 3), 1)
        full = a.toarray() if sparse.issparse(a) else a
        for other in (b, b[:, 0], sparse.csr_array(b)):
            rt = runtime()
            blocked = rt.adopt(a, value_of("%0", a, grid))
            (flipped,) = rt.run(step_of("transpose", {}, 1, [full.T]), [blocked])
            dense_other = other.toarray() if sparse.issparse(other) else other
            out = full.T @ dense_other
            split = (ROWS["uneven"],) if other.ndim == 1 else (ROWS["uneven"], (2, 1))
            moved = rt.adopt(other, value_of("%1", other, split))
            (made,) = rt.run(step_of("matmul", {}, 2, [out]), [flipped, moved])
            same(rt.fetch(made), out)
            (made,) = rt.run(step_of("matmul", {}, 2, [full.T @ full]), [flipped, blocked])
            same(rt.fetch(made), full.T @ full)
            (made,) = rt.run(step_of("matmul", {}, 2, [full @ full.T]), [blocked, flipped])
            same(rt.fetch(made), full @ full.T)
            (made,) = rt.run(step_of("sum", {"axis": 0}, 1, [full.sum(1)]), [flipped])
            same(rt.fetch(made), full.sum(1))
            same(rt.fetch(flipped), full.T)


REDUCED = ["sum", "prod", "mean", "min", "max", "any", "all", "count_nonzero", "var", "std"]


@pytest.mark.parametrize("op", [*REDUCED, "argmin", "argmax"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(grid: Any, op: str, dtype: str) -> None:
    x = array(dtype)
    for axis in (None, 0, 1):
        for keepdims in (False, True):
            check(op, {"axis": axis, "keepdims": keepdims}, [x], [grid])
    check(op, {"axis": 0, "keepdims": False}, [x[:, 0]], [(grid[0],)])
    if op not in ("argmin", "argmax"):
        check(op, {"axis": (0, 1), "keepdims": False}, [x], [grid])


def test_reduction_dtypes(grid: Any) -> None:
    for op in ("sum", "prod", "mean"):
        check(op, {"axis": 0, "keepdims": False, "dtype": "float32"}, [array("i4")], [grid])
    check("var", {"axis": 0, "keepdims": False, "ddof": 1}, [array("f4")], [grid])
    check("std", {"axis": None, "keepdims": False, "ddof": 1}, [array("i8")], [grid])


def test_variance_does_not_cancel(grid: Any) -> None:
    check("var", {"axis": 0, "keepdims": False}, [array("f8") + 1e9], [grid], rtol=1e-6)


def test_nan_and_ties_in_arg_reductions(grid: Any) -> None:
    x = array("f8")
    x[3, 2] = x[8, 1] = np.nan
    for op in ("argmin", "argmax", "min", "max", "sum"):
        for axis in (None, 0, 1):
            check(op, {"axis": axis, "keepdims": False}, [x], [grid])
    check("argmax", {"axis": None, "keepdims": False}, [np.ones((N, M))], [grid])


@pytest.mark.parametrize("order", [None, 0, 1, 2, 3, np.inf, -np.inf])
def test_vector_norms(grid: Any, order: Any) -> None:
    x = array("f8")
    for v in (x, array("f4"), array("i4")):
        for axis in (0, 1):
            check("norm", {"ord": order, "axis": axis, "keepdims": False}, [v], [grid])
        check("norm", {"ord": order, "axis": None, "keepdims": False}, [v[:, 0]], [(grid[0],)])
    check("norm", {"ord": None, "axis": None, "keepdims": True}, [x], [grid])


@pytest.mark.parametrize("order", ["fro", 1, -1, np.inf, -np.inf])
def test_matrix_norms(grid: Any, order: Any) -> None:
    check("norm", {"ord": order, "axis": None, "keepdims": False}, [array("f8")], [grid])


def test_empty_block_reductions_b1() -> None:
    """pains-B1: a filtered vector whose blocks may be empty."""
    v = np.array([0.0, 1, 2, 3])
    rt = runtime()
    x = rt.adopt(v, value_of("%0", v, ((1,) * 4,)))
    (mask,) = rt.run(step_of("not_equal", {}, 2, [v != 0]), [x, 0.0])
    kept = v[v != 0]
    spec = (("array", 0),)
    (y,) = rt.run(step_of("getitem", {"spec": spec}, 2, [kept]), [x, mask])
    assert y.splits == ((0, 1, 1, 1),)
    for op, right in [("min", 1.0), ("max", 3.0), ("std", 0.816496580927726), ("argmin", 0)]:
        attrs = {"axis": None, "keepdims": False}
        (r,) = rt.run(step_of(op, attrs, 1, [np.asarray(right)[()]]), [y])
        assert rt.fetch(r) == pytest.approx(right)


def test_reductions_of_nothing() -> None:
    x = np.zeros((0, 3))
    for op in ("sum", "prod", "any", "all", "count_nonzero"):
        for axis in (None, 0, 1):
            check(op, {"axis": axis, "keepdims": False}, [x], [((0, 0), (2, 1))])
    check("max", {"axis": 1, "keepdims": False}, [x], [((0, 0), (2, 1))])
    with pytest.raises(ValueError, match="zero-size array"):
        run_blocked(
            "max", {"axis": 0, "keepdims": False}, [x], [((0, 0), (3,))], expected=np.zeros(3)
        )


@pytest.mark.filterwarnings("ignore")
def test_mean_of_nothing_is_nan() -> None:
    x = np.zeros((0, 3))
    check("mean", {"axis": 0, "keepdims": False}, [x], [((0, 0), (2, 1))])
    check("var", {"axis": 0, "keepdims": True}, [x], [((0,), (2, 1))])


SLICES = [
    (("slice", None, None, None), ("slice", 1, 5, 2)),
    (("slice", 2, 9, 1),),
    (("slice", 10, None, -1),),
    (("slice", 9, 1, -3), ("slice", 5, None, -2)),
    (("slice", 4, 4, 1),),
    (("slice", 0, 11, 4), ("new",), ("int", 0)),
    (("int", 0),),
    (("slice", None, None, None), ("int", 0)),
    (("int", 0), ("slice", 1, 4, 1)),
]


@pytest.mark.parametrize("spec", SLICES, ids=str)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_slices(grid: Any, spec: Any, kind: str) -> None:
    x = array("f8") if kind == "dense" else csr()
    if kind == "sparse" and ("new",) in spec:
        return
    values = [2] if any(e[0] == "int" for e in spec) else []
    check("getitem", {"spec": spec}, [x, *values], [grid, *([None] * len(values))])


def test_index_arrays(grid: Any) -> None:
    rng = np.random.default_rng(5)
    rows, cols = grid
    index = rng.integers(-N, N, 17)
    mask = rng.random(N) < 0.5
    full = ("slice", None, None, None)
    for x in (array("f8"), csr(), array("i4")):
        check("getitem", {"spec": (("array", 0),)}, [x, index], [grid, None])
        check("getitem", {"spec": (("array", 0),)}, [x, index], [grid, ((9, 8),)])
        check("getitem", {"spec": (("array", 0),)}, [x, mask], [grid, None])
        check("getitem", {"spec": (("array", 0),)}, [x, mask], [grid, ((6, 5),)])
        check("getitem", {"spec": (full, ("array", 0))}, [x, np.array([3, 0, -1])], [grid, None])
        check("getitem", {"spec": (("array", 0),)}, [x, np.zeros(N, bool)], [grid, None])
        check("getitem", {"spec": (("array", 0),)}, [x, np.zeros(0, int)], [grid, None])
        column = rng.integers(-M, M, 17)
        spec = (("array", 0), ("array", 1))
        check("getitem", {"spec": spec}, [x, index, column], [grid, None, None])
        spec = (("array", 0), ("int", 1))
        check("getitem", {"spec": spec}, [x, index, 3], [grid, None, None])
    x = array("f8")
    check("getitem", {"spec": (("array", 0),)}, [x, x > 0], [grid, (rows, cols)])
    check("getitem", {"spec": (("array", 0),)}, [x, x > 0], [grid, None])


def test_index_out_of_bounds_names_the_step() -> None:
    rt = runtime()
    x = rt.adopt(np.ones((4, 2)), value_of("%0", np.ones((4, 2)), ((2, 2), (2,))))
    step = step_of("getitem", {"spec": (("int", 0),)}, 2, [np.ones(2)], text="X[k]")
    with pytest.raises(IndexError, match="out of bounds") as caught:
        rt.run(step, [x, 9])
    assert any("X[k]" in note for note in caught.value.__notes__)


SET_SPECS: list[Any] = [
    ((("slice", 2, 9, 1),), []),
    ((("slice", 9, 1, -3), ("slice", 0, 6, 2)), []),
    ((("int", 0),), [4]),
    ((("slice", None, None, None), ("int", 0)), [-1]),
    ((("array", 0),), [np.array([1, 5, -1])]),
    ((("array", 0),), [np.arange(N) % 3 == 0]),
    ((("slice", 3, 3, 1),), []),
]


@pytest.mark.parametrize(("spec", "index"), SET_SPECS, ids=range(len(SET_SPECS)))
def test_setitem(grid: Any, spec: Any, index: Any) -> None:
    from lineal.kernels.registry import get

    for x in (array("f8"), array("i4"), csr()):
        full = x.toarray() if sparse.issparse(x) else x
        shape = get("getitem")(full, *index, spec=spec).shape
        rest = [None] * len(index)
        check("setitem", {"spec": spec}, [x, 7, *index], [grid, None, *rest])
        value = array("f8", shape, 9)
        check("setitem", {"spec": spec}, [x, value, *index], [grid, None, *rest])
        if value.ndim == 2:
            row = value[:1] if len(value) else value
            check("setitem", {"spec": spec}, [x, row, *index], [grid, None, *rest])
        if value.size and min(shape) > 1:
            cut = tuple((1, n - 1) for n in shape)
            check("setitem", {"spec": spec}, [x, value, *index], [grid, cut, *rest])


def test_setitem_mask(grid: Any) -> None:
    x = array("f8")
    check("setitem", {"spec": (("array", 0),)}, [x, 1.5, x > 0], [grid, None, grid])
    check("setitem", {"spec": (("array", 0),)}, [x, 1.5, x > 0], [grid, None, None])


def test_setitem_wrong_shape() -> None:
    spec = (("slice", 0, 3, 1),)
    with pytest.raises(ValueError, match="could not broadcast"):
        run_blocked(
            "setitem",
            {"spec": spec},
            [np.ones((4, 2)), np.ones(3)],
            [((2, 2), (2,)), None],
            expected=np.ones((4, 2)),
        )


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_concatenate(grid: Any, kind: str) -> None:
    x = array("f8") if kind == "dense" else csr()
    y = array("f4", (N, M), 1)
    other = (ROWS["uneven"], COLS["two"])
    for axis in (0, 1):
        check("concatenate", {"axis": axis}, [x, y], [grid, other])
        check("concatenate", {"axis": axis}, [x, y, x], [grid, None, grid])
    check("concatenate", {"axis": 0}, [array("i4", (N,)), array("f4", (3,))], [(grid[0],), None])


def test_joining_sparse_blocks_stays_sparse_d2() -> None:
    """pains-D2: three sparse blocks, one without rows, one all zero."""
    parts = [csr(), sparse.csr_array((0, M)), sparse.csr_array((3, M))]
    cuts: list[Any] = [((5, 6), (M,)), ((0,), (M,)), ((3,), (M,))]
    (found,) = run_blocked("concatenate", {"axis": 0}, parts, cuts)
    assert sparse.issparse(found)
    same(found, np.concatenate([p.toarray() for p in parts]))


def test_reshape(grid: Any) -> None:
    x = array("f8")
    rows, _ = grid
    check("reshape", {"shape": (N * M,)}, [x], [grid])
    check("reshape", {"shape": (M, N)}, [x], [grid])
    check("reshape", {"shape": (22, 3)}, [x], [grid])
    check("reshape", {"shape": (N, 1)}, [x[:, 0]], [(rows,)])
    check("reshape", {"shape": (1, N)}, [x[:, 0]], [(rows,)])
    check("reshape", {"shape": (N,)}, [x[:, :1]], [(rows, (1,))])
    check("reshape", {"shape": (N,)}, [x[:, :1].T], [((1,), rows)])
    check("reshape", {"shape": (1, N)}, [x[:, :1]], [(rows, (0, 1))])


def test_broadcast_diag_trace_triangles(grid: Any) -> None:
    x = array("f8")
    rows, cols = grid
    check("broadcast_to", {"shape": (N, M)}, [x[:, :1]], [(rows, (1,))])
    check("broadcast_to", {"shape": (4, M)}, [x[0]], [(cols,)])
    for v in (x, csr(), array("i1")):
        for k in (0, 1, -1, 3, -7, 20, -20):
            check("diag", {"k": k}, [v], [grid])
            check("trace", {"offset": k}, [v], [grid])
            check("tril", {"k": k}, [v], [grid])
            check("triu", {"k": k}, [v], [grid])
    for k in (0, 2, -2):
        check("diag", {"k": k}, [x[:, 0]], [(rows,)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_scans_and_diff(grid: Any, dtype: str) -> None:
    x = array(dtype)
    for op in ("cumsum", "cumprod"):
        for axis in (None, 0, 1):
            check(op, {"axis": axis, "dtype": None}, [x], [grid])
        check(op, {"axis": None, "dtype": None}, [x[:, 0]], [(grid[0],)])
    for axis in (0, 1):
        check("diff", {"n": 1, "axis": axis}, [x], [grid])
    check("diff", {"n": 2, "axis": 0}, [x[:, 0]], [(grid[0],)])


def test_bincount(grid: Any) -> None:
    x = np.abs(array("i8", (N,)))
    for attrs in ({"minlength": 0}, {"minlength": 20}):
        check("bincount", attrs, [x], [(grid[0],)])
        check("bincount", attrs, [x, array("f8", (N,))], [(grid[0],), None])


def test_creation(grid: Any) -> None:
    rows, _ = grid
    check("full", {"shape": (N, M), "dtype": "float32"}, [3], [None], out_splits=grid)
    check("eye", {"n": N, "m": M, "k": -1, "dtype": "float64"}, [], [], out_splits=grid)
    for start, step in ((0, 1), (3, 2), (0.5, 0.25)):
        stop = start + step * N
        kind = "int64" if isinstance(start, int) else "float64"
        attrs = {"start": start, "stop": stop, "step": step, "dtype": kind}
        check("arange", attrs, [], [], out_splits=(rows,))
    for end in (True, False):
        attrs = {"start": 0.1, "stop": 2.3, "num": N, "endpoint": end, "dtype": "float64"}
        check("linspace", attrs, [], [], out_splits=(rows,), rtol=0)


def test_sparse_blocks_d1(grid: Any) -> None:
    """pains-D1: what Dask arrays of SciPy blocks cannot do."""
    s, d = csr(), array("f8", (M, 3), 1)
    check("matmul", {}, [s, d], [grid, None])
    check("matmul", {}, [s, csr(shape=(M, 3), seed=3)], [grid, ((3, 3), (3,))])
    check("multiply", {}, [s, 2], [grid, None])
    check("add", {}, [s, array("f8", seed=2)], [grid, None])
    check("add", {}, [s, csr(seed=4)], [grid, (ROWS["uneven"], COLS["one"])])
    check("multiply", {}, [s, array("f8", (N, 1), 5)], [grid, (ROWS["single"], (1,))])
    for op in (*REDUCED, "argmin", "argmax"):
        for axis in (None, 0, 1):
            check(op, {"axis": axis, "keepdims": False}, [s], [grid])
    check("norm", {"ord": None, "axis": None, "keepdims": False}, [s], [grid])
    check("exp", {}, [s], [grid])


def test_full_row_and_column_d13(grid: Any) -> None:
    """pains-D13: a sparse matrix with one full row and one full column."""
    x = np.zeros((N, M))
    x[3], x[:, 5] = 2.0, 3.0
    s = sparse.csr_array(x)
    check("prod", {"axis": 0, "keepdims": False}, [s], [grid])
    check("prod", {"axis": 1, "keepdims": False}, [s], [grid])
    check("matmul", {}, [sparse.csr_array(x.T), s], [(grid[1], grid[0]), grid])


def test_non_finite_meets_a_structural_zero(grid: Any) -> None:
    s = csr()
    d = array("f8", (M, 2))
    d[1, 0], d[2, 1] = np.nan, np.inf
    check("matmul", {}, [s, d], [grid, None])
    check("multiply", {}, [s, d[:, 0]], [grid, None])
