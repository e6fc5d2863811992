"""Running jobs in this process on a pool of threads; no server is started."""

from __future__ import annotations

import contextlib
import contextvars
import heapq
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lineal.engine.blocked.graph import (
    Finding,
    Foreign,
    Job,
    Jobs,
    Pending,
    error_modes,
    watched,
)


class _Native:
    """Native BLAS threads limited to one while anybody here runs tasks side by side.

    The limit is a property of the process, so overlapping users count together.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._controller: Any = None
        self._limit: Any = None

    @contextlib.contextmanager
    def one_thread(self) -> Iterator[None]:
        with self._lock:
            self._users += 1
            if self._users == 1:
                if self._controller is None:
                    import numpy.linalg  # noqa: F401  (its library must be loaded to be found)
                    from threadpoolctl import ThreadpoolController

                    self._controller = ThreadpoolController()
                self._limit = self._controller.limit(limits=1)
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._limit.restore_original_limits()
                    self._limit = None


native = _Native()


class ThreadExecutor:
    """Jobs on `threads` threads of this process.

    `submit` returns when every job is done.  Jobs start in depth-first order of the results, so
    that partial results are joined soon after they exist; what nobody needs any more is dropped
    at once.
    """

    keeps_lineage = False

    def __init__(self, threads: int = 1) -> None:
        self.workers = 0
        self.threads = max(1, threads)
        self.grave: deque[Any] = deque()
        self.pendings: weakref.WeakSet[Pending] = weakref.WeakSet()
        self.peak_live = 0
        """Largest number of results that were held at a time (for tests of memory use)."""
        self.found: set[Finding] = set()
        self._results: dict[Any, Any] = {}
        self._failed: dict[Any, BaseException] = {}
        self._pool: ThreadPoolExecutor | None = None

    def submit(self, jobs: Jobs, keep: Sequence[Any]) -> None:
        """Run `jobs`; raises the first error, in the order of the jobs."""
        if not jobs:
            return
        run = _Run(self, jobs, keep)
        if self.threads == 1 or len(jobs) == 1:
            run.in_line()
        else:
            with native.one_thread():
                run.on_pool(self._get_pool())

    def _get_pool(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="lineal")
        return self._pool

    def drop_pool(self) -> None:
        """Leave the pool to finish what runs; the next submission gets a new one."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def gather(self, keys: Sequence[Any]) -> list[Any]:
        """Return kept results; raises the error of the submission that should have made one."""
        for key in keys:
            if key in self._failed:
                raise self._failed[key]
        return [self._results[key] for key in keys]

    def handle(self, key: Any) -> Any:
        """Return a kept result itself."""
        return self._results[key]

    def wait(self, keys: Sequence[Any]) -> None:
        """Return at once: `submit` has waited."""

    def release(self, keys: Iterable[Any]) -> None:
        """Forget kept results."""
        for key in keys:
            self._results.pop(key, None)
            self._failed.pop(key, None)

    def findings(self) -> set[Finding]:
        """Return the floating-point findings so far, and forget them."""
        found, self.found = self.found, set()
        return found

    def sees_file(self, path: str, size: int, mtime_ns: int) -> bool:
        """True: it is this process."""
        return True

    def close(self) -> None:
        """Stop the threads and forget everything."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        self._results.clear()
        self._failed.clear()
        self.grave.clear()


class _Run:
    """One submission under way."""

    def __init__(self, executor: ThreadExecutor, jobs: Jobs, keep: Sequence[Any]) -> None:
        self.executor = executor
        self.jobs = jobs
        self.keep = frozenset(keep)
        self.results = executor._results
        self.readers: dict[Any, int] = {}
        self.missing: dict[Any, int] = {}
        self.dependents: dict[Any, list[Any]] = {}
        for key, job in jobs.items():
            deps = set(job.deps)
            for dep in deps:
                self.readers[dep] = self.readers.get(dep, 0) + 1
            queued = [dep for dep in deps if dep in jobs]
            self.missing[key] = len(queued)
            for dep in queued:
                self.dependents.setdefault(dep, []).append(key)
        self.order = _depth_first(jobs, keep)
        self.modes = error_modes()
        self.error: BaseException | None = None
        self.failed_at = -1
        self.running = 0
        self.done = 0
        self.changed = threading.Condition()

    def call(self, key: Any) -> Any:
        job = self.jobs[key]
        if isinstance(job, Foreign):
            return job.task({dep: self.results[dep] for dep in job.deps})
        values = [self.results[dep] for dep in job.deps]
        result, found = watched(job.program, self.modes, values)
        if found:
            self.executor.found.update(found)
        return result

    def finish(self, key: Any, value: Any) -> list[Any]:
        """Store a result, drop what only it needed, return the jobs that are ready now."""
        self.results[key] = value
        self.executor.peak_live = max(self.executor.peak_live, len(self.results))
        for dep in set(self.jobs[key].deps):
            self.readers[dep] -= 1
            if not self.readers[dep] and dep in self.jobs and dep not in self.keep:
                self.results.pop(dep, None)
        ready = []
        for reader in self.dependents.get(key, ()):
            self.missing[reader] -= 1
            if not self.missing[reader]:
                ready.append(reader)
        return ready

    def in_line(self) -> None:
        try:
            for key in sorted(self.jobs, key=self.order.__getitem__):
                self.finish(key, self.call(key))
        except BaseException as error:
            self._fail(error)
            raise

    def on_pool(self, pool: ThreadPoolExecutor) -> None:
        ready = [(self.order[key], key) for key, n in self.missing.items() if not n]
        heapq.heapify(ready)
        try:
            with self.changed:
                while self.done < len(self.jobs):
                    while ready and self.running < self.executor.threads and self.error is None:
                        _, key = heapq.heappop(ready)
                        self.running += 1
                        # a copy of the context: context variables hold in the threads as well
                        pool.submit(contextvars.copy_context().run, self._work, key, ready)
                    if self.error is not None and not self.running:
                        raise self.error
                    self.changed.wait(0.5)
        except BaseException as error:
            if error is not self.error:  # interrupted from outside: do not wait for the threads
                self.error = error
                self.executor.drop_pool()
            self._fail(error)
            raise

    def _work(self, key: Any, ready: list[Any]) -> None:
        try:
            value = self.call(key)
        except BaseException as error:
            with self.changed:
                if self.error is None or self.order[key] < self.failed_at:
                    self.error, self.failed_at = error, self.order[key]
                self.running -= 1
                self.changed.notify()
            return
        with self.changed:
            if self.error is None:
                for reader in self.finish(key, value):
                    heapq.heappush(ready, (self.order[reader], reader))
            self.done += 1
            self.running -= 1
            self.changed.notify()

    def _fail(self, error: BaseException) -> None:
        """Keep what is done and wanted, deliver the data, mark the rest as failed."""
        for key, job in self.jobs.items():
            if key not in self.keep:
                self.results.pop(key, None)
            elif key not in self.results:
                if isinstance(job, Job) and job.data:
                    self.results[key] = self.call(key)
                else:
                    self.executor._failed[key] = error


def _depth_first(jobs: Jobs, keep: Sequence[Any]) -> dict[Any, int]:
    """Return each job's place in a walk that finishes one result's inputs before the next."""
    order: dict[Any, int] = {}
    stack: list[tuple[Any, bool]] = [(key, False) for key in reversed(list(keep)) if key in jobs]
    while stack:
        key, ready = stack.pop()
        if key in order:
            continue
        if ready:
            order[key] = len(order)
            continue
        stack.append((key, True))
        stack.extend((d, False) for d in reversed(jobs[key].deps) if d in jobs and d not in order)
    for key in jobs:  # nothing needs these; they only arise when jobs are submitted by hand
        order.setdefault(key, len(order))
    return order


__all__ = ["Job", "ThreadExecutor", "native"]
