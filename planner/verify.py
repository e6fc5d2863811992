"""Checks what each stage promises; a failure is a fault of Lineal's, named with stage and rule."""

from __future__ import annotations

from lineal.errors import LinealError
from lineal.planner.expr import Expr, walk
from lineal.planner.infer import RULES, Types, type_of
from lineal.planner.levels import find_levels
from lineal.planner.logical import Logical
from lineal.planner.plan import Block, PhysicalPlan, Step
from lineal.planner.types import Sym


class VerificationError(LinealError, AssertionError):
    """A stage or rule broke its promise; please report it with the program."""


def check_same(rule: str, before: Expr, after: Expr) -> None:
    """Check that a rule kept shape, dtype and number of results."""
    old, new = type_of(before), type_of(after)
    if _listed(old) != _listed(new):
        raise VerificationError(f"rule {rule} changed the type of {before} from {old} to {new}")


def _listed(types: Types) -> list[tuple[object, ...]]:
    """Return types in comparable form: a size that the run decides counts by its bound.

    Its source is a node, and a rule may well have replaced that node by an equal one.
    """
    listed = types if isinstance(types, tuple) else (types,)
    return [
        (
            tuple(("?", d.bound) if isinstance(d, Sym) else d for d in t.shape),
            t.dtype,
            t.weak,
            t.kind,
        )
        for t in listed
    ]


def check_logical(program: Logical, before: Logical | None = None) -> None:
    """Check that `program` is well formed, and types as `before` (the stage's input)."""
    for node in walk([*program.inputs, *program.outputs]):
        if node.op not in RULES:
            raise VerificationError(f"unknown operation {node.op!r} in {program.name!r}")
        type_of(node)
    levels = find_levels(program)
    for root in program.outputs:
        if levels.loops[root]:
            raise VerificationError(f"a result of {program.name!r} depends on a loop's inside")
    for node in levels.order:
        if node.op == "param" and node not in levels.owner:
            raise VerificationError(f"{node} belongs to no loop of {program.name!r}")
    if before is None:
        return
    if program.inputs != before.inputs:
        raise VerificationError(f"the inputs of {program.name!r} changed")
    old = [_listed(type_of(x)) for x in before.outputs]
    new = [_listed(type_of(x)) for x in program.outputs]
    if old != new:
        raise VerificationError(f"the results of {program.name!r} changed from {old} to {new}")


def check_physical(plan: PhysicalPlan) -> None:
    """Check that every value is computed before use, used before it dies, and named once."""
    defined = {v.name for v in plan.inputs}
    names: set[str] = set(defined)
    for step in plan.steps():
        for name in (*(v.name for v in step.outputs), *step.params):
            if name in names:
                raise VerificationError(f"{name} is computed twice in {plan.name!r}")
            names.add(name)
    _check_block(plan.body, defined, plan.name)


def _check_block(block: Block, outer: set[str], name: str) -> set[str]:
    here = set(outer)
    for once in block.once:
        for step in once.steps:
            _check_step(step, here, name)
    for step in block.steps:
        _check_step(step, here, name)
    for result in block.results:
        if result and result not in here:
            raise VerificationError(f"{result} is a result but is not there in {name!r}")
    return here


def _check_step(step: Step, here: set[str], name: str) -> None:
    for operand in step.inputs:
        if operand and operand not in here:
            raise VerificationError(f"{step.text} uses {operand} before it is there in {name!r}")
    if step.op == "loop":
        test, body = step.blocks
        inside = _check_block(test, here | set(step.params), name)
        _check_block(body, inside, name)
    else:
        for block in step.blocks:
            _check_block(block, here, name)
    here |= {v.name for v in step.outputs}
    here -= set(step.frees)
