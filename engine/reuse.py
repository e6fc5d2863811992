"""Steps that write their result into the storage of an operand that dies with them.

The plan says which operand nobody reads afterwards (`Step.reuses`); whether something else still
holds the array (the caller, a view, another slot) is seen at run time from its reference count,
so that a wrong guess costs a copy, never a wrong value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from lineal.kernels import registry, shapes
from lineal.planner.plan import Step, Value

Slots = list[Any]

_LEAST_BYTES = 1 << 16
"""Below this a fresh array is as cheap as the check."""

_probe = [np.empty(1)]
_SOLE = sys.getrefcount(_probe[0])
"""What the interpreter counts for an array that only one slot refers to."""


def in_place(
    step: Step, types: dict[str, Value], ins: list[int], out: int, frees: list[int]
) -> Callable[[Slots], None] | None:
    """Return an instruction that reuses an operand's storage, None where the step cannot."""
    if step.op == "setitem" and step.inputs[0] in step.reuses:
        return _assign(step, ins, out, frees)
    kernel = registry.get(step.op)
    if not isinstance(kernel, np.ufunc) or step.attrs:
        return None
    made = step.outputs[0].type
    if not made.static or made.nbytes < _LEAST_BYTES:
        return None
    for name, at in zip(step.inputs, ins, strict=True):
        if name in step.reuses and name in types and types[name].type == made:
            return _ufunc(kernel, ins, at, out, frees)
    return None


def _free(value: Any) -> bool:
    """Tell whether an array owns its memory and may be written; call with a sole reference."""
    flags = value.flags
    return bool(flags.owndata and flags.writeable)


def _assign(step: Step, ins: list[int], out: int, frees: list[int]) -> Callable[[Slots], None]:
    copying = registry.bind("setitem", step.attrs)
    writing = shapes.bind_assign(dict(step.attrs))
    x = ins[0]

    def assign(slots: Slots) -> None:
        sole = sys.getrefcount(slots[x]) == _SOLE
        values = [slots[i] for i in ins]
        array = values[0]
        if sole and type(array) is np.ndarray and _free(array):
            slots[x] = None
            slots[out] = writing(*values)
        else:
            slots[out] = copying(*values)
        for at in frees:
            slots[at] = None

    return assign


def _ufunc(
    kernel: np.ufunc, ins: list[int], reused: int, out: int, frees: list[int]
) -> Callable[[Slots], None]:
    def compute(slots: Slots) -> None:
        sole = sys.getrefcount(slots[reused]) == _SOLE
        target = slots[reused]
        values = [slots[i] for i in ins]
        if sole and type(target) is np.ndarray and _free(target):
            slots[reused] = None
            slots[out] = kernel(*values, out=target)
        else:
            slots[out] = kernel(*values)
        for at in frees:
            slots[at] = None

    return compute
