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
        problem = room is not None and _compare(want, got, room, strict, single)
        if problem:  # perhaps the program hangs on a rounding error: look closer
            closer = _slack(generated, expected, runs=24)[k]
            problem = closer is not None and _compare(want, got, closer, strict, single)
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


def _moved(value: Any, rng: np.random.Generator | None) -> Any:
    """Move floats by one unit in the last place: all up, or each up, down or not at all."""
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind != "f":
        return value
    up = np.nextafter(value, np.inf, dtype=value.dtype)
    if rng is None:
        return up
    down = np.nextafter(value, -np.inf, dtype=value.dtype)
    return np.choose(rng.integers(0, 3, np.shape(value)), [up, down, value])[()]


def _slack(generated: Generated, expected: Any, runs: int = 0) -> list[Any]:
    """Return how far each result moves when the inputs move by one unit in the last place.

    None stands for a result that then has another shape, or other integers: a branch or an index
    hangs on a rounding error, and no implementation can be held to it.
    """
    expected = expected if isinstance(expected, tuple) else (expected,)
    found: list[Any] = [0.0] * len(expected)
    rngs = [None, *(np.random.default_rng(k) for k in range(runs))]
    for rng in rngs:
        try:
            other = reference(generated, {k: _moved(v, rng) for k, v in generated.inputs.items()})
        except Exception:  # the moved inputs may be ones that NumPy refuses; they tell nothing
            continue
        other = other if isinstance(other, tuple) else (other,)
        for k, (a, b) in enumerate(zip(expected, other, strict=True)):
            found[k] = _wider(found[k], np.asarray(a), np.asarray(b))
    return found


def _wider(known: Any, a: Any, b: Any) -> Any:
    if known is None or a.shape != b.shape:
        return None
    if a.dtype.kind != "f":
        return known if np.array_equal(a, b) else None
    with np.errstate(all="ignore"):
        gap = np.abs(a - b)
    return np.maximum(known, np.where(np.isfinite(gap), gap, 0.0))


def _finite(values: Any) -> bool:
    return all(np.isfinite(v).all() for v in values if np.asarray(v).dtype.kind == "f")


def _dense(value: Any) -> Any:
    return value.toarray() if hasattr(value, "toarray") else value


def _identical(a: Any, b: Any) -> bool:
    return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f")
