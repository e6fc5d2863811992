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
    found = []
    for name, example in EXAMPLES.items():
        arguments = example.inputs(size)
        program = la.program(example.function)
        plain = example.function

        def first(program: la.Program = program, arguments: dict[str, Any] = arguments) -> Any:
            return la.Program(program.__lineal_source__)(**arguments)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            gap = _difference(plain(**arguments), program(**arguments))
            times = interleaved(
                {
                    "numpy": lambda plain=plain, arguments=arguments: plain(**arguments),
                    "first": first,
                    "planned": lambda program=program, arguments=arguments: program(**arguments),
                }
            )
        plan = program.plan(**arguments)
        found.append(
            Row(
                name, size, plan.flops_as_written, plan.flops, times["numpy"], times["first"],
                times["planned"], gap,
            )
        )
    return found
