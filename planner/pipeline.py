"""The pipeline: source text to physical plan, as one ordered tuple of stages.

    source -> logical -> normalised -> optimised -> physical -> lowered

`compile_until` is its only definition; explain, tests and bug reports use the same names.  Every
stage is a function of the one before and the request, and is verified.  (The `incremental` stage,
which derives delta forms, will stand between `optimised` and `physical`.)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from lineal.errors import OptionError
from lineal.kernels.specs import Spec
from lineal.planner.cluster import ClusterSpec
from lineal.planner.forms import settle_forms
from lineal.planner.lifetimes import with_lifetimes
from lineal.planner.logical import Logical
from lineal.planner.peak import peak_bytes
from lineal.planner.placement import place
from lineal.planner.plan import PhysicalPlan, steps_of
from lineal.planner.rules.algebra import NORMAL_FORM
from lineal.planner.rules.chains import chain_order
from lineal.planner.rules.loops import prune_loops
from lineal.planner.rules.protocol import apply_rules
from lineal.planner.schedule import schedule
from lineal.planner.seconds import seconds
from lineal.planner.source import Source
from lineal.planner.trace import Describe, Traced, trace
from lineal.planner.verify import check_logical, check_physical

_DEPTH = 20_000
"""Recursion limit while planning: nested statements nest calls, and Python's own limit of 1,000
would refuse programs of some 200 nested branches.  Such frames take no C stack."""


def no_outside(value: Any, name: str) -> None:
    """Recognise no outside arrays: the default, for programs without hidden inputs."""


@dataclass(frozen=True)
class Request:
    """All that a plan depends on.

    `program` is a Source to be traced for `arguments` (see planner.trace), or a Logical that a
    lazy array has built.  `iterations` assumes counts for loops that have no bound; `rewrites`
    names rules that are switched off.
    """

    program: Source | Logical
    arguments: Mapping[str, Any] = field(default_factory=dict)
    bindings: Mapping[str, Any] = field(default_factory=dict)
    describe: Describe = no_outside
    algebra: str = "real"
    rewrites: tuple[str, ...] = ()
    iterations: dict[str, float] | float | None = None
    cluster: ClusterSpec = ClusterSpec()  # noqa: RUF009 - frozen


@dataclass(frozen=True)
class Compiled:
    """What a stage leaves: the logical program, and the plan from `physical` on.

    `written` is the plan of the program as it is written, where a rule changed it.
    """

    traced: Traced
    logical: Logical
    plan: PhysicalPlan | None = None
    written: PhysicalPlan | None = None


def _logical(request: Request, before: Compiled | None) -> Compiled:
    if isinstance(request.program, Logical):
        logical = replace(request.program, algebra=request.algebra)
        return Compiled(Traced(logical, {}, {}), logical)
    traced = trace(
        request.program, request.arguments, bindings=request.bindings, describe=request.describe
    )
    logical = replace(traced.logical, algebra=request.algebra)
    return Compiled(replace(traced, logical=logical), logical)


def _normalised(request: Request, before: Compiled) -> Compiled:
    pruned = prune_loops(before.logical, request.rewrites)
    logical = apply_rules(pruned, NORMAL_FORM, request.rewrites, request.iterations)
    return replace(before, logical=logical)


def _optimised(request: Request, before: Compiled) -> Compiled:
    logical = chain_order(
        before.logical, request.iterations, request.rewrites, request.cluster
    )
    return replace(before, logical=logical)


def _physical(request: Request, before: Compiled) -> Compiled:
    before = replace(before, logical=settle_forms(before.logical))
    plan = _laid_out(before.logical, request)
    if before.logical.outputs != before.traced.logical.outputs:
        written = _laid_out(settle_forms(before.traced.logical), request)
        plan = replace(
            plan, flops_as_written=written.flops, est_seconds_as_written=written.est_seconds
        )
        return replace(before, plan=plan, written=written)
    return replace(before, plan=plan)


def _lowered(request: Request, before: Compiled) -> Compiled:
    assert before.plan is not None
    plan = place(before.plan, request.cluster)
    # Both estimates are of placed plans: transfers and round trips count in each.
    written = plan if before.written is None else place(before.written, request.cluster)
    return replace(before, plan=replace(plan, est_seconds_as_written=written.est_seconds))


RULE_NAMES: tuple[str, ...] = (
    prune_loops.__name__,
    *(rule.name for rule in NORMAL_FORM),
    chain_order.__name__,
)
"""The rules that `rewrites` can switch off, in the order in which they are tried."""

Stage = Callable[[Request, Any], Compiled]
STAGES: tuple[tuple[str, Stage], ...] = (
    ("logical", _logical),
    ("normalised", _normalised),
    ("optimised", _optimised),
    ("physical", _physical),
    ("lowered", _lowered),
)
"""The stages after `source`, in order."""


def compile_until(request: Request, stage: str = "lowered") -> Compiled:
    """Run the pipeline up to and including `stage`.

    Raises
    ------
    ProgramError
        The program cannot be planned.
    OptionError
        There is no such stage.
    """
    names = [name for name, _ in STAGES]
    if stage not in names:
        raise OptionError(f"there is no stage {stage!r}", hint=f"one of {', '.join(names)}")
    done: Compiled | None = None
    with _deep_calls():
        for name, run in STAGES:
            before = done
            done = run(request, before)
            check_logical(done.logical, before.logical if before is not None else None)
            if done.plan is not None:
                check_physical(done.plan)
            if name == stage:
                break
    assert done is not None
    return done


@contextmanager
def _deep_calls() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _laid_out(program: Logical, request: Request) -> PhysicalPlan:
    """Schedule `program` and add up what a run costs."""
    laid = schedule(program, request.iterations)
    body = with_lifetimes(laid.body)
    flops, spent = 0.0, 0.0
    for step in steps_of(body):
        flops += step.flops * step.runs
        sparse = any(v.storage == "sparse" for v in step.outputs) or "sparse" in step.note
        spec = Spec(step.flops, step.bytes_read, step.bytes_written, step.peak_bytes)
        spent += seconds(step.op, spec, sparse, request.cluster) * step.runs
    return PhysicalPlan(
        name=program.name,
        inputs=laid.inputs,
        body=body,
        outputs=laid.outputs,
        effects=program.effects,
        flops=flops,
        flops_as_written=flops,
        est_seconds=spent,
        est_seconds_as_written=spent,
        peak_bytes=peak_bytes(body, laid.inputs),
        trip_counts=laid.loops,
        decisions=program.decisions,
    )
