"""The examples: the plain function under NumPy against the planned one, plan at hand and not."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import lineal as la
from lineal.engine.inputs import to_numpy
from lineal.examples import EXAMPLES

from .measure import Timing, interleaved


@dataclass(frozen=True)
class Row:
    """One program at one size."""

    name: str
    size: str
    flops_as_written: float
    flops: float
    numpy: Timing
    first: Timing
    planned: Timing
    difference: float


TALL = (200_000, 200)
"""Rows and columns of the tall dense problems (320 MB)."""


def tall_rows() -> list[Row]:
    """Measure DFP, BFGS and gradient descent as textbooks write them, A 200,000 x 200 dense."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=TALL), rng.normal(size=(TALL[0], 1))
    start = np.zeros((TALL[1], 1))
    cases: dict[str, dict[str, Any]] = {
        "dfp": {"A": A, "b": b, "iters": 20, "alpha": 1e-6},
        "bfgs": {"A": A, "b": b, "x0": start, "iters": 20},
        "gradient_descent": {"A": A, "b": b, "iters": 100, "alpha": 1e-6},
    }
    return [_row(name, "200,000 x 200", arguments) for name, arguments in cases.items()]


def _difference(expected: Any, found: Any) -> float:
    worst = 0.0
    pairs = zip(
        expected if isinstance(expected, tuple) else (expected,),
        found if isinstance(found, tuple) else (found,),
        strict=True,
    )
    for want, got in pairs:
        a, b = np.asarray(to_numpy(want), float), np.asarray(to_numpy(got), float)
        scale = np.abs(a).max(initial=0.0) or 1.0
        worst = max(worst, float(np.abs(a - b).max(initial=0.0)) / float(scale))
    return worst


def rows(size: str) -> list[Row]:
    """Measure every example; values are compared before any time counts."""
    return [_row(name, size, example.inputs(size)) for name, example in EXAMPLES.items()]


def _row(name: str, size: str, arguments: dict[str, Any]) -> Row:
    plain = EXAMPLES[name].function
    program = la.program(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        gap = _difference(plain(**arguments), program(**arguments))
        times = interleaved(
            {
                "numpy": lambda: plain(**arguments),
                "first": lambda: la.Program(program.__lineal_source__)(**arguments),
                "planned": lambda: program(**arguments),
            }
        )
    plan = program.plan(**arguments)
    return Row(
        name, size, plan.flops_as_written, plan.flops, times["numpy"], times["first"],
        times["planned"], gap,
    )
