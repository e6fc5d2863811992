"""How everything here is timed: opponents in turn, medians, spread."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

REPEATS = 5


@dataclass(frozen=True)
class Timing:
    """Seconds of several runs of one thing."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> str:
        """Smallest and largest, relative to the median."""
        low, high = min(self.seconds) / self.median, max(self.seconds) / self.median
        return f"{low:.2f}..{high:.2f}"


def interleaved(calls: dict[str, Callable[[], Any]], repeats: int = REPEATS) -> dict[str, Timing]:
    """Time each call `repeats` times, in turn (A B A B ...), after one warm-up round."""
    for call in calls.values():
        call()
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            gc.collect()
            start = time.perf_counter()
            call()
            found[name].append(time.perf_counter() - start)
    return {name: Timing(tuple(values)) for name, values in found.items()}


def per_call(call: Callable[[], Any], number: int) -> float:
    """Return seconds per call of `number` calls in a row."""
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number
