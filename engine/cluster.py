"""The one file that touches `dask.distributed` and `dask._task_spec`.

Blocked jobs become low-level Dask graphs; futures hold the results until they are released.
"""

from __future__ import annotations

import contextlib
import importlib
import secrets
import socket
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lineal.engine.blocked.graph import (
    Finding,
    Foreign,
    Job,
    Jobs,
    Modes,
    Pending,
    error_modes,
    execute,
    watched,
)
from lineal.errors import RunError
from lineal.planner.cluster import ClusterSpec

SHIP_BYTES = 8 * 2**20
"""Data is sent in graphs of about this size, so that the scheduler is never blocked for long."""

NEEDED = "lineal.engine.blocked.tasks"
"""The module that workers have to have."""

_config_lock = threading.Lock()


class ClusterExecutor:
    """Jobs on the workers of a `distributed.Client`.

    Keys are unique per run.  Data of the driver's travels in tasks of its own, in graphs of a few
    megabytes that go ahead of the graph that reads them; the scheduler can run such a task again
    when a worker dies.

    Raises
    ------
    RunError
        The client is closed, lost its scheduler, or a worker died too often.
    """

    keeps_lineage = True

    def __init__(self, client: Any) -> None:
        self.client = client
        self.grave: deque[Any] = deque()
        self.pendings: weakref.WeakSet[Pending] = weakref.WeakSet()
        self._futures: dict[Any, Any] = {}
        self._topic = f"lineal-{secrets.token_hex(8)}"
        self._events = 0
        self._check()
        workers = _workers(client)
        self._probe()
        self.workers = max(len(workers), 1)
        self.threads = max((int(w.get("nthreads", 1)) for w in workers.values()), default=1)

    def _check(self) -> None:
        if getattr(self.client, "status", "closed") != "running":
            raise RunError(
                "the Dask client is closed or has lost its scheduler",
                hint="make a new Client and a new Session",
            )

    def _probe(self) -> None:
        """Let every worker import what tasks need; a task that cannot be read would hang."""
        with self._clear_errors():
            found = self.client.run(importlib.import_module, NEEDED, on_error="return")
        for address, answer in found.items():
            if isinstance(answer, Exception):
                raise RunError(
                    f"the worker at {address} cannot import {NEEDED}: {answer}",
                    hint="install the same version of lineal on the workers",
                )

    def submit(self, jobs: Jobs, keep: Sequence[Any]) -> None:
        """Send `jobs` as one graph (after the data it carries); returns at once."""
        self._check()
        wanted = set(keep)
        carried = {k: j for k, j in jobs.items() if isinstance(j, Job) and j.data}
        shipped = self._ship(carried)
        modes = error_modes()
        rest = {k: _task(k, j, modes, self._topic) for k, j in jobs.items() if k not in carried}
        outputs = [key for key in rest if key in wanted]
        if rest:
            self._futures.update(self._send(rest, outputs))
        for key, future in shipped.items():
            if key in wanted:
                self._futures[key] = future
        # the futures of data that only this graph reads go here: its tasks hold the data now

    def _ship(self, jobs: dict[Any, Job]) -> dict[Any, Any]:
        from lineal.engine.blocked.grid import nbytes

        futures: dict[Any, Any] = {}
        group: dict[Any, Any] = {}
        size = 0
        for key, job in jobs.items():
            bytes_here = nbytes(job.program[0][2][0])
            if group and size + bytes_here > SHIP_BYTES:
                futures.update(self._send(group, list(group)))
                group, size = {}, 0
            group[key] = _task(key, job, (), "")
            size += bytes_here
        if group:
            futures.update(self._send(group, list(group)))
        return futures

    def _send(self, graph: dict[Any, Any], keys: list[Any]) -> dict[Any, Any]:
        with self._clear_errors(), _no_size_warning():
            futures = self.client.get(_expression(graph), keys, sync=False)
        return dict(zip(keys, futures, strict=True))

    def gather(self, keys: Sequence[Any]) -> list[Any]:
        """Return results; raises the error of the task that failed."""
        self._check()
        with self._clear_errors():
            found: list[Any] = self.client.gather([self._futures[key] for key in keys])
        return found

    def handle(self, key: Any) -> Any:
        """Return the future of a kept result."""
        return self._futures[key]

    def wait(self, keys: Sequence[Any]) -> None:
        """Wait for results that are not released meanwhile; raises a failed task's error."""
        from distributed import wait

        self._check()
        futures = [self._futures[key] for key in keys if key in self._futures]
        with self._clear_errors():
            wait(futures)
            for future in futures:
                if future.status == "error":
                    future.result()

    def release(self, keys: Iterable[Any]) -> None:
        """Give results back; the scheduler forgets them and what only they needed."""
        for key in keys:
            self._futures.pop(key, None)

    def findings(self) -> set[Finding]:
        """Ask the scheduler for the findings since the last time: one round trip."""
        self._check()
        with self._clear_errors():
            events = self.client.get_events(self._topic)
        fresh = events[self._events :]
        self._events = len(events)
        return {(kind, note) for _, event in fresh for kind, note in _pairs(event)}

    def sees_file(self, path: str, size: int, mtime_ns: int) -> bool:
        """Ask every worker whether it finds the file with this size and time of change."""
        with self._clear_errors():
            answers = self.client.run(_file_state, path)
        return bool(answers) and all(state == (size, mtime_ns) for state in answers.values())

    def close(self) -> None:
        """Release every result; the client is its owner's and stays open."""
        self._futures.clear()
        self.grave.clear()

    def cancel(self) -> None:
        """Give up everything that is under way, without waiting for it.

        Futures that nobody holds are released, and the scheduler stops what only they wanted.
        (To cancel them as well would tell it twice, which breaks the client's connection.)
        """
        self._futures.clear()

    @contextlib.contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Turn the failures of the machinery into `RunError`; leave those of the program alone."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError, FuturesCancelledError
        from distributed.comm.core import CommClosedError

        try:
            yield
        except KeyboardInterrupt:
            self.cancel()
            raise
        except KilledWorker as error:
            raise RunError(
                f"workers died again and again while running {_operator(error)}",
                hint="most often the memory of a worker is too small for its blocks: make the "
                "blocks smaller or give the workers more memory",
            ) from error
        except (FutureCancelledError, FuturesCancelledError, CommClosedError) as error:
            raise RunError(
                f"the run lost its results on the cluster ({type(error).__name__}): the client "
                "was closed, the scheduler is gone, or somebody cancelled the tasks",
                hint="check that the scheduler runs, then make a new Client and a new Session",
            ) from error


def _workers(client: Any) -> dict[str, Any]:
    try:
        info = client.scheduler_info(n_workers=-1)
    except TypeError:  # Dask before 2025.4 always tells all
        info = client.scheduler_info()
    return dict(info.get("workers", {}))


def _pairs(event: Any) -> list[Finding]:
    """Return the findings in an event: newer versions wrap what a worker logs in a dict."""
    content = event.get("msg", ()) if isinstance(event, dict) else event
    return [(str(kind), str(note)) for kind, note in content]


def _operator(error: Any) -> str:
    """Return the operator that a task's key names (lineal-<program>-<%name>-<op>-...)."""
    key = str(getattr(error, "task", ""))
    parts = key.split("-")
    if len(parts) >= 6 and parts[0] == "lineal":
        return f"{parts[-3]} ({parts[-4]} of {'-'.join(parts[1:-4])})"
    return key or "a task"


def _file_state(path: str) -> tuple[int, int] | None:
    import os

    try:
        state = os.stat(path)
    except OSError:
        return None
    return (state.st_size, state.st_mtime_ns)


def run_job(program: Any, modes: Modes, topic: str, *values: Any) -> Any:
    """Run one job on a worker, with native threads limited: the worker has its own threads.

    Floating-point findings are rare; they go to the scheduler's event log, ahead of the message
    that the task is done.
    """
    from lineal.engine.threads import native

    with native.one_thread():
        result, found = watched(program, modes, values)
    if found:
        from distributed import get_worker

        get_worker().log_event(topic, sorted(found))
    return result


def _task(key: Any, job: Job | Foreign, modes: Modes, topic: str) -> Any:
    from dask._task_spec import Task, TaskRef

    if isinstance(job, Foreign):
        return job.task
    if job.data:
        return Task(key, execute, job.program)
    return Task(key, run_job, job.program, modes, topic, *[TaskRef(dep) for dep in job.deps])


def _expression(graph: dict[Any, Any]) -> Any:
    """Wrap a graph so that Dask does not hash all of it, data included, to name it."""
    try:
        from dask._expr import LLGExpr
    except ImportError:  # Dask before 2025.4 takes the dict as it is
        return graph
    try:
        return LLGExpr(graph, _determ_token=f"lineal-{next(iter(graph))}")
    except TypeError:
        return graph


@contextlib.contextmanager
def _no_size_warning() -> Iterator[None]:
    """Silence Dask's advice about large graphs: blocks larger than its limit are meant."""
    import dask

    with (
        _config_lock,  # restoring the old value must not interleave between threads
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}),
    ):
        yield


def foreign_graph(array: Any) -> tuple[dict[Any, Foreign], list[Any]]:
    """Return a Dask array's tasks, optimised, and the keys of its blocks in C order."""
    from dask._task_spec import convert_legacy_graph
    from dask.base import optimize
    from dask.core import flatten

    (array,) = optimize(array)
    graph = convert_legacy_graph(dict(array.__dask_graph__()))
    tasks = {key: Foreign(node, tuple(node.dependencies)) for key, node in graph.items()}
    return tasks, list(flatten(array.__dask_keys__()))


def connect(address: str) -> Any:
    """Return a client of the scheduler at `address`.

    Raises
    ------
    RunError
        Nobody answers there.
    """
    from distributed import Client

    _probe(address)
    try:
        return Client(address, timeout="10s", set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise _silent(address, error) from error


def _silent(address: str, error: Exception) -> RunError:
    return RunError(
        f"no Dask scheduler answers at {address!r}: {error}",
        hint="start one with `dask scheduler`, or pass a Client",
    )


def _probe(address: str) -> None:
    """Raise RunError at once if nobody listens; a Client that fails to connect leaves threads."""
    from distributed.comm.addressing import get_address_host_port, parse_address

    try:
        scheme, _ = parse_address(address)
        if scheme not in ("tcp", "tls"):
            return
        host, port = get_address_host_port(address)
        with socket.create_connection((host, port), timeout=10):
            return
    except (OSError, ValueError) as error:
        raise _silent(address, error) from error


def _own_memory() -> int:
    import psutil

    return int(psutil.virtual_memory().total)


def cluster_spec(client: Any, memory_limit: int | None = None) -> ClusterSpec:
    """Return the description of a client's cluster: its smallest worker stands for all.

    Raises
    ------
    RunError
        The cluster has no workers, or the client is closed.
    """
    workers = _workers(client)
    if not workers:
        raise RunError(
            "the cluster has no workers", hint="wait for them: client.wait_for_workers(1)"
        )
    limits = [int(w.get("memory_limit") or 0) for w in workers.values()]
    memory = min((m for m in limits if m > 0), default=0) or 4 * 2**30
    return ClusterSpec(
        driver_memory_bytes=memory_limit or _own_memory(),
        workers=len(workers),
        threads=min(int(w.get("nthreads", 1)) for w in workers.values()),
        memory_bytes=min(memory, memory_limit) if memory_limit else memory,
    )
