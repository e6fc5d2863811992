"""Evaluates expressions over Python scalars that are known at plan time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lineal.kernels.arithmetic import PYTHON, range_len
from lineal.planner.expr import Expr, walk

_OPS: dict[str, Callable[..., Any]] = {
    **PYTHON,
    "to_bool": bool,
    "to_int": int,
    "to_float": float,
    "range_len": range_len,
}


def evaluate_scalar(
    expr: Expr, known: dict[Expr, Any], *, strict: bool = False
) -> tuple[Any] | None:
    """Return (value,) of `expr` if it is Python arithmetic over constants and `known` inputs.

    Arithmetic that fails (a division by zero) has no value here, as it may never be run; with
    `strict` it raises what Python raises.
    """
    values: dict[Expr, Any] = {}
    for node in walk([expr]):
        if node.op == "const":
            values[node] = node.attr("value")
        elif node in known:
            values[node] = known[node]
        elif node.op in _OPS and all(child in values for child in node.inputs):
            try:
                values[node] = _OPS[node.op](*(values[child] for child in node.inputs))
            except (ArithmeticError, ValueError):
                if strict:
                    raise
        elif node.op == "if" and node.inputs[0] in values:
            n = int(node.attr("n"))  # type: ignore[call-overload]
            taken = node.inputs[1 : 1 + n] if values[node.inputs[0]] else node.inputs[1 + n :]
            if all(child in values for child in taken):
                values[node] = tuple(values[child] for child in taken)
        elif node.op == "item" and node.inputs[0] in values:
            values[node] = values[node.inputs[0]][node.attr("k")]
    return (values[expr],) if expr in values else None
