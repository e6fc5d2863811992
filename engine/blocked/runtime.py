"""The blocked half of a run: steps in, lazily executed blocks out."""

from __future__ import annotations

import secrets
import weakref
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

from lineal.engine.blocked import assemble, inputs, tasks
from lineal.engine.blocked.graph import (
    Block,
    Executor,
    Finding,
    Foreign,
    Job,
    Pending,
    deliver,
    error_modes,
    finish_here,
    watched,
)
from lineal.engine.blocked.grid import BlockedArray, Context, NoBlockedForm, nbytes, places, region
from lineal.engine.blocked.table import lower
from lineal.errors import RunError
from lineal.planner.cluster import ClusterSpec
from lineal.planner.layouts import even, fit
from lineal.planner.plan import Step, Value

RUN_AHEAD = 2
"""Flushes without a fetch that may be under way before the driver waits."""

LINEAGE_TASKS = 20_000
LINEAGE_BYTES = 256 * 2**20
"""What a scheduler may remember of a loop's past (tasks, bytes of driver values) before the
carried blocks are re-rooted: sent anew, so that their past can be forgotten."""

FINISH_BYTES = 2**20
"""The last join of a reduction tree is done in the driver for results up to this size."""

WANTED_BYTES = 64 * 2**20
"""Values placed in the driver come along with every flush up to this size."""


class BlockedRuntime:
    """Runs the steps of one plan whose operands or results are blocked.

    Steps only queue tasks.  A `fetch` submits everything queued as one graph and gathers every
    value that the plan places in the driver, so that further fetches of the same iteration are
    free.  Results are released when their last `BlockedArray` is gone or `release`d.
    """

    def __init__(
        self,
        executor: Executor,
        cluster: ClusterSpec,
        program: str = "program",
    ) -> None:
        self.executor = executor
        self.cluster = cluster
        self.program = program
        self._grave = executor.grave
        self._pending = Pending(self._grave, secrets.token_hex(4))
        executor.pendings.add(self._pending)
        self._wanted: list[weakref.ref[BlockedArray]] = []
        self._under_way: deque[list[Any]] = deque()
        self._flushed = False
        self._temporary: set[Any] = set()
        self._steps: dict[str, Step] = {}
        self._found_here: set[Finding] = set()
        self._lineage_tasks = 0
        self._lineage_bytes = 0
        self.flushes: list[int] = []
        """Number of tasks of each graph submitted so far."""

    # Steps

    def run(self, step: Step, operands: Sequence[Any]) -> tuple[Any, ...]:
        """Queue one step; returns a `BlockedArray` per result.

        Results placed in the driver are `BlockedArray`s as well until they are fetched, and can be
        operands of further blocked steps as they are.
        """
        note = note_of(step)
        self._steps.setdefault(note, step)
        name = step.outputs[0].name if step.outputs else ""
        label = f"{self.program}-{name}-{step.op}"
        ctx = Context(self._pending, self.fetch, label, note)
        ready = [self._known(operand) for operand in operands]
        attrs = dict(step.attrs)
        try:
            try:
                results: tuple[Any, ...] = lower(ctx, step.op, attrs, ready, step.outputs)
            except NoBlockedForm:
                results = self._in_driver(step, attrs, ready)
        except Exception as error:
            if note and note not in getattr(error, "__notes__", ()):
                error.add_note(note)
            raise
        for value, result in zip(step.outputs, results, strict=True):
            if isinstance(result, BlockedArray):
                result.dtype = value.type.dtype
                if value.place == "driver":
                    result.wanted = True
                    self._wanted.append(weakref.ref(result))
        return results

    def _known(self, operand: Any) -> Any:
        """Return the operand; its value if only the driver has it or its size is not known."""
        if not isinstance(operand, BlockedArray):
            return operand
        unknown = any(-1 in split for split in operand.splits)
        return self.fetch(operand) if unknown or not operand.blocks else operand

    def _in_driver(
        self, step: Step, attrs: dict[str, Any], operands: Sequence[Any]
    ) -> tuple[Any, ...]:
        values = [self.fetch(o) if isinstance(o, BlockedArray) else o for o in operands]
        if step.op == "scatter":
            results: tuple[Any, ...] = tuple(values)
        else:
            found = tasks.kernel(step.op, tuple(attrs.items()), *values)
            results = found if isinstance(found, tuple) else (found,)
        label = f"{self.program}-{step.outputs[0].name}-{step.op}"
        ctx = Context(self._pending, self.fetch, label, note_of(step))
        placed = []
        for value, result in zip(step.outputs, results, strict=True):
            if value.place == "blocked":
                shape = result.shape
                splits = tuple(fit(n, s) for n, s in zip(shape, value.splits, strict=True))
                result = ctx.blocked(result, splits)
            placed.append(result)
        return tuple(placed)

    # Inputs

    def adopt(self, value: Any, spec: Value) -> BlockedArray:
        """Cut an input into the blocks that `spec.splits` says, to be sent once.

        NumPy arrays, sparse arrays, mapped files (read by the workers themselves where they see
        the file) and Dask arrays (their own tasks, kept while the input lives).
        """
        if isinstance(value, BlockedArray):
            return value
        label = f"{self.program}-{spec.name}-input"
        note = f"while reading the input {spec.label or spec.name}"
        array = inputs.adopt(self._pending, self.executor, value, spec, label, note)
        array.dtype = spec.type.dtype
        return array

    # Values

    def fetch(self, value: Any) -> Any:
        """Return the NumPy (or csr_array) value; it is new memory, writable.

        Submits everything queued; values placed in the driver are gathered with it.
        """
        if not isinstance(value, BlockedArray):
            return value
        if value.held is None:
            if not value.blocks:
                raise RunError("a value was used after it was released")
            value.wanted = True
            self._collect([value])
        return value.held

    def _collect(self, needed: list[BlockedArray]) -> None:
        queued = set(self._pending.live())
        known = {id(array) for array in needed}
        arrays = list(needed)
        budget = WANTED_BYTES
        for array in self._live_wanted():
            if id(array) in known or any(-1 in split for split in array.splits):
                continue
            budget -= _bytes_of(array)
            if budget >= 0 and any(block.key in queued for block in array.blocks):
                arrays.append(array)
                known.add(id(array))
        single = [array for array in arrays if len(array.blocks) == 1]
        joined = self._submit(
            [
                array.blocks[0].key
                for array in single
                if self.executor.workers and _bytes_of(array) <= FINISH_BYTES
            ]
        )
        values = self._gather_joined([array.blocks[0].key for array in single], joined)
        for array, found in zip(single, values, strict=True):
            here = array.blocks[0].key in joined
            array.held = assemble.single(array, found)
            if here:
                array.blocks = ()  # only the driver has it
        for array in arrays:
            if len(array.blocks) > 1:
                array.held = assemble.many(array, self._gather)
        self._under_way.clear()

    def _gather_joined(self, keys: list[Any], joined: dict[Any, Job]) -> list[Any]:
        """Gather results, of those in `joined` the parts, which are then joined here."""
        needed = [dep for job in joined.values() for dep in job.deps]
        order = list(dict.fromkeys([key for key in keys if key not in joined] + needed))
        if not order:
            return []
        parts = dict(zip(order, self._gather(order), strict=True))
        self.executor.release([dep for dep in needed if dep not in keys and dep in self._temporary])
        self._temporary.difference_update(needed)
        for key, job in joined.items():
            values = [parts[dep] for dep in job.deps]
            parts[key], found = watched(job.program, error_modes(), values)
            self._found_here |= found
        return [parts[key] for key in keys]

    def _live_wanted(self) -> list[BlockedArray]:
        live = [array for ref in self._wanted if (array := ref()) is not None]
        live = [array for array in live if array.held is None and array.blocks]
        self._wanted = [weakref.ref(array) for array in live]
        return live

    def _gather(self, keys: Sequence[Any]) -> list[Any]:
        return self.executor.gather(keys)

    def release(self, value: Any) -> None:
        """Drop a dead value; its blocks go unless another value shares them."""
        if isinstance(value, BlockedArray):
            value.blocks = ()
            value.held = None

    def handles(self, value: BlockedArray) -> list[Any]:
        """Return what stands for each block outside a run, in the grid's order.

        Futures on a cluster, the arrays themselves in-process; all queued work is sent first.
        """
        self.flush()
        places_ = product(*map(range, value.grid))
        return [self.executor.handle(value.stored(*place).key) for place in places_]

    # Flushing

    def flush(self) -> None:
        """Submit everything queued as one graph (nothing if nothing is needed any more)."""
        self._submit([])

    def _submit(self, here: list[Any]) -> dict[Any, Job]:
        """Submit everything queued but the last joins before the keys `here`, returned to do."""
        jobs, keep = self._pending.take()
        before = set(keep)
        joined = finish_here(jobs, keep, here) if here else {}
        self._temporary.update(set(keep) - before)
        try:
            if jobs:
                self.executor.submit(jobs, keep)
        finally:
            self._pending.submitted()
        if jobs:
            self.flushes.append(len(jobs))
            self._flushed = True
            self._under_way.append(keep)
            self._lineage_tasks += len(jobs)
            if self.executor.keeps_lineage:
                self._lineage_bytes += sum(map(_carried_bytes, jobs.values()))
        self._bury()
        return joined

    def _bury(self) -> None:
        """Release what has no handle any more, unless somebody's queued job still reads it."""
        dead, kept = [], []
        queues = list(self.executor.pendings)
        while self._grave:
            key = self._grave.popleft()
            if key in self._temporary or any(key in queue.reading for queue in queues):
                kept.append(key)
            else:
                dead.append(key)
        self._grave.extend(kept)
        if dead:
            self.executor.release(dead)

    def end_iteration(self, live: Iterable[Any] = ()) -> None:
        """End one iteration of a loop: at most one graph if the iteration fetched nothing.

        `live` are the values that the next iteration can see.
        """
        if not self._flushed and len(self._pending):
            self.flush()
            while len(self._under_way) > RUN_AHEAD:
                keys = self._under_way.popleft()
                dead = set(self._grave)
                self.executor.wait([key for key in keys if key not in dead])
        self._flushed = False
        self._bury()
        if self.executor.keeps_lineage and (
            self._lineage_tasks > LINEAGE_TASKS or self._lineage_bytes > LINEAGE_BYTES
        ):
            self._reroot([v for v in live if isinstance(v, BlockedArray) and v.blocks])

    def _reroot(self, arrays: list[BlockedArray]) -> None:
        """Send carried blocks anew, so that the scheduler can forget how they came about.

        A scheduler keeps the tasks behind every living result, to compute it again after a
        worker's death; in a loop these would grow without end.
        """
        self.flush()
        self._lineage_tasks = self._lineage_bytes = 0
        replaced: dict[Any, Block] = {}
        for array in arrays:
            total = int(np.prod(array.shape)) * (array.dtype.itemsize if array.dtype else 8)
            if total > LINEAGE_BYTES * 4 or any(-1 in split for split in array.splits):
                continue
            blocks = []
            for block in array.blocks:
                if "-input-" in str(block.key):
                    blocks.append(block)
                    continue
                if block.key not in replaced:
                    value = self._gather([block.key])[0]
                    replaced[block.key] = self._pending.add(
                        f"{self.program}-carried", "", deliver, (value,), data=True
                    )
                blocks.append(replaced[block.key])
            array.blocks = tuple(blocks)
        replaced.clear()
        self.flush()
        self._lineage_tasks = self._lineage_bytes = 0
        self._flushed = False  # the next iteration has its own graph

    def findings(self) -> list[tuple[str, Step | None]]:
        """Return the floating-point findings of the tasks done so far and the steps they arose in.

        Kinds are NumPy's words ("divide by zero", "invalid value", ...), each step's once.  One
        round trip on a cluster; call it at the end of a run, before `close`.
        """
        found = self.executor.findings() | self._found_here
        self._found_here.clear()
        return [(kind, self._steps.get(note)) for kind, note in sorted(found)]

    def close(self) -> None:
        """Drop everything queued and release what died; living results stay with their owners."""
        self._pending.take()
        self._pending.submitted()
        self._temporary.clear()
        self._wanted.clear()
        self._under_way.clear()
        self._bury()


def _bytes_of(array: BlockedArray) -> int:
    """Bytes of the dense form; large where the size is not known."""
    if any(-1 in split for split in array.splits):
        return FINISH_BYTES + 1
    return int(np.prod(array.shape)) * (array.dtype.itemsize if array.dtype else 8)


def _carried_bytes(job: Job | Foreign) -> int:
    """Bytes of the driver's values that travel in a job."""
    if isinstance(job, Foreign):
        return 0
    return sum(
        nbytes(arg) for _, _, template in job.program for arg in template if hasattr(arg, "shape")
    )


def note_of(step: Step) -> str:
    """Return the line that an error inside one of the step's tasks gets: operation and place."""
    text = step.text or step.op
    if not step.spans:
        return f"in {text}"
    span = step.spans[0]
    return f"in {text}\n{span.render()}"


__all__ = ["BlockedRuntime", "even", "note_of", "places", "region"]
