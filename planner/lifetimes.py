"""Finds where each value of a schedule dies, so that a run holds nothing longer than needed."""

from __future__ import annotations

from dataclasses import replace

from lineal.planner.plan import Block, Once, Step

Names = frozenset[str]


def with_lifetimes(body: Block) -> Block:
    """Return `body` with every step's `frees` filled in.

    A value that a block's own steps make dies after its last use in that block.  A hoisted value
    dies with the loop that it was hoisted out of.
    """
    done, _, hoisted = _block(body, frozenset(body.results), frozenset())
    if any(hoisted.values()):
        raise AssertionError(f"hoisted values without a loop: {hoisted}")
    return done


def _block(
    block: Block, live: Names, mortal: Names
) -> tuple[Block, Names, dict[int, list[str]]]:
    """Return (block, names it uses from outside or inside, hoisted names by level).

    `mortal` are names from outside that nobody reads once this block has finished.
    """
    hoisted: dict[int, list[str]] = {}
    used: set[str] = set(live)
    steps: list[Step] = []
    mine = {v.name for s in block.steps for v in s.outputs}
    mortals = mortal | mine
    for step in reversed(block.steps):
        # Only a step with blocks may end the life of what it does not list as its inputs.
        candidates = mortals if step.blocks else step.inputs
        dying = frozenset(n for n in candidates if n in mortals and n not in used)
        done, uses, inner = _step(step, dying)
        for level, names in inner.items():
            hoisted.setdefault(level, []).extend(names)
        made = [v.name for v in step.outputs]
        frees = [*done.frees, *(n for n in made if n not in used)]
        frees += [n for n in sorted(uses, key=_order) if n in mine and n not in used]
        reuses = tuple(n for n in dict.fromkeys(step.inputs) if n in dying)
        if step.blocks:
            reuses = ()
        steps.append(replace(done, frees=tuple(dict.fromkeys(frees)), reuses=reuses))
        used |= uses
    onces: list[Once] = []
    for once in block.once:
        members: list[Step] = []
        for step in once.steps:
            done, uses, inner = _step(step, frozenset())
            for level, names in inner.items():
                hoisted.setdefault(level, []).extend(names)
            hoisted.setdefault(once.level, []).extend(v.name for v in step.outputs)
            members.append(done)
            used |= uses
        onces.append(Once(once.level, tuple(members)))
    return Block(tuple(reversed(steps)), block.results, tuple(onces)), frozenset(used), hoisted


def _step(step: Step, dying: Names) -> tuple[Step, Names, dict[int, list[str]]]:
    uses = {name for name in step.inputs if name}
    if not step.blocks:
        return step, frozenset(uses), {}
    hoisted: dict[int, list[str]] = {}
    blocks: list[Block] = []
    if step.op == "loop":
        test, body = step.blocks
        params = frozenset(step.params[1:])
        body, body_uses, from_body = _block(body, frozenset(n for n in body.results if n), params)
        test, test_uses, from_test = _block(
            test, body_uses | frozenset(test.results), frozenset()
        )
        blocks = [test, body]
        uses |= body_uses | test_uses
        for found in (from_test, from_body):
            for level, names in found.items():
                hoisted.setdefault(level, []).extend(names)
    else:
        for block in step.blocks:
            results = frozenset(n for n in block.results if n)
            done, block_uses, found = _block(block, results, dying)
            blocks.append(done)
            uses |= block_uses
            for level, names in found.items():
                hoisted.setdefault(level, []).extend(names)
    frees: tuple[str, ...] = ()
    if step.op == "loop":
        frees = tuple(hoisted.pop(step.depth, ()))
    return replace(step, blocks=tuple(blocks), frees=frees), frozenset(uses), hoisted


def _order(name: str) -> tuple[int, str]:
    digits = name.lstrip("%").split(".")[0]
    return (int(digits), name) if digits.isdigit() else (-1, name)
