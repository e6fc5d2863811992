"""The public pieces of Dask that the engine stands on, in the lowest and the newest version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from distributed import Client

pytestmark = [pytest.mark.dask_versions, pytest.mark.cluster]


def _add(a: np.ndarray, b: float) -> np.ndarray:
    return a + b


def test_task_graph_on_workers(client: Client) -> None:
    from dask._task_spec import DataNode, Task, TaskRef

    graph = {
        "in": DataNode("in", np.arange(3.0)),
        "one": Task("one", _add, TaskRef("in"), 1.0),
        "two": Task("two", _add, TaskRef("one"), 1.0),
    }
    (future,) = client.get(graph, ["two"], sync=False)
    np.testing.assert_array_equal(future.result(timeout=60), [2.0, 3.0, 4.0])


def test_two_workers_of_one_thread(client: Client) -> None:
    assert sorted(client.nthreads().values()) == [1, 1]
