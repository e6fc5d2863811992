"""Plans made by hand, for what no program of the tests gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lineal.errors import Span
from lineal.planner.plan import Block, Decision, Once, PhysicalPlan, Step, Value
from lineal.planner.types import Density, DensityKind, Sym, Type

F8 = np.dtype("float64")


def value(name: str, *shape: int | Sym, **more: object) -> Value:
    return Value(name, Type(shape, F8), **more)  # type: ignore[arg-type]


def boolean(name: str) -> Value:
    return Value(name, Type((), np.dtype(bool), weak=True))


def step(op: str, inputs: tuple[str, ...], *outputs: Value, **more: object) -> Step:
    return Step(op, (), inputs, outputs, text=f"{op}({', '.join(inputs)})", **more)  # type: ignore[arg-type]


def hostile() -> PhysicalPlan:
    """Names and texts that break out of markup if they are not escaped."""
    bad = '<script>alert("x")</script> & \\" ]]> \x07'
    span = Span("/somewhere/secret.py", 7, 0, 4, bad, bad)
    made = step("exp", (bad,), value("%1", 3, label=bad), spans=(span,), note=bad, flops=3.0)
    made = replace(made, attrs=(("message", bad), ("limit", float("inf")), ("k", np.int8(3))))
    decision = Decision(bad, True, bad, bad, bad, (("held_bytes", float("nan")),), span)
    return PhysicalPlan(
        bad, (value(bad, 3, label=bad),), Block((made,), ("%1",)), ("%1",), decisions=(decision,),
        flops=float("inf"),
    )  # fmt: skip


def several() -> PhysicalPlan:
    """One step with three results, and a size that only the run will know."""
    kept = Sym("mask", 10, "kept")
    outputs = (
        value("%1.0", kept, 4),
        replace(value("%1.1", 4), density=Density(0.5, DensityKind.ESTIMATED)),
        replace(value("%1.2", kept, 4), storage="sparse", density=Density(0.25, DensityKind.EXACT)),
    )
    body = Block((step("svd", ("A",), *outputs), step("assert_", ("%1.0",))), ("%1.0",))
    return PhysicalPlan("several", (value("A", 10, 4),), body, ("%1.0", "%1.2"))


def nested_loops() -> PhysicalPlan:
    """A loop in a loop, with steps hoisted to level 0 and to level 1."""
    one = step("transpose", ("A",), value("%4", 4, 4), depth=0)
    two = step("negative", ("%2",), value("%5", 4, 4), depth=1, runs=5.0)
    three = step("matmul", ("%4", "%5"), value("%6", 4, 4), depth=2, runs=50.0)
    test = step("const", (), boolean("%9"))
    inner = Step(
        "loop", (("trips", 10.0),), ("", "%2"), (value("%7.0", 4, 4, label="y"),),
        params=("%8", "%3"), depth=1, runs=5.0, text="for x10 (bound)",
        blocks=(Block((), ("%9",)), Block((three,), ("%6",), (Once(0, (one,)), Once(1, (two,))))),
    )  # fmt: skip
    outer = Step(
        "loop", (("trips", 5.0),), ("", "A"), (value("%10.0", 4, 4, label="x"),),
        params=("%1", "%2"), text="while x5 (assumed)", spans=(Span("f", 3),),
        blocks=(Block((), ("%9",)), Block((inner,), ("%7.0",))),
    )  # fmt: skip
    return PhysicalPlan(
        "nested", (value("A", 4, 4),), Block((test, outer), ("%10.0",)), ("%10.0",),
        trip_counts=(("line 3", 5.0, "assumed"),),
    )  # fmt: skip


def deep(levels: int) -> PhysicalPlan:
    """Branches nested `levels` deep."""
    body = Block((step("exp", ("A",), value("%0", 3)),), ("%0",))
    for level in range(1, levels + 1):
        branch = Step(
            "if", (), ("c",), (value(f"%{level}", 3),), text="if c",
            blocks=(body, Block((), ("A",))),
        )  # fmt: skip
        body = Block((branch,), (f"%{level}",))
    return PhysicalPlan("deep", (value("A", 3), boolean("c")), body, (f"%{levels}",))


def long(count: int) -> PhysicalPlan:
    """A chain of `count` additions."""
    steps = [step("add", ("A", "A"), value("%0", 3))]
    steps += [step("add", (f"%{i - 1}", "A"), value(f"%{i}", 3)) for i in range(1, count)]
    last = f"%{count - 1}"
    return PhysicalPlan("long", (value("A", 3),), Block(tuple(steps), (last,)), (last,))
