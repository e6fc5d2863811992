"""The frozen result of planning: physical values, steps and blocks of steps.

Everything here is plain data.  A `Step` never turns back into an expression.  Names come from
position (`%1`, `%2`, ...), so equal programs give equal plans, byte for byte.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from lineal.errors import Span
from lineal.planner.types import DENSE, Density, Type

Splits = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Value:
    """One physical value.

    `place` is "driver" (one NumPy or SciPy object in the driving process) or "blocked" (a grid
    of blocks, `splits` gives the block sizes per axis; for a symbolic axis they are upper
    bounds).  `storage` is the planned form, "dense" or "sparse".  `label` is the user's name
    for it, empty for intermediates.
    """

    name: str
    type: Type
    storage: str = "dense"
    density: Density = DENSE
    place: str = "driver"
    splits: Splits = ()
    label: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A straight list of steps.  Runs top to bottom; `results` are value names.

    `once` are blocks of hoisted steps that this block needs: each runs when the block is first
    entered, and again only after the loop level it belongs to has moved on (`Once.level`).
    """

    steps: tuple[Step, ...]
    results: tuple[str, ...] = ()
    once: tuple[Once, ...] = ()


@dataclass(frozen=True, slots=True)
class Once:
    """Steps hoisted out of a loop, run lazily at first need.

    `level` is the number of loops that enclose the place they were hoisted to (0: the whole
    program); the values stay until that level's iteration ends.
    """

    level: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of the plan.

    `op` and `attrs` are the logical operation's (see `lineal.kernels.registry`); `inputs` are value
    names; `outputs` has one Value per result.  `frees` are the values that die with this step;
    `reuses` the inputs whose storage it may take over, if nothing else holds it.

    Control steps hold blocks:
      loop: `params` are the carried names (first the iteration counter), `inputs` = trip count
            (may be "" for no bound) followed by the initial values; blocks = (test, body);
            test.results = (condition,) and body.results are the next values of params[1:].
            Values computed in `test` are visible in `body`.
      if:   `inputs` = (condition,); blocks = (then, else), results of both pair with `outputs`.

    Costs are for one execution: `flops` (one per multiply, one per add), `bytes_read`,
    `bytes_written`, `peak_bytes` (upper bound of what the step holds at once, operands and
    result included).  `runs` is how often the step runs in the whole run (an estimate where a
    loop's count is assumed).  `depth` is the number of loops around the step.  `text` shows the
    operation by the user's names; `spans` are the user's lines that it serves.
    """

    op: str
    attrs: tuple[tuple[str, Hashable], ...]
    inputs: tuple[str, ...]
    outputs: tuple[Value, ...]
    frees: tuple[str, ...] = ()
    reuses: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    flops: float = 0.0
    bytes_read: float = 0.0
    bytes_written: float = 0.0
    peak_bytes: float = 0.0
    runs: float = 1.0
    depth: int = 0
    text: str = ""
    spans: tuple[Span, ...] = ()
    note: str = ""

    def attr(self, name: str, default: object = None) -> object:
        """Return the attribute `name`, or `default`."""
        for key, value in self.attrs:
            if key == name:
                return value
        return default


@dataclass(frozen=True, slots=True)
class Decision:
    """What one rule did, or why it did not.

    `fired` tells which; `numbers` are the figures compared, as (name, value) pairs.
    """

    rule: str
    fired: bool
    before: str
    after: str
    reason: str
    numbers: tuple[tuple[str, float], ...] = ()
    span: Span | None = None
    numerics: str = "exact"


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """A schedule with totals: what the engine runs and what explain prints.

    `inputs` are the values the caller binds, in order (name, type, place, splits); `outputs`
    the names of results, of which the last `effects` only order assertions (`Logical.tree` says
    how the others are packed).  `flops` and `moved_bytes` count the whole run; `peak_bytes` is
    an upper bound.
    `trip_counts` lists per loop the count that the totals use and how it is known.
    """

    name: str
    inputs: tuple[Value, ...]
    body: Block
    outputs: tuple[str, ...]
    effects: int = 0
    flops: float = 0.0
    flops_as_written: float = 0.0
    est_seconds: float = 0.0
    est_seconds_as_written: float = 0.0
    peak_bytes: float = 0.0
    moved_bytes: float = 0.0
    trip_counts: tuple[tuple[str, float, str], ...] = ()
    decisions: tuple[Decision, ...] = field(default=(), repr=False)

    @property
    def results(self) -> tuple[str, ...]:
        """The outputs that the caller sees."""
        return self.outputs[: len(self.outputs) - self.effects]

    def steps(self) -> Iterator[Step]:
        """Yield every step, blocks included, in the order of execution."""
        yield from steps_of(self.body)


def steps_of(block: Block) -> Iterator[Step]:
    """Yield the steps of `block` in execution order, hoisted ones first (iterative)."""
    stack: list[Iterator[Step]] = [_direct(block)]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
            continue
        yield step
        if step.blocks:
            stack.append(_chain(step.blocks))


def _chain(blocks: tuple[Block, ...]) -> Iterator[Step]:
    for block in blocks:
        yield from _direct(block)


def _direct(block: Block) -> Iterator[Step]:
    for once in block.once:
        yield from once.steps
    yield from block.steps
