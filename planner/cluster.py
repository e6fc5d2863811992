"""What the planner knows of the machines: a plain, frozen description.

Numbers come from `lineal calibrate`, from the engine's look at a running cluster, or are written
by hand to plan for machines that are not here.
"""

from __future__ import annotations

from dataclasses import dataclass

from lineal.errors import OptionError

MIB = 2**20

RATES: tuple[tuple[str, float], ...] = (
    ("matmul", 5e-11),  # seconds per FLOP of one core, BLAS level 3
    ("factor", 2e-10),  # seconds per FLOP of a factorisation
    ("sparse", 1e-9),  # seconds per FLOP of a sparse product
    ("elementwise", 2e-10),  # seconds per byte read or written by cheap arithmetic
    ("transcendental", 2e-9),  # seconds per byte read by exp, log and their kin
    ("reduction", 1.2e-10),  # seconds per byte read
    ("ordering", 8e-9),  # seconds per byte sorted or counted
    ("copy", 1.2e-10),  # seconds per byte moved inside a machine
)
"""Default rates of one core per kernel class: a laptop of 2020, order of magnitude."""


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """Machines that a plan is for.

    Attributes
    ----------
    workers : int
        Number of worker processes; 0 means in this process, on threads.
    threads : int
        Threads per worker (or of this process).
    memory_bytes : int
        Memory of one worker, or of this process.
    driver_memory_bytes : int
        Memory of the driving process; 0: the same as `memory_bytes`.
    bandwidth_bytes_per_s : float
        Between the driver and a worker.
    rates : tuple of (kernel class, seconds)
        Seconds per FLOP or byte of one core, see `RATES`; missing classes use the defaults.
    task_overhead_s : float
        What one task costs besides its kernel.
    round_trip_s : float
        From submitting a graph to its first result in the driver, beyond the work.
    driver_bytes : int
        A value larger than this is blocked; 0: half of the memory in-process, 32 MiB otherwise.
    block_bytes : int
        Target size of a block; 0: 64 MiB.

    Raises
    ------
    OptionError
        A number that cannot be.
    """

    workers: int = 0
    threads: int = 1
    memory_bytes: int = 8 * 1024 * MIB
    driver_memory_bytes: int = 0
    bandwidth_bytes_per_s: float = 1e9
    rates: tuple[tuple[str, float], ...] = RATES
    task_overhead_s: float = 5e-4
    round_trip_s: float = 5e-3
    driver_bytes: int = 0
    block_bytes: int = 0

    def __post_init__(self) -> None:
        _whole("workers", self.workers, 0)
        _whole("threads", self.threads, 1)
        _whole("memory_bytes", self.memory_bytes, 1)
        for name in ("driver_memory_bytes", "driver_bytes", "block_bytes"):
            _whole(name, getattr(self, name), 0)
        for name in ("bandwidth_bytes_per_s", "task_overhead_s", "round_trip_s"):
            _number(name, getattr(self, name), positive=name.startswith("bandwidth"))
        if not isinstance(self.rates, tuple):
            raise OptionError("rates must be a tuple of (kernel class, seconds) pairs")
        known = {name for name, _ in RATES}
        for entry in self.rates:
            if not isinstance(entry, tuple) or len(entry) != 2 or entry[0] not in known:
                raise OptionError(
                    f"{entry!r} is not a rate",
                    hint="a pair of a kernel class and seconds; classes: "
                    + ", ".join(sorted(known)),
                )
            _number(f"rate of {entry[0]}", entry[1], positive=True)
        if self.driver_memory_bytes == 0:
            object.__setattr__(self, "driver_memory_bytes", self.memory_bytes)
        if self.driver_bytes == 0:
            default = self.memory_bytes // 2 if self.workers == 0 else 32 * MIB
            object.__setattr__(self, "driver_bytes", max(default, 1))
        if self.block_bytes == 0:
            object.__setattr__(self, "block_bytes", min(64 * MIB, max(self.memory_bytes // 8, 1)))

    @property
    def slots(self) -> int:
        """How many tasks run at a time."""
        return max(self.workers, 1) * self.threads

    def rate(self, kind: str) -> float:
        """Return seconds per FLOP or byte of a kernel class."""
        for name, seconds in (*self.rates, *RATES):
            if name == kind:
                return seconds
        raise OptionError(f"there is no kernel class {kind!r}")


def _whole(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise OptionError(
            f"{name} must be a whole number of {least} or more, not {value!r}",
            hint="e.g. 2 * 2**30 for 2 GiB" if name.endswith("bytes") else "e.g. 4",
        )


def _number(name: str, value: object, positive: bool) -> None:
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good or not 0 <= float(value) < float("inf") or (positive and not value):  # type: ignore[arg-type]
        word = "positive" if positive else "non-negative"
        raise OptionError(f"{name} must be a {word} finite number, not {value!r}")
