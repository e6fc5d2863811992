"""Progress of long runs: one bar per loop, the same for every kind of session.

Silent where the output is no terminal, and for runs shorter than a second.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

_DELAY_SECONDS = 1.0


class Progress:
    """A context manager that `Session` reports loop iterations to.

    Parameters
    ----------
    stream : file, optional
        Where to draw; stderr if not given.
    """

    def __init__(self, stream: Any = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._shown = bool(getattr(self._stream, "isatty", lambda: False)())
        self._start = time.monotonic()
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Progress:
        self._start = time.monotonic()
        return self

    def iteration(self, label: str, done: int, total: float | None) -> None:
        """Report that iteration number `done` of loop `label` has finished."""
        if not self._shown:
            return
        if self._bars is None:
            if time.monotonic() - self._start < _DELAY_SECONDS:
                return
            self._open()
        task = self._tasks.get(label)
        if task is None:
            task = self._tasks[label] = self._bars.add_task(label, total=total)
        self._bars.update(task, completed=done, total=total)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(file=self._stream),
            transient=True,
        )
        self._bars.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None
            self._tasks.clear()
