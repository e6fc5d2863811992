"""A small interpreter of placed plans for the tests, and a builder of plans by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lineal.engine.blocked import BlockedArray, BlockedRuntime
from lineal.kernels.registry import get
from lineal.planner.placement import runs_blocked
from lineal.planner.plan import Block, PhysicalPlan, Step, Value
from lineal.planner.types import Type


class Builder:
    """Straight lists of steps, written as method calls; types come from running on zeros."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.count = 0

    def input(self, name: str, shape: tuple[int, ...], dtype: str = "float64", **kw: Any) -> str:
        self.values[name] = Value(name, Type(shape, np.dtype(dtype)), label=name, **kw)
        return name

    def step(self, steps: list[Step], op: str, *inputs: str, shape: Any, **attrs: Any) -> str:
        self.count += 1
        name = f"%{self.count}"
        kind = Type(tuple(shape), np.dtype(attrs.pop("as_dtype", "float64")))
        value = self.values[name] = Value(name, kind)
        steps.append(
            Step(op, tuple(sorted(attrs.items())), inputs, (value,), text=f"{name} = {op}")
        )
        return name

    def const(self, steps: list[Step], value: Any) -> str:
        return self.step(steps, "const", shape=np.shape(value), value=value)


def with_frees(block: Block, visible: Sequence[str] = ()) -> Block:
    """Add `frees`: each value made in the block dies with the last step that uses it."""
    steps = list(block.steps)
    for i, step in enumerate(steps):
        if step.blocks:
            steps[i] = replace(step, blocks=tuple(with_frees(b) for b in step.blocks))
    last: dict[str, int] = {}
    for i, step in enumerate(steps):
        for value in step.outputs:
            last[value.name] = i
        for name in _uses(step):
            if name in last or name in visible:
                last[name] = i
    for name, i in last.items():
        if name not in block.results:
            steps[i] = replace(steps[i], frees=(*steps[i].frees, name))
    return replace(block, steps=tuple(steps))


def _uses(step: Step) -> list[str]:
    names = list(step.inputs)
    for block in step.blocks:
        names += block.results
        for inner in block.steps:
            names += _uses(inner)
    return names


def gradient_descent(
    n: int, m: int, iterations: int, **kw: Any
) -> tuple[PhysicalPlan, dict[str, tuple[int, ...]]]:
    """x = x - 1e-4 * (A.T @ (A @ x - b)), `iterations` times."""
    b = Builder()
    b.input("A", (n, m), **kw)
    b.input("b", (n, 1))
    top: list[Step] = []
    x0 = b.step(top, "full", b.const(top, 0.0), shape=(m, 1), dtype="float64", **{})
    top[-1] = replace(top[-1], attrs=(("dtype", "float64"), ("shape", (m, 1))))
    trip = b.const(top, iterations)
    b.values["x"] = replace(b.values[x0], name="x", label="x")
    body: list[Step] = []
    ax = b.step(body, "matmul", "A", "x", shape=(n, 1))
    r = b.step(body, "subtract", ax, "b", shape=(n, 1))
    at = b.step(body, "transpose", "A", shape=(m, n))
    g = b.step(body, "matmul", at, r, shape=(m, 1))
    scale = b.const(body, 1e-4)
    d = b.step(body, "multiply", scale, g, shape=(m, 1))
    x1 = b.step(body, "subtract", "x", d, shape=(m, 1))
    test: list[Step] = []
    true = b.const(test, True)
    out = Value("%out", b.values[x0].type, label="x")
    loop = Step(
        "loop",
        (("n", 1),),
        (trip, x0),
        (out,),
        params=("%k", "x"),
        blocks=(Block(tuple(test), (true,)), Block(tuple(body), (x1,))),
        text="loop",
    )
    plan = PhysicalPlan(
        "gd",
        (b.values["A"], b.values["b"]),
        with_frees(Block((*top, loop), ("%out",))),
        ("%out",),
    )
    return plan, {}


class Interpreter:
    """Runs a placed plan: blocked steps by the runtime, the others by kernels."""

    def __init__(self, runtime: BlockedRuntime, plan: PhysicalPlan) -> None:
        self.runtime = runtime
        self.plan = plan
        self.env: dict[str, Any] = {}
        self.places: dict[str, str] = {}
        self.iterations: list[int] = []

    def run(self, *inputs: Any) -> Any:
        for value, given in zip(self.plan.inputs, inputs, strict=True):
            self.places[value.name] = value.place
            blocked = value.place == "blocked"
            self.env[value.name] = self.runtime.adopt(given, value) if blocked else given
        self.block(self.plan.body)
        result = tuple(self.runtime.fetch(self.env[name]) for name in self.plan.outputs)
        self.env.clear()
        self.runtime.close()
        return result[0] if len(result) == 1 else result

    def block(self, block: Block) -> None:
        for once in block.once:
            for step in once.steps:
                if step.outputs[0].name not in self.env:
                    self.step(step)
        for step in block.steps:
            self.step(step)

    def step(self, step: Step) -> None:
        if step.op == "loop":
            self.loop(step)
        else:
            operands = [self.env[name] for name in step.inputs]
            if runs_blocked(step, self.places):
                results = self.runtime.run(step, operands)
            else:
                values = [self.runtime.fetch(operand) for operand in operands]
                found = get(step.op)(*values, **dict(step.attrs))
                results = found if isinstance(found, tuple) else (found,)
            for value, result in zip(step.outputs, results, strict=True):
                self.env[value.name] = result
        for value in step.outputs:
            self.places[value.name] = value.place
        for name in step.frees:
            self.runtime.release(self.env.pop(name, None))

    def loop(self, step: Step) -> None:
        trip = self.runtime.fetch(self.env[step.inputs[0]])
        state = [self.env[name] for name in step.inputs[1:]]
        for param, name in zip(step.params[1:], step.inputs[1:], strict=True):
            self.places[param] = self.places[name]
        for k in range(trip):
            self.env[step.params[0]] = k
            self.env.update(zip(step.params[1:], state, strict=True))
            self.block(step.blocks[0])
            if not self.runtime.fetch(self.env[step.blocks[0].results[0]]):
                break
            before = sum(self.runtime.flushes)
            self.block(step.blocks[1])
            state = [self.env[name] for name in step.blocks[1].results]
            self.runtime.end_iteration([v for v in state if isinstance(v, BlockedArray)])
            self.iterations.append(sum(self.runtime.flushes) - before)
        for value, result in zip(step.outputs, state, strict=True):
            self.env[value.name] = result
