"""The one node type of the logical program: immutable and interned.

Equal means identical, so "did anything change" is `is not`, and common subexpressions are one
node by construction.  Loops and branches are nodes too: their regions are ordinary inputs that
depend on `param` leaves, so a subexpression that does not depend on a loop's params *is* the
same node inside and outside the loop.  Where a node is computed is decided later (schedule.py)
from the params that it depends on.

    loop  inputs = inits [n] + params [n] + nexts [n] + (counter, trip, test)
          attrs  = (("n", n),)
    if    inputs = (condition,) + thens [n] + elses [n]      attrs = (("n", n),)
    item  inputs = (node with several results,)              attrs = (("k", k),)

A loop's meaning: carried values start as `inits`; while the iteration number (`counter`, a
param) is below `trip` (None const: no bound) and `test` holds, carried values become `nexts`.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator

import numpy as np

Attrs = tuple[tuple[str, Hashable], ...]


class Expr:
    """`op` applied to `inputs` with static `attrs` (sorted name-value pairs, hashable).

    Build one only through `make`; compare with `is`.
    """

    __slots__ = ("__weakref__", "attrs", "cache", "inputs", "op")

    op: str
    inputs: tuple[Expr, ...]
    attrs: Attrs
    cache: dict[str, object]

    def attr(self, name: str, default: object = None) -> object:
        """Return the attribute `name`, or `default`."""
        for key, value in self.attrs:
            if key == name:
                return value
        return default

    def whole(self, name: str) -> int:
        """Return the attribute `name`, a whole number that this operation always has."""
        value = self.attr(name)
        if not isinstance(value, int):
            raise TypeError(f"{self.op} has no whole number {name!r} but {value!r}")
        return value

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Expr is immutable; cannot set {name!r}")

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self.attrs)
        return f"<{self.op}/{len(self.inputs)}{' ' + shown if shown else ''}>"

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (flatten([self]),))

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: object) -> Expr:
        return self


_table: weakref.WeakValueDictionary[tuple[object, ...], Expr] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def _key(value: Hashable) -> Hashable:
    """Return a key under which 1, 1.0, True, 0.0, -0.0 and NaN are all different values."""
    if isinstance(value, tuple):
        return tuple(_key(item) for item in value)
    if isinstance(value, (bool, int, float, np.generic)):
        return (type(value).__name__, repr(value))
    return value


def make(op: str, inputs: Iterable[Expr] = (), **attrs: Hashable) -> Expr:
    """Return the node for `op(inputs, attrs)`; the same arguments give the same object."""
    inputs = tuple(inputs)
    items: Attrs = tuple(sorted(attrs.items()))
    key = (op, tuple(map(id, inputs)), tuple((k, _key(v)) for k, v in items))
    with _lock:
        node = _table.get(key)
        if node is None:
            node = object.__new__(Expr)
            for name, value in (("op", op), ("inputs", inputs), ("attrs", items), ("cache", {})):
                object.__setattr__(node, name, value)
            _table[key] = node
        return node


def walk(roots: Iterable[Expr]) -> Iterator[Expr]:
    """Yield every node reachable from `roots` once, inputs first (iterative: any depth)."""
    seen: set[int] = set()
    stack: list[tuple[Expr, bool]] = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(node.inputs) if id(child) not in seen)


def rebuild(
    roots: Iterable[Expr], change: Callable[[Expr], Expr | None]
) -> tuple[tuple[Expr, ...], dict[Expr, Expr]]:
    """Rewrite bottom-up: `change` sees each node with its inputs already rewritten.

    `change` returns the replacement, or None for no change.  Returns the new roots and the map
    from every old node to its new one.
    """
    roots = tuple(roots)
    new: dict[Expr, Expr] = {}
    for node in walk(roots):
        inputs = tuple(new[child] for child in node.inputs)
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        current = node if same else make(node.op, inputs, **dict(node.attrs))
        changed = change(current)
        new[node] = current if changed is None else changed
    return tuple(new[root] for root in roots), new


def substitute(roots: Iterable[Expr], mapping: dict[Expr, Expr]) -> tuple[Expr, ...]:
    """Replace whole nodes by others wherever they occur below `roots`."""
    roots = tuple(roots)
    new: dict[Expr, Expr] = {}
    for node in walk(roots):
        if node in mapping:
            new[node] = mapping[node]
            continue
        inputs = tuple(new[child] for child in node.inputs)
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        new[node] = node if same else make(node.op, inputs, **dict(node.attrs))
    return tuple(new[root] for root in roots)


Flat = tuple[tuple[str, tuple[int, ...], Attrs], ...]


def flatten(roots: Iterable[Expr]) -> tuple[Flat, tuple[int, ...]]:
    """Return the nodes below `roots` as a flat list (inputs by position) and the roots' positions.

    The flat form pickles at any depth of expression.
    """
    roots = tuple(roots)
    index: dict[Expr, int] = {}
    flat: list[tuple[str, tuple[int, ...], Attrs]] = []
    for node in walk(roots):
        index[node] = len(flat)
        flat.append((node.op, tuple(index[child] for child in node.inputs), node.attrs))
    return tuple(flat), tuple(index[root] for root in roots)


def unflatten(flat: Flat, positions: Iterable[int]) -> tuple[Expr, ...]:
    """Rebuild what `flatten` gave."""
    nodes: list[Expr] = []
    for op, inputs, attrs in flat:
        nodes.append(make(op, (nodes[i] for i in inputs), **dict(attrs)))
    return tuple(nodes[i] for i in positions)


def _restore(data: tuple[Flat, tuple[int, ...]]) -> Expr:
    return unflatten(*data)[0]
