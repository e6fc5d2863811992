"""Matrix-chain order by dynamic programming, loop levels included.

The order of each maximal chain is chosen by the time of the whole run: a product of factors
that a loop does not change is counted once, not once per iteration.  (Dynamic programming over
intervals: Godbole, IEEE Trans. Comput. C-22, 1973.)
"""

from __future__ import annotations

from dataclasses import replace

from lineal.kernels import specs
from lineal.planner.build import apply
from lineal.planner.cluster import ClusterSpec
from lineal.planner.costing import Costing
from lineal.planner.expr import Expr, make, walk
from lineal.planner.infer import typed
from lineal.planner.levels import Levels, find_levels
from lineal.planner.logical import Logical, Note
from lineal.planner.plan import Decision
from lineal.planner.render import expression
from lineal.planner.rules.protocol import Facts, inherit
from lineal.planner.seconds import seconds
from lineal.planner.types import upper

_MAX_CHAIN = 200
"""Longer chains keep the order as written: the search is cubic in the length."""


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
    decisions: list[Decision] = []
    inner = {
        side
        for node in levels.order
        if _is_link(node)
        for side, left in zip(node.inputs, (True, False), strict=True)
        if _opens(side, left, facts)
    }
    replaced: dict[Expr, Expr] = {}
    for node in levels.order:
        if not _is_link(node) or node in inner:
            continue
        factors = _factors(node, facts)
        if not 3 <= len(factors) <= _MAX_CHAIN:
            continue
        chain = _Chain(factors, levels, weights, costing, cluster)
        written = chain.cost_as_written(node)
        best, new = chain.best()
        shown = " @ ".join(_factor_text(f, notes) for f in factors)
        spans = notes.get(node, Note()).spans
        span = spans[0] if spans else None
        if best < written * (1 - _WORTH):
            replaced[node] = new
            inherit(notes, node, new)
            _spread_spans(new, notes, notes.get(node, Note()))
            decisions.append(
                Decision(
                    "chain_order", True, shown, chain.text(notes),
                    "fewer seconds over the run",
                    (("seconds_as_written", written), ("seconds_chosen", best)), span, "real",
                )
            )
        else:
            decisions.append(
                Decision(
                    "chain_order", False, shown, "another order",
                    "the order as written is the cheapest",
                    (("seconds_as_written", written), ("seconds_best", best)), span, "real",
                )
            )
    if replaced:
        outputs, new_nodes = _rewrite(program, replaced)
        for old, made in new_nodes.items():
            if old is not made:
                inherit(notes, old, made)
        program = replace(program, outputs=outputs)
    return replace(program, notes=notes, decisions=(*program.decisions, *decisions))


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
    """The search over one chain's orders."""

    def __init__(
        self,
        factors: list[Expr],
        levels: Levels,
        weights: dict[Expr, float],
        costing: Costing,
        cluster: ClusterSpec,
    ) -> None:
        self.factors = factors
        self.cluster = cluster
        self.itemsize = typed(factors[0]).dtype.itemsize
        self.levels = levels
        self.weights = weights
        values = [costing.value(f) for f in factors]
        shapes = [tuple(upper(d) for d in typed(f).shape) for f in factors]
        self.shapes = [s if len(s) == 2 else ((1, s[0]) if i == 0 else (s[0], 1))
                       for i, s in enumerate(shapes)]
        self.density = [v.density.value if v.storage == "sparse" else 1.0 for v in values]
        self._loops = [levels.loops.get(f, frozenset()) for f in factors]
        self._split: dict[tuple[int, int], int] = {}
        self._cost: dict[tuple[int, int], float] = {}
        self._dens: dict[tuple[int, int], float] = {}

    def _weight(self, i: int, j: int) -> float:
        loops = frozenset().union(*self._loops[i : j + 1])
        return max((self.weights[x] for x in loops), default=1.0)

    def _product(
        self, i: int, k: int, j: int, da: float, db: float
    ) -> tuple[float, float]:
        """Return (seconds over the run, density) of joining i..k with k+1..j."""
        a = (self.shapes[i][0], self.shapes[k][1])
        b = (self.shapes[k + 1][0], self.shapes[j][1])
        density, _ = specs.result_density("matmul", (a, b), (da, db))
        sparse = da < 1.0 or db < 1.0
        kept = tuple(d if d < 1.0 else None for d in (da, db, density))
        size = self.itemsize
        spec = specs.cost("matmul", (a, b), ((a[0], b[1]),), (size, size, size), kept)
        return seconds("matmul", spec, sparse, self.cluster) * self._weight(i, j), density

    def best(self) -> tuple[float, Expr]:
        """Return (seconds over the run, the product in the best order)."""
        n = len(self.factors)
        for i in range(n):
            self._cost[i, i] = 0.0
            self._dens[i, i] = self.density[i]
        for length in range(2, n + 1):
            for i in range(n - length + 1):
                j = i + length - 1
                chosen: tuple[float, float, int] | None = None
                for k in range(i, j):
                    own, density = self._product(i, k, j, self._dens[i, k], self._dens[k + 1, j])
                    total = own + self._cost[i, k] + self._cost[k + 1, j]
                    if chosen is None or total < chosen[0]:
                        chosen = (total, density, k)
                assert chosen is not None
                self._cost[i, j], self._dens[i, j], self._split[i, j] = chosen
        return self._cost[0, n - 1], self._build(0, n - 1)

    def _build(self, i: int, j: int) -> Expr:
        if i == j:
            return self.factors[i]
        k = self._split[i, j]
        return apply("matmul", self._build(i, k), self._build(k + 1, j))

    def cost_as_written(self, node: Expr) -> float:
        """Return the seconds over the run of the order that `node` has."""
        position = 0
        total = 0.0
        done: list[tuple[int, int, float]] = []
        remaining = list(self.factors)
        stack: list[tuple[Expr, bool]] = [(node, False)]
        while stack:
            at, ready = stack.pop()
            if ready:
                (k1, j, db), (i, k, da) = done.pop(), done.pop()
                assert k1 == k + 1
                own, density = self._product(i, k, j, da, db)
                total += own
                done.append((i, j, density))
            elif position < len(remaining) and at is remaining[position]:
                done.append((position, position, self.density[position]))
                position += 1
            else:
                stack.append((at, True))
                stack.append((at.inputs[1], False))
                stack.append((at.inputs[0], False))
        return total

    def text(self, notes: dict[Expr, Note]) -> str:
        """Return the chosen order with its brackets."""

        def show(i: int, j: int) -> str:
            if i == j:
                return _factor_text(self.factors[i], notes)
            k = self._split[i, j]
            left, right = show(i, k), show(k + 1, j)
            return f"{left if i == k else f'({left})'} @ {right if k + 1 == j else f'({right})'}"

        return show(0, len(self.factors) - 1)

