"""Runs many seeds in one process and writes what happened to bench/FUZZ.md.

python -m tests.fuzz.run --first 0 --count 50000
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import scipy

from lineal.errors import LinealError

from .modes import MODES, mode_of, program_of, run_seed

REPORT = Path(__file__).parents[2] / "bench" / "FUZZ.md"


def main() -> int:
    """Run the seeds; return 1 if one failed.

    What has been done is kept beside the report every thousand seeds, and taken up again by the
    same command after an interruption.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--report", type=Path, default=REPORT)
    asked = parser.parse_args()
    kept = asked.report.with_suffix(f".{asked.first}-{asked.count}.json")
    done = Tally(**json.loads(kept.read_text())) if kept.exists() else Tally(asked.first)
    while done.next < asked.first + asked.count:
        start = time.perf_counter()
        for _ in range(min(1000, asked.first + asked.count - done.next)):
            done.run_next()
        done.seconds += time.perf_counter() - start
        kept.write_text(json.dumps(asdict(done)))
    asked.report.write_text(_report(asked.first, asked.count, done))
    kept.unlink()
    return 1 if done.failures else 0


@dataclass
class Tally:
    """What has come out so far."""

    next: int
    seconds: float = 0.0
    modes: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    failures: list[tuple[int, str]] = field(default_factory=list)

    def run_next(self) -> None:
        """Run one seed."""
        seed, self.next = self.next, self.next + 1
        mode = mode_of(seed)
        self.modes[mode] = self.modes.get(mode, 0) + 1
        try:
            run_seed(seed)
        except LinealError as error:
            reason = f"{type(error).__name__}: {_kind_of(error.message)}"
            self.refused[reason] = self.refused.get(reason, 0) + 1
        except Exception as error:
            self.failures.append((seed, f"{type(error).__name__}: {str(error).splitlines()[0]}"))
            print(f"seed {seed}: {error!r}\n{program_of(seed).text}", file=sys.stderr, flush=True)


def _kind_of(message: str) -> str:
    """Return a message without names and sizes, so that equal reasons count together."""
    words = ["'...'" if w.startswith("'") else w for w in message.split()]
    plain = " ".join(words)
    digits = "".join("#" if c.isdigit() else c for c in plain)
    while "##" in digits:
        digits = digits.replace("##", "#")
    return digits[:90]


def _report(first: int, count: int, done: Tally) -> str:
    refused = sum(done.refused.values())
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
        f"| {len(done.failures)} |",
        f"| refused with an error of Lineal's | {refused} ({100 * refused / count:.2f} %) |",
        f"| seconds | {done.seconds:.0f} |",
        "",
        "| mode | programs |",
        "|---|---|",
        *(f"| {mode} | {done.modes.get(mode, 0)} |" for mode in MODES),
        "",
        "A program is refused where types or shapes differ on a path that this input does not",
        "take, which NumPy never looks at.",
        "",
        "| refused because | programs |",
        "|---|---|",
        *(f"| {reason} | {number} |" for reason, number in Counter(done.refused).most_common()),
    ]
    if done.failures:
        rows += [
            "",
            "| failed seed | how |",
            "|---|---|",
            *(f"| {s} | {e} |" for s, e in done.failures),
        ]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.exit(main())
