"""What is known of conditions at a place of the program: those that lead there, and more."""

from __future__ import annotations

from lineal.planner.expr import Expr


class Knowledge:
    """The conditions that hold where a tracer is; `known` is cut back when a branch is left."""

    known: list[tuple[Expr, bool]]

    def decided(self, condition: Expr) -> bool | None:
        """Return what the known conditions say of `condition`, None if nothing."""
        known = dict(reversed(self.known))
        values: dict[Expr, bool | None] = {}
        stack = [condition]
        while stack:
            expr = stack[-1]
            needs: list[Expr] = []
            value: bool | None = None
            if expr in known:
                value = known[expr]
            elif expr.op == "const":
                value = bool(expr.attr("value"))
            elif expr.op == "py.not":
                needs = [expr.inputs[0]]
                inner = values.get(needs[0])
                value = None if inner is None else not inner
            elif expr.op == "item" and expr.inputs[0].op == "if" and expr.inputs[0].attr("n") == 1:
                test, then, other = expr.inputs[0].inputs
                needs = [test]
                if test in values:
                    taken = values[test]
                    needs = [then, other] if taken is None else [then if taken else other]
                    sides = {values.get(side) for side in needs}
                    value = sides.pop() if len(sides) == 1 else None
            missing = [n for n in needs if n not in values]
            if missing:
                stack.extend(missing)
                continue
            values[expr] = value
            stack.pop()
        return values[condition]

    def assume(self, condition: Expr, truth: bool) -> None:
        """Take `condition` as known, with what follows from it."""
        todo = [(condition, truth)]
        while todo:
            expr, value = todo.pop()
            self.known.append((expr, value))
            if expr.op == "py.not":
                todo.append((expr.inputs[0], not value))
            elif expr.op == "item" and expr.inputs[0].op == "if":
                if expr.inputs[0].attr("n") != 1:
                    continue
                test, then, other = expr.inputs[0].inputs
                for side, taken, rest in ((then, True, other), (other, False, then)):
                    if _is_const(rest, not value):
                        todo += [(test, taken), (side, value)]


def _is_const(expr: Expr, value: bool) -> bool:
    return expr.op == "const" and expr.attr("value") is value
