"""Law 4: outside names are read at each call; unbound names and odd functions are refused."""

from __future__ import annotations

import math
import types

import numpy as np
import pytest

import lineal as la
from lineal.errors import ProgramError, UnboundNameError, UnsupportedError

from .harness import agree

x = np.arange(4.0)
A = np.arange(12.0).reshape(4, 3)

scale = 2.0
weights = np.array([1.0, 2.0, 3.0, 4.0])
settings = types.ModuleType("settings")
settings.rate = 0.5


def _scaled(x):
    return x * scale


def _weighted(x):
    return x * weights


def _rated(x):
    return x * settings.rate


# --------------------------------------------------------------------- globals and closures


def test_global_number_read_at_each_call(monkeypatch):
    program = la.program(_scaled)
    assert program(x).tolist() == [0, 2, 4, 6]
    plan = program.plan(x)
    monkeypatch.setitem(globals(), "scale", 3.0)
    assert program(x).tolist() == [0, 3, 6, 9]
    assert program.plan(x) is not plan
    monkeypatch.setitem(globals(), "scale", 2.0)
    assert program.plan(x) is plan


def test_global_number_changing_type_re_plans(monkeypatch):
    program = la.program(_scaled)
    ints = np.arange(4)
    assert program(ints).dtype == np.float64
    monkeypatch.setitem(globals(), "scale", 2)
    assert program(ints).dtype == np.int64
    monkeypatch.setitem(globals(), "scale", np.float64(2))
    assert program(np.ones(2, np.float32)).dtype == np.float64


def test_global_array_is_a_hidden_input(monkeypatch):
    program = la.program(_weighted)
    assert program(x).tolist() == [0, 2, 6, 12]
    plan = program.plan(x)
    monkeypatch.setitem(globals(), "weights", np.array([5.0, 5.0, 5.0, 5.0]))
    assert program(x).tolist() == [0, 5, 10, 15]
    assert program.plan(x) is plan  # the same shape and dtype: the same plan


def test_global_array_changed_in_place(monkeypatch):
    mine = weights.copy()
    monkeypatch.setitem(globals(), "weights", mine)
    program = la.program(_weighted)
    program(x)
    mine[:] = 1
    assert program(x).tolist() == x.tolist()


def test_global_array_of_another_shape_or_kind_re_plans(monkeypatch):
    program = la.program(_weighted)
    program(x)
    monkeypatch.setitem(globals(), "weights", np.float32([[1], [2]]))
    assert program(x).shape == (2, 4)
    monkeypatch.setitem(globals(), "weights", 2)
    assert program(x).tolist() == [0, 2, 4, 6]


def test_global_removed_is_an_error(monkeypatch):
    program = la.program(_scaled)
    program(x)
    monkeypatch.delitem(globals(), "scale")
    with pytest.raises(UnboundNameError, match="scale"):
        program(x)


def test_module_attribute(monkeypatch):
    program = la.program(_rated)
    assert program(x)[2] == 1.0
    monkeypatch.setattr(settings, "rate", 2.0)
    assert program(x)[2] == 4.0


def test_closure_variable_read_at_each_call():
    def outer():
        factor = 2.0
        table = np.arange(4.0)

        def set_(value, array):
            nonlocal factor, table
            factor, table = value, array

        def inner(x):
            return x * factor + table

        return inner, set_

    inner, set_ = outer()
    program = la.program(inner)
    assert program(x).tolist() == [0, 3, 6, 9]
    set_(0.0, np.ones(4))
    assert program(x).tolist() == [1, 1, 1, 1]


def test_two_closures_of_one_function_are_two_programs():
    def make(k):
        def scaled(x):
            return x * k

        return la.program(scaled)

    two, three = make(2.0), make(3.0)
    assert two(x)[1] == 2
    assert three(x)[1] == 3
    assert two(x)[1] == 2


def test_empty_closure_cell_is_unbound():
    def outer():
        def inner(x):
            return x * late

        program = la.program(inner)
        with pytest.raises(UnboundNameError, match="late"):
            program(x)
        late = 2.0
        return program(x)

    assert outer()[1] == 2


def test_tuple_and_list_of_outside():
    sizes = (2, 3)
    factors = [1.0, 0.5]

    def f(x):
        return np.zeros(sizes), x * factors[0], x * factors[1]

    agree(f, x)
    program = la.program(f)
    program(x)
    factors[1] = 2.0
    assert program(x)[2].tolist() == [0, 2, 4, 6]


def test_tuple_of_arrays_outside():
    pair = (np.ones(4), np.arange(4.0))

    def f(x):
        return x * pair[0] + pair[1]

    agree(f, x)
    program = la.program(f)
    program(x)
    pair = (np.zeros(4), np.zeros(4))
    assert program(x).tolist() == [0, 0, 0, 0]


def test_one_array_under_two_names():
    u = np.ones(4)
    v = u

    def f(x):
        return x * u + v

    agree(f, x)
    program = la.program(f)
    program(x)
    v = np.zeros(4)
    assert program(x).tolist() == x.tolist()


def test_numpy_under_other_names():
    import numpy as numerics
    from numpy import exp as e
    from numpy import linalg

    def f(x):
        return e(-x) + numerics.sqrt(x) + linalg.norm(x)

    agree(f, x)


def test_constants_of_modules():
    def f(x):
        return np.minimum(x, np.inf) + np.pi * math.pi + np.e

    agree(f, x)


# ------------------------------------------------------------------------------- inlining


def _half(v, by=2.0):
    return v / by


def _centred(M, /, *, axis=0):
    return M - M.mean(axis=axis, keepdims=True)


def _pair(v):
    return v + 1, v - 1


@la.program
def _gram(M):
    return M.T @ M


def test_functions_are_inlined():
    def f(A):
        B = _centred(A, axis=1)
        up, down = _pair(_half(B, by=4))
        return _gram(up) + _gram(down), _half(B)

    agree(f, A)


def test_inlined_function_changed_re_plans():
    space = {"np": np}

    def f(x):
        return helper(x)

    def double(v):
        return v * 2

    def triple(v):
        return v * 3

    helper = double
    program = la.program(f)
    assert program(x)[1] == 2
    helper = triple
    assert program(x)[1] == 3
    assert space


def test_globals_of_an_inlined_function(monkeypatch):
    def f(x):
        return _scaled(x) + 1

    program = la.program(f)
    assert program(x)[1] == 3
    monkeypatch.setitem(globals(), "scale", 10.0)
    assert program(x)[1] == 11


def test_names_of_the_caller_are_not_the_callees():
    def helper(v):
        t = v + 1
        return t * 2

    def f(x):
        t = x * 3
        u = helper(x)
        return t, u

    agree(f, x)


def test_inlined_in_a_loop_and_branch():
    def step(v, k):
        for _ in range(k):
            v = v * 0.5
        return v

    def f(x, n):
        total = x
        for i in range(n):
            if i % 2 == 0:
                total = total + step(x, 2)
            else:
                total = total - step(total, 1)
        return total

    for n in range(5):
        agree(f, x, n)


def test_recursion_is_an_error():
    def f(x):
        return f(x - 1)

    with pytest.raises(UnsupportedError, match="calls itself"):
        la.program(f)(x)


def _even(v):
    return _odd(v - 1)


def _odd(v):
    return _even(v - 1)


def test_mutual_recursion_is_an_error():
    with pytest.raises(UnsupportedError, match="calls itself"):
        la.program(_even)(x)


def test_early_return_in_a_helper():
    def sign(v):
        if v.sum() < 0:
            return -v
        return v

    def f(x):
        return sign(x) + sign(-x)

    agree(f, x)


# ------------------------------------------------------------------------- defaults, unbound


def test_defaults_bind_at_definition():
    start = np.ones(4)

    def f(x, by=scale, init=start, n=3, flag=None):
        total = init * by
        for _ in range(n):
            total = total + x
        if flag is None:
            return total
        return -total

    program = la.program(f)
    start = np.zeros(4)
    agree(program, x)
    assert program(x)[0] == 2
    agree(program, x, 1, np.arange(4.0), n=2, flag=True)


def test_default_array_is_not_written():
    def f(x, buffer=np.zeros(4)):  # noqa: B008 - the trap is the point
        buffer += x
        return buffer

    with pytest.raises(ProgramError, match="buffer"):
        la.program(f)(x)


def test_keyword_only_and_positional_only():
    def f(x, /, y, *, k=2):
        return x * k + y

    agree(f, x, x, k=3)
    agree(f, x, y=x)


def _one_path(x):
    if x.sum() > 0:
        y = x
    return y


def _loop_only(x, n):
    for i in range(n):
        y = x * i
    return y


def _variable_after(x, n):
    for i in range(n):
        x = x + i
    return x * i


def _before(x):
    z = y + 1  # noqa: F821
    y = x  # noqa: F841
    return z


def _while_only(x):
    while x.sum() < 10:
        y = x
        x = x + 1
    return y


def _other_guard(x):
    if x.sum() > 0:
        y = x
    if x.sum() > 1:
        return y
    return x


def _undefined(x):
    return x + nowhere  # noqa: F821


def _wrong_module_name(x):
    return np.exq(x)


@pytest.mark.parametrize(
    ("function", "args", "name"),
    [
        (_one_path, (x,), "y"),
        (_before, (x,), "y"),
        (_while_only, (x,), "y"),
        (_other_guard, (x,), "y"),
        (_undefined, (x,), "nowhere"),
        (_wrong_module_name, (x,), "exq"),
        (_loop_only, (x, 0), "y"),
        (_variable_after, (x, 0), "i"),
    ],
)
def test_unbound(function, args, name):
    with pytest.raises(UnboundNameError, match=name) as caught:
        la.program(function)(*args)
    assert caught.value.span is not None
    assert caught.value.hint


def test_bound_by_guards():
    def same_guard(x):
        positive = x.sum() > 0
        if positive:
            y = x
        if positive:
            x = y + 1
        return x

    def opposite(x):
        if x.sum() > 0:
            y = x
        else:
            y = -x
        return y

    def nested(x, n):
        if n > 0:
            for i in range(n):
                last = x * i
            x = last
        return x

    def loop_that_runs(x):
        for i in range(3):
            y = x * i
        return y, i

    def ends_with_while(x):
        while True:
            y = x
            x = x + 1
            if x.sum() > 20:
                break
        return y

    for sign in (1, -1):
        agree(same_guard, sign * x)
        agree(opposite, sign * x)
    for n in range(3):
        agree(nested, x, n)
    agree(loop_that_runs, x)
    agree(ends_with_while, x)


def test_loop_variable_keeps_its_last_value():
    def f(x, n):
        i = -1
        for i in range(1, n, 2):
            x = x + i
        return x, i

    for n in range(6):
        agree(f, x, n)


# ------------------------------------------------------------------ constructs that are errors


class Thing:
    def step(self, v):
        return v


thing = Thing()


def _method(x):
    return thing.step(x)


def _try(x):
    try:
        return x + 1
    except ValueError:
        return x


def _with(x):
    with np.errstate(all="ignore"):
        return x + 1


def _generator(x):
    yield x


def _return_in_loop(x):
    for _ in range(3):
        if x.sum() > 1:
            return x
        x = x + 1
    return x


def _star(*args):
    return args[0]


def _nested_def(x):
    def g(v):
        return v

    return g(x)


def _global(x):
    global scale
    return x * scale


@pytest.mark.parametrize(
    "function",
    [_method, _try, _with, _generator, _return_in_loop, _star, _nested_def, _global],
)
def test_outside_the_language(function):
    with pytest.raises(UnsupportedError) as caught:
        la.program(function)(x)
    assert caught.value.span is not None
    assert caught.value.hint
