"""Matrix-chain order by dynamic programming, loop levels included.

The order of each maximal chain is chosen by the time of the whole run: a product of factors
that a loop does not change is counted once, not once per iteration.  (Dynamic programming over
intervals: Godbole, IEEE Trans. Comput. C-22, 1973.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from lineal.planner.build import apply
from lineal.planner.cluster import ClusterSpec
from lineal.planner.costing import Costing
from lineal.planner.expr import Expr, make, walk
from lineal.planner.infer import typed
from lineal.planner.levels import Levels, find_levels
from lineal.planner.logical import Guard, Logical, LoopView, Note
from lineal.planner.plan import Decision
from lineal.planner.render import expression
from lineal.planner.rules.chain_search import ChainSearch, Splits, Weights
from lineal.planner.rules.protocol import Facts, inherit
from lineal.planner.types import upper

_MAX_CHAIN = 40
"""Longer chains keep the order as written: the search is cubic in the length."""

_MOST_DOUBLINGS = 30
"""Iteration counts are looked at up to 2**30."""

_WORTH = 1e-3
"""Share of the predicted time that another order must save: ties keep the order as written."""


def chain_order(
    program: Logical,
    iterations: dict[str, float] | float | None,
    off: tuple[str, ...],
    cluster: ClusterSpec,
) -> Logical:
    """A @ B @ C -> (A @ B) @ C or A @ (B @ C)

    Whichever takes fewer predicted seconds over the run.  Floats of one dtype only; a product
    that something else needs too stays a factor of its own.
    """
    if "chain_order" in off or program.algebra == "strict":
        return program
    facts = Facts(program)
    levels = find_levels(program)
    costing = Costing(program, iterations)
    for node in levels.order:
        costing.known[node] = costing.describe(node)
    weights = _weights(levels, costing)
    notes = dict(program.notes)
    chains = _chains(facts, levels, costing, cluster)
    replaced: dict[Expr, Expr] = {}
    decisions: list[Decision] = []
    for chain in chains:
        chain.splits = chain.choose(weights)
        if chain.fired:
            new = replaced[chain.node] = chain.build()
            inherit(notes, chain.node, new)
            _spread_spans(new, notes, notes.get(chain.node, Note()))
        decisions.append(chain.decision(weights, notes))
    guards = _steady(chains, levels, costing, weights)
    if replaced:
        outputs, new_nodes = _rewrite(program, replaced)
        for old, made in new_nodes.items():
            if old is not made:
                inherit(notes, old, made)
        program = replace(program, outputs=outputs)
    return replace(
        program,
        notes=notes,
        guards=(*program.guards, *guards),
        decisions=(*program.decisions, *decisions),
    )


def _chains(
    facts: Facts, levels: Levels, costing: Costing, cluster: ClusterSpec
) -> list[_Chain]:
    """Return the maximal chains of a program that the search takes, in the program's order."""
    links = [node for node in levels.order if _is_link(node)]
    inner = {
        side
        for node in links
        for side, left in zip(node.inputs, (True, False), strict=True)
        if _opens(side, left, facts)
    }
    found = []
    for node in links:
        if node not in inner:
            factors = _factors(node, facts)
            if 3 <= len(factors) <= _MAX_CHAIN:
                found.append(_Chain(node, factors, levels, costing, cluster))
    return found


def _rewrite(
    program: Logical, replaced: dict[Expr, Expr]
) -> tuple[tuple[Expr, ...], dict[Expr, Expr]]:
    """Replace chains from the inside out: a factor of one chain may hold another."""
    new: dict[Expr, Expr] = {}

    def settle(node: Expr) -> Expr:
        for part in walk([node]):
            if part in new:
                continue
            target = replaced.get(part, part)
            if target is not part:
                for below in walk([target]):
                    if below not in new:
                        new[below] = _copy(below, new)
                new[part] = new[target]
            else:
                new[part] = _copy(part, new)
        return new[node]

    return tuple(settle(root) for root in program.outputs), new


def _copy(node: Expr, new: dict[Expr, Expr]) -> Expr:
    inputs = tuple(new[child] for child in node.inputs)
    if all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
        return node
    return make(node.op, inputs, **dict(node.attrs))


def _spread_spans(node: Expr, notes: dict[Expr, Note], note: Note) -> None:
    stack = list(node.inputs)
    while stack:
        part = stack.pop()
        if part.op == "matmul" and part not in notes:
            notes[part] = Note(note.spans)
            stack.extend(part.inputs)


def _weights(levels: Levels, costing: Costing) -> dict[Expr, float]:
    """Return how often each loop's body runs over the whole run."""
    found: dict[Expr, float] = {}
    for loop in sorted(levels.depth, key=lambda x: levels.depth[x]):
        outer = max(levels.loops[loop], key=lambda x: levels.depth[x], default=None)
        found[loop] = costing.count(loop) * (found[outer] if outer is not None else 1.0)
    return found


def _is_link(node: Expr) -> bool:
    if node.op != "matmul" or typed(node).dtype.kind != "f" or not typed(node).static:
        return False
    return all(typed(x).dtype == typed(node).dtype and typed(x).static for x in node.inputs)


def _factors(node: Expr, facts: Facts) -> list[Expr]:
    """Return the factors of a chain, left to right (iterative)."""
    found: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(node, True)]
    while stack:
        at, open_it = stack.pop()
        if not open_it:
            found.append(at)
            continue
        a, b = at.inputs
        stack.append((b, _opens(b, False, facts)))
        stack.append((a, _opens(a, True, facts)))
    return found


def _opens(side: Expr, left: bool, facts: Facts) -> bool:
    if not _is_link(side) or facts.uses.get(side, 0) > 1:
        return False
    if typed(side).ndim == 2:
        return True
    if typed(side).ndim == 0:
        return False
    # A 1-D product extends the chain only if its vector is at the chain's outer end.
    at = side
    while True:
        edge = at.inputs[0] if left else at.inputs[1]
        if typed(edge).ndim == 1:
            if _is_link(edge) and facts.uses.get(edge, 0) <= 1:
                at = edge
                continue
            return True
        return False


def _factor_text(node: Expr, notes: dict[Expr, Note]) -> str:
    note = notes.get(node, Note())
    if note.name and not note.name.startswith("@"):
        return note.name
    text = expression(node, notes, 2)
    return f"({text})" if " " in text else text


class _Chain:
    """One chain of a program: its factors, the order as written, the search over all others."""

    def __init__(
        self,
        node: Expr,
        factors: list[Expr],
        levels: Levels,
        costing: Costing,
        cluster: ClusterSpec,
    ) -> None:
        self.node = node
        self.factors = factors
        self.loops = frozenset().union(*(levels.loops[f] for f in factors))
        values = [costing.value(f) for f in factors]
        shapes = []
        for i, factor in enumerate(factors):
            shape = tuple(upper(d) for d in typed(factor).shape)
            if len(shape) == 1:
                shape = (1, shape[0]) if i == 0 else (shape[0], 1)
            shapes.append((shape[0], shape[1]))
        self.search = ChainSearch(
            shapes,
            [v.density.value if v.storage == "sparse" else 1.0 for v in values],
            [levels.loops[f] for f in factors],
            typed(factors[0]).dtype.itemsize,
            cluster,
        )
        self.written = _splits_of(node, factors)
        self.splits = self.written

    def choose(self, weights: Weights) -> Splits:
        """Return the order for these weights: the one as written unless another saves time."""
        best, splits = self.search.best(weights)
        if best < self.search.cost(self.written, weights) * (1 - _WORTH):
            return splits
        return self.written

    @property
    def fired(self) -> bool:
        """Whether another order than the one as written is chosen."""
        return self.splits != self.written

    def decision(self, weights: Weights, notes: dict[Expr, Note]) -> Decision:
        """Return what was chosen, with the seconds compared."""
        numbers = (
            ("seconds_as_written", self.search.cost(self.written, weights)),
            ("seconds_chosen" if self.fired else "seconds_best", self.search.best(weights)[0]),
        )
        spans = notes.get(self.node, Note()).spans
        return Decision(
            "chain_order",
            self.fired,
            " @ ".join(_factor_text(f, notes) for f in self.factors),
            self.text(notes) if self.fired else "another order",
            "fewer seconds over the run" if self.fired else "the order as written is the cheapest",
            numbers,
            spans[0] if spans else None,
            "real",
        )

    def build(self) -> Expr:
        """Return the product in the chosen order."""
        made: dict[tuple[int, int], Expr] = {(i, i): f for i, f in enumerate(self.factors)}
        for (i, j), k in sorted(self.splits.items(), key=lambda item: item[0][1] - item[0][0]):
            made[i, j] = apply("matmul", made[i, k], made[k + 1, j])
        return made[0, len(self.factors) - 1]

    def text(self, notes: dict[Expr, Note]) -> str:
        """Return the chosen order with its brackets."""
        shown = {(i, i): _factor_text(f, notes) for i, f in enumerate(self.factors)}
        for (i, j), k in sorted(self.splits.items(), key=lambda item: item[0][1] - item[0][0]):
            left, right = shown[i, k], shown[k + 1, j]
            left = left if i == k else f"({left})"
            shown[i, j] = f"{left} @ {right if k + 1 == j else f'({right})'}"
        return shown[0, len(self.factors) - 1]


def _splits_of(node: Expr, factors: list[Expr]) -> Splits:
    """Return the order that `node` has, as splits over its factors."""
    splits: Splits = {}
    done: list[tuple[int, int]] = []
    position = 0
    stack: list[tuple[Expr, bool]] = [(node, False)]
    while stack:
        at, ready = stack.pop()
        if ready:
            (_, j), (i, k) = done.pop(), done.pop()
            splits[i, j] = k
            done.append((i, j))
        elif position < len(factors) and at is factors[position]:
            done.append((position, position))
            position += 1
        else:
            stack += [(at, True), (at.inputs[1], False), (at.inputs[0], False)]
    return splits


def _steady(
    chains: list[_Chain], levels: Levels, costing: Costing, weights: dict[Expr, float]
) -> list[Guard]:
    """Return the guards within which argument-dependent counts leave every choice as it is.

    Choices are taken to change at most once on either side of a count; the bounds are powers of
    two, found by bisection.
    """
    guards: list[Guard] = []
    mixed = [c for c in chains if c.search.mixed]
    for loop in sorted(levels.depth, key=levels.order.index):
        touched = [c for c in mixed if loop in c.loops]
        if not touched or costing.source(loop) != "from arguments":
            continue
        now = max(costing.count(loop), 1.0)
        inner = [x for x in weights if x is loop or loop in levels.loops[x]]

        def same(count: float, touched: list[_Chain] = touched, now: float = now,
                 inner: list[Expr] = inner) -> bool:
            scaled = {x: w * count / now if x in inner else w for x, w in weights.items()}
            return all(c.choose(scaled) == c.splits for c in touched)

        trip = LoopView(loop).trip
        low = _edge(same, range(int(math.log2(now)), -1, -1))
        high = _edge(same, range(math.ceil(math.log2(now)), _MOST_DOUBLINGS + 1))
        if low != 0:
            least = int(now) if low is None else 2**low
            guards.append(Guard(apply("py.ge", trip, least), True))
        if high != _MOST_DOUBLINGS:
            most = int(now) if high is None else 2**high
            guards.append(Guard(apply("py.le", trip, most), True))
    return guards


def _edge(same: Callable[[float], bool], exponents: range) -> int | None:
    """Return the last exponent, in order, up to which `same` holds; None if not for the first."""
    if not same(2.0 ** exponents[0]):
        return None
    if same(2.0 ** exponents[-1]):
        return exponents[-1]
    good, bad = 0, len(exponents) - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if same(2.0 ** exponents[middle]):
            good = middle
        else:
            bad = middle
    return exponents[good]
