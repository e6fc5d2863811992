"""What a placed plan moves and holds, as upper bounds, and whether it fits."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, replace

from lineal.errors import MemoryLimitError
from lineal.planner.cluster import ClusterSpec
from lineal.planner.plan import Block, Once, PhysicalPlan, Step, Value
from lineal.planner.types import upper

FAN_IN = 4
"""Partial results that one node of a reduction tree reads (the engine's trees)."""


def value_bytes(value: Value) -> int:
    """Bytes of a value in its planned storage; an upper bound for symbolic sizes."""
    kind = value.type
    if kind.kind != "array" or value.storage != "sparse":
        return kind.nbytes
    entries = int(kind.size * min(max(value.density.value, 0.0), 1.0)) + 1
    index = 4 if entries < 2**31 and all(upper(dim) < 2**31 for dim in kind.shape) else 8
    rows = upper(kind.shape[0]) if kind.shape else 0
    return entries * (kind.dtype.itemsize + index) + (rows + 1) * index


def largest_block(value: Value) -> float:
    """Bytes of a blocked value's largest block; the whole value for one in the driver."""
    total = float(value_bytes(value))
    if value.place != "blocked":
        return total
    for split in value.splits:
        length = sum(split)
        if length:
            total *= max(split) / length
    return total


def blocks_of(value: Value) -> int:
    """Number of blocks of a value; 1 for one in the driver."""
    count = 1
    for split in value.splits:
        count *= len(split)
    return count


@dataclass(frozen=True, slots=True)
class Memory:
    """Upper bounds of the bytes held, and the steps at which they are reached.

    `driver_step` and `worker_step` are the steps' text.
    """

    driver: float
    driver_step: str
    worker: float
    worker_step: str


class _Walk:
    """One pass over a placed plan in order, with what is alive at each step."""

    def __init__(self, plan: PhysicalPlan, cluster: ClusterSpec) -> None:
        self.cluster = cluster
        self.values: dict[str, Value] = {v.name: v for v in plan.inputs}
        self.inputs = set(self.values)
        self.live = dict(self.values)
        self.held = 0.0  # bytes of live values in the driver, inputs excepted
        self.moved = 0.0
        self.waiting = 0.0
        self.driver = (0.0, "")
        self.worker = (0.0, "")
        if cluster.workers:
            self.moved += sum(value_bytes(v) for v in plan.inputs if v.place == "blocked")

    def block(self, block: Block) -> Block:
        once = tuple(Once(o.level, tuple(self.step(s, None) for s in o.steps)) for o in block.once)
        streamed = _streamed(block, self.values)
        return replace(block, steps=tuple(self.step(s, streamed) for s in block.steps), once=once)

    def step(self, step: Step, streamed: frozenset[str] | None) -> Step:
        reads = [self.values[n] for n in step.inputs if n in self.values]
        if step.op == "loop":
            for param, start in zip(step.params[1:], step.inputs[1:], strict=True):
                if start in self.values:
                    self.values[param] = replace(self.values[start], name=param)
        for value in step.outputs:
            self.values[value.name] = value
        made = step
        if step.blocks:
            made = replace(step, blocks=tuple(self.block(b) for b in step.blocks))
        elif any(v.place == "blocked" for v in (*reads, *step.outputs)):
            made = self._blocked(step, reads)
        else:
            self._driver(step)
        for value in step.outputs:
            if streamed is None or value.name not in streamed:
                self._drop(value.name)
                self.live[value.name] = value
                self.held += self._counted(value.name)
        for name in step.frees:
            self._drop(name)
        return made

    def _drop(self, name: str) -> None:
        self.held -= self._counted(name)
        self.live.pop(name, None)

    def _counted(self, name: str) -> int:
        """Return the bytes that `held` has for a name."""
        value = self.live.get(name)
        if value is None or value.place != "driver" or name in self.inputs:
            return 0
        return value_bytes(value)

    def _driver(self, step: Step) -> None:
        operands = sum(self._counted(name) for name in set(step.inputs))
        need = self.held - operands + step.peak_bytes
        if need > self.driver[0]:
            self.driver = (need, step.text or step.op)

    def _blocked(self, step: Step, reads: list[Value]) -> Step:
        cluster = self.cluster
        workers = max(cluster.workers, 1)
        grid = max([blocks_of(v) for v in (*reads, *step.outputs) if v.place == "blocked"])
        task = sum(largest_block(v) for v in reads) + sum(largest_block(v) for v in step.outputs)
        if step.op in ("matmul", "sum", "var", "std", "mean", "qr", "svd", "lstsq"):
            task += (FAN_IN - 1) * max((largest_block(v) for v in step.outputs), default=0.0)
        if step.op == "scatter":
            task = 2 * largest_block(step.outputs[0])
        held = 0.0
        for value in self.live.values():
            if value.place != "blocked":
                continue
            if value.name in self.inputs and not cluster.workers:
                continue  # blocks of inputs are parts of the caller's own memory
            # the blocks lie where the scheduler puts them: as even as whole blocks allow
            count = blocks_of(value)
            held += min(float(value_bytes(value)), largest_block(value) * -(-count // workers))
        need = held + cluster.threads * task
        if need > self.worker[0]:
            self.worker = (need, step.text or step.op)
        if step.op == "gather" or any(v.place == "driver" for v in step.outputs):
            whole = sum(value_bytes(v) for v in step.outputs if v.place == "driver")
            if self.held + 2 * whole > self.driver[0]:
                self.driver = (self.held + 2 * whole, step.text or step.op)
        moved = self._moves(step, reads, grid) if cluster.workers else 0.0
        self.moved += moved * step.runs
        wait = grid * cluster.task_overhead_s / cluster.slots
        if cluster.workers and any(v.place == "driver" for v in step.outputs):
            wait += cluster.round_trip_s
        self.waiting += wait * step.runs
        return replace(step, peak_bytes=need)

    def _moves(self, step: Step, reads: list[Value], grid: int) -> float:
        workers = self.cluster.workers
        if step.op in ("scatter", "gather"):
            return float(value_bytes(step.outputs[0]))
        moved = 0.0
        for value in reads:
            if value.place == "driver":
                moved += value_bytes(value) * min(workers, grid)
        for value in step.outputs:
            partials = max(grid - blocks_of(value), 0)
            moved += largest_block(value) * partials * (workers - 1) / workers
            if value.place == "driver":
                moved += value_bytes(value)
        return moved


def _streamed(block: Block, values: dict[str, Value]) -> frozenset[str]:
    """Return blocked values that never exist whole: made and used up within one graph.

    A graph ends at the first driver step that reads what a blocked step made.
    """
    born: dict[str, int] = {}
    local: dict[str, Value] = {}
    graph = 0
    gone: set[str] = set()
    made_blocked: set[str] = set()
    known = ChainMap(local, values)
    for step in block.steps:
        blocked = not step.blocks and any(
            v.place == "blocked"
            for v in (*step.outputs, *(known[n] for n in step.inputs if n in known))
        )
        if step.blocks or (not blocked and made_blocked & set(step.inputs)):
            graph += 1
        for value in step.outputs:
            local[value.name] = value
            if blocked:
                made_blocked.add(value.name)
                if value.place == "blocked":
                    born[value.name] = graph
        gone |= {name for name in step.frees if born.get(name) == graph}
    return frozenset(gone)


def memory(plan: PhysicalPlan, cluster: ClusterSpec) -> Memory:
    """Return the bounds of a placed plan's memory in the driver and in the fullest worker."""
    walk = _Walk(plan, cluster)
    walk.block(plan.body)
    return Memory(*walk.driver, *walk.worker)


def with_costs(plan: PhysicalPlan, cluster: ClusterSpec) -> PhysicalPlan:
    """Return the plan with the blocked steps' peaks, the bytes moved and the overall bound."""
    walk = _Walk(plan, cluster)
    body = walk.block(plan.body)
    return replace(
        plan,
        body=body,
        moved_bytes=walk.moved,
        peak_bytes=max(
            plan.peak_bytes if not cluster.workers else 0.0, walk.driver[0], walk.worker[0]
        ),
        est_seconds=plan.est_seconds + walk.waiting + walk.moved / cluster.bandwidth_bytes_per_s,
    )


def check_memory(plan: PhysicalPlan, cluster: ClusterSpec) -> None:
    """Refuse a placed plan that cannot fit.

    Raises
    ------
    MemoryLimitError
        Names the operator, the bytes it needs and the bytes there are.
    """
    bound = memory(plan, cluster)
    where = "each worker" if cluster.workers else "this process"
    for need, limit, step, place in (
        (bound.driver, cluster.driver_memory_bytes, bound.driver_step, "the driver"),
        (bound.worker, cluster.memory_bytes, bound.worker_step, where),
    ):
        if need > limit:
            spans = [s.spans[0] for s in plan.steps() if (s.text or s.op) == step and s.spans]
            raise MemoryLimitError(
                f"the plan cannot fit: {step!r} needs up to {size(need)} in {place}, which has "
                f"{size(limit)}",
                hint="give it more memory, use smaller blocks, or rewrite the step so that it "
                "does not need the whole value",
                span=spans[0] if spans else None,
            )


def size(count: float) -> str:
    """Return a number of bytes for people: 1.5 GiB, with the exact count."""
    shown, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if shown < 1024:
            break
        shown, unit = shown / 1024, larger
    return f"{count:.0f} bytes" if unit == "B" else f"{shown:.1f} {unit} ({count:.0f} bytes)"
