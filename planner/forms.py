"""Decides the storage of what loops and branches carry, and inserts the conversions.

A carried value has one planned storage: sparse only if it enters sparse and every iteration (or
both sides of a branch) leaves it sparse.  Elsewhere the sparse side is made dense by an explicit
`todense` step, so that "dense" in a plan is a promise.
"""

from __future__ import annotations

from dataclasses import replace

from lineal.kernels import specs
from lineal.planner.expr import Expr, make, walk
from lineal.planner.infer import type_of, typed
from lineal.planner.logical import IfView, Logical, LoopView
from lineal.planner.rules.protocol import inherit
from lineal.planner.types import Type


def settle_forms(program: Logical) -> Logical:
    """X sparse on one path, dense on the other -> todense(X) on the sparse one"""
    if not any(facts.storage == "sparse" for facts in program.facts.values()):
        return program
    storage = storages(program)
    notes = dict(program.notes)
    new: dict[Expr, Expr] = {}
    for node in walk([*program.inputs, *program.outputs]):
        inputs = [new[child] for child in node.inputs]
        if node.op == "loop":
            view = LoopView(node)
            for k, param in enumerate(view.params):
                if storage[param] == "dense":
                    for at in (k, 2 * view.n + k):
                        inputs[at] = _dense(node.inputs[at], inputs[at], storage)
        elif node.op == "if":
            branch = IfView(node)
            for k in range(branch.n):
                pair = (1 + k, 1 + branch.n + k)
                if {storage[node.inputs[at]] for at in pair} == {"sparse", "dense"}:
                    for at in pair:
                        inputs[at] = _dense(node.inputs[at], inputs[at], storage)
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        new[node] = node if same else make(node.op, inputs, **dict(node.attrs))
        inherit(notes, node, new[node])
    outputs = tuple(new[root] for root in program.outputs)
    return replace(program, outputs=outputs, notes=notes)


def _dense(old: Expr, new: Expr, storage: dict[Expr, str]) -> Expr:
    return make("todense", [new]) if storage[old] == "sparse" else new


def storages(program: Logical) -> dict[Expr, str]:
    """Return the planned storage of every node: the largest assignment that is consistent.

    Carried values start as sparse as their initial values and lose it where an iteration does.
    """
    order = list(walk([*program.inputs, *program.outputs]))
    nexts: dict[Expr, tuple[Expr, Expr]] = {}
    for node in order:
        if node.op == "loop":
            view = LoopView(node)
            for init, param, after in zip(view.inits, view.params, view.nexts, strict=True):
                nexts[param] = (init, after)
    dense: set[Expr] = set()
    while True:
        found: dict[Expr, str] = {}
        for node in order:
            found[node] = "dense" if node in dense else _storage(node, found, nexts, program)
        lost = {
            param
            for param, sides in nexts.items()
            if found[param] == "sparse" and any(found[side] == "dense" for side in sides)
        }
        if not lost:
            return found
        dense |= lost


def _storage(
    node: Expr,
    found: dict[Expr, str],
    nexts: dict[Expr, tuple[Expr, Expr]],
    program: Logical,
) -> str:
    if node.op == "input":
        facts = program.facts.get(str(node.attr("name")))
        return facts.storage if facts is not None else "dense"
    if node in nexts:
        # A loop's parameters are walked after its initial values, before its body.
        init = nexts[node][0]
        return found.get(init, "sparse") if typed(init).ndim == 2 else "dense"
    if node.op == "item":
        inner, k = node.inputs[0], node.whole("k")
        if inner.op == "loop":
            return found[LoopView(inner).params[k]]
        if inner.op == "if":
            view = IfView(inner)
            both = {found[view.thens[k]], found[view.elses[k]]}
            return "sparse" if both == {"sparse"} else "dense"
        return "dense"
    if node.op in ("loop", "if", "draw", "param", "undef", "todense") or not node.inputs:
        return "dense"
    if isinstance(type_of(node), tuple):
        return "dense"
    types = tuple(_first(child) for child in node.inputs)
    values = tuple(c.attr("value") if c.op == "const" else None for c in node.inputs)
    return specs.predict_storage(
        node.op, tuple(found[c] for c in node.inputs), node.attrs, types, values
    )


def _first(node: Expr) -> Type:
    types = type_of(node)
    return types[0] if isinstance(types, tuple) else types
