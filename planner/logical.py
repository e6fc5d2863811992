"""The logical program: expressions plus everything that is kept beside them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from lineal.errors import Span
from lineal.planner.expr import Expr
from lineal.planner.plan import Decision
from lineal.planner.types import Facts


@dataclass(frozen=True, slots=True)
class Note:
    """Where a node comes from: the user's places and the user's name for it."""

    spans: tuple[Span, ...] = ()
    name: str = ""

    def merged(self, other: Note) -> Note:
        spans = tuple(dict.fromkeys((*self.spans, *other.spans)))
        return Note(spans, self.name or other.name)


Notes = dict[Expr, Note]


@dataclass(frozen=True, slots=True)
class Guard:
    """The plan holds only while `expr`, over scalar inputs, evaluates to `value`."""

    expr: Expr
    value: Hashable


@dataclass(frozen=True, slots=True)
class Leaf:
    """A result's place in the returned structure: output number, or a value known at plan time."""

    output: int = -1
    value: Any = None


Tree = Any
"""A Leaf, or a tuple of Trees."""


@dataclass(frozen=True)
class Logical:
    """A program as expressions.

    `inputs` are the input leaves in binding order, hidden ones (globals, closure) last;
    `outputs` the roots, of which the last `effects` are tokens that order assertions;
    `facts` what is known of each input; `assumed` the iteration counts that costs use, by loop.
    """

    name: str
    inputs: tuple[Expr, ...]
    outputs: tuple[Expr, ...]
    tree: Tree
    effects: int = 0
    notes: Notes = field(default_factory=dict, repr=False, compare=False)
    facts: dict[str, Facts] = field(default_factory=dict, compare=False)
    guards: tuple[Guard, ...] = ()
    scalars: dict[str, Any] = field(default_factory=dict, compare=False)
    warnings: tuple[tuple[str, Span], ...] = ()
    decisions: tuple[Decision, ...] = ()
    algebra: str = "real"


@dataclass(frozen=True, slots=True)
class LoopView:
    """Names for the parts of a `loop` node."""

    node: Expr

    @property
    def n(self) -> int:
        return int(self.node.attr("n"))  # type: ignore[call-overload, no-any-return]

    @property
    def inits(self) -> tuple[Expr, ...]:
        return self.node.inputs[: self.n]

    @property
    def params(self) -> tuple[Expr, ...]:
        return self.node.inputs[self.n : 2 * self.n]

    @property
    def nexts(self) -> tuple[Expr, ...]:
        return self.node.inputs[2 * self.n : 3 * self.n]

    @property
    def counter(self) -> Expr:
        return self.node.inputs[3 * self.n]

    @property
    def trip(self) -> Expr:
        return self.node.inputs[3 * self.n + 1]

    @property
    def test(self) -> Expr:
        return self.node.inputs[3 * self.n + 2]


@dataclass(frozen=True, slots=True)
class IfView:
    """Names for the parts of an `if` node."""

    node: Expr

    @property
    def n(self) -> int:
        return int(self.node.attr("n"))  # type: ignore[call-overload, no-any-return]

    @property
    def condition(self) -> Expr:
        return self.node.inputs[0]

    @property
    def thens(self) -> tuple[Expr, ...]:
        return self.node.inputs[1 : 1 + self.n]

    @property
    def elses(self) -> tuple[Expr, ...]:
        return self.node.inputs[1 + self.n :]
