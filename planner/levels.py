"""How deep in loops each node lives: the loops whose iteration its value depends on."""

from __future__ import annotations

from dataclasses import dataclass

from lineal.planner.expr import Expr, walk
from lineal.planner.logical import Logical, LoopView


@dataclass(frozen=True)
class Levels:
    """Loop dependence of every node of a program.

    `order` has the nodes, inputs first; `loops` the loops that a node's value depends on
    directly or through its inputs; `depth` the number of loops around a loop's body; `level`
    the deepest such depth of a node, 0 for what no loop changes.
    """

    order: tuple[Expr, ...]
    loops: dict[Expr, frozenset[Expr]]
    depth: dict[Expr, int]
    level: dict[Expr, int]
    owner: dict[Expr, Expr]


def find_levels(program: Logical) -> Levels:
    """Return the loop dependence of every node of `program`."""
    order = tuple(walk([*program.inputs, *program.outputs]))
    owner: dict[Expr, Expr] = {}
    for node in order:
        if node.op == "loop":
            view = LoopView(node)
            for param in (*view.params, view.counter):
                owner[param] = node
    loops: dict[Expr, frozenset[Expr]] = {}
    for node in order:
        found: frozenset[Expr] = frozenset().union(*(loops[i] for i in node.inputs))
        if node in owner:
            found |= {owner[node]}
        if node.op == "loop":
            found -= {node}
        loops[node] = found
    depth: dict[Expr, int] = {}
    # A loop is walked after the loops inside it, so outer loops come first in reverse.
    for node in reversed(order):
        if node.op == "loop":
            depth[node] = 1 + max((depth[outer] for outer in loops[node]), default=0)
    level = {node: max((depth[loop] for loop in found), default=0) for node, found in loops.items()}
    return Levels(order, loops, depth, level, owner)
