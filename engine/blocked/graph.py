"""Tasks before they are handed to an executor: jobs, handles on their results, fusion.

A job is a list of calls on block values.  Results are named by keys; a `Block` is the handle on
one of them.  Whether a result is kept is decided by Python's own references: at a flush, the
results whose handles are alive are kept, everything else is an intermediate and goes as soon as
its last reader is done.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

Key = str

FUSE_LIMIT = 32
"""Longest chain of calls that becomes one task."""


class Slot:
    """The place of the i-th dependency's value in a call's arguments."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __reduce__(self) -> tuple[object, ...]:
        return (Slot, (self.index,))


class Local:
    """The place of the result of an earlier call of the same job."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __reduce__(self) -> tuple[object, ...]:
        return (Local, (self.index,))


Call = tuple[str, Callable[..., Any], tuple[Any, ...]]


class Job:
    """Calls run one after the other on the values of `deps`; the last one's result is the job's.

    `program` holds (note, function, arguments); arguments are constants, `Slot` or `Local`.
    The note says which step of the plan the call serves, for error messages.  `data` marks a
    job that only delivers a value of the driver's; `joins` one that must not swallow the jobs
    it reads (a node of a reduction tree: its inputs have to run in parallel).
    """

    __slots__ = ("data", "deps", "joins", "program")

    def __init__(
        self, program: tuple[Call, ...], deps: tuple[Key, ...], data: bool, joins: bool
    ) -> None:
        self.program = program
        self.deps = deps
        self.data = data
        self.joins = joins


class Foreign:
    """A task of somebody else's graph, e.g. of a Dask array: `call(values by key)` runs it."""

    __slots__ = ("deps", "task")

    def __init__(self, task: Callable[[dict[Any, Any]], Any], deps: tuple[Any, ...]) -> None:
        self.task = task
        self.deps = deps


Jobs = dict[Any, "Job | Foreign"]


Modes = tuple[tuple[str, str], ...]
"""np.geterr() of the thread that submits: what to do on divide, over, under, invalid."""

Finding = tuple[str, str]
"""A floating-point finding: its kind ("divide by zero", ...) and the note of the call."""


def error_modes() -> Modes:
    """Return np.geterr() as it is here, for tasks that run elsewhere."""
    return tuple(sorted((kind, str(mode)) for kind, mode in np.geterr().items()))


def execute(program: tuple[Call, ...], *values: Any) -> Any:
    """Run a job's calls under this thread's np.errstate."""
    return watched(program, error_modes(), values)[0]


def watched(
    program: tuple[Call, ...], modes: Modes, values: Sequence[Any]
) -> tuple[Any, set[Finding]]:
    """Run a job's calls; return the last one's result and the floating-point findings.

    Findings that `modes` would warn of or call back for are collected instead, so that the driver
    can report them with the user's line; "raise" raises.  An error gets the failing call's note.
    """
    results: list[Any] = []
    found: set[Finding] = set()
    note = ""

    def take(kind: str, flag: int) -> None:
        found.add((kind, note))

    collected: dict[str, Any] = {k: v if v in ("ignore", "raise") else "call" for k, v in modes}
    with np.errstate(call=take, **collected):
        for note, function, template in program:
            args = [
                values[item.index]
                if type(item) is Slot
                else results[item.index]
                if type(item) is Local
                else item
                for item in template
            ]
            try:
                results.append(function(*args))
            except Exception as error:
                if note:
                    error.add_note(note)
                raise
            del args
    return results[-1], found


class Executor(Protocol):
    """What runs jobs.  Results named in `keep` stay until released."""

    workers: int
    threads: int
    keeps_lineage: bool
    grave: deque[Any]
    """Keys whose handles are gone, to be released once no queued job reads them."""
    pendings: weakref.WeakSet[Pending]
    """The queues whose jobs may read results held here."""

    def submit(self, jobs: Jobs, keep: Sequence[Any]) -> None:
        """Start (or run) `jobs`; dependencies may be results kept earlier."""

    def gather(self, keys: Sequence[Any]) -> list[Any]:
        """Return kept results, waiting for them; raises the error of a failed job."""

    def handle(self, key: Any) -> Any:
        """Return what stands for a kept result outside a run: a future, or the value."""

    def wait(self, keys: Sequence[Any]) -> None:
        """Wait until kept results exist, without fetching them."""

    def release(self, keys: Iterable[Any]) -> None:
        """Forget kept results; unknown keys are ignored."""

    def findings(self) -> set[Finding]:
        """Return the floating-point findings of all jobs done so far, and forget them."""

    def sees_file(self, path: str, size: int, mtime_ns: int) -> bool:
        """Tell whether every worker reads this very file under the same path."""


class Block:
    """The handle on one task's result; the result is released when the last handle is gone."""

    __slots__ = ("__weakref__", "_grave", "key")

    def __init__(self, key: Any, grave: deque[Any]) -> None:
        self.key = key
        self._grave = grave

    def __del__(self) -> None:
        self._grave.append(self.key)

    def __repr__(self) -> str:
        return f"<Block {self.key}>"


def deliver(value: Any) -> Any:
    """Return `value`: the body of a task that carries data."""
    return value


class Pending:
    """Jobs that wait for the next flush."""

    def __init__(self, grave: deque[Any], namespace: str) -> None:
        self._grave = grave
        self.reading: set[Any] = set()
        """Keys that jobs queued, or being submitted, read."""
        self._namespace = namespace
        self._serial = 0
        self._jobs: Jobs = {}
        self._handles: dict[Any, weakref.ref[Block]] = {}
        self._shared: dict[object, tuple[object, Block]] = {}

    def __len__(self) -> int:
        return len(self._jobs)

    def add(
        self,
        label: str,
        note: str,
        function: Callable[..., Any],
        args: Sequence[Any],
        *,
        data: bool = False,
        joins: bool = False,
    ) -> Block:
        """Queue `function(*args)`; arguments that are `Block` become dependencies."""
        deps: list[Any] = []
        template: list[Any] = []
        for arg in args:
            if isinstance(arg, Block):
                template.append(Slot(len(deps)))
                deps.append(arg.key)
            else:
                template.append(arg)
        key = f"lineal-{label}-{self._namespace}-{self._serial}"
        self._serial += 1
        self._jobs[key] = Job(((note, function, tuple(template)),), tuple(deps), data, joins)
        self.reading.update(deps)
        handle = Block(key, self._grave)
        self._handles[key] = weakref.ref(handle)
        return handle

    def adopt(self, tasks: dict[Any, Foreign]) -> None:
        """Queue another graph's tasks under their own keys, as intermediates."""
        self._jobs.update(tasks)

    def reference(self, key: Any) -> Block:
        """Return a handle for a key whose result nobody of ours owns (a foreign task's)."""
        return Block(key, deque(maxlen=0))

    def shared(self, identity: object, owner: object, make: Callable[[], Block]) -> Block:
        """Return the one block for `identity` in this flush, made by `make` at first need.

        `owner` is kept alive meanwhile, so that an identity built from its `id` stays true.
        """
        found = self._shared.get(identity)
        if found is None:
            found = self._shared[identity] = (owner, make())
        return found[1]

    def live(self) -> list[Any]:
        """Return the keys of queued jobs whose handle somebody holds."""
        return [key for key, ref in self._handles.items() if ref() is not None]

    def take(self) -> tuple[Jobs, list[Any]]:
        """Return the jobs that live handles need, fused, and the keys to keep; empty the queue."""
        self._shared.clear()  # broadcast values live for one flush only
        keep = self.live()
        jobs = _cull(self._jobs, keep)
        self._jobs = {}
        self._handles = {}
        return fuse(jobs, frozenset(keep)), keep

    def submitted(self) -> None:
        """Say that the jobs taken last are with the executor: what they read may go."""
        self.reading.clear()


def _cull(jobs: Jobs, keep: Iterable[Any]) -> Jobs:
    needed: set[Any] = set()
    stack = list(keep)
    while stack:
        key = stack.pop()
        if key in needed or key not in jobs:
            continue
        needed.add(key)
        stack.extend(jobs[key].deps)
    return {key: job for key, job in jobs.items() if key in needed}


def fuse(jobs: Jobs, keep: frozenset[Any]) -> Jobs:
    """Join chains: a job read by one job only, which reads no other queued job, joins it.

    Jobs that deliver data do not count and are never joined (they must stay apart so that a lost
    block can be delivered again); nor do reduction nodes swallow what they read.
    """
    readers: dict[Any, int] = {}
    for job in jobs.values():
        for dep in set(job.deps):
            readers[dep] = readers.get(dep, 0) + 1
    fused: Jobs = {}
    for key, job in jobs.items():  # producers come before consumers
        if isinstance(job, Foreign) or job.joins or job.data:
            fused[key] = job
            continue
        inner = [
            dep
            for dep in dict.fromkeys(job.deps)
            if (source := jobs.get(dep)) is not None
            and (isinstance(source, Foreign) or not source.data)
        ]
        first = fused.get(inner[0]) if len(inner) == 1 else None
        if (
            isinstance(first, Job)
            and readers[inner[0]] == 1
            and inner[0] not in keep
            and len(first.program) < FUSE_LIMIT
        ):
            fused[key] = _chain(first, inner[0], job)
            del fused[inner[0]]
        else:
            fused[key] = job
    return fused


def finish_here(jobs: Jobs, keep: list[Any], keys: Iterable[Any]) -> dict[Any, Job]:
    """Take the last joins before `keys` out of a graph, for the driver to run them itself.

    Joining a few small partial results here saves the round over the workers that brings them
    together there.  `jobs` and `keep` are changed: what the joins read is kept instead.
    """
    read = {dep for job in jobs.values() for dep in job.deps}
    taken: dict[Any, Job] = {}
    for key in keys:
        job = jobs.get(key)
        if isinstance(job, Job) and job.joins and key not in read and key not in taken:
            taken[key] = job
    for key, job in taken.items():
        del jobs[key]
        keep.remove(key)
        keep.extend(dep for dep in job.deps if dep not in keep and dep in jobs)
    return taken


def _chain(first: Job, first_key: Any, second: Job) -> Job:
    deps = list(first.deps)
    place: dict[int, Slot | Local] = {}
    for i, dep in enumerate(second.deps):
        if dep == first_key:
            place[i] = Local(len(first.program) - 1)
        else:
            if dep not in deps:
                deps.append(dep)
            place[i] = Slot(deps.index(dep))
    (note, function, template) = second.program[0]
    moved = tuple(place[item.index] if type(item) is Slot else item for item in template)
    return Job((*first.program, (note, function, moved)), tuple(deps), False, first.joins)
