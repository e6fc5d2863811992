"""Programs from text, and what the planner makes of them: for tests that state both."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import lineal as la
from lineal.engine.interpreter import Executable
from lineal.engine.plan import Plan
from lineal.planner.expr import Expr, walk
from lineal.planner.plan import Decision, Step
from lineal.planner.render import expression


def written(parameters: str, *lines: str) -> Callable[..., Any]:
    """Return a function of `parameters` with the given body, its source where inspect finds it."""
    text = f"def program({parameters}):\n" + "".join(f"    {line}\n" for line in lines)
    name = f"<written {text!r}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), space)
    function: Callable[..., Any] = space["program"]
    return function


def planned(function: Callable[..., Any], *inputs: Any, **options: Any) -> Plan:
    """Return the plan of a plain function; `cluster` and `iterations` as in Program.plan."""
    return la.program(function).plan(*inputs, **options)


def result_text(plan: Plan, depth: int = 30) -> str:
    """Return the first result written out, expressions of any depth in full."""
    return expression(plan.logical.outputs[0], plan.logical.notes, depth)


def nodes(plan: Plan, op: str) -> list[Expr]:
    """Return the nodes of one operation in the plan's logical program."""
    return [node for node in walk(plan.logical.outputs) if node.op == op]


def decisions(plan: Plan, rule: str, fired: bool) -> list[Decision]:
    """Return what one rule did, or did not."""
    return [d for d in plan.decisions if d.rule == rule and d.fired == fired]


def run_counted(plan: Plan, *inputs: Any) -> tuple[list[Any], Counter[str]]:
    """Run in-process; return the results and how often each operation ran."""
    calls: Counter[str] = Counter()

    def watch(step: Step, values: list[Any]) -> None:
        calls[step.op] += 1

    values, _ = Executable(plan.physical, watch).run(list(inputs))
    return values, calls
