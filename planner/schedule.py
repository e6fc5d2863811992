"""Lays a logical program out as blocks of steps: where each value is computed, and how often.

A node is computed in the smallest region (program, loop body, branch) that contains all its
uses.  If that region lies deeper in loops than the node depends on, the node is *hoisted*: it
becomes part of a `Once` block of that region, computed when the region is first entered and kept
until the loop level it belongs to moves on.  So a loop-constant value is computed at most once,
and never if nothing needs it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from lineal.planner.costing import Costing
from lineal.planner.expr import Expr
from lineal.planner.infer import type_of
from lineal.planner.levels import find_levels
from lineal.planner.logical import IfView, Logical, LoopView, Note
from lineal.planner.plan import Block, Once, Step, Value
from lineal.planner.render import render
from lineal.planner.types import Sym, Type

_FREE_STANDING = frozenset(["const", "input"])
_NO_STEP = frozenset(["input", "param", "item", "undef"])


@dataclass
class Region:
    """A place where steps run: the program, a loop's body, or one side of a branch."""

    kind: str
    parent: Region | None
    owner: Expr | None
    loop: Expr | None
    depth: int
    level: int
    plain: list[Expr] = field(default_factory=list)
    hoisted: dict[int, list[Expr]] = field(default_factory=dict)

    def ancestors(self) -> list[Region]:
        """Return this region and those around it, innermost first."""
        found: list[Region] = []
        at: Region | None = self
        while at is not None:
            found.append(at)
            at = at.parent
        return found


@dataclass(frozen=True)
class Schedule:
    """The blocks of a program with every value named, before placement and totals."""

    inputs: tuple[Value, ...]
    body: Block
    outputs: tuple[str, ...]
    loops: tuple[tuple[str, float, str], ...]


def schedule(program: Logical, iterations: dict[str, float] | float | None = None) -> Schedule:
    """Lay `program` out; `iterations` assumes a count for loops without a bound."""
    return _Scheduler(program, iterations).run()


class _Scheduler:
    def __init__(self, program: Logical, iterations: dict[str, float] | float | None) -> None:
        self.program = program
        levels = find_levels(program)
        self.order = levels.order
        self.level = levels.level
        self.items: dict[Expr, dict[int, Note]] = {}
        for node in self.order:
            if node.op == "item" and node in program.notes:
                self.items.setdefault(node.inputs[0], {})[node.whole("k")] = program.notes[node]
        self.top = Region("program", None, None, None, 0, 0)
        self.regions: dict[tuple[Expr, str], Region] = {}
        self.region_of: dict[Expr, Region] = {}
        self.needed_by_test: dict[Expr, set[Expr]] = {}
        self.names: dict[Expr, str] = {}
        self.counter = 0
        self.costs = Costing(program, iterations)
        self.values: dict[str, Value] = {}

    # -- where things run ----------------------------------------------------------------

    def run(self) -> Schedule:
        self._find_regions()
        inputs = tuple(self._input(node) for node in self.program.inputs)
        body = self._block(self.top, self.top.plain, [], 1.0, set())
        outputs = tuple(self._name_of(node) for node in self.program.outputs)
        body = Block(body.steps, outputs, body.once)
        return Schedule(inputs, body, outputs, tuple(self.costs.loops))

    def _find_regions(self) -> None:
        """Place consumers first: a node's region is the meet of its uses' regions."""
        uses: dict[Expr, Region] = {}
        for root in self.program.outputs:
            uses[root] = self.top
        for node in self.program.inputs:
            uses[node] = self.top
        for node in reversed(self.order):
            region = uses.get(node)
            if region is None:
                continue
            if node.op in _FREE_STANDING:
                region = self.top
            self.region_of[node] = region
            for child, place in self._places(node, region):
                held = uses.get(child)
                uses[child] = place if held is None else _meet(held, place)
        for node in self.order:
            region = self.region_of.get(node)
            if region is None or node.op in _NO_STEP:
                continue
            if region.level == self.level[node] or node.op in _FREE_STANDING:
                region.plain.append(node)
            else:
                region.hoisted.setdefault(self.level[node], []).append(node)
        for node, region in self.region_of.items():
            if node.op == "loop":
                self._split_test(node, region)

    def _places(self, node: Expr, region: Region) -> list[tuple[Expr, Region]]:
        if node.op == "loop":
            loop = LoopView(node)
            inner = self._inner(node, "body", region, loop_body=True)
            outer = [(x, region) for x in (*loop.inits, loop.trip)]
            inside = (*loop.params, *loop.nexts, loop.counter, loop.test)
            return outer + [(x, inner) for x in inside]
        if node.op == "if":
            branch = IfView(node)
            then = self._inner(node, "then", region)
            other = self._inner(node, "else", region)
            return [
                (branch.condition, region),
                *((x, then) for x in branch.thens),
                *((x, other) for x in branch.elses),
            ]
        return [(child, region) for child in node.inputs]

    def _inner(self, node: Expr, kind: str, parent: Region, loop_body: bool = False) -> Region:
        # A hoisted loop or branch runs at its own level, not at its region's.
        level = self.level[node] + (1 if loop_body else 0)
        loop = node if loop_body else parent.loop
        region = Region(kind, parent, node, loop, parent.depth + 1, level)
        self.regions[node, kind] = region
        return region

    def _split_test(self, node: Expr, region: Region) -> None:
        """Find the nodes of a loop's body that its test needs."""
        body = self.regions[node, "body"]
        wanted: set[Expr] = set()
        stack = [LoopView(node).test]
        while stack:
            at = stack.pop()
            if at in wanted or self.region_of.get(at) is None:
                continue
            if body not in self.region_of[at].ancestors():
                continue
            wanted.add(at)
            stack.extend(at.inputs)
        self.needed_by_test[node] = wanted

    # -- blocks and steps ----------------------------------------------------------------

    def _name_of(self, node: Expr) -> str:
        if node.op == "item":
            inner = node.inputs[0]
            self._name_of(inner)
            return f"{self.names[inner]}.{node.whole('k')}" if inner in self.names else "?"
        found = self.names.get(node)
        if found is None:
            raise KeyError(f"{node} is used before it is computed")
        return found

    def _fresh(self) -> str:
        self.counter += 1
        return f"%{self.counter}"

    def _input(self, node: Expr) -> Value:
        name = str(node.attr("name"))
        self.names[node] = name
        facts = self.program.facts.get(name)
        type_ = type_of(node)
        assert isinstance(type_, Type)
        value = Value(name=name, type=type_, label=name)
        if facts is not None:
            value = Value(
                name,
                type_,
                facts.storage,
                facts.density,
                "blocked" if facts.chunks else "driver",
                facts.chunks,
                name,
            )
        self.costs.known[node] = (value,)
        return value

    def _block(
        self,
        region: Region,
        nodes: list[Expr],
        results: list[str],
        runs: float,
        skip: set[Expr],
        hoisted: bool = True,
    ) -> Block:
        onces: list[Once] = []
        if hoisted:
            for level in sorted(region.hoisted):
                members = [n for n in region.hoisted[level] if n not in skip]
                if members:
                    often = self._runs_at(level, region)
                    steps = tuple(self._step(n, often) for n in members)
                    onces.append(Once(level, steps))
        steps = tuple(self._step(n, runs) for n in nodes if n not in skip)
        return Block(steps, tuple(results), tuple(onces))

    def _runs_at(self, level: int, region: Region) -> float:
        """Return how often a value of loop level `level` is computed within `region`."""
        runs = 1.0
        for at in region.ancestors():
            if at.kind == "body" and at.level <= level and at.owner is not None:
                runs *= self.costs.count(at.owner)
        return runs

    def _note(self, node: Expr) -> Note:
        """Return a node's places; those of its results where they have been noted instead."""
        found = self.program.notes.get(node)
        if found is not None:
            return found
        made = Note()
        for note in self.items.get(node, {}).values():
            made = made.merged(Note(note.spans))
        return made

    def _outputs(self, node: Expr) -> tuple[Value, ...]:
        name = self._fresh()
        self.names[node] = name
        types = type_of(node)
        several = isinstance(types, tuple)
        listed = types if isinstance(types, tuple) else (types,)
        note = self._note(node)
        labels = self.items.get(node, {})
        values = []
        for k, type_ in enumerate(listed):
            storage, density = self.costs.form(node, k)
            values.append(
                Value(
                    f"{name}.{k}" if several else name,
                    type_,
                    storage,
                    density,
                    label=labels.get(k, Note()).name if several else note.name,
                )
            )
        self.costs.known[node] = tuple(values)
        return tuple(values)

    def _step(self, node: Expr, runs: float) -> Step:
        if node.op == "loop":
            return self._loop(node, runs)
        if node.op == "if":
            return self._if(node, runs)
        inputs = tuple(self._name_of(child) for child in node.inputs)
        outputs = self._outputs(node)
        spec = self.costs.spec(node)
        note = self._note(node)
        return Step(
            op=node.op,
            attrs=_physical_attrs(node),
            inputs=inputs,
            outputs=outputs,
            flops=spec.flops,
            bytes_read=spec.bytes_read,
            bytes_written=spec.bytes_written,
            peak_bytes=spec.peak_bytes,
            runs=runs,
            depth=self.level[node],
            text=render(node, self.program.notes, self.names),
            spans=note.spans,
        )

    def _if(self, node: Expr, runs: float) -> Step:
        view = IfView(node)
        condition = self._name_of(view.condition)
        blocks = []
        for kind, values in (("then", view.thens), ("else", view.elses)):
            region = self.regions[node, kind]
            block = self._block(region, region.plain, [], runs, set())
            results = tuple(self._value_name(v) for v in values)
            blocks.append(Block(block.steps, results, block.once))
        outputs = self._outputs(node)
        note = self._note(node)
        return Step(
            op="if",
            attrs=(),
            inputs=(condition,),
            outputs=outputs,
            blocks=tuple(blocks),
            runs=runs,
            depth=self.level[node],
            text=f"if {condition}",
            spans=note.spans,
        )

    def _value_name(self, node: Expr) -> str:
        return "" if node.op == "undef" else self._name_of(node)

    def _loop(self, node: Expr, runs: float) -> Step:
        view = LoopView(node)
        bounded = not (view.trip.op == "const" and view.trip.attr("value") == -1)
        inputs = (
            self._name_of(view.trip) if bounded else "",
            *(self._value_name(x) for x in view.inits),
        )
        params = []
        for k, param in enumerate((view.counter, *view.params)):
            name = self._fresh()
            self.names[param] = name
            init = view.inits[k - 1] if k else None
            self.costs.adopt(param, init)
            params.append(name)
        inner_runs = runs * self.costs.count(node)
        body = self.regions[node, "body"]
        wanted = self.needed_by_test[node]
        test = self._block(
            body,
            [n for n in body.plain if n in wanted],
            [],
            inner_runs,
            {n for ns in body.hoisted.values() for n in ns if n not in wanted},
        )
        test = Block(test.steps, (self._name_of(view.test),), test.once)
        rest = self._block(body, [n for n in body.plain if n not in wanted], [], inner_runs, wanted)
        rest = Block(rest.steps, tuple(self._name_of(x) for x in view.nexts), rest.once)
        outputs = self._outputs(node)
        labelled = tuple(
            Value(
                v.name,
                v.type,
                v.storage,
                v.density,
                v.place,
                v.splits,
                self.program.notes.get(p, Note()).name,
            )
            for v, p in zip(outputs, view.params, strict=True)
        )
        self.costs.known[node] = labelled
        note = self._note(node)
        return Step(
            op="loop",
            attrs=(("trips", self.costs.count(node)),),
            inputs=inputs,
            outputs=labelled,
            params=tuple(params),
            blocks=(test, rest),
            runs=runs,
            depth=self.level[node],
            text=self.costs.loop_text(node),
            spans=note.spans,
        )


def _meet(a: Region, b: Region) -> Region:
    while a is not b:
        if a.depth >= b.depth and a.parent is not None:
            a = a.parent
        elif b.parent is not None:
            b = b.parent
    return a


def _physical_attrs(node: Expr) -> tuple[tuple[str, Hashable], ...]:
    """Return the attributes as the kernels take them: a symbolic size in a reshape becomes -1."""
    found: list[tuple[str, Any]] = []
    for key, value in node.attrs:
        if key == "shape" and isinstance(value, tuple):
            value = tuple(-1 if isinstance(d, Sym) else d for d in value)
        found.append((key, value))
    return tuple(found)
