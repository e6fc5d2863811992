"""Shape and dtype of every operation, by NumPy's own rules, before anything runs.

One function per family of operations.  Each raises a ProgramError without a place in the source;
the front ends add the line and the operands' names.
"""

from __future__ import annotations

if __name__ != "lineal.planner.infer":  # a second copy of a class breaks isinstance
    raise ImportError("import this package as lineal.planner.infer")

from collections.abc import Callable
from typing import cast

from lineal.errors import ProgramError
from lineal.planner.expr import Expr
from lineal.planner.infer import control, elementwise, linalg, products, reductions, shapes
from lineal.planner.infer.core import (
    BINARY,
    COMMUTATIVE,
    ELEMENTWISE,
    PY_BOOL,
    PY_FLOAT,
    PY_INT,
    REDUCTIONS,
    RNG,
    UNARY,
    VIEWS,
    Types,
    check_dtype,
)
from lineal.planner.infer.dims import join_types, show_shape
from lineal.planner.types import Type

__all__ = [
    "BINARY",
    "COMMUTATIVE",
    "ELEMENTWISE",
    "PY_BOOL",
    "PY_FLOAT",
    "PY_INT",
    "REDUCTIONS",
    "RNG",
    "RULES",
    "UNARY",
    "VIEWS",
    "Types",
    "check_dtype",
    "join_types",
    "show_shape",
    "type_of",
    "typed",
]

RULES: dict[str, Callable[[Expr], Types]] = {
    **elementwise.RULES,
    **reductions.RULES,
    **products.RULES,
    **shapes.RULES,
    **linalg.RULES,
    **control.RULES,
}
"""Operation -> what its results are; the inputs' types are known when a rule is asked."""


def type_of(node: Expr) -> Types:
    """Return the Type of `node`, a tuple of Types if it has several results."""
    known = node.cache.get("type")
    if known is None:
        stack = [node]
        while stack:
            part = stack[-1]
            missing = [child for child in part.inputs if "type" not in child.cache]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if "type" not in part.cache:
                part.cache["type"] = _infer(part)
        known = node.cache["type"]
    return cast(Types, known)


def typed(node: Expr) -> Type:
    """Return the Type of a node with one result."""
    found = type_of(node)
    if isinstance(found, tuple):
        raise ProgramError(f"{node.op} has {len(found)} results where one value is needed")
    return found


def _infer(node: Expr) -> Types:
    rule = RULES.get(node.op)
    if rule is None:
        raise ProgramError(f"unknown operation {node.op!r}")
    return rule(node)
