"""The run-time form of a blocked value, and the context in which operators are lowered."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lineal.engine.blocked import tasks
from lineal.engine.blocked.graph import Block, Pending
from lineal.planner.layouts import Split, intersect, starts

EMBED_BYTES = 256 * 1024
EMBED_TOTAL = 4 * 2**20
"""Values of the driver's travel inside the tasks that need them up to these sizes (of one, and of
all its copies); a task of its own would cost each reader a transfer between workers."""

FAN_IN = 4
"""Number of partial results that one node of a reduction tree reads."""

Attrs = tuple[tuple[str, Any], ...]


class NoBlockedForm(Exception):
    """Raised while lowering when a size that only the run knows rules the blocked form out."""


class BlockedArray:
    """A value cut into blocks that live with an executor, perhaps not computed yet.

    `shape` and `splits` (block sizes per axis) are what the program sees; `flipped` says that
    the blocks held are those of the transposed value, in its order.  `blocks` are in C order.
    A value that the plan places in the driver is one, too, until somebody fetches it.
    """

    __slots__ = ("__weakref__", "blocks", "dtype", "flipped", "held", "shape", "splits", "wanted")

    def __init__(
        self,
        splits: tuple[Split, ...],
        blocks: Sequence[Block],
        dtype: np.dtype[Any] | None = None,
        flipped: bool = False,
    ) -> None:
        self.splits = splits
        self.shape = tuple(sum(split) for split in splits)
        self.blocks = tuple(blocks)
        self.dtype = dtype
        self.flipped = flipped
        self.wanted = False
        self.held: Any = None

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def grid(self) -> tuple[int, ...]:
        """Number of blocks per axis."""
        return tuple(len(split) for split in self.splits)

    def stored(self, *index: int) -> Block:
        """Return the block held at a place of the grid (transposed where `flipped`)."""
        if self.ndim == 0:
            return self.blocks[0]
        if self.ndim == 1:
            return self.blocks[index[0]]
        row, column = (index[1], index[0]) if self.flipped else index
        width = len(self.splits[0 if self.flipped else 1])
        return self.blocks[row * width + column]

    @property
    def T(self) -> BlockedArray:
        """The transposed value; nothing is computed."""
        if self.ndim < 2:
            return self
        return BlockedArray(self.splits[::-1], self.blocks, self.dtype, not self.flipped)

    def __repr__(self) -> str:
        return f"<BlockedArray {self.shape} in {'x'.join(map(str, self.grid))} blocks>"


Operand = Any
"""A BlockedArray, or a value of the driver's: NumPy array or scalar, csr_array, Python scalar."""


class Context:
    """What a lowering needs: where to put tasks, how to get a value, what the step is called."""

    def __init__(
        self,
        pending: Pending,
        fetch: Callable[[BlockedArray], Any],
        label: str,
        note: str,
        namespace: str = "",
    ) -> None:
        self._pending = pending
        self._fetch = fetch
        self._label = label
        self._note = note

    def add(self, function: Callable[..., Any], *args: Any, joins: bool = False) -> Block:
        """Queue a task; `Block` arguments become its dependencies."""
        return self._pending.add(self._label, self._note, function, args, joins=joins)

    def kernel(self, op: str, attrs: Attrs, *args: Any) -> Block:
        """Queue one kernel call."""
        return self.add(tasks.kernel, op, attrs, *args)

    def value(self, operand: Operand) -> Any:
        """Return the driver's value of an operand, fetching it if need be."""
        return self._fetch(operand) if isinstance(operand, BlockedArray) else operand

    def constant(self, value: Any, index: tuple[slice, ...] | None = None, uses: int = 1) -> Any:
        """Return a task argument for a driver's value, or for its part `index`.

        Small ones travel in the `uses` tasks that read them, others as a task of their own, once
        per flush.
        """
        if isinstance(value, np.generic) or not hasattr(value, "shape"):
            return value
        if index is not None and all(
            s == slice(0, n) for s, n in zip(index, value.shape, strict=True)
        ):
            index = None
        part = value if index is None else value[index if len(index) > 1 else index[0]]
        size = nbytes(part)
        if size <= EMBED_BYTES and size * uses <= EMBED_TOTAL:
            if index is None or tasks.is_sparse(part):
                return part
            return np.array(part)  # not a view: pickling one would send all of the base
        where = None if index is None else tuple((s.start, s.stop) for s in index)
        return self._pending.shared(
            ("value", id(value), where),
            value,
            lambda: self._pending.add(self._label, "", _deliver, (part,), data=True),
        )

    def block(self, array: BlockedArray, *index: int) -> Block:
        """Return the block at a place of the grid, as the program sees it."""
        stored = array.stored(*index)
        return self.add(tasks.flip, stored) if array.flipped else stored

    def tree(self, function: Callable[..., Any], parts: Sequence[Block], *static: Any) -> Block:
        """Fold partial results with `function(*static, *parts)` in a tree fixed by their order."""
        level = list(parts)
        while len(level) > 1:
            level = [
                self.add(function, *static, *level[i : i + FAN_IN], joins=True)
                if len(level[i : i + FAN_IN]) > 1
                else level[i]
                for i in range(0, len(level), FAN_IN)
            ]
        return level[0]

    def build(
        self, splits: tuple[Split, ...], make: Callable[..., Block], dtype: Any = None
    ) -> BlockedArray:
        """Make an array by calling `make(*place in the grid)` for each block."""
        return BlockedArray(splits, [make(*index) for index in places(splits)], dtype)

    def rechunk(self, array: BlockedArray, splits: tuple[Split, ...]) -> BlockedArray:
        """Return the same value with other block boundaries.

        Old blocks are cut by tasks of their own, so that no task holds more than one old block
        or one new one.
        """
        if array.splits == splits:
            return array
        plans = [_overlaps(old, new) for old, new in zip(array.splits, splits, strict=True)]

        def make(*index: int) -> Block:
            per_axis = [plan[i] for plan, i in zip(plans, index, strict=True)]
            parts = []
            for piece in itertools.product(*per_axis):
                block = self.block(array, *(i for i, _, _ in piece))
                if all(whole for _, _, whole in piece):
                    parts.append(block)
                else:
                    parts.append(self.add(tasks.cut, tuple(s for _, s, _ in piece), block))
            if len(parts) == 1:
                return parts[0]
            columns = len(per_axis[1]) if len(per_axis) == 2 else 0
            return self.add(tasks.assemble, columns, *parts, joins=True)

        return self.build(splits, make, array.dtype)

    def blocked(self, operand: Operand, splits: tuple[Split, ...]) -> BlockedArray:
        """Return an operand in blocks of `splits`; a driver's value is cut and sent."""
        if isinstance(operand, BlockedArray):
            return self.rechunk(operand, splits)
        value = operand if hasattr(operand, "shape") else np.asarray(operand)

        def make(*index: int) -> Block:
            arg = self.constant(value, region(splits, index))
            return arg if isinstance(arg, Block) else self.add(_deliver, arg)

        return self.build(splits, make, value.dtype)


def _deliver(value: Any) -> Any:
    return value


def nbytes(value: Any) -> int:
    """Bytes that a value takes; for sparse arrays those of its three parts."""
    if tasks.is_sparse(value):
        csr = value.tocsr()
        return int(csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes)
    return int(getattr(value, "nbytes", 64))


def places(splits: tuple[Split, ...]) -> Iterator[tuple[int, ...]]:
    """Yield every place of a grid in C order; one empty place for a value without axes."""
    return itertools.product(*(range(len(split)) for split in splits))


def region(splits: tuple[Split, ...], index: Sequence[int]) -> tuple[slice, ...]:
    """Return the part of the whole value that the block at `index` is."""
    return tuple(
        slice(starts(split)[i], starts(split)[i + 1])
        for split, i in zip(splits, index, strict=True)
    )


def _overlaps(old: Split, new: Split) -> list[list[tuple[int, slice, bool]]]:
    """Return, per new block, the (old block, part of it, is it all of it) that make it up."""
    old_edges, new_edges = starts(old), starts(new)
    result: list[list[tuple[int, slice, bool]]] = []
    for low, high in itertools.pairwise(new_edges):
        parts = []
        for i, (a, b) in enumerate(itertools.pairwise(old_edges)):
            first, last = max(low, a), min(high, b)
            if first < last:
                whole = first == a and last == b
                parts.append((i, slice(first - a, last - a), whole))
        if not parts:  # a block without entries
            empty = next((i for i, size in enumerate(old) if size == 0), None)
            parts = [(0, slice(0, 0), False)] if empty is None else [(empty, slice(0, 0), True)]
        result.append(parts)
    return result


def shape_of(operand: Operand) -> tuple[int, ...]:
    """Shape of an operand; () for scalars."""
    return tuple(getattr(operand, "shape", ()))


def dtype_of(operand: Operand) -> np.dtype[Any]:
    """Element type of an operand, as NumPy would see it."""
    found = getattr(operand, "dtype", None)
    return np.asarray(operand).dtype if found is None else found


def spanning_splits(shape: tuple[int, ...], operands: Sequence[Operand]) -> tuple[Split, ...]:
    """Return the splits of a result of `shape` that has every boundary of its blocked operands.

    Axes on which an operand is broadcast put no boundary; operands are aligned to the right.
    """
    result: list[Split] = []
    for axis, length in enumerate(shape):
        found: list[Split] = []
        for operand in operands:
            if not isinstance(operand, BlockedArray):
                continue
            own = axis - (len(shape) - operand.ndim)
            if own >= 0 and operand.shape[own] == length and (length != 1 or not found):
                found.append(operand.splits[own])
        result.append(intersect(*found) if found else (length,))
    return tuple(result)
