"""Where every value lives: in the driver, or in blocks on the workers.

`place` rewrites a plan in which everything is in the driver.  It first finds the places (a
fixpoint, because what a loop carries must have one place), then rewrites the steps and puts a
`scatter` or `gather` step wherever a value is needed in the other place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lineal.planner.cluster import ClusterSpec
from lineal.planner.layout_rules import Splits, result_splits, whole
from lineal.planner.layouts import (
    CREATIONS,
    ELEMENTWISE,
    Split,
    balanced,
    even,
    refusal,
)
from lineal.planner.placement_cost import check_memory, value_bytes, with_costs
from lineal.planner.plan import Block, Once, PhysicalPlan, Step, Value
from lineal.planner.types import Dim, Type, upper

__all__ = ["check_memory", "default_splits", "place", "runs_blocked"]

ALIGN_BYTES = 64 * 1024
"""A driver's value this large that is read block by block is cut once instead of at each use."""

_ROUNDS = 100


def place(plan: PhysicalPlan, cluster: ClusterSpec) -> PhysicalPlan:
    """Return the plan with every value placed; the same plan where nothing needs blocks.

    Values larger than `cluster.driver_bytes` are cut, and inputs that come in blocks keep them.
    Deterministic: equal plans and clusters give equal results.
    """
    placer = _Placer(plan, cluster)
    if not placer.anything_blocked():
        return plan
    placer.settle()
    return with_costs(placer.rewrite(), cluster)


def runs_blocked(step: Step, places: Mapping[str, str]) -> bool:
    """Tell whether the blocked runtime runs a step, given the places of the values it reads."""
    if step.blocks:
        return False
    return any(value.place == "blocked" for value in step.outputs) or any(
        places.get(name) == "blocked" for name in step.inputs
    )


def default_splits(value: Value, cluster: ClusterSpec) -> Splits:
    """Cut a value by rows, in blocks of `block_bytes` at most and two per slot at least.

    Columns are cut, too, where a single row does not fit in a block.
    """
    kind = value.type
    if not kind.shape:
        return ()
    rows = upper(kind.shape[0])
    total = max(value_bytes(value), 1)
    row_bytes = total / max(rows, 1)
    if kind.ndim == 2 and row_bytes > cluster.block_bytes:
        width = upper(kind.shape[1])
        columns = max(1, int(width * cluster.block_bytes / row_bytes))
        return (even(rows, 1), even(width, columns))
    fitting = max(1, int(cluster.block_bytes / max(row_bytes, 1e-9)))
    count = max(-(-rows // fitting), min(2 * cluster.slots, rows))
    rest = tuple((upper(dim),) for dim in kind.shape[1:])
    return (balanced(rows, count), *rest)


@dataclass
class _Need:
    """What a step asks of its operands: the splits to cut to, or "" for the driver."""

    operand: int
    splits: Splits | None  # None: in the driver


@dataclass
class _Choice:
    """What was decided for one step."""

    outputs: tuple[Splits | None, ...]
    needs: tuple[_Need, ...] = ()
    note: str = ""


class _Placer:
    def __init__(self, plan: PhysicalPlan, cluster: ClusterSpec) -> None:
        self.plan = plan
        self.cluster = cluster
        self.values: dict[str, Value] = {v.name: v for v in plan.inputs}
        self.level: dict[str, int] = {v.name: 0 for v in plan.inputs}
        self.made_by: dict[str, Step] = {}
        self.params: set[str] = set()
        self.inputs = {v.name for v in plan.inputs}
        self.splits: dict[str, Splits | None] = {}
        self.forced: dict[str, Splits] = {}
        self.changed = False
        self.rows: dict[Dim, Split] = {}
        self._declare(plan.body, 0)

    def _declare(self, block: Block, level: int) -> None:
        for once in block.once:
            for step in once.steps:
                self._declare_step(step, once.level)
        for step in block.steps:
            self._declare_step(step, level)

    def _declare_step(self, step: Step, level: int) -> None:
        for value in step.outputs:
            self.values[value.name] = value
            self.level[value.name] = level
            self.made_by[value.name] = step
        if step.op == "loop":
            carried = zip(step.params[1:], step.inputs[1:], step.outputs, strict=True)
            for param, start, after in carried:
                # What only the body binds has no value to start from.
                known = self.values[start] if start else after
                self.values[param] = replace(known, name=param, label="")
                self.level[param] = level + 1
                self.params.add(param)
            self.level[step.params[0]] = level + 1
        for block in step.blocks:
            self._declare(block, level + (step.op == "loop"))

    def anything_blocked(self) -> bool:
        return any(value.place == "blocked" or self._large(value) for value in self.values.values())

    def _large(self, value: Value) -> bool:
        return value.type.kind == "array" and value_bytes(value) > self.cluster.driver_bytes

    # Finding the places

    def settle(self) -> None:
        """Find the place of every value; blocked wins where loops or branches disagree."""
        for value in self.plan.inputs:
            if value.place == "blocked":
                self.splits[value.name] = value.splits
                if value.splits:
                    self.rows.setdefault(value.type.shape[0], value.splits[0])
        # The largest first: what has as many rows as it is cut like it, so that they line up.
        for value in sorted(self.plan.inputs, key=value_bytes, reverse=True):
            if value.place != "blocked":
                self.splits[value.name] = self._default(value) if self._large(value) else None
        for _ in range(_ROUNDS):
            self.changed = False
            self._visit(self.plan.body)
            if not self.changed:
                return
        raise RuntimeError("placement did not settle")  # places only ever become blocked

    def _default(self, value: Value) -> Splits:
        """Cut a value like those seen before with as many rows, else as suits its size."""
        splits = default_splits(value, self.cluster)
        known = self.rows.get(value.type.shape[0])
        if known is None:
            self.rows[value.type.shape[0]] = splits[0]
            return splits
        fits = value_bytes(value) / sum(known) * max(known) <= self.cluster.block_bytes
        return (known, *splits[1:]) if fits else splits

    def _visit(self, block: Block) -> None:
        for once in block.once:
            for step in once.steps:
                self._visit_step(step)
        for step in block.steps:
            self._visit_step(step)

    def _visit_step(self, step: Step) -> None:
        if step.op == "loop":
            carried = zip(step.params[1:], step.inputs[1:], strict=True)
            for param, start in carried:
                self._join(param, self.splits.get(start))
            for block in step.blocks:
                self._visit(block)
            for param, result, value in zip(
                step.params[1:], step.blocks[1].results, step.outputs, strict=True
            ):
                self._join(param, self.splits.get(result))
                self._join(value.name, self.splits.get(param))
        elif step.op == "if":
            for block in step.blocks:
                self._visit(block)
                for value, result in zip(step.outputs, block.results, strict=True):
                    self._join(value.name, self.splits.get(result))
        else:
            for value, splits in zip(step.outputs, self.choose(step).outputs, strict=True):
                self.splits[value.name] = splits

    def _join(self, name: str, splits: Splits | None) -> None:
        if self.splits.get(name) is None and splits is not None:
            self.splits[name] = splits
            self.changed = True

    def _force(self, name: str, splits: Splits) -> None:
        """Make an input, a loop's carried value or a created value blocked from the start."""
        free = name in self.inputs or name in self.params
        made = self.made_by.get(name)
        if made is not None and made.op in CREATIONS:
            free = True
        if free and self.splits.get(name) is None:
            self.forced[name] = splits
            self.splits[name] = splits
            self.changed = True

    def choose(self, step: Step) -> _Choice:
        """Decide the place of a step's results and what it needs of its operands."""
        attrs = dict(step.attrs)
        types = [_type(self.values.get(name)) for name in step.inputs]
        cuts = [self.splits.get(name) for name in step.inputs]
        blocked = [cut is not None for cut in cuts]
        outs = [value.type for value in step.outputs]
        if any(blocked):
            reason = refusal(step.op, attrs, types, blocked)
            if reason or any(kind.kind != "array" for kind in outs):
                needs = tuple(_Need(i, None) for i, is_cut in enumerate(blocked) if is_cut)
                why = reason or f"no blocked form of {step.op}"
                return _Choice((None,) * len(outs), needs, f"gathered: {why}")
            needs = self._alignments(step, types, cuts, outs)
            for need in needs:
                cuts[need.operand] = need.splits
            found = result_splits(step.op, attrs, types, cuts, outs)
            kept = tuple(
                self._keep(step, value, splits)
                for value, splits in zip(step.outputs, found, strict=True)
            )
            return _Choice(kept, needs)
        return self._from_driver(step, attrs, types)

    def _keep(self, step: Step, value: Value, splits: Splits) -> Splits | None:
        """Return the splits of a blocked step's result, None where it goes to the driver.

        What is cut stays where it is, however small: it lines up with what it came from, and
        bringing it here would cost a round trip.
        """
        if value.type.kind != "array" or value.type.weak or step.op == "bincount":
            return None  # the length of a bincount is known once it has run
        size = value_bytes(value)
        if all(len(split) == 1 for split in splits):
            return splits if size > self.cluster.driver_bytes else None
        return splits

    def _alignments(
        self,
        step: Step,
        types: Sequence[Type],
        cuts: Sequence[Splits | None],
        outs: Sequence[Type],
    ) -> tuple[_Need, ...]:
        """Find operands of the driver's that are large and read block by block."""
        needs = []
        wanted: list[tuple[int, Splits]] = []
        if step.op in ELEMENTWISE:
            result = result_splits(step.op, {}, types, cuts, outs)[0]
            for i, kind in enumerate(types):
                skipped = outs[0].ndim - kind.ndim
                own = tuple(
                    result[axis + skipped] if dim == outs[0].shape[axis + skipped] else (1,)
                    for axis, dim in enumerate(kind.shape)
                )
                wanted.append((i, own))
        elif step.op == "matmul":
            for i, (kind, other) in enumerate(((types[0], cuts[1]), (types[1], cuts[0]))):
                if other is None:
                    continue
                common = other[0] if i == 0 else other[-1]
                own = whole(kind)
                own = (*own[:-1], common) if i == 0 else (common, *own[1:])
                wanted.append((i, own))
        for i, own in wanted:
            name = step.inputs[i]
            if cuts[i] is not None or all(len(split) == 1 for split in own):
                continue
            if name not in self.values or value_bytes(self.values[name]) <= ALIGN_BYTES:
                continue
            self._force(name, own)
            needs.append(_Need(i, own))
        return tuple(needs)

    def _from_driver(
        self, step: Step, attrs: Mapping[str, object], types: Sequence[Type]
    ) -> _Choice:
        """Cut results that are too large for the driver though all operands are there."""
        value = step.outputs[0] if len(step.outputs) == 1 else None
        if value is not None and value.name in self.forced:
            return _Choice((self.forced[value.name],))
        nothing = _Choice((None,) * len(step.outputs))
        if value is None or not self._large(value):
            return nothing
        if step.op in CREATIONS:
            return _Choice((self._default(value),))
        splits = self._default(value)
        for i, kind in enumerate(types):
            if not kind.shape or kind.kind != "array":
                continue
            blocked = [j == i for j in range(len(types))]
            if refusal(step.op, attrs, types, blocked):
                continue
            if step.op in ("matmul", "outer") and i == 0:
                own: Splits = (splits[0], *whole(kind)[1:])
            elif step.op in ELEMENTWISE and kind.shape[0] == value.type.shape[0]:
                skipped = value.type.ndim - kind.ndim
                if skipped:
                    continue
                own = (splits[0], *whole(kind)[1:])
            elif step.op in ("broadcast_to", "concatenate"):
                own = whole(kind)
            else:
                continue
            cuts: list[Splits | None] = [own if j == i else None for j in range(len(types))]
            found = result_splits(step.op, attrs, types, cuts, [value.type])[0]
            if step.op == "broadcast_to":
                found = splits
            return _Choice((found,), (_Need(i, own),))
        return nothing

    # Rewriting

    def rewrite(self) -> PhysicalPlan:
        """Return the plan with places, splits, and the steps that move values."""
        writer = _Writer(self)
        body = writer.block(self.plan.body, 0, ["any"] * len(self.plan.body.results), [])
        inputs = tuple(self.placed(value) for value in self.plan.inputs)
        return replace(self.plan, inputs=inputs, body=body)

    def placed(self, value: Value) -> Value:
        splits = self.splits.get(value.name)
        if splits is None:
            return replace(value, place="driver", splits=())
        return replace(value, place="blocked", splits=splits)


def _type(value: Value | None) -> Type:
    """Return a value's type; names that no step defines are loop counters."""
    return Type((), np.dtype(np.int64), weak=True) if value is None else value.type


Scope = dict[tuple[str, Splits | None], str]


@dataclass
class _Open:
    """A block being written: its steps, and who uses the values moved for it."""

    steps: list[Step] = field(default_factory=list)
    once: list[Once] = field(default_factory=list)
    scope: Scope = field(default_factory=dict)
    moved: dict[str, int] = field(default_factory=dict)  # name -> last step that uses it


class _Writer:
    """Writes the placed blocks, with conversions before their first use."""

    def __init__(self, placer: _Placer) -> None:
        self.placer = placer
        self.serial: dict[str, int] = {}

    def block(
        self,
        block: Block,
        level: int,
        results: Sequence[Splits | str | None],
        outer: list[_Open],
    ) -> Block:
        """Rewrite one block; `results` are the splits its results must have.

        The word "any" leaves a result where it is.
        """
        own = _Open()
        stack = [*outer, own]
        for once in block.once:
            inner = _Open()
            for step in once.steps:
                self.step(step, once.level, [*stack, inner])
            own.scope.update(inner.scope)
            own.once.extend(inner.once)
            own.once.append(replace(once, steps=tuple(inner.steps)))
        for step in block.steps:
            self.step(step, level, stack)
        names = []
        for name, need in zip(block.results, results, strict=True):
            if not isinstance(need, str):
                name = self.convert(name, need, level, stack, "a result of the block")
            names.append(name)
        steps = self._with_frees(own, names)
        return Block(tuple(steps), tuple(names), tuple(own.once))

    def _with_frees(self, own: _Open, results: Sequence[str]) -> list[Step]:
        steps = list(own.steps)
        for name, last in own.moved.items():
            if name in results:
                continue
            steps[last] = replace(steps[last], frees=(*steps[last].frees, name))
        return steps

    def step(self, step: Step, level: int, stack: list[_Open]) -> None:
        if step.op == "loop":
            made = self._loop(step, level, stack)
        elif step.op == "if":
            made = self._if(step, level, stack)
        else:
            choice = self.placer.choose(step)
            names = list(step.inputs)
            for need in choice.needs:
                current = self.placer.splits.get(names[need.operand])
                if current == need.splits:
                    continue
                names[need.operand] = self.convert(
                    names[need.operand], need.splits, level, stack, choice.note or step.text
                )
            outputs = tuple(
                replace(value, place="driver", splits=())
                if splits is None
                else replace(value, place="blocked", splits=splits)
                for value, splits in zip(step.outputs, choice.outputs, strict=True)
            )
            note = step.note
            if choice.note:
                note = f"{note}; {choice.note}" if note else choice.note
            made = replace(step, inputs=tuple(names), outputs=outputs, note=note)
        stack[-1].steps.append(made)
        self._touch(made.inputs, stack)

    def _touch(self, names: Sequence[str], stack: list[_Open]) -> None:
        """Remember that the step just written (or the one being written) uses moved values."""
        for name in names:
            for depth, opened in enumerate(stack):
                if name in opened.moved:
                    inside = depth < len(stack) - 1
                    opened.moved[name] = len(opened.steps) - (0 if inside else 1)

    def _loop(self, step: Step, level: int, stack: list[_Open]) -> Step:
        carried = [self.placer.splits.get(param) for param in step.params[1:]]
        inputs = [step.inputs[0]]
        for name, need in zip(step.inputs[1:], carried, strict=True):
            inputs.append(self.convert(name, need, level, stack, step.text) if name else "")
        test = self.block(step.blocks[0], level + 1, ["any"] * len(step.blocks[0].results), stack)
        # what the test moved is visible in the body, as are the test's own values
        body = self.block(step.blocks[1], level + 1, carried, stack)
        outputs = tuple(self.placer.placed(value) for value in step.outputs)
        return replace(step, inputs=tuple(inputs), outputs=outputs, blocks=(test, body))

    def _if(self, step: Step, level: int, stack: list[_Open]) -> Step:
        outputs = tuple(self.placer.placed(value) for value in step.outputs)
        needs = [self.placer.splits.get(value.name) for value in step.outputs]
        blocks = tuple(self.block(block, level, needs, stack) for block in step.blocks)
        return replace(step, outputs=outputs, blocks=blocks)

    def convert(
        self, name: str, need: Splits | None, level: int, stack: list[_Open], why: str
    ) -> str:
        """Return the name of `name`'s value in the wanted place, moving it at first need."""
        placer = self.placer
        current = placer.splits.get(name)
        if current == need or name not in placer.values:
            return name
        for opened in reversed(stack):
            found = opened.scope.get((name, need))
            if found is not None:
                self._touch((found,), stack)
                return found
        source = placer.values[name]
        self.serial[name] = self.serial.get(name, 0) + 1
        fresh = f"{name}.{'d' if need is None else 'b'}{self.serial[name]}"
        output = replace(
            source,
            name=fresh,
            place="driver" if need is None else "blocked",
            splits=need or (),
            label=source.label,
        )
        op = "gather" if need is None else "scatter"
        born = placer.level.get(name, 0)
        made = Step(
            op,
            (),
            (name,),
            (output,),
            bytes_read=float(value_bytes(source)),
            bytes_written=float(value_bytes(source)),
            depth=min(born, level),
            text=f"{op} {source.label or name}",
            note=f"for {why}" if why and not why.startswith("gathered") else why,
        )
        opened = stack[-1]
        opened.scope[(name, need)] = fresh
        placer.values[fresh] = output
        placer.splits[fresh] = need
        placer.level[fresh] = born
        if born < level:
            opened.once.append(Once(born, (made,)))
        else:
            opened.steps.append(made)
            opened.moved[fresh] = len(opened.steps) - 1
        return fresh
