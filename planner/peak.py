"""An upper bound of the bytes that a run in one process holds at once."""

from __future__ import annotations

from collections.abc import Iterable

from lineal.planner.placement_cost import value_bytes
from lineal.planner.plan import Block, Step, Value

_VIEWS = frozenset(["transpose", "reshape"])


def peak_bytes(body: Block, inputs: Iterable[Value]) -> float:
    """Return the bound: live values plus what the running step holds besides them.

    Branches count with the larger side.
    """
    held = _Held()
    for value in inputs:
        held.add(value.name, float(value_bytes(value)))
    return _peak(body, held)


class _Held:
    """Bytes of live values; a view keeps what it looks at alive, and adds nothing."""

    def __init__(self) -> None:
        self.total = 0.0
        self._root: dict[str, str] = {}
        self._size: dict[str, float] = {}
        self._users: dict[str, int] = {}

    def add(self, name: str, size: float) -> None:
        self._root[name] = name
        self._size[name] = size
        self._users[name] = 1
        self.total += size

    def add_view(self, name: str, base: str, size: float) -> None:
        root = self._root.get(base)
        if root is None:  # a carried value: counted with its loop
            self.add(name, size)
            return
        self._root[name] = root
        self._users[root] += 1

    def size(self, name: str) -> float:
        return self._size.get(self._root.get(name, ""), 0.0)

    def drop(self, name: str) -> None:
        root = self._root.pop(name, None)
        if root is None:
            return
        self._users[root] -= 1
        if not self._users[root]:
            self.total -= self._size.pop(root)


def _peak(block: Block, held: _Held) -> float:
    peak = held.total
    for once in block.once:
        for step in once.steps:
            peak = max(peak, _step(step, held))
    for step in block.steps:
        peak = max(peak, _step(step, held))
    return peak


def _step(step: Step, held: _Held) -> float:
    peak = held.total
    for block in step.blocks:
        peak = max(peak, _peak(block, held))
    made = sum(float(value_bytes(v)) for v in step.outputs)
    operands = sum(held.size(name) for name in dict.fromkeys(step.inputs))
    # Both the old and the new carried values are held at the turn of an iteration.
    own = 2 * made if step.blocks else max(step.peak_bytes - operands, made)
    peak = max(peak, held.total + own)
    for value in step.outputs:
        if step.op in _VIEWS:
            held.add_view(value.name, step.inputs[0], float(value_bytes(value)))
        else:
            held.add(value.name, float(value_bytes(value)))
    for name in step.frees:
        held.drop(name)
    return peak
