"""Running single steps on blocks and comparing with the kernels on whole NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lineal.engine.blocked import BlockedArray, BlockedRuntime
from lineal.engine.threads import ThreadExecutor
from lineal.kernels.registry import get
from lineal.planner.cluster import ClusterSpec
from lineal.planner.plan import Step, Value
from lineal.planner.types import Type

Splits = tuple[tuple[int, ...], ...]


def dense(value: Any) -> Any:
    return value.toarray() if hasattr(value, "toarray") else value


def value_of(name: str, like: Any, splits: Splits = (), place: str = "blocked") -> Value:
    like = dense(like)
    array = np.asarray(like)
    return Value(name, Type(array.shape, array.dtype), place=place, splits=splits)


def step_of(op: str, attrs: dict[str, Any], count: int, results: Sequence[Any], **kw: Any) -> Step:
    """Make a step whose output types are those of `results`."""
    place = kw.pop("place", "blocked")
    splits = kw.pop("splits", ())
    outputs = tuple(value_of(f"%{i + 10}", r, splits, place) for i, r in enumerate(results))
    inputs = tuple(f"%{i}" for i in range(count))
    return Step(op, tuple(sorted(attrs.items())), inputs, outputs, **kw)


class Strict(BlockedRuntime):
    """A runtime that never falls back to the driver."""

    def _in_driver(self, step: Step, *rest: Any) -> Any:
        raise AssertionError(f"{step.op} was not lowered")


def runtime(threads: int = 1) -> BlockedRuntime:
    return Strict(ThreadExecutor(threads), ClusterSpec(threads=threads), "test")


def run_blocked(
    op: str,
    attrs: dict[str, Any],
    operands: Sequence[Any],
    splits: Sequence[Splits | None],
    rt: BlockedRuntime | None = None,
    expected: Any = None,
    out_splits: Splits = (),
) -> tuple[Any, ...]:
    """Run one step with operands cut as `splits` (None: in the driver); return fetched results."""
    own = rt is None
    rt = rt or runtime()
    if expected is None:
        with np.errstate(all="ignore"):
            expected = get(op)(*map(dense, operands), **attrs)
    results = expected if isinstance(expected, tuple) else (expected,)
    step = step_of(op, attrs, len(operands), results, splits=out_splits)
    args = [
        operand if cut is None else rt.adopt(operand, value_of(f"%{i}", operand, cut))
        for i, (operand, cut) in enumerate(zip(operands, splits, strict=True))
    ]
    made = rt.run(step, args)
    found = tuple(rt.fetch(result) for result in made)
    if own:
        del args, made
        rt.close()
        assert not rt.executor._results
    return found


def same(found: Any, expected: Any, rtol: float = 1e-9) -> None:
    """Compare value, shape and dtype."""
    found, expected = dense(found), dense(expected)
    assert np.shape(found) == np.shape(expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    if np.asarray(expected).dtype.kind == "f":
        scale = np.nanmax(np.abs(np.where(np.isfinite(expected), expected, 0)), initial=0)
        if np.asarray(expected).dtype == np.float32:
            rtol = max(rtol, 3e-6)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale)
    else:
        np.testing.assert_array_equal(found, expected)


def check(
    op: str,
    attrs: dict[str, Any],
    operands: Sequence[Any],
    splits: Sequence[Splits | None],
    rtol: float = 1e-9,
    **kw: Any,
) -> None:
    """Run on blocks and compare every result with the kernel's on the whole."""
    with np.errstate(all="ignore"):
        expected = get(op)(*map(dense, operands), **attrs)
    results = expected if isinstance(expected, tuple) else (expected,)
    for found, right in zip(
        run_blocked(op, attrs, operands, splits, expected=expected, **kw), results, strict=True
    ):
        same(found, right, rtol)
        if isinstance(found, np.ndarray):
            assert found.flags.writeable


__all__ = [
    "BlockedArray",
    "check",
    "dense",
    "run_blocked",
    "runtime",
    "same",
    "step_of",
    "value_of",
]
