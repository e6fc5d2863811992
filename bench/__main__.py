"""`python -m bench [small] [medium] [tall]`: measures and writes bench/RESULTS.md."""

from __future__ import annotations

import datetime
import functools
import os
import platform
import sys
from pathlib import Path

if "OPENBLAS_CORETYPE" in os.environ:
    # Set on machines where an old OpenBLAS needs it; it slows the current one that is measured.
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
    os.execv(sys.executable, [sys.executable, "-m", "bench", *sys.argv[1:]])

import numpy as np

import lineal as la
from lineal.engine.versions import native_pools, versions

from . import overheads, programs

TARGETS = {
    "operator": 15.0,
    "expression": 5.0,
    "body": 20.0,
    "import": 0.05,
    "iteration": 25.0,
}


def main() -> None:
    """Measure and write the results, each section as it is done."""
    target = Path(__file__).parent / "RESULTS.md"
    sizes = sys.argv[1:] or ["small", "medium", "tall"]
    lines = _head()
    for section in (_overheads, *(functools.partial(_programs, size) for size in sizes)):
        lines += section()
        target.write_text("\n".join(lines) + "\n")
    print(f"written to {target}")


def _head() -> list[str]:
    kept = ("python", "lineal", "numpy", "scipy", "dask", "distributed")
    known = versions()
    pools = ", ".join(
        f"{p['internal_api']} {p['version']} ({p['architecture']}, {p['num_threads']} threads)"
        for p in native_pools()
        if p["user_api"] == "blas"
    )
    return [
        "# Results",
        "",
        "Written by `python -m bench` (`make bench`). Medians of 5 interleaved runs; the spread is",
        "smallest and largest run over the median. Ratios compare runs of one process; a shared",
        "machine makes single times vary.",
        "",
        f"- date: {datetime.date.today().isoformat()}",
        f"- machine: {os.cpu_count()} cores, {platform.machine()}",
        f"- BLAS: {pools}",
        f"- versions: {', '.join(f'{k} {known[k]}' for k in kept)}",
        "",
    ]


def _line(what: str, value: float, unit: str, target: float, spread: str) -> str:
    verdict = "met" if value <= target else f"missed by {value / target:.2f}x"
    return f"| {what} | {value:.3g} {unit} | {target:g} {unit} | {verdict} | {spread} |"


def _overheads() -> list[str]:
    from distributed import Client, LocalCluster

    spec, side = la.spec((1000, 50)), la.spec((1000, 1))
    lines = [
        "## Overheads",
        "",
        "| what | measured | target | verdict | smallest..largest |",
        "|---|---|---|---|---|",
    ]
    value, spread = overheads.operator_overhead()
    what = "per operator over the NumPy call"
    lines.append(_line(what, value, "us", TARGETS["operator"], spread))
    value, spread = overheads.planning(overheads.normal_equations, spec, side)
    lines.append(_line("planning one expression", value, "ms", TARGETS["expression"], spread))
    dfp = la.program(programs.EXAMPLES["dfp"].function)
    value, spread = overheads.planning(dfp, spec, side)
    lines.append(_line("planning DFP (loop body)", value, "ms", TARGETS["body"], spread))
    value, spread = overheads.import_time()
    what = "`import lineal` over `import numpy`"
    lines.append(_line(what, value, "s", TARGETS["import"], spread))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        value, spread, _ = overheads.iteration_on_cluster(client)
    what = "per iteration on 2 workers (state 100 kB)"
    lines.append(_line(what, value, "ms", TARGETS["iteration"], spread))
    return [*lines, ""]


def _programs(size: str) -> list[str]:
    if size == "tall":
        title = "Tall, A 200,000 x 200: the plain function under NumPy against Lineal in-process"
        return _table(title, programs.tall_rows())
    title = f"Examples, {size}: the plain function under NumPy against Lineal in-process"
    return _table(title, programs.rows(size))


def _table(title: str, rows: list[programs.Row]) -> list[str]:
    lines = [
        f"## {title}",
        "",
        "| program | flops as written | planned | NumPy s | Lineal s | ratio NumPy/Lineal | "
        "first call s | spread NumPy, Lineal | difference |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    ratios = []
    for row in rows:
        ratio = row.numpy.median / row.planned.median
        ratios.append(ratio)
        lines.append(
            f"| {row.name} | {row.flops_as_written:.3g} | {row.flops:.3g} | "
            f"{row.numpy.median:.4f} | {row.planned.median:.4f} | {ratio:.2f} | "
            f"{row.first.median:.4f} | {row.numpy.spread}, {row.planned.spread} | "
            f"{row.difference:.1e} |"
        )
    mean = float(np.exp(np.mean(np.log(ratios))))
    return [*lines, "", f"Geometric mean of the ratios: {mean:.2f}.", ""]


if __name__ == "__main__":
    main()
