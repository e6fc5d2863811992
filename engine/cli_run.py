"""`lineal run`: executes a program from the command line and shows or writes its results."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from lineal.engine.progress import Progress
from lineal.engine.session import Run, Session


def execute(
    program: Any,
    given: dict[str, Any],
    algebra: str,
    out: Path | None,
    workers: int | None,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Run `program` on `given` and report."""
    with _client(workers, scheduler) as client, Progress() as progress:
        with Session(client, progress=progress) as session:
            program.run(**given, session=session, algebra=algebra)
            run = session.history[-1]
    parts = run.value if isinstance(run.value, tuple) else (run.value,)
    if out is not None:
        write(out, parts)
    if as_json:
        click.echo(json.dumps(_summary(program, run, parts, out), indent=2))
        return
    for position, value in enumerate(parts):
        label = f"result {position}: " if len(parts) > 1 else ""
        click.echo(f"{label}{_describe(value)}")
        if out is None:
            click.echo(np.array2string(np.asarray(_dense(value)), threshold=20, precision=6))
    click.echo(f"ran in {run.seconds:.4g} s, plan {run.plan.hash[:12]}", err=True)
    if out is not None:
        click.echo(f"written to {out}", err=True)


@contextlib.contextmanager
def _client(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    if workers is None:
        yield scheduler
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def write(out: Path, parts: tuple[Any, ...]) -> None:
    """Write results: one array to .npy, several (or sparse ones, densified) to .npz."""
    dense = [np.asarray(_dense(p)) for p in parts]
    if out.suffix == ".npy":
        if len(dense) > 1:
            raise click.UsageError(f"{len(dense)} results do not fit into one .npy; use .npz")
        np.save(out, dense[0])
    else:
        named: dict[str, Any] = {f"result{i}": d for i, d in enumerate(dense)}
        np.savez(out, **named)


def _dense(value: Any) -> Any:
    return value.toarray() if hasattr(value, "toarray") else value


def _describe(value: Any) -> str:
    if hasattr(value, "nnz"):
        return f"{value.dtype} {tuple(value.shape)} sparse, {value.nnz} stored"
    array = np.asarray(value)
    return f"{array.dtype} {array.shape}"


def _summary(program: Any, run: Run, parts: tuple[Any, ...], out: Path | None) -> dict[str, Any]:
    return {
        "program": program.__name__,
        "plan": run.plan.hash,
        "seconds": run.seconds,
        "flops": run.plan.flops,
        "flops_as_written": run.plan.flops_as_written,
        "iterations": run.iterations,
        "results": [
            {
                "dtype": str(np.asarray(_dense(p)).dtype),
                "shape": list(np.shape(_dense(p))),
                "value": np.asarray(_dense(p)).tolist() if np.size(_dense(p)) <= 100 else None,
            }
            for p in parts
        ],
        "out": str(out) if out is not None else None,
    }
