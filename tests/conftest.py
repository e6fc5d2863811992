"""Hypothesis profiles, the shared two-worker cluster, and the check that no process is left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from distributed import Client

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]

# `deadline` is off everywhere: the first example of a test compiles kernels and imports packages.
hypothesis.settings.register_profile("dev", max_examples=50, deadline=None)
hypothesis.settings.register_profile(
    "ci",
    max_examples=200,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "deep",
    max_examples=5000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")
)


def _children() -> dict[int, str]:
    """Processes started below this one that still run, by id."""
    import psutil

    found: dict[int, str] = {}
    for process in psutil.Process().children(recursive=True):
        try:
            line = " ".join(process.cmdline())
            # one helper per interpreter lives until it exits: not a leak
            if process.status() != psutil.STATUS_ZOMBIE and "resource_tracker" not in line:
                found[process.pid] = line
        except psutil.Error:
            continue
    return found


@pytest.fixture(scope="session", autouse=True)
def no_process_left() -> Iterator[None]:
    """Fail the session when a worker outlives the tests."""
    before = set(_children())
    yield
    deadline = time.monotonic() + 10
    left = {p: c for p, c in _children().items() if p not in before}
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = {p: c for p, c in _children().items() if p not in before}
    assert not left, f"processes left behind: {left}"


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Two worker processes of one thread and 1 GiB each, shared by all tests that ask for them."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit="1GiB",
            local_directory=str(tmp_path_factory.mktemp("dask")),
        ) as cluster,
        Client(cluster) as connected,
    ):
        yield connected


@pytest.fixture
def run_python(tmp_path: Path) -> RunPython:
    """Return a function that runs code in a new interpreter that sees the same `lineal`.

    The interpreter starts in an empty folder, so nothing is found through the current one.
    """
    import lineal

    def run(code: str, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        env = dict(os.environ)
        assert lineal.__file__ is not None
        root = Path(lineal.__file__).parent.parent
        if (root / "planner").is_dir():  # a checkout on sys.path: the child needs it there too
            env["PYTHONPATH"] = str(root)
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd=cwd,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
