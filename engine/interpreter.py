"""Runs a physical plan: compiles its blocks to lists of small functions over numbered slots.

One interpreter serves in-process and cluster runs.  Steps on whole values call kernels here;
steps on blocks go to the runtime that the session gives.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from lineal.engine.progress import Progress
from lineal.engine.reuse import in_place
from lineal.errors import LinealError, Span
from lineal.kernels import registry
from lineal.planner.plan import Block, PhysicalPlan, Step, Value, steps_of

Slots = list[Any]
Instruction = tuple[Callable[[Slots], None], Step]
Watch = Callable[[Step, list[Any]], None]


class BlockRuntime(Protocol):
    """What the interpreter needs of a runtime for blocked values."""

    def run(self, step: Step, operands: list[Any]) -> tuple[Any, ...]:
        """Queue a step; one value per result, blocked or not."""

    def adopt(self, value: Any, planned: Value) -> Any:
        """Cut an input into the blocks that the plan gives it."""

    def fetch(self, value: Any) -> Any:
        """Return a blocked value whole, in this process."""

    def findings(self) -> list[tuple[str, Step | None]]:
        """Return floating-point findings of tasks: NumPy's word and the step."""

    def end_iteration(self, live: list[Any]) -> None:
        """End an iteration of a loop; `live` are the blocked values that the next one sees."""


@dataclass
class Trace:
    """What a run leaves behind besides its value."""

    iterations: dict[str, int] = field(default_factory=dict)
    graphs: tuple[int, ...] = ()
    findings: dict[tuple[str, str, int], None] = field(default_factory=dict)

    def record(self, kind: str, step: Step | None) -> None:
        """Record a floating-point finding of `step`, to be told once per source line."""
        op = step.op if step is not None else ""
        span = step.spans[0] if step is not None and step.spans else Span("<program>", 0)
        self.findings.setdefault((f"{kind} encountered in {op}", span.file, span.line))

    def record_all(self, found: Iterable[tuple[str, Step | None]]) -> None:
        """Record what a runtime has found."""
        for kind, step in found:
            self.record(kind, step)


class Executable:
    """A plan made ready to run any number of times, from several threads.

    Parameters
    ----------
    plan : PhysicalPlan
        What to run.
    watch : callable, optional
        Called with every step that has run (loops and branches after their blocks) and its
        results; for checks of what the plan says of them.
    """

    def __init__(self, plan: PhysicalPlan, watch: Watch | None = None) -> None:
        self.plan = plan
        self._watch = watch
        self._slot: dict[str, int] = {}
        self._types: dict[str, Value] = {v.name: v for v in plan.inputs}
        for step in plan.steps():
            for value in step.outputs:
                self._types[value.name] = value
            # A carried value has the form that it leaves its loop in.
            if step.params:
                self._types.update(zip(step.params[1:], step.outputs, strict=True))
        self.blocked = any(v.place == "blocked" for v in self._types.values())
        self._inputs = [self._at(v.name) for v in plan.inputs]
        self._program = self._block(plan.body)
        self._outputs = [self._at(name) for name in plan.outputs]

    def run(
        self,
        inputs: list[Any],
        runtime: BlockRuntime | None = None,
        progress: Progress | None = None,
        fetch: bool = True,
    ) -> tuple[list[Any], Trace]:
        """Run on `inputs` (one per plan input) and return (results, trace).

        With `fetch` False, results on the workers stay there, as the runtime's blocked values.

        Raises
        ------
        Exception
            Whatever the operation raises under NumPy, with the user's line added as a note.
        """
        slots: Slots = [None] * len(self._slot)
        for at, value, planned in zip(self._inputs, inputs, self.plan.inputs, strict=True):
            if planned.place == "blocked" and runtime is not None:
                value = runtime.adopt(value, planned)
            slots[at] = value
        run = _Run(slots, runtime, progress, self._watch)
        modes: dict[str, Any] = {k: "call" if v == "warn" else v for k, v in np.geterr().items()}
        with np.errstate(call=run.found, **modes):
            run.execute(self._program)
        results = []
        for at in self._outputs:
            value = slots[at]
            if fetch and runtime is not None and hasattr(value, "splits"):
                value = runtime.fetch(value)
            results.append(value)
        if runtime is not None and fetch:
            run.trace.record_all(runtime.findings())
        return results, run.trace

    # -- compilation ---------------------------------------------------------------------

    def _at(self, name: str) -> int:
        return self._slot.setdefault(name, len(self._slot))

    def _block(self, block: Block) -> CompiledBlock:
        onces = [
            CompiledOnce(self._at(f"once:{id(once)}"), [self._step(s) for s in once.steps])
            for once in block.once
        ]
        return CompiledBlock(
            onces,
            [self._step(s) for s in block.steps],
            [self._at(name) if name else -1 for name in block.results],
        )

    def _step(self, step: Step) -> Instruction | ControlStep:
        if step.op == "loop":
            return self._loop(step)
        if step.op == "if":
            then, other = (self._block(b) for b in step.blocks)
            return ControlStep(
                step,
                inputs=[self._at(step.inputs[0])],
                outputs=[self._at(v.name) for v in step.outputs],
                frees=[self._at(n) for n in step.frees],
                blocks=[then, other],
                passed_on=sorted(
                    {self._at(n) for b in step.blocks for n in b.results if n in _names_in((b,))}
                ),
            )
        return (self._plain(step), step)

    def _loop(self, step: Step) -> ControlStep:
        params = [self._at(n) for n in step.params]
        test, body = (self._block(b) for b in step.blocks)
        inner = set(_names_in(step.blocks)) | set(step.params)
        own = _names_in(step.blocks[1:])
        read_inside = _read_in(step.blocks)
        results = {v.name for v in step.outputs}
        return ControlStep(
            step,
            inputs=[self._at(n) if n else -1 for n in step.inputs],
            outputs=[self._at(v.name) for v in step.outputs],
            frees=[self._at(n) for n in step.frees],
            blocks=[test, body],
            params=params,
            resets=[self._at(k) for k in _onces_of(step, step.depth)],
            clears=sorted(self._at(n) for n in inner - results),
            # A slot that has handed its value on must not keep it alive: storage is reused only
            # where nothing else refers to it.
            passed_on=sorted({self._at(n) for n in step.blocks[1].results if n in own}),
            early=[self._at(n) for n in step.frees if n in step.inputs and n not in read_inside],
        )

    def _plain(self, step: Step) -> Callable[[Slots], None]:
        outs = [self._at(v.name) for v in step.outputs]
        frees = [self._at(n) for n in step.frees]
        if self._watch is None:
            return self._instruction(step, outs, frees)
        # What dies with the step may be its own result: first watch, then free.
        return _watched(self._watch, step, self._instruction(step, outs, []), outs, frees)

    def _instruction(
        self, step: Step, outs: list[int], frees: list[int]
    ) -> Callable[[Slots], None]:
        ins = [self._at(n) for n in step.inputs]
        touched = [self._types[n] for n in step.inputs if n in self._types] + list(step.outputs)
        if step.op in ("scatter", "gather") or any(v.place == "blocked" for v in touched):
            return _blocked(step, ins, outs, frees)
        sparse = any(v.storage == "sparse" for v in touched)
        if not sparse and not self.blocked and step.reuses and len(outs) == 1:
            reusing = in_place(step, self._types, ins, outs[0], frees)
            if reusing is not None:
                return reusing
        kernel = registry.bind(step.op, step.attrs, sparse, step.outputs[0].storage)
        return (_fetching if self.blocked else _call)(kernel, ins, outs, frees)


@dataclass
class CompiledOnce:
    """Hoisted instructions and the slot that tells whether they have run."""

    done: int
    code: list[Instruction | ControlStep]


@dataclass
class CompiledBlock:
    """A block: hoisted groups first, then its own instructions; `results` are slots."""

    onces: list[CompiledOnce]
    code: list[Instruction | ControlStep]
    results: list[int]


@dataclass
class ControlStep:
    """A loop or a branch; all positions are slots, -1 for none."""

    step: Step
    inputs: list[int]
    outputs: list[int]
    frees: list[int]
    blocks: list[CompiledBlock]
    params: list[int] = field(default_factory=list)
    resets: list[int] = field(default_factory=list)
    clears: list[int] = field(default_factory=list)
    passed_on: list[int] = field(default_factory=list)
    early: list[int] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The loop's place in the user's file, for progress."""
        spans = self.step.spans
        return f"loop at line {spans[0].line}" if spans else "loop"


def _call(
    kernel: Callable[..., Any], ins: list[int], outs: list[int], frees: list[int]
) -> Callable[[Slots], None]:
    """Return the instruction for one kernel call; one closure per arity keeps it lean."""
    out = outs[0]
    if len(outs) > 1:

        def many(slots: Slots) -> None:
            for at, value in zip(outs, kernel(*[slots[i] for i in ins]), strict=True):
                slots[at] = value
            for at in frees:
                slots[at] = None

        return many
    if len(ins) == 2:
        a, b = ins

        def two(slots: Slots) -> None:
            slots[out] = kernel(slots[a], slots[b])
            for at in frees:
                slots[at] = None

        return two
    if len(ins) == 1:
        (a,) = ins

        def one(slots: Slots) -> None:
            slots[out] = kernel(slots[a])
            for at in frees:
                slots[at] = None

        return one

    def some(slots: Slots) -> None:
        slots[out] = kernel(*[slots[i] for i in ins])
        for at in frees:
            slots[at] = None

    return some


def _watched(
    watch: Watch,
    step: Step,
    run: Callable[[Slots], None],
    outs: list[int],
    frees: list[int],
) -> Callable[[Slots], None]:
    def run_and_tell(slots: Slots) -> None:
        run(slots)
        watch(step, [slots[at] for at in outs])
        for at in frees:
            slots[at] = None

    return run_and_tell


def _fetching(
    kernel: Callable[..., Any], ins: list[int], outs: list[int], frees: list[int]
) -> Callable[[Slots], None]:
    """Return a kernel call in the driver whose operands may still be on their way from workers."""

    def fetch_and_call(slots: Slots) -> None:
        runtime: BlockRuntime = slots[-1]
        values = [slots[i] for i in ins]
        for k, value in enumerate(values):
            if hasattr(value, "splits"):
                values[k] = slots[ins[k]] = runtime.fetch(value)
        found = kernel(*values)
        for at, value in zip(outs, found if len(outs) > 1 else (found,), strict=True):
            slots[at] = value
        for at in frees:
            slots[at] = None

    return fetch_and_call


def _blocked(
    step: Step, ins: list[int], outs: list[int], frees: list[int]
) -> Callable[[Slots], None]:
    def on_blocks(slots: Slots) -> None:
        runtime: BlockRuntime = slots[-1]
        found = runtime.run(step, [slots[i] for i in ins])
        for at, value in zip(outs, found, strict=True):
            slots[at] = value
        # Dropping the last reference releases the blocks: slots may share one value, so that an
        # explicit release here could take it from another slot.
        for at in frees:
            slots[at] = None

    return on_blocks


class _Run:
    """One execution: slots, the step that is running, and what it has found."""

    def __init__(
        self,
        slots: Slots,
        runtime: BlockRuntime | None,
        progress: Progress | None,
        watch: Watch | None,
    ) -> None:
        self.progress = progress
        self._watch = watch
        slots.append(runtime)  # always the last slot
        self.slots = slots
        self.runtime = runtime
        self.step: Step | None = None
        self.trace = Trace()

    def found(self, kind: str, flag: int) -> None:
        """Take a floating-point finding of the running step (np.errstate's call mode)."""
        self.trace.record(kind, self.step)

    def execute(self, block: CompiledBlock) -> None:
        slots = self.slots
        for once in block.onces:
            if slots[once.done] is None:
                self._code(once.code)
                slots[once.done] = True
        self._code(block.code)

    def _code(self, code: list[Instruction | ControlStep]) -> None:
        slots = self.slots
        for item in code:
            if isinstance(item, tuple):
                run, self.step = item
                try:
                    run(slots)
                except Exception as error:
                    raise _located(error, self.step) from None
            elif item.step.op == "loop":
                self._loop(item)
            else:
                self._if(item)

    def _value(self, at: int) -> Any:
        """Return a slot's value, fetched if it is still on its way from workers."""
        value = self.slots[at]
        if self.runtime is not None and hasattr(value, "splits"):
            value = self.slots[at] = self.runtime.fetch(value)
        return value

    def _if(self, item: ControlStep) -> None:
        slots = self.slots
        block = item.blocks[0] if self._value(item.inputs[0]) else item.blocks[1]
        self.execute(block)
        values = [slots[at] if at >= 0 else None for at in block.results]
        for at in item.passed_on:
            slots[at] = None
        self._hand_on(item, values)

    def _hand_on(self, item: ControlStep, values: list[Any]) -> None:
        """Bind the results of a loop or branch, and free what dies with it."""
        slots = self.slots
        for at, value in zip(item.outputs, values, strict=True):
            slots[at] = value
        if self._watch is not None:
            self._watch(item.step, values)
        for at in item.frees:
            slots[at] = None

    def _loop(self, item: ControlStep) -> None:
        slots = self.slots
        trip = self._value(item.inputs[0]) if item.inputs[0] >= 0 else None
        for at in item.resets:
            slots[at] = None
        carried = item.params[1:]
        values = [slots[at] if at >= 0 else None for at in item.inputs[1:]]
        for at in item.early:
            slots[at] = None
        counter = item.params[0]
        test, body = item.blocks
        k = 0
        while trip is None or k < trip:
            slots[counter] = k
            while values:  # no second reference stays here
                slots[carried[len(values) - 1]] = values[-1]
                values.pop()
            self.execute(test)
            if not self._value(test.results[0]):
                values = [slots[at] for at in carried]
                break
            self.execute(body)
            values = [slots[at] if at >= 0 else None for at in body.results]
            for at in item.passed_on:
                slots[at] = None
            k += 1
            if self.runtime is not None:
                self.runtime.end_iteration([v for v in values if hasattr(v, "splits")])
            if self.progress is not None:
                self.progress.iteration(item.label, k, trip)
        for at in item.clears:
            slots[at] = None
        self._hand_on(item, values)
        self.trace.iterations[item.step.outputs[0].name if item.outputs else item.step.text] = k


def _located(error: Exception, step: Step) -> Exception:
    """Add the user's line to an error that an operation raised."""
    if step.spans and not (isinstance(error, LinealError) and error.span):
        note = f"in `{step.text}`\n{step.spans[0].render()}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
    return error


def _names_in(blocks: tuple[Block, ...]) -> list[str]:
    """Return the names that a loop's own blocks bind, hoisted ones excepted."""
    found: list[str] = []
    stack = list(blocks)
    while stack:
        block = stack.pop()
        for step in block.steps:
            found.extend(v.name for v in step.outputs)
            found.extend(step.params)
            stack.extend(step.blocks)
    return found


def _read_in(blocks: tuple[Block, ...]) -> set[str]:
    """Return the names that steps of `blocks`, hoisted ones included, read."""
    found: set[str] = set()
    for block in blocks:
        found.update(block.results)
        for step in steps_of(block):
            found.update(step.inputs)
            for inner in step.blocks:
                found.update(inner.results)
    return found


def _onces_of(step: Step, level: int) -> list[str]:
    """Return the keys of all hoisted groups inside `step` that belong to `level`."""
    found: list[str] = []
    stack = list(step.blocks)
    while stack:
        block = stack.pop()
        for once in block.once:
            if once.level == level:
                found.append(f"once:{id(once)}")
            for inner in once.steps:
                stack.extend(inner.blocks)
        for inner in block.steps:
            stack.extend(inner.blocks)
    return found


def emit_warnings(trace: Trace) -> None:
    """Give the floating-point warnings of a run, once per source line, as NumPy words them."""
    for message, file, line in trace.findings:
        warnings.warn_explicit(message, RuntimeWarning, file, line)
