"""What loops carry for nothing: a whole-program pass over `loop` nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lineal.planner.expr import Expr, make, substitute, walk
from lineal.planner.logical import Logical, LoopView, Note
from lineal.planner.plan import Decision
from lineal.planner.rules.protocol import inherit


def prune_loops(program: Logical, off: tuple[str, ...] = ()) -> Logical:
    """loop(x, y) -> loop(x), where y is never read or never changes

    A carried value that no iteration changes is replaced by its initial value; one that neither
    the test, nor a kept value, nor anything after the loop reads is dropped.  Exact.
    """
    if "prune_loops" in off:
        return program
    while True:
        changed = _once(program)
        if changed is None:
            return program
        program = changed


def _once(program: Logical) -> Logical | None:
    nodes = list(walk(program.outputs))
    read: dict[Expr, set[int]] = {}
    for node in nodes:
        if node.op == "item" and node.inputs[0].op == "loop":
            read.setdefault(node.inputs[0], set()).add(node.whole("k"))
    for node in nodes:
        if node.op != "loop":
            continue
        view = LoopView(node)
        constant = [k for k in range(view.n) if view.nexts[k] is view.params[k]]
        if constant:
            return _replace_constant(program, node, constant)
        kept = _needed(view, read.get(node, set()))
        if len(kept) < view.n:
            return _drop(program, node, kept)
    return None


def _needed(view: LoopView, read: set[int]) -> list[int]:
    index = {param: k for k, param in enumerate(view.params)}
    needed: set[int] = set()
    todo: list[Expr] = [view.test]
    fresh = list(read)
    while todo or fresh:
        for k in fresh:
            if k not in needed:
                needed.add(k)
                todo.append(view.nexts[k])
        fresh = []
        if todo:
            found = {index[n] for n in walk([todo.pop()]) if n in index}
            fresh = [k for k in found if k not in needed]
    return sorted(needed)


def _replace_constant(program: Logical, node: Expr, constant: list[int]) -> Logical:
    view = LoopView(node)
    inside = {view.params[k]: view.inits[k] for k in constant}
    kept = [k for k in range(view.n) if k not in constant]
    tail = substitute([*(view.nexts[k] for k in kept), view.test], inside)
    new = _loop(view, kept, tail[:-1], tail[-1])
    items = {
        make("item", [node], k=k): (
            view.inits[k] if k in constant else make("item", [new], k=kept.index(k))
        )
        for k in range(view.n)
    }
    return _swap(program, node, new, items, "never changes in the loop")


def _drop(program: Logical, node: Expr, kept: list[int]) -> Logical:
    view = LoopView(node)
    new = _loop(view, kept, [view.nexts[k] for k in kept], view.test)
    items = {make("item", [node], k=k): make("item", [new], k=i) for i, k in enumerate(kept)}
    return _swap(program, node, new, items, "is never read")


def _loop(view: LoopView, kept: list[int], nexts: Iterable[Expr], test: Expr) -> Expr:
    return make(
        "loop",
        (
            *(view.inits[k] for k in kept),
            *(view.params[k] for k in kept),
            *nexts,
            view.counter,
            view.trip,
            test,
        ),
        n=len(kept),
    )


def _swap(
    program: Logical, node: Expr, new: Expr, items: dict[Expr, Expr], why: str
) -> Logical:
    outputs = substitute(program.outputs, items)
    notes = dict(program.notes)
    inherit(notes, node, new)
    for old, item in items.items():
        if old in notes:
            inherit(notes, old, item)
    view = LoopView(node)
    gone = [
        notes.get(view.params[old.whole("k")], Note()).name or "a carried value"
        for old, item in items.items()
        if item.op != "item" or item.inputs[0] is not new
    ] or ["a carried value"]
    spans = notes.get(node, Note()).spans
    decision = Decision(
        "prune_loops", True, f"loop carries {', '.join(gone)}", "loop without it", why,
        span=spans[0] if spans else None,
    )
    return replace(
        program, outputs=outputs, notes=notes, decisions=(*program.decisions, decision)
    )
