"""Random draws that Python may skip are refused, not made."""

from __future__ import annotations

import numpy as np
import pytest

import lineal as la
from lineal.errors import DTypeError, UnsupportedError


def in_test(seed):
    rng = np.random.default_rng(seed)
    t = 0
    while rng.random() < 0.7:
        t = t + 1
    return t


def in_conditional(seed, t):
    rng = np.random.default_rng(seed)
    z = rng.random() if t > 0 else rng.random() + 1
    return z


def in_or(seed):
    rng = np.random.default_rng(seed)
    return rng.random() < 0.7 or rng.random() < 0.5


def in_comparison(seed):
    rng = np.random.default_rng(seed)
    return 0.9 < rng.random() < rng.random()


def in_index(seed):
    rng = np.random.default_rng(seed)
    x = np.zeros(3)
    x[rng.integers(0, 3)] += 1.0
    return x


@pytest.mark.parametrize("function", [in_test, in_or, in_comparison, in_index])
def test_refused(function):
    with pytest.raises(UnsupportedError, match="a random draw in") as error:
        la.program(function)(0)
    assert error.value.span is not None
    assert "line of its own" in error.value.hint


def test_refused_in_a_conditional():
    with pytest.raises(UnsupportedError, match="one side of a conditional"):
        la.program(in_conditional)(0, np.float64(1))


@pytest.mark.parametrize("index", ["X[0]", "X[[0, 1]]", "X[X > 0]", "X[:, 0]"])
def test_in_place_parts_keep_the_casting_rule(index, tmp_path):
    import linecache

    text = f"def part(A):\n    X = A.copy()\n    {index} += 1.5\n    return X\n"
    name = f"<part {index}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"np": np}
    exec(compile(text, name, "exec"), space)
    with pytest.raises(DTypeError, match="in-place"):
        la.program(space["part"])(np.arange(6).reshape(3, 2))
    assert np.array_equal(
        la.program(space["part"])(np.arange(6.0).reshape(3, 2)),
        space["part"](np.arange(6.0).reshape(3, 2)),
    )
