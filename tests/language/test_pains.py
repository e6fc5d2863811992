"""What users of this field suffer from, parts A, B and D: one test per case.

Program and lazy-array level; kernels have theirs in tests/kernels, clusters in tests/blocked.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import lineal as la
from lineal.errors import LinealError, LinealWarning, ShapeError

from .harness import agree, assert_same

rng = np.random.default_rng(0)


def _product(A, B):
    return A @ B


# ------------------------------------------------------- A. shapes, broadcasting, scalars


@pytest.mark.parametrize(("a", "b"), [((3, 1), (5, 2)), ((1,), (3,)), ((3, 4), (3, 4))])
def test_pains_A1(a, b):
    with pytest.raises(ShapeError) as caught:
        la.program(_product).plan(np.ones(a), np.ones(b))
    text = str(caught.value)
    assert str(a) in text
    assert str(b) in text
    assert "A: float64" in text
    assert "B: float64" in text
    with pytest.raises(ShapeError) as caught:
        la.asarray(np.ones(a)) @ la.asarray(np.ones(b))
    assert str(a) in str(caught.value)


def test_pains_A2():
    def f(X):
        return np.trace(X.T @ X), np.sum(X * X), np.einsum("ij,ij->", X, X)

    assert [float(v) for v in agree(f, np.ones((4, 5)))] == [20.0, 20.0, 20.0]


def test_pains_A4():
    A, v = rng.normal(size=(100, 24)), rng.normal(size=100)

    def good(A, v):
        return A * v[:, None]

    def bad(A, v):
        return A + v

    agree(good, A, v)
    with pytest.raises(ShapeError, match="broadcast"):
        la.program(bad).plan(A, v)


def test_pains_A5():
    da = pytest.importorskip("dask.array")
    A, B = rng.normal(size=(6, 6)), rng.normal(size=(6, 6))
    found = la.program(_product)(da.from_array(A, chunks=4), da.from_array(B, chunks=5))
    np.testing.assert_allclose(found, A @ B)

    def add(a, b):
        return a + b

    a, b = np.arange(3.0), np.arange(3.0) + 1
    found = la.program(add)(da.from_array(a, chunks=((2, 1),)), da.from_array(b, chunks=((1, 2),)))
    np.testing.assert_array_equal(found, a + b)


@pytest.mark.parametrize(
    ("a", "b", "shape"),
    [((4, 3), (3,), (4,)), ((3,), (3, 4), (4,)), ((3,), (3,), ()), ((1,), (1,), ())],
)
def test_pains_A7(a, b, shape):
    X, Y = la.asarray(np.ones(a)), la.asarray(np.ones(b))
    assert (X @ Y).shape == shape
    assert np.shape((X @ Y).compute()) == shape
    assert np.shape(agree(_product, np.ones(a), np.ones(b))) == shape


def test_pains_A8():
    with pytest.raises(LinealError, match=r"two dimensions|dimensions"):
        la.program(_product)(np.ones((10, 2, 1)), np.ones((10, 2, 2)))

    def scaled(A):
        return 2 @ A

    with pytest.raises(ShapeError, match="scalar"):
        la.program(scaled)(np.ones((2, 2)))


def _residual(X, beta, y):
    return X @ beta - y


def test_pains_A10():
    with pytest.warns(LinealWarning, match=r"\(20, 20\)") as caught:
        found = la.program(_residual)(np.ones((20, 2)), np.ones(2), np.ones((20, 1)))
    assert found.shape == (20, 20)
    assert caught[0].lineno == _residual.__code__.co_firstlineno + 1


def test_pains_A11():
    def f(A, x, tol):
        s = x.T @ x
        B = A * s
        C = A / s
        k = 0
        while s > tol:
            s = s * 0.5
            k = k + 1
        if s:
            k = k + 100
        return B, C, s, k

    def as_float(A, x):
        s = x.T @ x
        return A * float(s[0, 0]), float((x * x).sum())

    A = rng.normal(size=(3, 3))
    x = rng.normal(size=(3, 1))
    agree(f, A, x, 1e-3)
    agree(f, A, x[:, 0], 1e-3)
    agree(as_float, A, x)

    def too_many(x):
        return bool(x)

    with pytest.raises(ShapeError, match="ambiguous"):
        la.program(too_many)(x)
    lazy = la.asarray(x)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(lazy)
    assert float(lazy.T @ lazy) == pytest.approx(float((x.T @ x)[0, 0]))
    assert bool((lazy * lazy).sum() > 0) is True


def test_pains_A13():
    def f(X, Y):
        coef, residuals, rank, s = np.linalg.lstsq(X, Y, rcond=None)
        return coef, residuals, rank, s

    X = rng.normal(size=(20, 3))
    many = agree(f, X, rng.normal(size=(20, 2)))
    assert many[0].shape == (3, 2)
    assert many[1].shape == (2,)
    one = agree(f, X, rng.normal(size=20))
    assert one[1].shape == (1,)


def test_pains_A14():
    def f(A):
        return A.argmin(), A.argmin(axis=0), A.argmin(axis=1), A.argmin(axis=-1)

    A = rng.normal(size=(2, 3))
    assert [np.shape(v) for v in agree(f, A)] == [(), (3,), (2,), (2,)]

    def g(A):
        return A.argmin(axis=2)

    with pytest.raises(ShapeError, match="axis 2"):
        la.program(g)(A)


# --------------------------------------------------------- B. unknown sizes, empty arrays


def test_pains_B1():
    def f(v):
        kept = v[v != 0]
        return kept.min(), kept.max(), kept.std(), kept.argmin()

    low, high, spread, at = agree(f, np.arange(4.0))
    assert (low, high, at) == (1, 3, 0)
    assert spread == pytest.approx(0.8164965809)
    with pytest.raises(ValueError, match="zero-size") as caught:
        la.program(f)(np.zeros(3))
    assert "line " in "".join(caught.value.__notes__)


def test_pains_B4():
    def f(v):
        return np.argmax(v[v > 0])

    agree(f, np.array([-1.0, 3.0, 2.0]))


def test_pains_B5():
    pd = pytest.importorskip("pandas")

    def fit(X, y):
        ones = np.ones((X.shape[0], 1))
        Z = np.hstack([ones, X])
        return np.linalg.solve(Z.T @ Z, Z.T @ y)

    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    y = rng.normal(size=30)
    found = la.program(fit)(frame, y)
    np.testing.assert_allclose(found, fit(frame.to_numpy(), y), rtol=1e-9)


@pytest.mark.parametrize(
    "shapes", [((3, 0), (0, 2)), ((0, 3), (3, 4)), ((5, 0), (0, 7), (7, 1)), ((0, 0), (0, 0))]
)
def test_pains_B7(shapes):
    def two(A, B):
        return A @ B

    def three(A, B, C):
        return A @ B @ C, np.einsum("ij,jk,kl->il", A, B, C)

    program = la.program(two if len(shapes) == 2 else three)
    arrays = [np.ones(s) for s in shapes]
    agree(program, *arrays)
    plan = program.plan(*arrays)
    assert plan.explain()
    assert plan.peak_bytes >= 0
    sparse = [sp.csr_array(a) for a in arrays]
    assert_same(program(*sparse), program.python(*arrays))


def test_pains_B8():
    def regression(X, y):
        return np.linalg.solve(X.T @ X, X.T @ y)

    def means(X, k, iters):
        C = X[:k]
        for _ in range(iters):
            D = (X * X).sum(axis=1)[:, None] - 2 * X @ C.T + (C * C).sum(axis=1)
            near = D.argmin(axis=1)
            member = (near[:, None] == np.arange(k)).astype(float)
            count = np.maximum(member.sum(axis=0), 1.0)
            C = (member.T @ X) / count[:, None]
        return C, near

    def component(X):
        centred = X - X.mean(axis=0)
        values = np.linalg.eigvalsh(centred.T @ centred)
        return np.maximum(values, 0.0)

    def ranks(P, d, iters):
        n = P.shape[0]
        r = np.full(n, 1.0 / max(n, 1))
        for _ in range(iters):
            r = d * (P @ r) + (1 - d) / max(n, 1)
        return r

    agree(regression, np.array([[2.0]]), np.array([3.0]))
    X = rng.normal(size=(4, 2))
    centres, near = agree(means, X, 4, 3)
    assert sorted(near.tolist()) == [0, 1, 2, 3]
    np.testing.assert_allclose(centres, X)
    assert np.isfinite(agree(component, X[:1])).all()
    assert agree(ranks, np.ones((1, 1)), 0.85, 5)[0] == pytest.approx(1.0)
    assert agree(ranks, np.ones((0, 0)), 0.85, 5).shape == (0,)


# -------------------------------------------------------------------------------- D. sparse


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_pains_D1(kind):
    dense = sp.random_array((40, 30), density=0.1, rng=np.random.default_rng(1)).toarray()
    D = rng.normal(size=(30, 5))
    E = rng.normal(size=(40, 30))

    def f(S, D, E):
        return S @ D, S.T @ S, S.sum(), S.sum(axis=0), S * 2, S + E, S.mean(axis=1)

    assert_same(la.program(f)(kind(dense), D, E), f(dense, D, E))
    assert_same(la.program(f)(sp.coo_array(dense), D, E), f(dense, D, E))


def test_pains_D2():
    def f(A, B, C):
        return np.concatenate([A, B, C])

    A = sp.csr_array(np.eye(3))
    found = la.program(f)(A, sp.csr_array((0, 3)), sp.csr_array((2, 3)))
    assert_same(found, np.vstack([np.eye(3), np.zeros((2, 3))]))


def test_pains_D4():
    A = np.diag([0.82, 0.84, 0.0])
    B = np.zeros((3, 3))
    B[0, 2], B[1, 0] = 0.41, 0.90

    def f(A, B):
        return A @ B, A * B

    product, entrywise = la.program(f)(sp.csr_array(A), sp.csr_matrix(B))
    assert product[0, 2] == pytest.approx(0.3362)
    assert product[1, 0] == pytest.approx(0.756)
    assert not entrywise.toarray().any()


def test_pains_D5():
    S = sp.random_array((2500, 3920), density=1e-3, rng=np.random.default_rng(2), format="csr")
    v = rng.normal(size=3920)

    def times(S, v):
        return S * v

    found = la.program(times)(S, v)
    assert sp.issparse(found)
    assert found.nnz <= S.nnz
    assert_same(found, S.toarray() * v)

    def divided(S, v):
        return S / v

    v[3] = 0.0
    with np.errstate(all="ignore"):
        expected = S.toarray() / v
        found = la.program(divided)(S, v)
    assert_same(found, expected)


def test_pains_D7():
    S = np.array([[1.0, 0, 2, 0], [0, 3, 0, 1], [4, 0, 0, 1]])

    def f(S):
        return S / S.mean(axis=0)

    found = la.program(f)(sp.csr_array(S))
    assert_same(found, f(S))
    assert not np.isnan(found.toarray() if sp.issparse(found) else found).any()


def test_pains_D10():
    X = rng.uniform(size=(200, 14))
    X[X < 0.1] = 0
    y = rng.normal(size=200)

    def fit(X, y):
        return np.linalg.lstsq(X, y, rcond=None)[0]

    np.testing.assert_allclose(la.program(fit)(sp.csr_array(X), y), fit(X, y), atol=1e-6)
    onehot = np.eye(4)[rng.integers(0, 4, 50)]
    deficient = np.hstack([np.ones((50, 1)), onehot])
    np.testing.assert_allclose(
        la.program(fit)(sp.csr_array(deficient), y[:50]), fit(deficient, y[:50]), atol=1e-9
    )


def test_pains_D11():
    X = sp.random_array((100, 50), density=0.1, rng=np.random.default_rng(3), format="csr")
    y = (rng.uniform(size=100) > 0.5).astype(float)

    def fit(X, y, iters):
        w = np.zeros(X.shape[1])
        b = 0.0
        for _ in range(iters):
            p = 1 / (1 + np.exp(-(X @ w + b)))
            w = w - 0.1 * (X.T @ (p - y))
            b = b - 0.1 * (p - y).sum()
        return w, b

    assert_same(la.program(fit)(X, y, 20), fit(X.toarray(), y, 20))


def test_pains_D13():
    S = np.zeros((8, 9))
    S[3, :] = rng.normal(size=9)
    S[:, 5] = rng.normal(size=8)

    def f(S):
        return S.prod(axis=1), S.prod(axis=0), S.T @ S, S @ S.T, S.max(axis=0), S.min(axis=1)

    for kind in (sp.csr_array, sp.csc_array, sp.coo_array):
        program = la.program(f)
        for _ in range(2):  # the second time used to be wrong
            assert_same(program(kind(S)), f(S))


def test_pains_D14():
    twice = sp.coo_array((np.array([1.0, 2.0, 5.0]), ([0, 0, 1], [0, 0, 1])), shape=(2, 2))

    def f(S):
        return S * S, S.sum(), S

    squared, total, same = la.program(f)(twice)
    assert squared.toarray()[0, 0] == 9
    assert total == 8
    assert same.toarray()[0, 0] == 3
    unsorted = sp.csr_array(
        (np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2)
    )
    assert_same(la.program(f)(unsorted)[2], unsorted.toarray())
    zeros = sp.csr_array((np.array([0.0, 2.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert_same(la.program(f)(zeros)[0], zeros.toarray() ** 2)
    broken = sp.csr_array(np.eye(3))
    broken.indptr = np.array([0, 2, 1, 3], dtype=broken.indptr.dtype)
    with pytest.raises(LinealError):
        la.program(f)(broken)


def test_pains_D16():
    A = sp.random_array((10, 100), density=0.01, rng=np.random.default_rng(4), format="csr")
    B = rng.normal(size=(100, 100))
    C = sp.random_array((100, 10), density=0.01, rng=np.random.default_rng(5), format="csr")

    def f(A, B, C):
        return np.linalg.multi_dot([A, B, C]), A @ B @ C

    assert_same(la.program(f)(A, B, C), f(A.toarray(), B, C.toarray()))


def test_pains_D17():
    s = sp.csr_array(np.array([[1.0], [1], [0.5], [1], [1]]))

    def f(D, s):
        return D.T @ s

    found = la.program(f)(np.ones((5, 5)), s)
    assert_same(found, np.full((5, 1), 4.5))
