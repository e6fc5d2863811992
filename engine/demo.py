"""`lineal demo`: examples on real data, each checked against its plain function."""

from __future__ import annotations

import contextlib
import inspect
import json
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import click
import numpy as np

from lineal.engine.inputs import to_numpy
from lineal.engine.program import program
from lineal.engine.session import Session
from lineal.planner.cluster import ClusterSpec

DEMO = ("ridge_path", "dfp", "logistic_irls", "gnmf", "pagerank", "kmeans", "pca_power")
"""The examples that the demo runs: each has real data that a package carries."""

RTOL = 1e-9


@dataclass
class Outcome:
    """What one example gave."""

    name: str
    source: str
    flops_as_written: float
    flops: float
    numpy_seconds: float
    first_call_seconds: float
    lineal_seconds: float
    cluster_seconds: float | None
    difference: float
    allowed: float
    cluster_difference: float | None
    plan: str

    @property
    def right(self) -> bool:
        """Whether every run agrees with NumPy within the stated tolerance."""
        found = [self.difference]
        if self.cluster_difference is not None:
            found.append(self.cluster_difference)
        return all(d <= self.allowed for d in found)


def run_demo(*, only: tuple[str, ...], cluster: bool, as_json: bool) -> int:
    """Run the demo, print what it finds, and return how many examples differ from NumPy."""
    outcomes = []
    with _cluster() if cluster else contextlib.nullcontext() as client:
        for name in only or DEMO:
            outcome = _one(name, client, show=not as_json)
            outcomes.append(outcome)
    if as_json:
        click.echo(json.dumps([asdict(o) | {"right": o.right} for o in outcomes], indent=2))
    else:
        _table(outcomes)
    return sum(not o.right for o in outcomes)


@contextlib.contextmanager
def _cluster() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as local,
        Client(local) as client,
    ):
        yield client


def _one(name: str, client: Any, show: bool) -> Outcome:
    from lineal.examples import EXAMPLES

    example = EXAMPLES[name]
    assert example.real is not None
    arguments = example.real()
    plain = {k: to_numpy(v) if hasattr(v, "shape") else v for k, v in arguments.items()}
    made = program(example.function)
    if show:
        click.secho(f"\n=== {name} on {example.source} " + "=" * 40, bold=True)
        click.echo(textwrap.dedent(inspect.getsource(example.function)).strip())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected, numpy_seconds = _timed(lambda: example.function(**plain))
        _, first = _timed(lambda: made(**arguments))
        found, again = _timed(lambda: made(**arguments))
        moved = example.function(**_moved(plain))
    plan = made.plan(**arguments)
    if show:
        click.echo("\n" + plan.explain())
    gap, allowed = _difference(expected, found), _allowed(expected, moved)
    cluster_seconds = cluster_gap = None
    if client is not None:
        # Limits at which the largest input of these small data is cut into blocks.
        half = max(max(map(_nbytes, arguments.values())) // 2, 1)
        spec = ClusterSpec(workers=2, threads=1, driver_bytes=half, block_bytes=half)
        with Session(client, cluster=spec) as session:
            there, cluster_seconds = _timed(lambda: made.run(**arguments, session=session))
        cluster_gap = _difference(expected, there)
    outcome = Outcome(
        name,
        example.source,
        plan.flops_as_written,
        plan.flops,
        numpy_seconds,
        first,
        again,
        cluster_seconds,
        gap,
        allowed,
        cluster_gap,
        plan.hash,
    )
    if show:
        _report(outcome)
    return outcome


def _nbytes(value: Any) -> int:
    if hasattr(value, "nnz"):
        return int(value.nnz * (value.dtype.itemsize + 4))
    return int(getattr(value, "nbytes", 0))


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    value = call()
    return value, time.perf_counter() - start


def _moved(arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        k: np.nextafter(v, np.inf) if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v
        for k, v in arguments.items()
    }


def _parts(value: Any) -> list[Any]:
    return [np.asarray(to_numpy(v)) for v in (value if isinstance(value, tuple) else (value,))]


def _difference(expected: Any, found: Any) -> float:
    """Return the largest difference relative to each result's scale; inf if shapes differ."""
    worst = 0.0
    for want, got in zip(_parts(expected), _parts(found), strict=True):
        if want.shape != got.shape or want.dtype != got.dtype:
            return float("inf")
        scale = float(np.abs(want).max(initial=0.0)) or 1.0
        gap = np.abs(want.astype(float) - got.astype(float)).max(initial=0.0)
        worst = max(worst, float(gap) / scale)
    return worst


def _allowed(expected: Any, moved: Any) -> float:
    """Return the tolerance: 1e-9, or 10 times the effect of one unit in the inputs' last place."""
    return max(RTOL, 10 * _difference(expected, moved))


def _report(o: Outcome) -> None:
    ratio = o.flops_as_written / o.flops if o.flops else 1.0
    click.echo(
        f"\nFLOPs       {o.flops_as_written:.3g} as written, {o.flops:.3g} planned ({ratio:.1f}x)"
    )
    click.echo(
        f"time        NumPy {o.numpy_seconds:.4f} s, Lineal {o.lineal_seconds:.4f} s "
        f"(first call, planning included: {o.first_call_seconds:.4f} s)"
    )
    click.echo(f"difference  {o.difference:.2e} in-process (allowed {o.allowed:.1e})")
    if o.cluster_seconds is not None:
        click.echo(f"two workers {o.cluster_seconds:.4f} s, difference {o.cluster_difference:.2e}")
    verdict = "agrees with NumPy" if o.right else "DIFFERS FROM NUMPY"
    click.secho(verdict, fg="green" if o.right else "red")


def _table(outcomes: list[Outcome]) -> None:
    click.echo(
        "\nThese data are small: a run takes milliseconds, and what is saved shows in the FLOPs.\n"
        "On two workers each iteration pays at least one round trip; the cluster runs are here\n"
        "to show that they give the same values. `make bench` measures larger sizes."
    )
    click.echo(
        "\nexample          flops      planned    NumPy s   Lineal s  2 workers s  difference"
    )
    for o in outcomes:
        there = f"{o.cluster_seconds:11.4f}" if o.cluster_seconds is not None else f"{'-':>11s}"
        click.echo(
            f"{o.name:16s} {o.flops_as_written:9.3g}  {o.flops:9.3g}  {o.numpy_seconds:8.4f}  "
            f"{o.lineal_seconds:8.4f}  {there}  {o.difference:.1e} {'ok' if o.right else 'WRONG'}"
        )
