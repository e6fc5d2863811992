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
        if then is missing or other is missing:
            merged[name] = _one_sided(condition, then, other, missing)
        elif same(then, other):
            merged[name] = then
        elif isinstance(then, Conflict) or isinstance(other, Conflict):
            merged[name] = then if isinstance(then, Conflict) else other
        elif isinstance(then, Maybe) or isinstance(other, Maybe):
            merged[name] = _both_maybe(condition, then, other)
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


def _both_maybe(condition: Expr, then: Any, other: Any) -> Any:
    # Keep the side that is sure where the other is not; anything finer is an error at use.
    if isinstance(then, Maybe) and not isinstance(other, Maybe):
        if same(then.value, other):
            return Maybe(other, then.guards)
        return Maybe(other, ((condition, False),))
    if isinstance(other, Maybe) and not isinstance(then, Maybe):
        if same(other.value, then):
            return Maybe(then, other.guards)
        return Maybe(then, ((condition, True),))
    return Maybe(then.value, (*then.guards, (condition, True)))


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
    for _, then, other in chosen:
        for a, b in zip(leaves(then), leaves(other), strict=True):
            if not same(a, b) or isinstance(a, Arr):
                then_leaves.append(build.lift(unwrap(a)))
                other_leaves.append(build.lift(unwrap(b)))
    results = list(build.choose(condition, then_leaves, other_leaves))
    for name, then, other in chosen:
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
    for name in list(merged):
        if name in ("@exit", "@break") and isinstance(merged[name], Arr):
            merged[name] = _flag(merged[name])


def _flag(value: Arr) -> Any:
    """Fold a flag whose two sides are constants into its condition."""
    expr = value.expr
    if expr.op == "item" and expr.inputs[0].op == "if":
        node = expr.inputs[0]
        n = int(node.attr("n"))  # type: ignore[call-overload]
        k = int(expr.attr("k"))  # type: ignore[call-overload]
        condition, then, other = node.inputs[0], node.inputs[1 + k], node.inputs[1 + n + k]
        if then.op == "const" and other.op == "const":
            if then.attr("value") is True and other.attr("value") is False:
                return Arr(condition)
            if then.attr("value") is False and other.attr("value") is True:
                return Arr(make("py.not", [condition]))
    return value
