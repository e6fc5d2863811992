"""What a rule is, and how rules are applied to a fixpoint.

A local rule is a function `(node, facts) -> Expr | None`: the replacement, or None.  Its first
docstring line is its identity, its `numerics` says what it may change.  A rule that considers a
node and declines calls `facts.refuse(...)`, so that the plan can tell why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from lineal.errors import ProgramError
from lineal.planner.costing import Costing
from lineal.planner.expr import Expr, rebuild, walk
from lineal.planner.levels import Levels, find_levels
from lineal.planner.logical import Logical, Note, Notes
from lineal.planner.plan import Decision
from lineal.planner.render import expression
from lineal.planner.verify import check_same

LocalFn = Callable[[Expr, "Facts"], Expr | None]
_MAX_PASSES = 50


@dataclass(frozen=True, slots=True)
class Rule:
    """One rewrite.

    `numerics` is "exact" (bit-identical), or "real" (equal over the reals, for finite inputs);
    strict plans use exact rules only.
    """

    fn: LocalFn
    numerics: str

    @property
    def name(self) -> str:
        """The function's name: what decisions show and `rewrites` switches off."""
        return self.fn.__name__

    @property
    def identity(self) -> str:
        """The identity that the rule applies: its first docstring line."""
        return (self.fn.__doc__ or "").splitlines()[0]


@dataclass
class Facts:
    """What rules may ask about the program they rewrite, and where they say why not."""

    program: Logical
    iterations: dict[str, float] | float | None = None
    refusals: dict[tuple[str, str], Decision] = field(default_factory=dict)
    _uses: dict[Expr, int] | None = None
    _levels: Levels | None = None
    _order: dict[Expr, int] | None = None
    _counts: Costing | None = None

    @property
    def uses(self) -> dict[Expr, int]:
        """How many inputs and outputs refer to each node."""
        if self._uses is None:
            found: dict[Expr, int] = {}
            for node in walk(self.program.outputs):
                for child in node.inputs:
                    found[child] = found.get(child, 0) + 1
            for root in self.program.outputs:
                found[root] = found.get(root, 0) + 1
            self._uses = found
        return self._uses

    @property
    def order(self) -> dict[Expr, int]:
        """The position of each node in the program."""
        if self._order is None:
            self._order = {node: i for i, node in enumerate(walk(self.program.outputs))}
        return self._order

    @property
    def _costing(self) -> Costing:
        if self._counts is None:
            self._counts = Costing(self.program, self.iterations)
        return self._counts

    @property
    def levels(self) -> Levels:
        """The loops that each node of the program depends on."""
        if self._levels is None:
            self._levels = find_levels(self.program)
        return self._levels

    def loops(self, node: Expr) -> frozenset[Expr]:
        """Return the loops that a node's value depends on, also for a node that a rule made."""
        found = self.levels.loops.get(node)
        if found is None:
            found = frozenset().union(*(self.loops(child) for child in node.inputs))
            self.levels.loops[node] = found
        return found

    def runs(self, node: Expr) -> float:
        """Return how often a node is computed over the run, hoisting taken into account."""
        total = 1.0
        for loop in self.loops(node):
            total *= self._costing.count(loop)
        return total

    def refuse(
        self, rule: str, node: Expr, after: str, reason: str, **numbers: float
    ) -> None:
        """Record that `rule` looked at `node` and left it, with the figures compared."""
        spans = self.program.notes.get(node, Note()).spans
        before = expression(node, self.program.notes)
        self.refusals.setdefault(
            (rule, before),
            Decision(
                rule, False, before, after, reason, tuple(sorted(numbers.items())),
                spans[0] if spans else None,
            ),
        )


def apply_rules(
    program: Logical,
    rules: tuple[Rule, ...],
    off: tuple[str, ...],
    iterations: dict[str, float] | float | None = None,
) -> Logical:
    """Apply local rules everywhere until none fires.

    Raises
    ------
    ProgramError
        Rules undo each other or never settle (the error names them, and the forms that
        alternate), or a rule changed a shape or dtype.
    """
    active = [r for r in rules if r.name not in off]
    if program.algebra == "strict":
        active = [r for r in active if r.numerics == "exact"]
    decisions: dict[tuple[str, str, str], Decision] = {}
    seen: list[tuple[Expr, ...]] = []
    for _ in range(_MAX_PASSES):
        seen.append(program.outputs)
        walked = _Pass(program, active, iterations, decisions)
        program = walked.run()
        if program.outputs == seen[-1]:
            return replace(program, decisions=(*program.decisions, *decisions.values()))
        if program.outputs in seen:
            raise _endless(walked.fired, "undo each other")
    # A long chain of equal patterns takes a pass each; what is reached so far is a valid program.
    stopped = Decision(
        "fixpoint", False, program.name, "", "stopped after the most passes that are made",
        (("passes", float(_MAX_PASSES)),),
    )
    return replace(program, decisions=(*program.decisions, *decisions.values(), stopped))


class _Pass:
    """One walk over a program, inputs first, in which every rule is tried at every node."""

    def __init__(
        self,
        program: Logical,
        rules: list[Rule],
        iterations: dict[str, float] | float | None,
        decisions: dict[tuple[str, str, str], Decision],
    ) -> None:
        self._program = program
        self._rules = rules
        self._facts = Facts(program, iterations)
        self._notes: Notes = dict(program.notes)
        self._decisions = decisions
        self.fired: list[Decision] = []

    def run(self) -> Logical:
        """Return the rewritten program; what was decided goes to `decisions`, once each."""
        outputs, new = rebuild(self._program.outputs, self._change)
        for old, node in new.items():
            if old is not node:
                inherit(self._notes, old, node)
        for key, refusal in self._facts.refusals.items():
            self._decisions.setdefault((*key, "refused"), refusal)
        return replace(self._program, outputs=outputs, notes=self._notes)

    def _change(self, node: Expr) -> Expr | None:
        current = node
        before = {node}
        for rule in self._rules:
            after = rule.fn(current, self._facts)
            if after is None or after is current:
                continue
            check_same(rule.name, current, after)
            self._record(rule, current, after)
            if after in before:
                raise _endless(self.fired, "undo each other")
            before.add(after)
            current = after
        return None if current is node else current

    def _record(self, rule: Rule, before: Expr, after: Expr) -> None:
        inherit(self._notes, before, after)
        spans = self._notes.get(before, Note()).spans
        decision = Decision(
            rule.name,
            True,
            expression(before, self._notes),
            expression(after, self._notes),
            rule.identity,
            span=spans[0] if spans else None,
            numerics=rule.numerics,
        )
        self._decisions.setdefault((rule.name, decision.before, decision.after), decision)
        self.fired.append(decision)


def _endless(fired: list[Decision], how: str) -> ProgramError:
    names = sorted({d.rule for d in fired})
    forms = dict.fromkeys(f"{d.rule}: {d.before} -> {d.after}" for d in fired)
    return ProgramError(
        f"the rules {', '.join(names)} {how}",
        operands=tuple(list(forms)[-4:]),
        hint="switch one of them off with la.options(rewrites=...), and report this",
    )


def inherit(notes: Notes, old: Expr, new: Expr) -> None:
    """Let a replacement keep the user's places and name of what it replaces."""
    held = notes.get(old)
    if held is None or old is new:
        return
    known = notes.get(new)
    notes[new] = held if known is None else known.merged(held)
    for child in new.inputs:
        if child not in notes:
            notes[child] = Note(held.spans)

