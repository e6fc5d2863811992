"""What users of this field suffer from, parts E, F, H and K11: one test per case.

Program and lazy-array level; kernels have theirs in tests/kernels, clusters in tests/blocked.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import lineal as la
from lineal.errors import DTypeError, LinealError, ShapeError

from .harness import agree, assert_same

rng = np.random.default_rng(0)


def _product(A, B):
    return A @ B


# ----------------------------------------------------- E. rewrites and common subexpressions


def test_pains_E1():
    def f(X):
        return np.sum(np.prod(X, axis=1))

    assert agree(f, np.array([[0.1, 0.2], [0.3, 0.5]])) == pytest.approx(0.17)


def test_pains_E2():
    R = np.zeros((15, 4))
    R[0:2, 0:1], R[2:14, 1:3], R[14:15, 3:4] = rng.normal(size=(2, 1)), rng.normal(size=(12, 2)), 1
    Y = rng.normal(size=(15, 15))

    def f(R, Y):
        return R.T @ Y

    assert agree(f, R, Y).shape == (4, 15)
    assert_same(la.program(f)(sp.csr_array(R), Y), R.T @ Y)


def _same_under_all_algebras(function, *args):
    """Overflow and NaN must be NumPy's whatever the rewriting mode."""
    with np.errstate(all="ignore"):
        expected = function(*args)
        for algebra in ("strict", "real"):
            assert_same(la.program(function).run(*args, algebra=algebra), expected)


def test_pains_E5():
    def f(a, X):
        return np.sum(a * X), np.sum(a * X, axis=1)

    _same_under_all_algebras(f, np.inf, np.array([[0.0, 1.0]]))
    _same_under_all_algebras(f, 1e-308, np.full((1, 10), 1e308))
    assert la.program(f)(1e-308, np.full((1, 10), 1e308))[0] == pytest.approx(10.0)


def test_pains_E7():
    def f(A, B, C):
        return A @ B + A @ C

    args = np.array([[1e308]]), np.array([[10.0]]), np.array([[-10.0]])
    _same_under_all_algebras(f, *args)


def test_pains_E8():
    def f(A, B):
        return A * B * A

    _same_under_all_algebras(f, np.array([1e200]), np.array([1e-200]))
    assert la.program(f)(np.array([1e200]), np.array([1e-200]))[0] == pytest.approx(1e200)


def test_pains_E10():
    def f(x):
        return np.sqrt(np.abs(x * x))

    _same_under_all_algebras(f, np.array([np.finfo(np.float32).max, 2.0], np.float32))


def test_pains_E11():
    def f(a, b):
        return np.exp(a) * np.exp(b)

    _same_under_all_algebras(f, np.array([800.0, 1.0]), np.array([-800.0, 2.0]))


def test_pains_E13():
    def f(k):
        return np.log(k / 2)

    assert la.program(f)(np.array([2.0]))[0] == 0.0
    assert la.program(f)(2.0) == 0.0
    agree(f, np.array([2.0], np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.int8, bool])
def test_pains_E14(dtype):
    def f(A, B, v):
        return (
            (A @ B).T,
            A.T.T,
            (A @ B @ v)[:2],
            (2 * A).T @ B,
            A @ B @ B,
            (A + B)[0],
            np.trace(A @ B),
            (A.T @ B).sum(),
        )

    A = rng.integers(0, 2, (4, 4)).astype(dtype)
    B = rng.integers(0, 2, (4, 4)).astype(dtype)
    agree(f, A, B, A[0])


@pytest.mark.parametrize("n", [4, 5, 8])
def test_pains_E16(n):
    def f(A):
        A = A + 1
        return A, A.T, A.T.T

    one, two, three = agree(f, rng.normal(size=(n, n)))
    one[0, 1] = 77
    assert two[1, 0] != 77
    assert three[0, 1] != 77


@pytest.mark.parametrize("n", [1, 7, 8, 9, 17, 16385])
def test_pains_E17(n):
    def f(rows):
        return ((np.eye(3) @ rows.T) ** 2).sum(axis=0), rows.T @ rows + (rows * 0).T @ rows

    rows = np.zeros((n, 3))
    rows[:, 0] = np.arange(n)
    found = agree(f, rows)
    assert found[0][-1] == (n - 1) ** 2


def test_pains_E19():
    def f(A, x):
        return x.T @ A @ x, A @ x, A.T @ x

    A, x = rng.normal(size=(50, 50)), rng.normal(size=(50, 1))
    agree(f, A, x)
    # Written out, these are four products; sharing A x between the first two is a matter of cost.
    plan = la.program(f).plan(A, x)
    assert sum(step.op == "matmul" for step in plan.physical.steps()) <= 4


def test_pains_E20():
    def f(X):
        Y = np.tanh(X)
        return Y.T @ Y

    X = rng.normal(size=(40, 8))
    found = agree(f, X)
    assert (found == found.T).all()
    plan = la.program(f).plan(X)
    assert sum(step.op == "tanh" for step in plan.physical.steps()) == 1


def test_pains_E23():
    def one(n):
        r = np.random.default_rng(3).standard_normal(n)
        return r - r

    def two(n):
        rng = np.random.default_rng(3)
        return rng.standard_normal(n) - rng.standard_normal(n)

    def same_seed(n):
        return np.random.default_rng(3).random(n) - np.random.default_rng(3).random(n)

    def in_a_loop(n, iters):
        rng = np.random.default_rng(3)
        p = rng.random(n)
        total = p
        for _ in range(iters):
            total = total + rng.random(n) * p
        return p, total, rng.random(n)

    def across_branches(x, n):
        rng = np.random.default_rng(3)
        if x.sum() > 0:
            a = rng.random(n)
        else:
            a = rng.standard_normal(n) + rng.random(n)
        return a, rng.random(n)

    assert not agree(one, 5).any()
    assert agree(two, 5).all()
    assert not agree(same_seed, 5).any()
    for iters in (0, 1, 4):
        agree(in_a_loop, 5, iters)
    for sign in (1, -1):
        agree(across_branches, sign * np.ones(3), 4)
    program = la.program(in_a_loop)
    for a, b in zip(program(5, 3), program(5, 3), strict=True):
        np.testing.assert_array_equal(a, b)


def test_generator_passed_on_and_rebound():
    def noise(rng, n):
        return rng.standard_normal(n)

    def f(x, seed):
        rng = np.random.default_rng(seed)
        a = noise(rng, 3)
        other = np.random.default_rng(seed + 1)
        b = noise(other, 3)
        rng = other
        return x + a + b + noise(rng, 3)

    agree(f, np.ones(3), 5)


def test_pains_E26():
    x, y = rng.integers(-9, 9, (4, 4)), rng.integers(-9, 9, (4, 4)).astype(np.int16)

    def f(x, y):
        return x @ x @ y, y @ x @ x, x @ y @ x, np.einsum("ij,jk,kl->il", x, y, x)

    assert all(v.dtype == np.int64 for v in agree(f, x, y))


# ------------------------------------------------------------ F. dtypes, overflow, precision


def test_pains_F1():
    X = la.asarray(rng.normal(size=(10, 10)).astype(np.float32))
    mean = X.mean(axis=0)
    assert mean.dtype == np.float32
    assert mean.compute().dtype == np.float32


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "u1", "u4", "?"])
def test_pains_F2(dtype):
    def f(x):
        return x.sum(), x.sum(axis=0), np.prod(x), np.cumsum(x)

    agree(f, np.ones((3, 2), dtype))


def test_pains_F4():
    def f(x):
        return x * 128

    with pytest.raises(DTypeError, match="int8") as caught:
        la.program(f)(np.ones(2, np.int8))
    assert "128" in str(caught.value)

    def g(x, k):
        return x * k

    with pytest.raises((OverflowError, DTypeError), match="int8"):
        la.program(g)(np.ones(2, np.int8), 128)


def test_pains_F5():
    def f(x, y):
        return x * 2.5, x * np.float64(2.5), x + 1, x + y

    found = agree(f, np.ones(3, np.float32), np.array(2.0))
    assert [v.dtype.str[1:] for v in found] == ["f4", "f8", "f4", "f8"]
    agree(f, np.ones(3, np.int8), np.array(2.0))


def test_pains_F7():
    x = np.arange(5794, dtype=np.float32)

    def f(x):
        return x.sum()

    found = la.program(f)(x)
    assert found.dtype == np.float32
    assert abs(float(found) - 16782321) <= 16


def test_pains_F8():
    big = np.full(500, 20150515061816532)

    def f(x):
        return x.mean(), x.sum()

    mean, total = agree(f, big)
    assert mean == pytest.approx(2.0150515061816532e16)
    assert total == -8371486542801285616


def test_pains_F10():
    def f(x):
        return x.var()

    with pytest.raises(LinealError, match="float16") as caught:
        la.program(f)(np.ones(3, np.float16))
    assert "float32" in str(caught.value)


def test_pains_F11():
    def f(x):
        return x.sum(dtype=np.float64), np.mean(x, dtype="f8"), np.cumsum(x, dtype=float)

    assert all(v.dtype == np.float64 for v in agree(f, np.full(9, 0.1, np.float32)))


def test_pains_F13():
    X = np.array([[100001, 100000], [100000, 100001]], np.float32)

    def f(X):
        centred = X - X.mean(axis=0)
        return centred.T @ centred

    np.testing.assert_array_equal(la.program(f)(X), [[0.5, -0.5], [-0.5, 0.5]])


def test_pains_F14():
    def f(x):
        return x.std(), x.var()

    assert agree(f, np.arange(10))[0] == pytest.approx(2.8722813)


# -------------------------------------------------------------- H. algorithms written by users


def test_pains_H1():
    P = np.zeros((3, 3))
    P[1, 0] = P[2, 1] = 1.0  # A -> B -> C, C dangles

    def rank(P, d, iters):
        n = P.shape[0]
        dangling = (P.sum(axis=0) == 0).astype(float)
        r = np.full(n, 1.0 / n)
        for _ in range(iters):
            r = d * (P @ r + (dangling @ r) / n) + (1 - d) / n
        return r

    found = agree(rank, P, 0.85, 100)
    np.testing.assert_allclose(found, [0.18442, 0.34117, 0.47441], atol=1e-5)
    assert_same(la.program(rank)(sp.csr_array(P), 0.85, 100), rank(P, 0.85, 100))


def test_pains_H7():
    def f(x, n):
        for i in range(n):
            x = x * 0.99 + i
        return x

    agree(f, np.arange(3.0), 500)
    total = X = la.asarray(np.arange(3.0))
    for _ in range(5000):
        total = total + X
    assert pickle.loads(pickle.dumps(total.plan())).explain()


def test_pains_H8():
    X = np.array([(100, 100), (100, 102), (106, 100), (107, 101), (107, 101), (108, 100)], float)
    C = np.array([(98, 104), (103, 100), (109, 102), (110, 100), (111, 100), (112, 100)], float)

    def means(X, C, limit):
        k = C.shape[0]
        moved = 1.0
        steps = 0
        while moved > 0 and steps < limit:
            D = ((X * X).sum(axis=1)[:, None] - 2 * X @ C.T) + (C * C).sum(axis=1)
            near = D.argmin(axis=1)
            member = (near[:, None] == np.arange(k)).astype(float)
            count = member.sum(axis=0)
            mean = (member.T @ X) / np.maximum(count, 1.0)[:, None]
            new = np.where(count[:, None] > 0, mean, C)
            moved = np.abs(new - C).max()
            C = new
            steps = steps + 1
        return C, steps

    found = agree(means, X, C, 50)
    assert found[1] < 50


def test_pains_H10():
    def fit(x, y, limit):
        w = 0.0
        k = 0
        step = 1.0
        while np.abs(step) > 1e-9 and k < limit:
            p = 1 / (1 + np.exp(-x * w))
            step = (x * (p - y)).sum()
            w = w - step
            k += 1
        return w, k

    agree(fit, np.array([0.0, 1e100]), np.array([0.0, 1.0]), 20)


def test_pains_H11():
    def loss(z):
        return np.logaddexp(0, z).sum(), (np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))).sum()

    found = agree(loss, np.array([-800.0, 800.0]))
    assert found[0] == 800
    assert found[1] == 800


def test_pains_H16_and_H17():
    def bfgs(A, b, x, iters):
        H = np.eye(A.shape[0])
        g = A @ x - b
        skipped = 0
        for _ in range(iters):
            d = -H @ g
            x = x + 0.1 * d
            new = A @ x - b
            y = new - g
            s = 0.1 * d
            curve = y @ s
            if curve > 1e-12:
                Hy = H @ y
                H = (
                    H
                    + np.outer(s, s) * (1 + y @ Hy / curve) / curve
                    - (np.outer(Hy, s) + np.outer(s, Hy)) / curve
                )
            else:
                skipped = skipped + 1
            g = new
        return x, skipped

    zero = np.zeros((2, 2))
    assert agree(bfgs, zero, np.ones(2), np.zeros(2), 5)[1] == 5
    agree(bfgs, np.diag([1.0, 0.0]), np.ones(2), np.ones(2), 5)
    assert agree(bfgs, np.eye(2), np.zeros(2), np.zeros(2), 5)[1] == 5


def test_pains_H19():
    def cg(A, b, tol, limit):
        x = np.zeros(A.shape[0])
        r = b - A @ x
        p = r
        rs = r @ r
        k = 0
        while rs > tol and k < limit:
            q = A @ p
            alpha = rs / (p @ q)
            x = x + alpha * p
            r = r - alpha * q
            new = r @ r
            p = r + (new / rs) * p
            rs = new
            k += 1
        return x, k

    A = np.array([[2.0, 1.5], [1.5, 3.0]])
    x, k = agree(cg, A, np.zeros(2), 0.0, 9)
    assert x.tolist() == [0, 0]
    assert k == 0
    assert np.isfinite(la.program(cg)(A, np.ones(2), 1e-30, 9)[0]).all()


# ----------------------------------------------------------------------------- K11: the user's text


def test_pains_K11():
    def f(A, weights):
        scaled = A @ weights
        return scaled

    with pytest.raises(ShapeError) as caught:
        la.program(f)(np.ones((4, 3)), np.ones(4))
    text = str(caught.value)
    assert "scaled = A @ weights" in text
    assert "weights: float64[4]" in text
    assert f"line {f.__code__.co_firstlineno + 1}" in text


def test_no_warning_of_our_own_in_plain_use():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agree(_product, np.ones((3, 3)), np.ones((3, 3)))
