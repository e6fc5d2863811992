"""The logical program: expressions plus everything that is kept beside them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, fields
from typing import Any

from lineal.errors import Span
from lineal.planner.expr import Expr, flatten, unflatten
from lineal.planner.plan import Decision
from lineal.planner.types import Facts


@dataclass(frozen=True, slots=True)
class Note:
    """Where a node comes from: the user's places and the user's name for it."""

    spans: tuple[Span, ...] = ()
    name: str = ""

    def merged(self, other: Note) -> Note:
        """Return the places of both; the name is this one's if it has any."""
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

    def __reduce__(self) -> tuple[Any, ...]:
        # All nodes travel in one flat list: it pickles at any depth, and every node once.
        noted = list(self.notes)
        guarded = [g.expr for g in self.guards]
        flat, at = flatten([*self.inputs, *self.outputs, *noted, *guarded])
        rest = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in ("inputs", "outputs", "notes", "guards")
        }
        sizes = (len(self.inputs), len(self.outputs), len(noted))
        values = ([self.notes[n] for n in noted], [g.value for g in self.guards])
        return (_restore, (flat, at, sizes, values, rest))


def _restore(
    flat: Any, at: tuple[int, ...], sizes: tuple[int, int, int], values: Any, rest: dict[str, Any]
) -> Logical:
    nodes = unflatten(flat, at)
    a, b, c = sizes
    return Logical(
        inputs=nodes[:a],
        outputs=nodes[a : a + b],
        notes=dict(zip(nodes[a + b : a + b + c], values[0], strict=True)),
        guards=tuple(
            Guard(e, v) for e, v in zip(nodes[a + b + c :], values[1], strict=True)
        ),
        **rest,
    )


@dataclass(frozen=True, slots=True)
class LoopView:
    """Names for the parts of a `loop` node."""

    node: Expr

    @property
    def n(self) -> int:
        """Number of carried values."""
        return self.node.whole("n")

    @property
    def inits(self) -> tuple[Expr, ...]:
        """What the carried values are before the first iteration."""
        return self.node.inputs[: self.n]

    @property
    def params(self) -> tuple[Expr, ...]:
        """The carried values as the body sees them: one `param` leaf each."""
        return self.node.inputs[self.n : 2 * self.n]

    @property
    def nexts(self) -> tuple[Expr, ...]:
        """What the carried values become at the end of an iteration."""
        return self.node.inputs[2 * self.n : 3 * self.n]

    @property
    def counter(self) -> Expr:
        """The number of the running iteration, from 0: a `param` leaf."""
        return self.node.inputs[3 * self.n]

    @property
    def trip(self) -> Expr:
        """The bound of the counter; the const -1 where there is none."""
        return self.node.inputs[3 * self.n + 1]

    @property
    def test(self) -> Expr:
        """Whether there is another iteration, over params and counter."""
        return self.node.inputs[3 * self.n + 2]


@dataclass(frozen=True, slots=True)
class IfView:
    """Names for the parts of an `if` node."""

    node: Expr

    @property
    def n(self) -> int:
        """Number of results."""
        return self.node.whole("n")

    @property
    def condition(self) -> Expr:
        """The value, of one element, whose truth chooses the side."""
        return self.node.inputs[0]

    @property
    def thens(self) -> tuple[Expr, ...]:
        """The results if the condition holds."""
        return self.node.inputs[1 : 1 + self.n]

    @property
    def elses(self) -> tuple[Expr, ...]:
        """The results if it does not."""
        return self.node.inputs[1 + self.n :]
