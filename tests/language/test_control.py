"""Loops and branches: peeled iterations, several exits, names bound inside, flags."""

from __future__ import annotations

import numpy as np
import pytest

import lineal as la

from .harness import agree

x = np.arange(4.0)
A = np.arange(12.0).reshape(4, 3)


def two_breaks(x, n):
    k = 0
    for i in range(n):
        x = x * 0.5 + i
        if x.sum() > 9:
            break
        k = k + 1
        if x[0] > 2:
            k = k + 100
            break
        x = x + 1
    return x, k, i


def break_and_continue_in_nested_ifs(x, n):
    kept = 0
    for i in range(n):
        if x.sum() > 3:
            if i % 2 == 0:
                if x[0] > 5:
                    break
                x = x - 1
                continue
            else:
                x = x + 0.25
        kept += 1
        if i == 6:
            continue
        x = x + 0.5
    return x, kept


def nested_breaks(x, n):
    total = 0.0
    for i in range(n):
        for j in range(n):
            total = total + x[j % 4] * i
            if total > 5:
                break
        if total > 20:
            break
        total = total + 1
    return total


def while_break(x, tol):
    k = 0
    while True:
        x = x * 0.5
        k += 1
        if np.abs(x).max() < tol:
            break
        if k > 40:
            break
    return x, k


def while_both(x, tol, limit):
    k = 0
    change = 1.0
    while change > tol and k < limit:
        new = np.cos(x)
        change = np.abs(new - x).max()
        x = new
        k += 1
    return x, k, change


def dtype_settles_in_the_first_iteration(n):
    total = 0
    v = np.zeros(3, dtype=int)
    for i in range(n):
        total = total + 0.5
        v = v + 0.5 * i
    return total, v


def dtype_settles_in_a_while(x, tol):
    s = 1
    v = np.arange(4)
    while s > tol:
        s = s * 0.5
        v = v * 0.5 + x
    return s, v


def peeled_with_break(x, n):
    v = np.arange(4)
    for i in range(n):  # noqa: B007 - read after the loop
        v = v * 0.5 + x
        if v.sum() > 7:
            break
        v = v + 1
    return v, i


def shape_settles(x, n):
    v = x[:1]
    for _ in range(n):
        v = v + x
    return v


def loop_variable_is_used_and_changed(n):
    total = 0
    for i in range(n):
        i = i * 2
        total = total + i
    return total, i


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def triangular(A):
    n = A.shape[0]
    total = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            total = total + A[i] @ A[j]
    return total


def negative_steps(x):
    out = np.zeros(4)
    for i in range(3, -1, -1):
        out[i] = x[3 - i]
    for i in range(-1, -5, -1):
        out[i] += 1
    return out


def bool_flag(x, n):
    done = False
    k = 0
    while not done and k < n:
        x = x + 1
        k += 1
        done = x.sum() > 12
    return x, k, bool(done)


def pass_and_docstring(x):
    """Do nothing much."""
    if x.sum() > 0:
        pass
    else:
        x = x + 1
    for _ in range(2):
        pass
    return x


def early_returns(x):
    if x.size == 0:
        return 0.0
    s = x.sum()
    if s < 0:
        return -s
    for _ in range(3):
        s = s * 0.5
    if s > 1:
        t = s - 1
        if t > 1:
            return t * 10
        s = t
    return s


def tuples_carried(x, n):
    state = (x, (0.0, 1))
    for i in range(n):  # noqa: B007 - read after the loop
        v, (total, k) = state
        state = (v * 0.5, (total + v.sum(), k * 2))
    return state


def chained_comparison(x, low, high):
    s = x.sum()
    if low < s <= high:
        return x
    if not low < s or s == 3:
        return -x
    return x * 2


def one_by_one(A):
    s = A[:1, :1]
    k = 0
    while s < 10:
        s = s * 2 + 1
        k += 1
    if s:
        k = k + 1
    return s, k, A * s


SIZES = [0, 1, 2, 3, 7]
CASES = [
    *((f, (s * x, n)) for f in (two_breaks, break_and_continue_in_nested_ifs, nested_breaks)
      for s in (-1.0, 0.1, 1.0, 3.0) for n in (1, 2, 7)),
    *((break_and_continue_in_nested_ifs, (x, n)) for n in SIZES),
    *((while_break, (x, t)) for t in (10.0, 0.1, 1e-3, 0.0)),
    *((while_both, (x, t, k)) for t in (5.0, 0.1, 1e-6) for k in (0, 1, 30)),
    *((dtype_settles_in_the_first_iteration, (n,)) for n in SIZES),
    *((dtype_settles_in_a_while, (x, t)) for t in (2, 0.6, 0.01)),
    *((peeled_with_break, (s * x, n)) for s in (0.1, 1.0, 9.0) for n in (1, 2, 7)),
    *((shape_settles, (x, n)) for n in SIZES),
    *((loop_variable_is_used_and_changed, (n,)) for n in (1, 4)),
    *((fibonacci, (n,)) for n in (*SIZES, 80)),
    (triangular, (A,)),
    (negative_steps, (x,)),
    *((bool_flag, (s * x, n)) for s in (-1.0, 1.0, 9.0) for n in SIZES),
    (pass_and_docstring, (x,)),
    (pass_and_docstring, (-x,)),
    *((early_returns, (v,)) for v in (x[:0], -x, x, 9 * x, 3 * x)),
    *((tuples_carried, (x, n)) for n in SIZES),
    *((chained_comparison, (s * x, 0.0, 6)) for s in (-1.0, 0.5, 1.0, 2.0)),
    (one_by_one, (A + 1,)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "args"), CASES, ids=[f"{f.__name__}-{i}" for i, (f, _) in enumerate(CASES)]
)
def test_control(function, args):
    agree(function, *args)


def test_one_plan_serves_all_outcomes():
    program = la.program(two_breaks)
    plan = program.plan(x, 7)
    for s in (-1.0, 0.1, 3.0):
        assert program.plan(s * x, 7) is plan
