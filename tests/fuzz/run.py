"""Runs many seeds in one process and writes what happened to bench/FUZZ.md.

python -m tests.fuzz.run --first 0 --count 50000
"""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import scipy

from lineal.errors import LinealError

from .modes import MODES, mode_of, program_of, run_seed

REPORT = Path(__file__).parents[2] / "bench" / "FUZZ.md"


def main() -> int:
    """Run the seeds; return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--report", type=Path, default=REPORT)
    asked = parser.parse_args()
    failures: list[tuple[int, str]] = []
    refused: Counter[str] = Counter()
    modes: Counter[str] = Counter()
    start = time.perf_counter()
    for seed in range(asked.first, asked.first + asked.count):
        modes[mode_of(seed)] += 1
        try:
            run_seed(seed)
        except LinealError as error:
            refused[f"{type(error).__name__}: {_kind_of(error.message)}"] += 1
        except Exception as error:
            failures.append((seed, f"{type(error).__name__}: {str(error).splitlines()[0]}"))
            print(f"seed {seed}: {error!r}\n{program_of(seed).text}", file=sys.stderr)
    seconds = time.perf_counter() - start
    asked.report.write_text(_report(asked.first, asked.count, modes, refused, failures, seconds))
    return 1 if failures else 0


def _kind_of(message: str) -> str:
    """Return a message without names and sizes, so that equal reasons count together."""
    words = ["'...'" if w.startswith("'") else w for w in message.split()]
    plain = " ".join(words)
    digits = "".join("#" if c.isdigit() else c for c in plain)
    while "##" in digits:
        digits = digits.replace("##", "#")
    return digits[:90]


def _report(
    first: int,
    count: int,
    modes: Counter[str],
    refused: Counter[str],
    failures: list[tuple[int, str]],
    seconds: float,
) -> str:
    rows = [
        "# Random programs against NumPy",
        "",
        f"Written by `python -m tests.fuzz.run --first {first} --count {count}` on "
        f"{datetime.date.today()}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}.",
        "",
        "| | |",
        "|---|---|",
        f"| seeds | {first} to {first + count - 1} |",
        f"| programs | {count} |",
        f"| failures (value, shape, dtype, NaN mask, an input written, a read-only result) "
        f"| {len(failures)} |",
        f"| refused with an error of Lineal's | {refused.total()} "
        f"({100 * refused.total() / count:.2f} %) |",
        f"| seconds | {seconds:.0f} |",
        "",
        "| mode | programs |",
        "|---|---|",
        *(f"| {mode} | {modes[mode]} |" for mode in MODES),
        "",
        "A program is refused where types or shapes differ on a path that this input does not",
        "take, which NumPy never looks at.",
        "",
        "| refused because | programs |",
        "|---|---|",
        *(f"| {reason} | {number} |" for reason, number in refused.most_common()),
    ]
    if failures:
        rows += ["", "| failed seed | how |", "|---|---|", *(f"| {s} | {e} |" for s, e in failures)]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.exit(main())
