"""One walk over a plan gives the rows that every view prints.

A row is data: numbers keep their units, unknown stays unknown (None).  Nothing here formats.
The walk keeps its own stack, so the nesting of loops and branches has no limit.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace

from lineal.errors import Span
from lineal.planner.plan import Block, PhysicalPlan, Step, Value

GUESSED = ("assumed", "declared")
"""How a loop's count can be known that make it, and what is inside, an estimate."""


@dataclass(frozen=True, slots=True)
class Carried:
    """One value that a loop carries: `param` is `init` at first, then `next` of each iteration.

    `value` is what it is after the loop.  `init` is empty where the first iteration makes it.
    """

    param: str
    init: str
    next: str
    value: Value


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a plan, in execution order.

    `kind` is "op" or "const" for a step, and for control: "loop" (head), "test" (the iteration
    runs while its input holds), "if", "then", "else" and "end".  `indent` counts the loops and
    branches around the row, `loops` only the loops.

    `where` is where the step's work happens: "driver"; "blocked": on blocks; "broadcast": on
    blocks, with a small operand of the driver sent to each.  `flops`, `bytes_read`,
    `bytes_written` and `peak_bytes` are of one execution.  `runs` is how often it executes in
    the whole run, an estimate if `runs_guessed`.  `hoisted`: the row stands in a loop and was
    taken out of it, down to loop level `level`; it runs at most once per entry of that level.
    `spans` are the user's places; `carried` belongs to the head and end of a loop; `merged`
    to the end of a branch, as (output, value if true, value if false).
    """

    kind: str
    op: str
    outputs: tuple[Value, ...] = ()
    inputs: tuple[str, ...] = ()
    text: str = ""
    attrs: tuple[tuple[str, Hashable], ...] = ()
    where: str = ""
    indent: int = 0
    loops: int = 0
    flops: float | None = None
    bytes_read: float | None = None
    bytes_written: float | None = None
    peak_bytes: float | None = None
    runs: float = 1.0
    runs_guessed: bool = False
    hoisted: bool = False
    level: int = 0
    spans: tuple[Span, ...] = ()
    frees: tuple[str, ...] = ()
    note: str = ""
    carried: tuple[Carried, ...] = ()
    merged: tuple[tuple[str, str, str], ...] = ()

    @property
    def bytes_moved(self) -> float | None:
        """Bytes read and written by one execution; None if either is unknown."""
        if self.bytes_read is None or self.bytes_written is None:
            return None
        return self.bytes_read + self.bytes_written

    @property
    def lines(self) -> tuple[int, ...]:
        """The user's lines, each once, in order."""
        return tuple(sorted({span.line for span in self.spans}))


@dataclass(frozen=True, slots=True)
class _At:
    """Where in the nest of control steps the walk is."""

    indent: int
    guessed: bool
    level: int = 0
    hoisted: bool = False


def rows(plan: PhysicalPlan) -> tuple[Row, ...]:
    """Return the plan's rows, top to bottom in the order in which they run."""
    walk = _Walk(plan)
    found: list[Row] = []
    stack: list[Iterator[Row | tuple[Step, _At]]] = [walk.block(plan.body, _At(0, False))]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
        elif isinstance(item, Row):
            found.append(item)
        else:
            stack.append(walk.control(*item))
    return tuple(found)


class _Walk:
    def __init__(self, plan: PhysicalPlan) -> None:
        self.guessed_loops = {label for label, _, how in plan.trip_counts if how in GUESSED}
        self.values: dict[str, Value] = {v.name: v for v in plan.inputs}
        self.constants: set[str] = set()

    def block(self, block: Block, at: _At) -> Iterator[Row | tuple[Step, _At]]:
        for once in block.once:
            inner = _At(at.indent, at.guessed, once.level, True)
            yield from self.steps(once.steps, inner)
        yield from self.steps(block.steps, at)

    def steps(self, steps: tuple[Step, ...], at: _At) -> Iterator[Row | tuple[Step, _At]]:
        for step in steps:
            if step.blocks:
                yield (step, at)
                continue
            for value in step.outputs:
                self.values[value.name] = value
            constant = step.op == "const"
            if constant:
                self.constants.update(value.name for value in step.outputs)
            yield self.row("const" if constant else "op", step, at)

    def control(self, step: Step, at: _At) -> Iterator[Row | tuple[Step, _At]]:
        for value in step.outputs:
            self.values[value.name] = value
        if step.op == "loop":
            return self.loop(step, at)
        return self.branch(step, at)

    def loop(self, step: Step, at: _At) -> Iterator[Row | tuple[Step, _At]]:
        test, body = step.blocks
        carried = tuple(
            Carried(param, init, after, value)
            for value, param, init, after in zip(
                step.outputs, step.params[1:], step.inputs[1:], body.results, strict=True
            )
        )
        for item in carried:
            self.values[item.param] = replace(item.value, name=item.param)
        yield self.row("loop", step, at, carried=carried)
        label = f"line {step.spans[0].line}" if step.spans else "loop"
        inner = _At(at.indent + 1, at.guessed or label in self.guessed_loops)
        yield from self.block(test, inner)
        # A counted loop's condition is a constant: there is nothing to test.
        if any(name not in self.constants for name in test.results):
            yield Row(
                "test", "test", (), test.results, "while the condition holds",
                indent=inner.indent, loops=step.depth + 1, runs_guessed=inner.guessed,
                spans=step.spans,
            )  # fmt: skip
        yield from self.block(body, inner)
        yield self.end(step, at, carried=carried, inputs=tuple(c.next for c in carried))

    def branch(self, step: Step, at: _At) -> Iterator[Row | tuple[Step, _At]]:
        yield self.row("if", step, at)
        inner = _At(at.indent + 1, at.guessed)
        for kind, block in zip(("then", "else"), step.blocks, strict=True):
            yield Row(
                kind, kind, (), (), kind, indent=at.indent, loops=step.depth,
                runs=step.runs, runs_guessed=at.guessed, spans=step.spans,
            )  # fmt: skip
            yield from self.block(block, inner)
        then, other = step.blocks
        merged = tuple(
            (value.name, a, b)
            for value, a, b in zip(step.outputs, then.results, other.results, strict=True)
        )
        names = tuple(dict.fromkeys(name for _, *pair in merged for name in pair if name))
        yield self.end(step, at, merged=merged, inputs=names)

    def end(
        self,
        step: Step,
        at: _At,
        inputs: tuple[str, ...],
        carried: tuple[Carried, ...] = (),
        merged: tuple[tuple[str, str, str], ...] = (),
    ) -> Row:
        return Row(
            "end", step.op, step.outputs, inputs, "end", indent=at.indent, loops=step.depth,
            runs=step.runs, runs_guessed=at.guessed, hoisted=at.hoisted, level=at.level,
            spans=step.spans, frees=step.frees, carried=carried, merged=merged,
        )  # fmt: skip

    def row(self, kind: str, step: Step, at: _At, carried: tuple[Carried, ...] = ()) -> Row:
        head = kind in ("loop", "if")
        return Row(
            kind=kind,
            op=step.op,
            outputs=() if head else step.outputs,
            inputs=tuple(name for name in step.inputs if name),
            text=step.text,
            attrs=step.attrs,
            where="" if head else self.where(step),
            indent=at.indent,
            loops=step.depth,
            flops=None if head else step.flops,
            bytes_read=None if head else step.bytes_read,
            bytes_written=None if head else step.bytes_written,
            peak_bytes=None if head else step.peak_bytes,
            runs=step.runs,
            runs_guessed=at.guessed,
            hoisted=at.hoisted,
            level=at.level,
            spans=step.spans,
            frees=() if head else step.frees,
            note=step.note,
            carried=carried,
        )

    def where(self, step: Step) -> str:
        operands = [self.values[name] for name in step.inputs if name in self.values]
        if all(value.place == "driver" for value in (*operands, *step.outputs)):
            return "driver"
        sent = any(value.place == "driver" and value.type.ndim for value in operands)
        return "broadcast" if sent else "blocked"


def constant_texts(found: tuple[Row, ...]) -> dict[str, str]:
    """Return each constant's text by name: views show that in place of a row."""
    return {v.name: row.text for row in found if row.kind == "const" for v in row.outputs}
