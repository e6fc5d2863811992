"""Laws 1, 3, 6, 7 and 8 of the language; 2, 4 and 5 have files of their own."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import lineal as la
from lineal.errors import DTypeError, ShapeError, StaticValueError

from .harness import agree, assert_same

x = np.arange(5.0)
A = np.arange(12.0).reshape(4, 3)


# ----------------------------------------------------------- 1. sparse is storage, not meaning

S = sp.random_array((6, 5), density=0.3, rng=np.random.default_rng(0), format="csr")


def _star(S, D):
    return S * D, D * S, S * 2.0, S * S


def _exp(S):
    return np.exp(S), np.cos(S), S + 1.0, S**2, S**0.0


def _norms(S):
    return np.linalg.norm(S), np.linalg.norm(S, axis=0), np.linalg.norm(S, 1), np.linalg.norm(S, 2)


def _comparisons(S):
    return S > 0, S == 0, S != 0, S < 0.5, (S >= 0) & (S <= 1)


def _reductions(S):
    return S.sum(axis=0), S.sum(axis=1, keepdims=True), S.max(axis=1), S.mean(), S.min(), S.argmax()


def _division(S, v):
    return S / v, S / 2.0, v / S, S // 0.3


def _indexing(S):
    return S[0], S[:, 1], S[1:4, ::2], S[[0, 2]], S[S[:, 0] > 0], S[2, 3]


def _products(S, D):
    return S @ D.T, S.T @ S, D @ S.T, S @ S.T @ S


def _functions(S):
    return (
        np.where(S > 0, S, -1.0),
        np.maximum(S, 0.5),
        np.vstack([S, S]),
        S.reshape(5, 6),
        np.diag(S[:5]),
        np.tril(S),
        S.ravel(),
        np.trace(S),
        S.astype(np.float32),
    )


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("old", [False, True], ids=["array", "matrix"])
@pytest.mark.parametrize(
    "function",
    [_star, _exp, _norms, _comparisons, _reductions, _division, _indexing, _products, _functions],
)
def test_sparse_means_what_dense_means(function, kind, old):
    value = S.asformat(kind)
    if old:
        value = getattr(sp, f"{kind}_matrix")(value)
    D = np.arange(30.0).reshape(6, 5)
    v = np.array([1.0, 0.0, 2.0, -1.0, np.inf])
    extra = {"D": D, "v": v}
    names = function.__code__.co_varnames[1 : function.__code__.co_argcount]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = function(S.toarray(), *(extra[n] for n in names))
        found = la.program(function)(value, *(extra[n] for n in names))
    assert_same(found, expected)


def test_output_held_sparse_is_a_csr_array():
    def f(S):
        return S * 2.0

    found = la.program(f)(S)
    assert isinstance(found, sp.csr_array)
    np.testing.assert_array_equal(found.toarray(), S.toarray() * 2)


def test_plan_says_where_a_result_becomes_dense():
    def f(S):
        return np.exp(S)

    plan = la.program(f).plan(S)
    assert "dense" in plan.explain(mode="physical") or plan.physical.peak_bytes >= 6 * 5 * 8


# --------------------------------------------------------------------- 3. static and run-time


def _iterate(A, x, iters, alpha, tol):
    k = 0
    for _ in range(iters):
        step = alpha * (A.T @ (A @ x))
        x = x - step
        k = k + 1
        if np.abs(step).max() < tol:
            break
    return x, k


def test_numbers_stay_run_time():
    program = la.program(_iterate)
    start = np.ones(3)
    plan = program.plan(A, start, 5, 1e-3, 1e-9)
    for iters, alpha, tol in [(9, 1e-3, 1e-9), (6, 0.5, 1.0), (5, -2e-4, 0.0), (1000, 1e-4, 1e-1)]:
        assert program.plan(A, start, iters, alpha, tol) is plan
        agree(program, A, start, iters, alpha, tol)
    assert program.plan(A + 1, start * 2, 7, 0.1, 0.1) is plan  # data is never part of the key


def test_a_count_re_plans_only_where_a_cost_decision_turns():
    def f(A, x, iters):
        for _ in range(iters):
            x = A.T @ A @ x
            x = x / np.linalg.norm(x)
        return x

    program = la.program(f)
    A, x = la.spec((100_000, 50)), la.spec((50, 1))
    plans = {n: program.plan(A, x, n) for n in (1, 2, 50, 1000, 10**6)}
    assert plans[1] is plans[2]  # A.T @ (A @ x) in each iteration
    assert plans[50] is plans[1000] is plans[10**6]  # A.T @ A once
    assert plans[1] is not plans[50]
    assert [s.runs for s in plans[50].physical.steps() if s.op == "matmul"] == [1, 50]


def test_kind_of_number_is_static():
    def f(x, a):
        return x * a

    program = la.program(f)
    ints = np.arange(3)
    assert program.plan(ints, 2) is not program.plan(ints, 2.0)
    assert program.plan(ints, 2.0) is not program.plan(ints, np.float32(2))
    assert program.plan(ints, 3) is program.plan(ints, 2)
    for a in (2, 2.0, np.float32(2), np.int8(2), True):
        agree(program, ints, a)


def test_integer_that_determines_a_shape_re_plans():
    def f(x, n):
        return np.zeros(n) + x[:n]

    program = la.program(f)
    plan = program.plan(x, 3)
    assert program.plan(x, 3) is plan
    assert program.plan(x, 4) is not plan
    for n in (0, 1, 3, 5):
        agree(program, x, n)
    assert program.plan(x, 3) is plan


def test_flags_axes_and_dtypes_are_static():
    def f(A, axis, flag, dtype):
        B = A.sum(axis=axis, keepdims=flag)
        return B.astype(dtype)

    for axis in (0, 1, None):
        for flag in (False, True):
            for dtype in ("float32", "int64"):
                agree(f, A, axis, flag, dtype)


@pytest.mark.parametrize("iters", [0, 1, 2, 3, 10])
def test_empty_and_short_ranges(iters):
    def f(x, iters):
        y = x
        for i in range(iters):
            y = y * 0.5 + i
        return y

    def backwards(x, iters):
        s = 0
        for i in range(iters, 0, -2):
            s = s + i
            x = x * i
        return x, s

    def from_to(x, iters):
        for i in range(3, iters):
            x = x + i
        return x

    def inner(x, iters):
        for i in range(iters):
            for j in range(i):
                x = x + j
        return x

    for function in (f, backwards, from_to, inner):
        agree(function, x, iters)
    program = la.program(f)
    assert program.plan(x, 1) is program.plan(x, iters)


def test_negative_range_is_empty():
    def f(x, n):
        for i in range(n):
            x = x / 0 + i
        return x

    agree(f, x, -3)


def test_hoisted_work_is_not_done_if_the_loop_does_not_run():
    def f(M, n):
        total = 0.0
        for _ in range(n):
            total = total + np.linalg.inv(M)[0, 0]
        return total

    agree(f, np.zeros((2, 2)), 0)  # the inverse does not exist


def test_branch_on_a_number_re_plans_or_runs():
    def f(x, mode):
        if mode > 2:
            return x[:2]
        return x

    for mode in (1, 3, 2, 5):
        agree(f, x, mode)


def test_size_from_data_is_an_error():
    def f(x):
        n = int(x.sum())
        return np.zeros(n)

    with pytest.raises(StaticValueError, match="known when the plan is made") as caught:
        la.program(f)(x)
    assert caught.value.span.line
    assert caught.value.hint


def test_while_with_data_condition_reuses_the_plan():
    def f(x, tol):
        k = 0
        while np.abs(x).max() > tol:
            x = x * 0.5
            k += 1
        return x, k

    program = la.program(f)
    plan = program.plan(x, 1.0)
    for tol in (1.0, 0.25, 100.0):
        assert program.plan(x, tol) is plan
        agree(program, x, tol)


# -------------------------------------------------------------------- 6. data-dependent sizes


def test_mask_selects_an_unknown_number_of_rows():
    def f(A, x):
        B = A[A[:, 0] > x]
        return B, B.sum(axis=0), B.T @ B, B.shape[0], (A[:, 0] > x).sum()

    for bound in (-1.0, 2.0, 100.0):
        agree(f, A, bound)
    program = la.program(f)
    assert program.plan(A, 2.0) is program.plan(A, 3.0)


def test_equal_masks_have_equal_sizes():
    def f(A, y):
        keep = y > 1
        return A[keep].T @ y[keep], A[keep] * y[keep][:, None]

    agree(f, A, np.arange(4.0))


def test_mismatch_is_a_run_time_error_with_the_line():
    def f(v, w):
        a = v[v > 0]
        b = w[w > 0]
        return a + b

    program = la.program(f)
    assert program(x, x).shape == (4,)
    with pytest.raises(ValueError, match=r"shape|broadcast") as caught:
        program(x, -x + 2)
    text = str(caught.value) + "".join(getattr(caught.value, "__notes__", ()))
    assert "a + b" in text
    assert "line " in text
    assert program(x, x).shape == (4,)


def test_mismatch_with_a_known_size():
    def f(v, w):
        return v[v > 0] @ w

    with pytest.raises(ValueError, match=r"size|dim|align|shape|mismatch") as caught:
        la.program(f)(x, np.ones(3))
    assert "v[v > 0] @ w" in "".join(getattr(caught.value, "__notes__", ())) + str(caught.value)


def test_memory_uses_the_bound():
    def f(A):
        return A[A[:, 0] > 0] * 2.0

    big = la.spec((1000, 10))
    assert la.program(f).plan(big).peak_bytes >= 1000 * 10 * 8


# ---------------------------------------------------------------------------------- 7. dtypes

_VALUES = [np.array([1, 2, 3], d) for d in ("?", "i1", "i4", "i8", "u1", "u8", "f4", "f8")]
_SCALARS = [
    True,
    3,
    2.5,
    np.int8(3),
    np.float32(2.5),
    np.float64(2.5),
    np.array(2.5),
    np.uint8(200),
]


def _arithmetic(a, b):
    return a + b, a * b, a / b, a > b, np.maximum(a, b), np.where(a > 1, a, b)


@pytest.mark.parametrize("array", _VALUES, ids=lambda a: a.dtype.name)
@pytest.mark.parametrize("scalar", _SCALARS, ids=lambda s: f"{type(s).__name__}-{s}")
def test_weak_scalars(array, scalar):
    agree(_arithmetic, array, scalar)
    if not isinstance(scalar, np.ndarray):
        agree(_arithmetic, scalar, array)


@pytest.mark.parametrize("a", _VALUES, ids=lambda a: a.dtype.name)
@pytest.mark.parametrize("b", _VALUES, ids=lambda a: a.dtype.name)
def test_promotion(a, b):
    def f(a, b):
        return a + b, a @ b, np.concatenate([a, b]), np.outer(a, b)

    agree(f, a, b)


def test_constants_in_the_source_are_weak():
    def f(x):
        return x + 1, x * 2, x * 2.5, x / 3, -x

    for value in _VALUES[1:]:
        agree(f, value)


def test_integer_that_does_not_fit():
    def f(x):
        return x + 1000

    with pytest.raises(DTypeError, match="int8"):
        la.program(f)(np.ones(2, np.int8))

    def g(x, n):
        return x + n

    program = la.program(g)
    program(np.ones(2, np.int8), 3)
    with pytest.raises((OverflowError, DTypeError), match="int8"):
        program(np.ones(2, np.int8), 1000)


def test_integer_overflow_is_kept():
    def f(x, y):
        return x @ x.T @ y, x * x * x, x.sum(), (x + x) - x, x * 3 + x * 4

    rng = np.random.default_rng(0)
    for dtype in (np.int8, np.uint8, np.int32, np.int64):
        info = np.iinfo(dtype)
        X = rng.integers(info.min, info.max, size=(6, 6), dtype=dtype, endpoint=True)
        Y = rng.integers(info.min, info.max, size=(6, 6), dtype=dtype, endpoint=True)
        agree(f, X, Y)


def test_chains_across_dtypes_keep_numpys_order():
    def f(a, b, c):
        return a @ b @ c, (a * b) * c

    rng = np.random.default_rng(0)
    i8 = rng.integers(-100, 100, (4, 4)).astype(np.int8)
    f4 = rng.normal(size=(4, 4)).astype(np.float32)
    f8 = rng.normal(size=(4, 4))
    for a in (i8, f4, f8):
        for b in (i8, f4, f8):
            for c in (i8, f4, f8):
                agree(f, a, b, c)


def test_float32_stays_float32():
    def f(A, x):
        for _ in range(3):
            x = x - 0.1 * (A.T @ (A @ x))
            x = x / np.linalg.norm(x)
        return x, x.mean(), x.std(), np.exp(x).sum()

    agree(f, A.astype(np.float32), np.ones(3, np.float32), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.complex128, np.float16, object, "U3", "M8[s]"])
def test_unsupported_dtypes(dtype):
    def f(x):
        return x

    with pytest.raises(la.errors.LinealError) as caught:
        la.program(f)(np.zeros(3, dtype))
    assert "x" in str(caught.value)
    assert "Try:" in str(caught.value)


# -------------------------------------------------------------------------------- 8. warnings


def _noisy(x, n):
    for _ in range(n):
        y = 1.0 / x
        z = np.log(x - 1)
    return y, z


def test_warnings_come_once_per_line():
    program = la.program(_noisy)
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        program(x, 50)
    lines = [(w.lineno, str(w.message)) for w in caught if w.category is RuntimeWarning]
    assert len(lines) == len(set(lines))
    first = _noisy.__code__.co_firstlineno
    assert {line for line, _ in lines} == {first + 2, first + 3}
    assert all(w.filename == __file__ for w in caught)
    assert any("divide by zero" in text for _, text in lines)
    assert any("invalid value" in text for _, text in lines)


def test_no_warning_where_numpy_gives_none():
    def f(x):
        return x + 1, np.log(x + 1), x / 2

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        la.program(f)(x)


def test_errstate_ignore():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        la.program(_noisy)(x, 2)


def test_errstate_raise_names_the_line():
    program = la.program(_noisy)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero") as e:
        program(x, 2)
    assert "1.0 / x" in "".join(e.value.__notes__)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        program(x, 2)  # usable afterwards


def test_errstate_is_per_kind():
    with (
        warnings.catch_warnings(record=True) as caught,
        np.errstate(divide="ignore", invalid="warn"),
    ):
        warnings.simplefilter("always")
        la.program(_noisy)(x, 1)
    assert {str(w.message).split(" encountered")[0] for w in caught} == {"invalid value"}


def test_overflow_warning():
    def f(x):
        return np.exp(x * 1000)

    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        la.program(f)(x)
    assert [str(w.message).split(" encountered")[0] for w in caught] == ["overflow"]


def test_warning_turned_into_an_error():
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            la.program(_noisy)(x, 1)


def test_lazy_arrays_warn_at_the_users_line():
    X = la.asarray(x)
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        value = 1.0 / X
        value.compute()
    assert [w.filename for w in caught] == [__file__]


# --------------------------------------------------------------------------- Ctrl-C, threads


def test_ctrl_c_stops_a_run_and_leaves_the_session_usable(run_python, tmp_path):
    (tmp_path / "endless.py").write_text(
        "import signal, threading, time, os\n"
        "import numpy as np\n"
        "import lineal as la\n"
        "@la.program\n"
        "def endless(x, n):\n"
        "    for _ in range(n):\n"
        "        x = x * 0.5 + 1\n"
        "    return x\n"
        "x = np.ones(1000)\n"
        "endless(x, 3)\n"
        "sent = []\n"
        "def stop():\n"
        "    time.sleep(0.5)\n"
        "    sent.append(time.monotonic())\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=stop).start()\n"
        "try:\n"
        "    endless(x, 10**9)\n"
        "    print('not stopped')\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', time.monotonic() - sent[0] < 1.0)\n"
        "print(endless(x, 2)[0])\n"
    )
    done = run_python("import runpy; runpy.run_path('endless.py')", cwd=tmp_path)
    assert done.stdout.split() == ["stopped", "True", "1.75"], done.stdout + done.stderr


def test_programs_and_sessions_serve_several_threads():
    def f(x, n):
        for _ in range(n):
            x = x * 0.5 + np.sqrt(np.abs(x))
        return x

    program = la.program(f)
    inputs = [np.arange(50.0) + k for k in range(8)]
    expected = [f(v, 20) for v in inputs]
    found: dict[int, list] = {k: [] for k in range(8)}
    errors: list[BaseException] = []

    def work(k):
        try:
            for size in (20, 20, 20):
                found[k].append(program(inputs[k], size))
                program(inputs[k][: k + 3], 2)  # plans of several shapes at once
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for k, values in found.items():
        for value in values:
            np.testing.assert_allclose(value, expected[k])


def test_findings_of_one_thread_do_not_reach_another():
    def quiet(x):
        return x + 1

    def loud(x):
        return 1 / x

    one, two = la.program(quiet), la.program(loud)
    seen: list[str] = []

    def work():
        with np.errstate(all="raise"):
            try:
                two(x)
            except FloatingPointError:
                seen.append("raised")

    thread = threading.Thread(target=work)
    thread.start()
    with np.errstate(all="warn"):
        one(x)
    thread.join()
    assert seen == ["raised"]


def test_shape_errors_come_when_planned():
    def f(A, x):
        return A @ x

    with pytest.raises(ShapeError) as caught:
        la.program(f).plan(la.spec((10**8, 100)), la.spec((99,)))
    assert "A: float64[100000000, 100]" in str(caught.value)
