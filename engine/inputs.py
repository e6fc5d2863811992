"""What a caller passes to a program, as a run-time value with a description for the planner.

The description (type and facts) goes into the plan's key, the value never does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lineal.engine.convert import (
    check_dtype,
    convert,
    has_sparse_blocks,
    is_dask_array,
    is_sparse,
    shown,
)
from lineal.engine.declare import DeclaredArray, Spec, declare, spec
from lineal.errors import DTypeError, InputError
from lineal.planner.types import DENSE, Density, DensityKind, Facts, Type

if __name__ != "lineal.engine.inputs":  # a second copy of a class breaks isinstance
    raise ImportError("import this module as lineal.engine.inputs")

__all__ = [
    "Bound",
    "DeclaredArray",
    "Spec",
    "declare",
    "describe",
    "full_facts",
    "own",
    "spec",
    "to_numpy",
]


@dataclass(frozen=True, slots=True)
class Bound:
    """One input of a program.

    `kind` is
      "array"   ndarray, csr_array or Dask array (or a Spec: nothing is here to run on);
      "scalar"  a Python int or float (weak type) or a NumPy scalar: a run-time number;
      "static"  None, bool, str, a dtype or a tuple of such: part of the plan's key.
    `type` is None for static values other than bool.  `value` is what the engine uses.
    """

    name: str
    kind: str
    type: Type | None
    facts: Facts
    value: Any

    @property
    def planned_only(self) -> bool:
        """Whether this is a description without data."""
        return isinstance(self.value, Spec)


def describe(value: object, name: str) -> Bound:
    """Return what the engine and the planner need to know of an argument.

    Parameters
    ----------
    value : object
        NumPy array or scalar, memory map, SciPy sparse (any format), Dask array, pandas or Dask
        frame, Python number, None, str, tuple, `la.spec` or `la.declare` object.
    name : str
        The parameter's name, for errors.

    Raises
    ------
    InputError
        A kind of value, a shape or contents that a program cannot take.
    DTypeError
        An element type that it cannot take.

    Notes
    -----
    Nothing is copied that need not be, and the caller's object is never written.  For a Dask
    frame the partitions' lengths are computed here, once.
    """
    if isinstance(value, DeclaredArray):
        return _declared(value, name)
    if isinstance(value, Spec):
        return _specified(value, name)
    if isinstance(value, np.generic):
        return _numpy_scalar(value, name)
    if isinstance(value, (bool, int, float, complex)):
        return _python_scalar(value, name)
    if _is_static(value):
        return Bound(name, "static", None, Facts(), value)
    if isinstance(value, tuple):
        raise InputError(
            "a tuple may hold numbers, strings, None and tuples only",
            operands=(shown(value, name),),
            hint="pass each array as its own parameter",
        )
    array = convert(value, name).value
    kind = Type(tuple(array.shape), np.dtype(array.dtype))
    return Bound(name, "array", kind, full_facts(array), array)


def full_facts(value: Any) -> Facts:
    """Return the facts that a value shows without a pass over its entries.

    The density of a csr_array is exact (it stores no zeros); that of anything dense is at most 1.
    """
    if is_dask_array(value):
        storage = "sparse" if has_sparse_blocks(value) else "dense"
        return Facts(storage=storage, chunks=tuple(map(tuple, value.chunks)))
    if is_sparse(value):
        size = value.shape[0] * value.shape[1]
        share = value.nnz / size if size else 0.0
        return Facts(storage="sparse", density=Density(share, DensityKind.EXACT))
    return Facts()


def own(value: object, copy: bool | None = True, name: str = "value") -> Any:
    """Return the engine's form of an array-like, with or without sharing the caller's memory.

    Parameters
    ----------
    value : array-like or scalar
    copy : bool or None
        True: later changes of the caller's object do not show.  False: the caller's memory is
        used, and InputError is raised where that is not possible.  None: shares where possible.
    name : str
        How errors call it.
    """
    if isinstance(value, DeclaredArray):
        value = value.value
    if not hasattr(value, "shape") or isinstance(value, (np.generic, Spec)):
        return describe(value, name).value
    done = convert(value, name)
    if is_dask_array(value):  # immutable, so sharing cannot show
        return done.value
    if copy is False and not done.shares:
        raise InputError(
            "this value cannot be used without a copy",
            operands=(shown(value, name),),
            hint="copy=True, or pass a NumPy array or a csr_array in canonical form",
        )
    return done.value.copy() if copy and done.shares else done.value


def to_numpy(value: object) -> Any:
    """Return the dense NumPy copy of an input: what the undecorated function is given.

    Scalars and static values come back as they are.
    """
    bound = describe(value, "value")
    if isinstance(bound.value, Spec):
        raise InputError("a spec has no data", hint="pass an array")
    if bound.kind != "array":
        return bound.value
    if is_sparse(bound.value):
        return bound.value.toarray()
    if is_dask_array(bound.value):
        computed = bound.value.compute()
        return computed.toarray() if is_sparse(computed) else np.array(computed)
    return bound.value.copy()


def _declared(value: DeclaredArray, name: str) -> Bound:
    inner = describe(value.value, name)
    facts = Facts(
        storage=inner.facts.storage,
        density=inner.facts.density,
        properties=value.properties,
        bandwidth=value.bandwidth,
        chunks=inner.facts.chunks,
    )
    return Bound(name, inner.kind, inner.type, facts, inner.value)


def _specified(value: Spec, name: str) -> Bound:
    density = DENSE if value.density >= 1.0 else Density(value.density, DensityKind.ESTIMATED)
    facts = Facts(value.storage, density, value.properties, value.bandwidth, value.chunks)
    return Bound(name, "array", Type(value.shape, value.dtype), facts, value)


def _numpy_scalar(value: np.generic, name: str) -> Bound:
    if isinstance(value, str):  # np.str_
        return Bound(name, "static", None, Facts(), str(value))
    dtype = check_dtype(value.dtype, f"{name}: {value.dtype}")
    # A void or foreign-order scalar cannot be: NumPy's scalars are native.
    return Bound(name, "scalar", Type((), dtype), Facts(), value)


def _python_scalar(value: complex, name: str) -> Bound:
    # Subclasses (an IntEnum member, say) are reduced to the number that they are.
    if isinstance(value, bool):
        return Bound(name, "static", Type((), np.dtype(bool), weak=True), Facts(), value)
    if isinstance(value, int):
        return Bound(name, "scalar", Type((), np.dtype(np.int64), weak=True), Facts(), int(value))
    if isinstance(value, float):
        kind = Type((), np.dtype(np.float64), weak=True)
        return Bound(name, "scalar", kind, Facts(), float(value))
    raise DTypeError(
        "complex numbers are not supported",
        operands=(f"{name}: {value!r}",),
        hint="pass the real and the imaginary part as two numbers",
    )


_STATIC_TYPES = (bool, int, float)


def _is_static(value: object) -> bool:
    if value is None or isinstance(value, (str, np.dtype)):
        return True
    if isinstance(value, type):
        return value in _STATIC_TYPES or issubclass(value, np.generic)
    if isinstance(value, tuple):
        return all(isinstance(v, (bool, int, float)) or _is_static(v) for v in value)
    return False
