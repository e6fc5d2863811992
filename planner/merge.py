"""Merges what two paths leave in the environment: one `if` node per branch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lineal.planner import build
from lineal.planner.bindings import (
    Arr,
    Conflict,
    Maybe,
    describe,
    is_carriable,
    leaves,
    refill,
    same,
    storages,
    unwrap,
)
from lineal.planner.expr import Expr, make
from lineal.planner.flags import choose_flag, constant, negated
from lineal.planner.infer import join_types, typed

if TYPE_CHECKING:
    from lineal.planner.trace_expr import ExpressionTracer


def merge_values(
    tracer: ExpressionTracer,
    condition: Expr,
    pairs: dict[str, tuple[Any, Any]],
    missing: object,
) -> dict[str, Any]:
    """Return name -> value after a branch; `pairs` has (value if condition, value if not)."""
    merged: dict[str, Any] = {}
    chosen: list[tuple[str, Any, Any]] = []
    for name, (then, other) in pairs.items():
        then = _seen_where(tracer, then, condition, True, missing)
        other = _seen_where(tracer, other, condition, False, missing)
        if then is missing and other is missing:
            continue
        if then is missing or other is missing:
            merged[name] = _one_sided(condition, then, other, missing)
        elif same(then, other):
            merged[name] = then
        elif isinstance(then, Conflict) or isinstance(other, Conflict):
            merged[name] = then if isinstance(then, Conflict) else other
        elif isinstance(then, Maybe) or isinstance(other, Maybe):
            merged[name] = _both_maybe(tracer, name, condition, then, other)
        elif problem := _mismatch(then, other):
            merged[name] = Conflict(problem)
        else:
            chosen.append((name, then, other))
    if chosen:
        _choose_all(tracer, condition, chosen, merged)
    return merged


def _one_sided(condition: Expr, then: Any, other: Any, missing: object) -> Any:
    value, truth = (then, True) if other is missing else (other, False)
    if isinstance(value, Conflict):
        return value
    if isinstance(value, Maybe):
        return Maybe(value.value, (*value.guards, (condition, truth)))
    return Maybe(value, ((condition, truth),))


def _seen_where(
    tracer: ExpressionTracer, value: Any, condition: Expr, truth: bool, missing: object
) -> Any:
    """Return `value` as it is where `condition` is `truth`: sure, missing, or still a Maybe."""
    if not isinstance(value, Maybe):
        return value
    start = len(tracer.known)
    tracer.assume(condition, truth)
    found = [tracer.decided(test) for test, _ in value.guards]
    del tracer.known[start:]
    wanted = [outcome for _, outcome in value.guards]
    if found == wanted:
        return value.value
    if any(f is not None and f is not w for f, w in zip(found, wanted, strict=True)):
        return missing
    return value


def _both_maybe(
    tracer: ExpressionTracer, name: str, condition: Expr, then: Any, other: Any
) -> Any:
    """Merge two values of which at least one is not there on every path of its side."""
    sides = [v if isinstance(v, Maybe) else Maybe(v, ()) for v in (then, other)]
    if problem := _mismatch(sides[0].value, sides[1].value):
        return Conflict(problem)
    if same(sides[0].value, sides[1].value):
        value = sides[0].value
    else:
        present = [_where_present(v) for v in sides]
        merged: dict[str, Any] = {}
        _choose_all(tracer, condition, [(name, *present)], merged)
        value = merged[name]
    there = choose_flag(condition, _presence(sides[0]), _presence(sides[1]))
    return Maybe(value, ((there, True),))


def _presence(value: Maybe) -> Expr:
    """Return the condition under which a value is there."""
    total = constant(True)
    for test, truth in value.guards:  # the later guard is the outer branch's
        total = choose_flag(test if truth else negated(test), total, constant(False))
    return total


def _where_present(value: Maybe) -> Any:
    """Return the value, computed only where it is there."""
    if not value.guards:
        return value.value
    there = _presence(value)
    new: list[Any] = []
    for leaf in leaves(value.value):
        if not is_carriable(leaf):
            new.append(leaf)
            continue
        expr = build.lift(unwrap(leaf))
        held = build.choose(there, [expr], [make("undef", type=typed(expr))])[0]
        new.append(Arr(held, leaf.storage if isinstance(leaf, Arr) else frozenset()))
    return refill(value.value, new)


def _mismatch(then: Any, other: Any) -> str:
    """Return why two values cannot be one, or an empty string."""
    one, two = leaves(then), leaves(other)
    if len(one) != len(two) or isinstance(then, tuple) is not isinstance(other, tuple):
        return f"is {describe(then)} on one path and {describe(other)} on the other"
    for a, b in zip(one, two, strict=True):
        if same(a, b):
            continue
        if not is_carriable(a) or not is_carriable(b):
            return f"is {describe(a)} on one path and {describe(b)} on the other"
        if join_types(typed(build.lift(unwrap(a))), typed(build.lift(unwrap(b)))) is None:
            return f"is {describe(a)} on one path and {describe(b)} on the other"
    return ""


def _choose_all(
    tracer: ExpressionTracer,
    condition: Expr,
    chosen: list[tuple[str, Any, Any]],
    merged: dict[str, Any],
) -> None:
    then_leaves: list[Expr] = []
    other_leaves: list[Expr] = []
    for name, then, other in chosen:
        if _is_flag(name):
            # Alone in its node, so that equal flags are one node whatever else is merged.
            sides = [build.lift(unwrap(v)) for v in (then, other)]
            flag = choose_flag(condition, *sides)
            merged[name] = flag.attr("value") if flag.op == "const" else Arr(flag)
            continue
        for a, b in zip(leaves(then), leaves(other), strict=True):
            if not same(a, b) or isinstance(a, Arr):
                then_leaves.append(build.lift(unwrap(a)))
                other_leaves.append(build.lift(unwrap(b)))
    results = list(build.choose(condition, then_leaves, other_leaves)) if then_leaves else []
    for name, then, other in chosen:
        if _is_flag(name):
            continue
        new: list[Any] = []
        for a, b in zip(leaves(then), leaves(other), strict=True):
            if same(a, b) and not isinstance(a, Arr):
                new.append(a)
                continue
            expr = results.pop(0)
            shared = storages((a, b)) if typed(expr).ndim else frozenset()
            new.append(Arr(expr, shared))
            if not name.startswith("@"):
                spans = tracer.notes.get(build.lift(unwrap(a)))
                if spans is not None:
                    tracer.notes.setdefault(expr, spans)
        merged[name] = refill(then, new)


def _is_flag(name: str) -> bool:
    return name in ("@exit", "@break") or name.startswith("@taken")
