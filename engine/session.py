"""Where plans run: in this process, or on a Dask cluster."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from lineal.engine.inputs import Bound, describe
from lineal.engine.interpreter import Trace, emit_warnings
from lineal.engine.machine import executor_for, local_spec
from lineal.engine.plan import Plan
from lineal.engine.progress import Progress
from lineal.engine.results import pack
from lineal.errors import InputError, OptionError, RunError
from lineal.kernels.finite import all_finite
from lineal.planner.cluster import ClusterSpec


@dataclass(frozen=True)
class Run:
    """One finished run.

    Attributes
    ----------
    value : object
        What the program returned.
    plan : Plan
        The plan that ran (the strict one if an input held NaN or Inf).
    seconds : float
        Wall time of the run, planning excluded.
    iterations : dict
        Iterations that each loop made, by the name of its first result.
    graphs : tuple of int
        Number of tasks of each graph that was sent to workers (or threads), in order.
    """

    value: Any
    plan: Plan
    seconds: float
    iterations: dict[str, int] = field(default_factory=dict)
    graphs: tuple[int, ...] = ()

    def report(self) -> str:
        """Return the plan and the run's totals as text."""
        loops = ", ".join(f"{k}: {n} iterations" for k, n in self.iterations.items())
        head = f"{self.plan.explain()}\nran in {self.seconds:.6g} s"
        return f"{head} ({loops})" if loops else head


class Session:
    """Runs plans in-process, or on Dask when given a client or an address.

    Parameters
    ----------
    client : distributed.Client or str, optional
        A client, or a scheduler's address to connect to (then closed with the session).
    cluster : ClusterSpec, optional
        What plans assume of the machines; measured from the process or the cluster if not given.
    memory_limit : int, optional
        Bytes that a process may hold; a plan that needs more is refused before it runs.
    progress : Progress, optional
        Told of every loop iteration, see `lineal.engine.progress`.

    Notes
    -----
    A context manager; may be used from several threads.  `history` lists the runs, newest last.
    """

    def __init__(
        self,
        client: Any = None,
        *,
        cluster: ClusterSpec | None = None,
        memory_limit: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        if memory_limit is not None and (not isinstance(memory_limit, int) or memory_limit < 1):
            raise OptionError(
                f"memory_limit must be a positive number of bytes, not {memory_limit!r}",
                hint="e.g. 4 * 2**30",
            )
        self._owned = None
        if not (client is None or isinstance(client, str) or hasattr(client, "scheduler_info")):
            raise OptionError(
                f"{type(client).__name__} is neither a Dask client nor an address",
                hint="Session(Client(...)), Session('tcp://host:8786'), or Session() in-process",
            )
        if getattr(client, "status", "running") not in ("running", "connecting"):
            raise RunError("the Dask client is closed", hint="make a new Client")
        if isinstance(client, str):
            from lineal.engine.cluster import connect

            client = self._owned = connect(client)
        self._client = client
        self._executor: Any = None
        self._spec = cluster
        self.memory_limit = memory_limit
        self._progress = progress
        self.history: list[Run] = []
        self._lock = threading.Lock()
        self._closed = False

    @property
    def cluster(self) -> ClusterSpec:
        """The machines that plans of this session are made for."""
        if self._spec is None:
            if self._client is None:
                self._spec = local_spec(self.memory_limit)
            else:
                from lineal.engine.cluster import cluster_spec

                self._spec = cluster_spec(self._client, self.memory_limit)
        return self._spec

    def run_plan(self, plan: Plan, inputs: Sequence[Any]) -> Run:
        """Run `plan` on `inputs`, in the order of `plan.parameters`.

        Raises
        ------
        InputError
            Too few or many inputs, or one of another shape, dtype or form than planned.
        """
        if len(inputs) != len(plan.parameters):
            raise InputError(
                f"the plan takes {len(plan.parameters)} input(s) "
                f"({', '.join(plan.parameters)}), {len(inputs)} given"
            )
        bound = [describe(v, n) for v, n in zip(inputs, plan.parameters, strict=True)]
        for item, planned in zip(bound, plan.physical.inputs, strict=False):
            if item.type != planned.type or item.facts.storage != planned.storage:
                given = f"{item.facts.storage} {item.type}" if item.type else repr(item.value)
                raise InputError(
                    f"{item.name!r} is {given}, planned for {planned.storage} {planned.type}",
                    hint="plan again for these shapes: program.plan(...)",
                )
        hidden = [describe(v, n) for n, v in plan.hidden.items()]
        return self.execute(plan, [*bound, *hidden])

    def execute(self, plan: Plan, bound: Sequence[Bound], result: str = "numpy") -> Run:
        """Run `plan` on inputs that have been described already; `result` as in Program.run."""
        if self._closed:
            raise RunError("this session is closed", hint="open a new Session")
        for item in bound:
            if item.planned_only:
                raise InputError(
                    f"{item.name!r} is a description without data", hint="use .plan or .explain"
                )
        if plan.needs_finite and not self._finite(bound):
            plan = plan.strict
        _ = plan.fits  # raises before anything runs
        start = time.perf_counter()
        values, trace = self._run(plan, [b.value for b in bound], result)
        if plan.needs_finite and not all(map(_finite, values)):
            # Re-associated sums and products may overflow where NumPy's own order does not.
            plan = plan.strict
            values, trace = self._run(plan, [b.value for b in bound], result)
        value = pack(plan, values, [b.value for b in bound])
        spent = time.perf_counter() - start
        run = Run(value, plan, spent, trace.iterations, trace.graphs)
        emit_warnings(trace)
        with self._lock:
            self.history.append(run)
            del self.history[:-100]
        return run

    def _run(self, plan: Plan, values: list[Any], result: str) -> tuple[list[Any], Trace]:
        executable = plan.executable
        if not executable.blocked:
            return executable.run(values, progress=self._progress)
        from lineal.engine.blocked.runtime import BlockedRuntime

        if self._executor is None:
            with self._lock:
                if self._executor is None:
                    self._executor = executor_for(self._client, self.cluster)
        runtime = BlockedRuntime(self._executor, self.cluster, plan.physical.name)
        try:
            if result == "numpy":
                found, trace = executable.run(values, runtime, self._progress)
                trace.graphs = tuple(runtime.flushes)
                return found, trace
            from lineal.engine.dask_results import as_dask

            found, trace = executable.run(values, runtime, self._progress, fetch=False)
            held = [as_dask(value, runtime) for value in found]
            trace.record_all(runtime.findings())
            trace.graphs = tuple(runtime.flushes)
            return held, trace
        finally:
            runtime.close()

    @staticmethod
    def _finite(bound: Sequence[Bound]) -> bool:
        for item in bound:
            value = item.value
            if isinstance(value, (int, str, type(None), tuple)):
                continue
            if "finite" in item.facts.properties:
                continue
            if not _finite(value):
                return False
        return True

    def close(self) -> None:
        """Release what the session holds; a client that it opened is closed."""
        self._closed = True
        if self._executor is not None and hasattr(self._executor, "close"):
            self._executor.close()
        self._executor = None
        if self._owned is not None:
            self._owned.close()
            self._owned = None

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _finite(value: Any) -> bool:
    """Tell whether an input or result holds neither NaN nor Inf; Dask arrays block by block."""
    if not hasattr(value, "dtype"):
        return not isinstance(value, float) or math.isfinite(value)
    if value.dtype.kind != "f":
        return True
    if not hasattr(value, "dask"):
        return all_finite(value)
    from dask.base import compute
    from dask.delayed import delayed

    return all(compute(*(delayed(all_finite)(b) for b in value.to_delayed().ravel())))


_default: Session | None = None
_default_lock = threading.Lock()


def default_session() -> Session:
    """Return the in-process session that plain calls use."""
    global _default
    if _default is None:
        with _default_lock:
            if _default is None:
                _default = Session()
    return _default



