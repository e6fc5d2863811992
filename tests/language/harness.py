"""Runs a program under NumPy and under Lineal and insists on one answer."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import lineal as la


def dense(value: Any) -> Any:
    """Return `value` with sparse storage made dense (nested tuples included)."""
    if isinstance(value, tuple):
        return tuple(map(dense, value))
    return value.toarray() if hasattr(value, "toarray") else value


def assert_same(found: Any, expected: Any, rtol: float = 1e-9) -> None:
    """Check value, shape, dtype and Python type; floats to `rtol` of the result's scale."""
    if isinstance(expected, (tuple, list)):
        assert isinstance(found, (tuple, list))
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert_same(a, b, rtol)
        return
    found = dense(found)
    if expected is None or isinstance(expected, str):
        assert found == expected
        return
    assert np.shape(found) == np.shape(expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    weak = isinstance(expected, (bool, int, float)) and not isinstance(expected, np.generic)
    if weak:
        assert type(found) is type(expected)
    a, b = np.asarray(found), np.asarray(expected)
    if b.dtype.kind != "f":
        np.testing.assert_array_equal(a, b)
        return
    finite = b[np.isfinite(b)]
    scale = float(np.abs(finite).max()) if finite.size else 0.0
    tolerance = rtol if b.dtype == np.float64 else max(rtol, 2e-5)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)


def agree(function: Callable[..., Any], *args: Any, rtol: float = 1e-9, **kwargs: Any) -> Any:
    """Run `function` both ways on private copies and check that the answers are the same.

    Inputs must be left as they were and results must be writable; returns Lineal's answer.
    """
    program = function if hasattr(function, "python") else la.program(function)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = program.python(*dense(copy.deepcopy(args)), **copy.deepcopy(kwargs))
        given = copy.deepcopy(args)
        found = program(*given, **kwargs)
    assert_same(found, expected, rtol)
    for before, after in zip(args, given, strict=True):
        if isinstance(before, np.ndarray) or hasattr(before, "toarray"):
            np.testing.assert_array_equal(dense(before), dense(after))
    for value in found if isinstance(found, tuple) else (found,):
        assert not isinstance(value, np.ndarray) or value.flags.writeable
    return found
