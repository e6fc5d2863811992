"""Which local names are read after each statement: a backward analysis over the syntax tree.

Conservative: a name counts as read if any path may read it.
"""

from __future__ import annotations

import ast

Names = frozenset[str]


def reads(node: ast.AST) -> Names:
    """Return the names that evaluating `node` may read."""
    return frozenset(
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    )


def assigned(statements: list[ast.stmt]) -> list[str]:
    """Return the names that `statements` bind or update in place, in order of appearance."""
    found: dict[str, None] = {}
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.setdefault(node.id)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                base: ast.expr = node.value
                while isinstance(base, (ast.Subscript, ast.Attribute)):
                    base = base.value
                if isinstance(base, ast.Name):
                    found.setdefault(base.id)
    return list(found)


def contains(statement: ast.stmt, kinds: tuple[type[ast.stmt], ...]) -> bool:
    """Tell whether `statement` may run a `kinds` statement of its own loop level."""
    stack: list[ast.stmt] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, kinds):
            return True
        if isinstance(node, ast.If):
            stack.extend(node.body)
            stack.extend(node.orelse)
    return False


class Liveness:
    """`after[id(statement)]`: names that may be read after the statement has finished.

    `top[id(loop)]`: names that may be read from the start of an iteration on.
    """

    def __init__(self, body: list[ast.stmt]) -> None:
        self.after: dict[int, Names] = {}
        self.top: dict[int, Names] = {}
        self._block(body, frozenset(), frozenset(), frozenset())

    def _block(self, body: list[ast.stmt], out: Names, exit_: Names, again: Names) -> Names:
        for statement in reversed(body):
            out = self._statement(statement, out, exit_, again)
        return out

    def _statement(self, s: ast.stmt, out: Names, exit_: Names, again: Names) -> Names:
        self.after[id(s)] = out
        if isinstance(s, (ast.Assign, ast.AnnAssign)):
            targets = s.targets if isinstance(s, ast.Assign) else [s.target]
            killed: set[str] = set()
            read: set[str] = set(reads(s.value)) if s.value is not None else set()
            for target in targets:
                for node in ast.walk(target):
                    if isinstance(node, ast.Name):
                        if isinstance(node.ctx, ast.Store):
                            killed.add(node.id)
                        else:
                            read.add(node.id)
            return (out - killed) | read
        if isinstance(s, ast.AugAssign):
            names = {n.id for n in ast.walk(s.target) if isinstance(n, ast.Name)}
            return out | names | reads(s.value)
        if isinstance(s, ast.If):
            return (
                reads(s.test)
                | self._block(s.body, out, exit_, again)
                | self._elif(s.orelse, out, exit_, again)
            )
        if isinstance(s, (ast.For, ast.While)):
            return self._loop(s, out)
        if isinstance(s, ast.Break):
            return exit_
        if isinstance(s, ast.Continue):
            return again
        if isinstance(s, ast.Return):
            return reads(s)
        return out | reads(s)

    def _elif(self, body: list[ast.stmt], out: Names, exit_: Names, again: Names) -> Names:
        # An elif chain is a nest in the tree; walk it as a list so that its length is no depth.
        live: Names = frozenset()
        while len(body) == 1 and isinstance(body[0], ast.If):
            link = body[0]
            self.after[id(link)] = out
            live |= reads(link.test) | self._block(link.body, out, exit_, again)
            body = link.orelse
        return live | self._block(body, out, exit_, again)

    def _loop(self, s: ast.For | ast.While, out: Names) -> Names:
        head = reads(s.test) if isinstance(s, ast.While) else frozenset()
        top: Names = head | out
        while True:
            inside = self._block(s.body, top, out, top)
            if isinstance(s, ast.For):
                inside -= {n.id for n in ast.walk(s.target) if isinstance(n, ast.Name)}
            grown = top | inside
            if grown == top:
                break
            top = grown
        self.top[id(s)] = top
        return top | (reads(s.iter) if isinstance(s, ast.For) else frozenset())
