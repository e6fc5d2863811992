"""What plans say of values against what runs make: form, shape, dtype, density, memory."""

from __future__ import annotations

import gc
import inspect
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import lineal as la
from lineal.engine.inputs import describe
from lineal.engine.interpreter import Executable
from lineal.engine.plan import Plan
from lineal.examples import EXAMPLES, Example
from lineal.planner.plan import Step, Value
from lineal.planner.types import DensityKind, Sym
from tests.fuzz.modes import MODES, mode_of, program_of

pytestmark = pytest.mark.checkout

SLACK_BYTES = 2**16
"""Of a measured peak: the interpreter's own objects (64 KiB; the arrays of the measured runs are
at least seven times as large)."""


def check_value(declared: Value, value: Any, step: Step) -> None:
    """Compare one result with its declaration; raises AssertionError naming both."""
    told = f"{step.text or step.op}: {declared} against {value!r:.200}"
    kind = declared.type
    if kind.kind != "array":
        return
    if kind.weak:
        wanted = {"b": bool, "i": int, "f": float}[kind.dtype.kind]
        assert type(value) is wanted, told
        return
    assert value.dtype == kind.dtype, told
    assert len(value.shape) == kind.ndim, told
    for size, dim in zip(value.shape, kind.shape, strict=True):
        assert size <= dim.bound if isinstance(dim, Sym) else size == dim, told
    if declared.storage == "dense":
        assert not sp.issparse(value), told
    stored = value.data if sp.issparse(value) else value
    if not all(value.shape) or not np.isfinite(stored).all():
        return  # a NaN or infinity that has met a zero fills it
    assert sp.issparse(value) == (declared.storage == "sparse"), told
    count = value.count_nonzero() if sp.issparse(value) else np.count_nonzero(value)
    share = count / np.prod(value.shape, dtype=float)
    if declared.density.kind is DensityKind.EXACT:
        assert abs(share - declared.density.value) <= 1e-9, told
    elif declared.density.kind is DensityKind.UPPER:
        assert share <= declared.density.value + 1e-9, told


def check_plan(plan: Plan, given: dict[str, Any]) -> int:
    """Run in-process, check every step's results, and return how many were checked."""
    checked = 0

    def watch(step: Step, values: list[Any]) -> None:
        nonlocal checked
        for declared, value in zip(step.outputs, values, strict=True):
            if value is not None:  # a name that this path does not bind
                check_value(declared, value, step)
                checked += 1

    bound = [describe(given[name], name).value for name in plan.parameters]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        Executable(plan.physical, watch).run(bound)
    return checked


def _plan(function: Any, given: dict[str, Any], **options: Any) -> Plan:
    with la.options(**options):
        return la.program(function).plan(**given)


def _given(example: Example, size: str, form: str) -> dict[str, Any]:
    bound = inspect.signature(example.function).bind(**example.inputs(size))
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    if form == "csr":
        for name in example.matrices:
            if arguments[name].ndim == 2:
                arguments[name] = sp.csr_array(arguments[name])
    return arguments


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("example", EXAMPLES.values(), ids=lambda e: e.name)
def test_every_step_of_an_example_is_as_declared(example: Example, form: str) -> None:
    given = _given(example, "small", form)
    assert check_plan(_plan(example.function, given), given) > 5


@pytest.mark.parametrize("seed", range(200))
def test_every_step_of_a_random_program_is_as_declared(seed: int) -> None:
    made = program_of(seed)
    options = dict(MODES[mode_of(seed)])
    given = dict(made.inputs)
    if options.pop("as_csr", False):
        for name, value in given.items():
            if isinstance(value, np.ndarray) and value.ndim == 2:
                given[name] = sp.csr_array(value)
    try:
        plan = _plan(made.function(), given, **options)
    except la.errors.ShapeError:  # a path that NumPy does not take has another shape
        pytest.skip("outside the language")
    check_plan(plan, given)


def _nbytes(value: Any) -> int:
    if sp.issparse(value):
        return int(value.data.nbytes + value.indices.nbytes + value.indptr.nbytes)
    return int(getattr(value, "nbytes", 0))


def _measured(plan: Plan, inputs: list[Any]) -> int:
    """Return the most bytes held at once in a run, inputs included."""
    executable = plan.executable
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        gc.collect()
        tracemalloc.start()
        try:
            executable.run(inputs)
            return tracemalloc.get_traced_memory()[1] + sum(map(_nbytes, inputs))
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("example", EXAMPLES.values(), ids=lambda e: e.name)
def test_measured_peak_is_within_the_bound(example: Example, form: str) -> None:
    arguments = _given(example, "medium", "dense")
    filled = [np.count_nonzero(arguments[m]) / arguments[m].size for m in example.matrices]
    if form == "csr" and min(filled) > 0.5:
        pytest.skip("its data are not sparse")
    arguments = _given(example, "medium", form)
    for name in ("iters", "max_iter", "steps"):
        if name in arguments:
            arguments[name] = min(arguments[name], 3)
    small = _given(example, "small", form)
    check_plan(_plan(example.function, small), small)  # imports what the kernels need
    plan = _plan(example.function, arguments)
    inputs = [describe(arguments[name], name).value for name in plan.parameters]
    measured = _measured(plan, inputs)
    assert measured <= plan.peak_bytes + SLACK_BYTES
