"""What a caller gets back: the returned structure, in arrays of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lineal.planner.logical import Leaf

if TYPE_CHECKING:
    from lineal.engine.plan import Plan




def pack(plan: Plan, values: list[Any], inputs: list[Any]) -> Any:
    """Return the program's value from the plan's outputs.

    Arrays are writable and share storage with no input, no constant and no other result.
    """
    logical = plan.logical
    planned = {v.name: v for v in plan.physical.inputs}
    for step in plan.physical.steps():
        planned.update((v.name, v) for v in step.outputs)
    given: list[Any] = list(inputs)
    own: list[Any] = []
    for name, value in zip(plan.physical.outputs, values, strict=True):
        storage = planned[name].storage if name in planned else "dense"
        made = _own(value, given, storage)
        given.append(made)
        own.append(made)
    if logical.effects:
        own = own[: -logical.effects]
    return _fill(logical.tree, own)


def _own(value: Any, given: list[Any], storage: str) -> Any:
    if isinstance(value, np.ndarray):
        taken = value.base is not None or not value.flags.writeable or not value.flags.owndata
        if taken or any(value is g for g in given):
            return value.copy()
        return value
    if hasattr(value, "tocsr"):
        if storage != "sparse":
            return value.toarray()
        # Kernels may share index arrays between results; a caller's copy shares none.
        return value.copy()
    return value


def _fill(tree: Any, values: list[Any]) -> Any:
    if isinstance(tree, Leaf):
        return tree.value if tree.output < 0 else values[tree.output]
    return tuple(_fill(part, values) for part in tree)
