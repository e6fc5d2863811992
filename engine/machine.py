"""What this process runs on: its memory and threads, and the executor for blocked work."""

from __future__ import annotations

import os
from typing import Any

from lineal.planner.cluster import ClusterSpec


def local_spec(memory_limit: int | None = None) -> ClusterSpec:
    """Return the description of this process: its cores and its memory."""
    import psutil

    total = int(psutil.virtual_memory().total)
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = min(memory_limit or total, total)
    return ClusterSpec(workers=0, threads=threads or 1, memory_bytes=memory)


def executor_for(client: Any, cluster: ClusterSpec) -> Any:
    """Return the executor for blocked steps: the client's cluster, or threads of this process."""
    if client is not None:
        from lineal.engine.cluster import ClusterExecutor

        return ClusterExecutor(client)
    from lineal.engine.threads import ThreadExecutor

    return ThreadExecutor(cluster.threads)
