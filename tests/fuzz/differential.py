"""Runs one program under NumPy and under Lineal and compares value, shape, dtype and NaN mask."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

import lineal as la
from lineal.planner.rules.algebra import NORMAL_FORM

from .generator import Generated


class Mismatch(AssertionError):
    """Lineal's answer is not NumPy's."""


def reference(generated: Generated, inputs: dict[str, Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return generated.function()(**copy.deepcopy(inputs))


ALL_RULES = (*(rule.name for rule in NORMAL_FORM), "prune_loops", "chain_order")


def sparse(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs with matrices as csr_array."""
    return {
        k: sp.csr_array(v) if isinstance(v, np.ndarray) and v.ndim == 2 else v
        for k, v in inputs.items()
    }


def check(generated: Generated, *, as_csr: bool = False, **options: Any) -> None:
    """Raise Mismatch if the planned program differs from the plain one."""
    expected = reference(generated, generated.inputs)
    given = copy.deepcopy(generated.inputs)
    if as_csr:
        given = sparse(given)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        program = la.program(generated.function())
        found = program.run(**given, **options)
    for name, value in generated.inputs.items():
        if not _identical(value, _dense(given[name])):
            raise Mismatch(f"input {name} was written into\n{generated.text}")
    slack = _slack(generated, expected)
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = tuple(map(_dense, found if isinstance(found, tuple) else (found,)))
    if len(expected) != len(found):
        raise Mismatch(f"{len(expected)} results against {len(found)}\n{generated.text}")
    strict = options.get("algebra") == "strict" or not _finite(generated.inputs.values())
    # Where data decides between a Python and a NumPy scalar, Lineal gives the NumPy scalar.
    mixes = any(word in generated.text for word in (" or ", " and ", "min(", "max(", " if "))
    # A float64 result of float32 parts is no more exact than they are.
    single = "float32" in generated.text or any(
        np.asarray(v).dtype == np.float32 for v in generated.inputs.values()
    )
    for k, (want, got, room) in enumerate(zip(expected, found, slack, strict=True)):
        if mixes and type(want) in (bool, int, float) and isinstance(got, np.generic):
            want = np.asarray(want)[()]
        problem = _compare(want, got, room, strict, single)
        if problem:
            raise Mismatch(
                f"result {k}: {problem}\nwant {want!r}\ngot  {got!r}\n"
                f"{generated.text}\n{generated.inputs!r}"
            )
        if isinstance(got, np.ndarray) and not got.flags.writeable:
            raise Mismatch(f"result {k} is read-only\n{generated.text}")


def _compare(want: Any, got: Any, room: Any, strict: bool, single: bool) -> str:
    if np.shape(want) != np.shape(got):
        return f"shape {np.shape(want)} against {np.shape(got)}"
    a, b = np.asarray(want), np.asarray(got)
    if a.dtype != b.dtype:
        return f"dtype {a.dtype} against {b.dtype}"
    if isinstance(want, (bool, int, float)) and not isinstance(want, np.generic):
        if type(want) is not type(got):
            return f"type {type(want)} against {type(got)}"
    if a.dtype.kind != "f":
        return "" if np.array_equal(a, b) else "values differ"
    if strict:
        if not np.array_equal(np.isnan(a), np.isnan(b)):
            return "NaN masks differ"
        if not np.array_equal(np.isinf(a), np.isinf(b)):
            return "Inf masks differ"
    both = np.isfinite(a) & np.isfinite(b)
    if not strict and np.isfinite(a).sum() != both.sum():
        return "finite values became non-finite"
    if not both.any():
        return ""
    scale = np.abs(a[both]).max()
    rtol = 1e-9 if a.dtype == np.float64 and not single else 2e-4
    allowed = rtol * scale + 10 * np.broadcast_to(room, a.shape)[both]
    if (np.abs(a[both] - b[both]) <= allowed).all():
        return ""
    return f"values differ by {np.abs(a[both] - b[both]).max()} (allowed {allowed.max()})"


def _slack(generated: Generated, expected: Any) -> list[Any]:
    """Return how far each result moves when the inputs move by one unit in the last place."""
    moved = {
        k: np.nextafter(v, np.inf, dtype=v.dtype)
        if isinstance(v, (np.ndarray, np.generic)) and v.dtype.kind == "f"
        else v
        for k, v in generated.inputs.items()
    }
    expected = expected if isinstance(expected, tuple) else (expected,)
    try:
        other = reference(generated, moved)
    except Exception:
        return [0.0] * len(expected)
    other = other if isinstance(other, tuple) else (other,)
    found: list[Any] = []
    for a, b in zip(expected, other, strict=True):
        if np.shape(a) == np.shape(b) and np.asarray(a).dtype.kind == "f":
            with np.errstate(all="ignore"):
                gap = np.abs(np.asarray(a) - np.asarray(b))
            found.append(np.where(np.isfinite(gap), gap, 0.0))
        else:
            found.append(0.0)
    return found


def _finite(values: Any) -> bool:
    return all(np.isfinite(v).all() for v in values if np.asarray(v).dtype.kind == "f")


def _dense(value: Any) -> Any:
    return value.toarray() if hasattr(value, "toarray") else value


def _identical(a: Any, b: Any) -> bool:
    return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f")
