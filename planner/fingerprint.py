"""The identity of a plan: a hash over what runs, the same in every process.

The hash covers the operations, their attributes, the names that connect them, the form of
every value (type, storage, place, block sizes), lifetimes and the nesting of blocks.  It leaves
out what only explains or estimates: the user's lines and names, texts, notes, costs, densities
and decisions.  So two plans with one hash do the same work in the same order.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

import numpy as np

from lineal.errors import Span
from lineal.planner.plan import Block, PhysicalPlan, Step, Value
from lineal.planner.types import Density, DensityKind, Sym, Type

_VERSION = "lineal-plan-1"


def plan_hash(plan: PhysicalPlan) -> str:
    """Return the plan's identity as 64 hexadecimal digits (SHA-256).

    Raises TypeError for an attribute of a kind that plans do not hold.
    """
    digest = hashlib.sha256()
    for token in _tokens(plan):
        data = token.encode("utf-8", "surrogatepass")
        # The length in front keeps ("ab", "c") and ("a", "bc") apart.
        digest.update(struct.pack("<I", len(data)))
        digest.update(data)
    return digest.hexdigest()


def _tokens(plan: PhysicalPlan) -> Iterator[str]:
    """Yield the canonical serialisation (iterative: any depth of blocks)."""
    symbols = _Symbols()
    yield _VERSION
    yield plan.name
    for value in plan.inputs:
        yield from _value(value, symbols)
    yield from _names("outputs", plan.outputs)
    stack: list[Iterator[str | Block]] = [_block(plan.body, symbols)]
    while stack:
        token = next(stack[-1], None)
        if token is None:
            stack.pop()
        elif isinstance(token, str):
            yield token
        else:
            stack.append(_block(token, symbols))


def _block(block: Block, symbols: _Symbols) -> Iterator[str | Block]:
    yield "block"
    for once in block.once:
        yield f"once {once.level} {len(once.steps)}"
        for step in once.steps:
            yield from _step(step, symbols)
    yield f"steps {len(block.steps)}"
    for step in block.steps:
        yield from _step(step, symbols)
    yield from _names("results", block.results)
    yield "end"


def _step(step: Step, symbols: _Symbols) -> Iterator[str | Block]:
    yield step.op
    yield f"attrs {len(step.attrs)}"
    for name, attr in step.attrs:
        yield name
        yield _plain(attr, symbols)
    yield from _names("inputs", step.inputs)
    yield from _names("params", step.params)
    yield f"makes {len(step.outputs)}"
    for value in step.outputs:
        yield from _value(value, symbols)
    yield from _names("frees", step.frees)
    yield f"blocks {len(step.blocks)}"
    yield from step.blocks


def _names(what: str, names: tuple[str, ...]) -> Iterator[str]:
    yield f"{what} {len(names)}"
    yield from names


def _value(value: Value, symbols: _Symbols) -> Iterator[str]:
    yield value.name
    yield _plain(value.type, symbols)
    yield value.storage
    yield value.place
    yield _plain(value.splits, symbols)


class _Symbols:
    """Numbers symbolic sizes by first appearance: their sources are objects of one process."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def number(self, symbol: Sym) -> int:
        return self._numbers.setdefault(symbol.source, len(self._numbers))


def _plain(value: object, symbols: _Symbols) -> str:
    """Return a text that differs for values that differ, types included (1, 1.0, True, -0.0)."""
    if value is None or isinstance(value, (bool, int)):
        return f"{type(value).__name__}:{value}"
    if isinstance(value, np.generic):
        return f"{value.dtype.str}:{value.tobytes().hex()}"
    if isinstance(value, float):
        return "float:nan" if value != value else f"float:{value.hex()}"
    if isinstance(value, str):
        return f"str:{len(value)}:{value}"
    if isinstance(value, (tuple, list)):
        return f"({','.join(_plain(item, symbols) for item in value)})"
    if isinstance(value, Sym):
        return f"sym:{symbols.number(value)}:{value.bound}"
    if isinstance(value, Type):
        shape = _plain(value.shape, symbols)
        return f"type:{value.dtype.str}:{shape}:{value.weak}:{value.kind}"
    if isinstance(value, np.dtype):
        return f"dtype:{value.str}"
    if isinstance(value, (Density, DensityKind, Span)):
        return ""  # estimates and places are no part of what runs
    raise TypeError(f"a plan cannot hold a {type(value).__name__}: {value!r}")
