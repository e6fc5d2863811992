"""Forms, densities, costs and iteration counts of a program's nodes, as a plan needs them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from lineal.kernels import specs
from lineal.kernels.specs import Spec
from lineal.planner.expr import Expr
from lineal.planner.fold import evaluate_scalar
from lineal.planner.infer import PY_INT, type_of
from lineal.planner.logical import IfView, Logical, LoopView, Note
from lineal.planner.plan import Value
from lineal.planner.types import DENSE, Density, DensityKind, Type, upper

ASSUMED_TRIPS = 20.0
"""Iterations that costs assume for a loop whose count nothing tells; shown in the plan."""

_NOTHING = Spec(0.0, 0.0, 0.0, 0.0)
_KINDS = {
    "exact": DensityKind.EXACT,
    "estimated": DensityKind.ESTIMATED,
    "upper": DensityKind.UPPER,
}


@dataclass
class Costing:
    """Answers questions about nodes whose inputs have been asked about before."""

    program: Logical
    iterations: dict[str, float] | float | None
    known: dict[Expr, tuple[Value, ...]] = field(default_factory=dict)
    loops: list[tuple[str, float, str]] = field(default_factory=list)
    _counts: dict[Expr, tuple[float, str]] = field(default_factory=dict)

    def value(self, node: Expr) -> Value:
        """Return the planned value of an operand."""
        if node.op == "item":
            held = self.known.get(node.inputs[0])
            if held is not None:
                return held[node.whole("k")]
        held = self.known.get(node)
        if held is not None:
            return held[0]
        types = type_of(node)
        return Value("", types if isinstance(types, Type) else types[0])

    def describe(self, node: Expr) -> tuple[Value, ...]:
        """Return the planned results of `node` under its own form rules."""
        types = type_of(node)
        if isinstance(types, tuple):
            return tuple(Value("", t) for t in types)
        return (self._described(node, types),)

    def _described(self, node: Expr, type_: Type) -> Value:
        if node.op == "input":
            facts = self.program.facts.get(str(node.attr("name")))
            if facts is not None:
                return Value("", type_, facts.storage, facts.density)
        if node.op in ("input", "item"):
            return Value("", type_)
        storage, density = self.form(node, 0)
        return Value("", type_, storage, density)

    def adopt(self, param: Expr, init: Expr | None) -> None:
        """Give a loop's parameter the storage of its initial value; how full it stays is open."""
        type_ = type_of(param)
        assert isinstance(type_, Type)
        self.known[param] = (Value("", type_),)
        if init is not None and init.op != "undef":
            known = self.value(init)
            density = DENSE
            if known.storage == "sparse":
                density = Density(known.density.value, DensityKind.ESTIMATED)
            self.known[param] = (replace(known, type=type_, density=density),)

    def form(self, node: Expr, k: int) -> tuple[str, Density]:
        """Return the planned storage and density of result `k` of `node`."""
        if node.op == "loop":
            held = self.known.get(LoopView(node).params[k], (Value("", PY_INT),))[0]
            return held.storage, held.density if held.storage == "sparse" else DENSE
        if node.op == "if":
            sides = (IfView(node).thens[k], IfView(node).elses[k])
            known = [self.value(side) for side in sides]
            if all(v.storage == "sparse" for v in known):
                share = max(v.density.value for v in known)
                return "sparse", Density(share, DensityKind.ESTIMATED)
            return "dense", DENSE
        if node.op in ("draw", "param", "undef", "todense"):
            return "dense", DENSE
        operands = [self.value(child) for child in node.inputs]
        values = tuple(c.attr("value") if c.op == "const" else None for c in node.inputs)
        storage = specs.predict_storage(
            node.op,
            tuple(v.storage for v in operands),
            node.attrs,
            tuple(v.type for v in operands),
            values,
        )
        types = type_of(node)
        if isinstance(types, tuple):
            return "dense", DENSE
        share, kind = specs.result_density(
            node.op,
            tuple(_sizes(v.type) for v in operands),
            tuple(v.density.value for v in operands),
            node.attrs,
        )
        how = _known_as(share, _KINDS[kind], [v.density for v in operands])
        return storage, Density(share, how)

    def spec(self, node: Expr) -> Spec:
        """Return the cost of one execution of `node`."""
        if node.op in ("const", "input", "param", "item", "undef", "loop", "if", "literal"):
            return _NOTHING
        operands = [self.value(child) for child in node.inputs]
        results = self.known.get(node, ())
        every = [*operands, *results]
        return specs.cost(
            node.op,
            tuple(_sizes(v.type) for v in operands),
            tuple(_sizes(v.type) for v in results),
            tuple(v.type.dtype.itemsize for v in every),
            tuple(v.density.value if v.storage == "sparse" else None for v in every),
            node.attrs,
        )

    def count(self, loop: Expr) -> float:
        """Return the iteration count that costs use for `loop`."""
        return self._counted(loop)[0]

    def source(self, loop: Expr) -> str:
        """Return how the count of `loop` is known: bound, from arguments, declared, assumed."""
        return self._counted(loop)[1]

    def loop_text(self, loop: Expr) -> str:
        """Return the loop as explain shows it: its kind, its count, and how the count is known."""
        count, how = self._counted(loop)
        view = LoopView(loop)
        head = "while" if view.trip.op == "const" and view.trip.attr("value") == -1 else "for"
        return f"{head} x{count:g} ({how})"

    def _counted(self, loop: Expr) -> tuple[float, str]:
        found = self._counts.get(loop)
        if found is None:
            found = self._counts[loop] = self._find_count(loop)
            spans = self.program.notes.get(loop, Note()).spans
            label = f"line {spans[0].line}" if spans else "loop"
            self.loops.append((label, *found))
        return found

    def _find_count(self, loop: Expr) -> tuple[float, str]:
        spans = self.program.notes.get(loop, Note()).spans
        declared: Any = self.iterations
        if isinstance(declared, dict):
            declared = declared.get(f"line {spans[0].line}" if spans else "")
        trip = LoopView(loop).trip
        if trip.op == "const" and trip.attr("value") != -1:
            return float(trip.whole("value")), "bound"
        scalars = {
            node: self.program.scalars[str(node.attr("name"))]
            for node in self.program.inputs
            if str(node.attr("name")) in self.program.scalars
        }
        known = evaluate_scalar(trip, scalars) if trip.op != "const" else None
        if known is not None:
            return float(known[0]), "from arguments"
        if declared is not None:
            return float(declared), "declared"
        return ASSUMED_TRIPS, "assumed"


def _known_as(share: float, kind: DensityKind, operands: list[Density]) -> DensityKind:
    """Return how a result's density is known: no better than its operands', and 1 is a bound."""
    kinds = {kind, *(d.kind for d in operands)}
    if DensityKind.ESTIMATED in kinds and share < 1.0:
        return DensityKind.ESTIMATED
    return DensityKind.EXACT if kinds == {DensityKind.EXACT} else DensityKind.UPPER


def _sizes(type_: Type) -> tuple[int, ...]:
    return tuple(upper(d) for d in type_.shape)
