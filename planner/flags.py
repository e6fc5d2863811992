"""Run-time flags in one form, so that what one flag says of another is seen at once.

`break`, `continue` and early `return` set flags, and a name that is bound on some paths is there
where a flag holds.  A flag is a condition, its negation, or a choice between two flags by a
condition that is not negated; a negation stands outside of a choice.
"""

from __future__ import annotations

from lineal.planner import build
from lineal.planner.expr import Expr, make


def constant(value: bool) -> Expr:
    """Return the flag that always has one value."""
    return make("const", value=value)


def negated(flag: Expr) -> Expr:
    """Return `not flag`."""
    if flag.op == "const":
        return constant(not flag.attr("value"))
    return flag.inputs[0] if flag.op == "py.not" else build.apply("py.not", flag)


def choose_flag(condition: Expr, then: Expr, other: Expr) -> Expr:
    """Return `then if condition else other`, simplified."""
    if condition.op == "py.not":
        return choose_flag(condition.inputs[0], other, then)
    if then is other:
        return then
    sides = (then.op, other.op)
    if sides == ("const", "const"):
        return condition if then.attr("value") else negated(condition)
    if "py.not" in sides and set(sides) <= {"py.not", "const"}:
        return negated(choose_flag(condition, negated(then), negated(other)))
    return build.choose(condition, [then], [other])[0]
