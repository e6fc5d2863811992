"""Lazy arrays: the same nodes as a program's, built by operators and NumPy functions.

X = la.asarray(A)
(X.T @ X).compute()
"""

from __future__ import annotations

import builtins
import itertools
import linecache
import os
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lineal import config
from lineal.engine.inputs import Bound, describe, own
from lineal.engine.plan import Plan
from lineal.engine.program import check_supported
from lineal.engine.session import Session, default_session
from lineal.errors import InputError, LinealError, ProgramError, Span, UnsupportedError
from lineal.kernels import registry
from lineal.planner import build, functions
from lineal.planner.expr import Expr, make, substitute, walk
from lineal.planner.infer import typed
from lineal.planner.logical import Leaf, Logical, Note, Notes
from lineal.planner.pipeline import Request, compile_until
from lineal.planner.types import Dim

# Frames in these folders are not the user's.
_OURS = tuple(
    os.path.join(os.path.dirname(str(file)), "")
    for file in (build.__file__, registry.__file__, config.__file__, np.__file__, __file__)
)


class _Key:
    """The identity of one wrapped array."""

    __slots__ = ("bound", "shared")

    def __init__(self, bound: Bound, shared: bool) -> None:
        self.bound = bound
        self.shared = shared


@dataclass(frozen=True, eq=False)
class LazyArray:
    """An array that is computed when asked for.

    NumPy functions and operators on it stay lazy.  Make one with `la.asarray`.
    """

    expr: Expr
    notes: Notes

    # -- what is known --------------------------------------------------------------------

    @property
    def shape(self) -> tuple[Dim, ...]:
        """Sizes; symbolic where only the run knows them."""
        return typed(self.expr).shape

    @property
    def dtype(self) -> np.dtype:
        """Element type of the computed array."""
        return typed(self.expr).dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return typed(self.expr).ndim

    @property
    def size(self) -> int:
        """Number of elements; an upper bound where a size is symbolic."""
        return typed(self.expr).size

    @property
    def T(self) -> LazyArray:
        """The transpose; a vector is its own."""
        return self._call("transpose") if self.ndim == 2 else self

    @property
    def mT(self) -> LazyArray:
        """The matrix transpose."""
        made: LazyArray = _build(functions.FUNCTIONS[np.matrix_transpose], (self,), {})
        return made

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        size = self.shape[0]
        if not isinstance(size, int):
            raise ProgramError("the length is known only after computing", hint=".compute() first")
        return size

    def __repr__(self) -> str:
        key = self.expr.attr("key")
        shared = ", shares the caller's array" if isinstance(key, _Key) and key.shared else ""
        return f"LazyArray({typed(self.expr)}{shared})"

    # -- computing ------------------------------------------------------------------------

    def compute(self, session: Session | None = None) -> Any:
        """Plan and run; return the value as NumPy gives it."""
        return compute(self, session=session)

    def plan(self, **kwargs: Any) -> Plan:
        """Return the plan; nothing is run."""
        return _plan((self,), **kwargs)[0]

    def explain(self, mode: str = "physical", **kwargs: Any) -> str:
        """Return the plan as text (or JSON, DOT, SVG); nothing is run."""
        return self.plan().explain(mode, **kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("a lazy array cannot be converted without computing (copy=False)")
        return np.asarray(_dense(self.compute()), dtype=dtype)

    def __bool__(self) -> bool:
        return bool(self._single())

    def __float__(self) -> float:
        return float(self._single())

    def __int__(self) -> int:
        return int(self._single())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise TypeError("only integer lazy arrays can be an index")
        return int(self._single())

    def _single(self) -> Any:
        if typed(self.expr).static and self.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. "
                "Use a.any() or a.all()"
            )
        return np.asarray(_dense(self.compute())).item()

    # -- building -------------------------------------------------------------------------

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        entry = functions.METHODS[method]
        return _build(entry, (self, *args), kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in functions.METHODS and not name.startswith("_"):
            return lambda *args, **kwargs: self._call(name, *args, **kwargs)
        raise AttributeError(f"a lazy array has no attribute {name!r}")

    def __getitem__(self, index: Any) -> LazyArray:
        with _located(x=self, index=index):
            parts = tuple(p for p in _flat(index) if isinstance(p, LazyArray))
            made: LazyArray = _wrap(
                build.getitem(_CONTEXT, self.expr, _plain(index)), (self, *parts)
            )
        return made

    def __setitem__(self, index: Any, value: Any) -> None:
        raise UnsupportedError(
            "assignment into a lazy array",
            hint="use np.where, or write a @la.program",
            span=_caller_line(),
        )

    def __iter__(self) -> Any:
        raise UnsupportedError(
            "iteration over a lazy array",
            hint="index it, or compute it first",
            span=_caller_line(),
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__":
            raise UnsupportedError(
                f"np.{ufunc.__name__}.{method} of a lazy array",
                hint="use the function, e.g. np.sum for np.add.reduce, or compute first",
                span=_caller_line(),
            )
        entry = functions.FUNCTIONS.get(ufunc)
        if entry is None:
            raise UnsupportedError(
                f"np.{ufunc.__name__} is outside the language",
                hint="see the grammar page, or compute first",
                span=_caller_line(),
            )
        return _build(entry, inputs, kwargs)

    def __array_function__(self, func: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        entry = functions.FUNCTIONS.get(func)
        if entry is None:
            raise UnsupportedError(
                f"{func.__module__}.{func.__name__} is outside the language",
                hint="see the grammar page, or compute first",
                span=_caller_line(),
            )
        return _build(entry, args, kwargs)


def _operator(name: str, swapped: bool = False) -> Callable[[LazyArray, Any], Any]:
    def method(self: LazyArray, other: Any) -> Any:
        if not _usable(other):
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        with _located(left=a, right=b):
            a, b = _lazy(a), _lazy(b)
            return _wrap(build.binary(_CONTEXT, name, _plain(a), _plain(b)), (a, b))

    return method


def _unary(name: str) -> Callable[[LazyArray], Any]:
    def method(self: LazyArray) -> Any:
        with _located(x=self):
            return _wrap(build.unary(_CONTEXT, name, self.expr), (self,))

    return method


for _name in "add sub mul truediv floordiv mod pow matmul and or xor".split():
    setattr(LazyArray, f"__{_name}__", _operator(_name))
    setattr(LazyArray, f"__r{_name}__", _operator(_name, swapped=True))
for _name in "lt le gt ge eq ne".split():
    setattr(LazyArray, f"__{_name}__", _operator(_name))
for _name, _method in (("neg", "neg"), ("pos", "pos"), ("abs", "abs"), ("invert", "invert")):
    setattr(LazyArray, f"__{_name}__", _unary(_method))
LazyArray.__hash__ = object.__hash__  # type: ignore[method-assign]


class _LazyContext(build.Context):
    def warn(self, message: str) -> None:
        import warnings

        from lineal.errors import LinealWarning

        span = _caller_line()
        text = f"{message}\n{span.render()}"
        warnings.warn_explicit(text, LinealWarning, span.file, span.line)


_CONTEXT = _LazyContext()


def asarray(value: Any, *, copy: bool | None = True) -> LazyArray:
    """Return a lazy array over `value`.

    Parameters
    ----------
    value : array
        Anything that a program takes as an input.
    copy : bool, default True
        Whether a private copy is taken; with False the caller's array is shared, so later
        changes to it show in results (and `repr` says that it is shared).

    Raises
    ------
    InputError
        A kind of value that cannot be used.
    """
    if isinstance(value, LazyArray):
        return value
    held = value
    if copy is not False and not hasattr(value, "dask"):
        held = own(value, copy)
    bound = describe(held, "x")
    if bound.type is None:
        raise InputError(
            f"{value!r:.40} is no array",
            operands=(f"x: {type(value).__name__}",),
            hint="pass a NumPy array, a SciPy sparse array, a Dask array or a pandas frame",
        )
    expr = make("input", name="x", type=bound.type, key=_Key(bound, copy is False))
    return LazyArray(expr, {expr: Note((_caller(),))})


def compute(*arrays: Any, session: Session | None = None) -> Any:
    """Compute several lazy arrays in one plan; one argument gives one value.

    Arguments that are no lazy arrays are returned as they are.
    """
    lazy = tuple(a for a in arrays if isinstance(a, LazyArray))
    if not lazy:
        return arrays[0] if len(arrays) == 1 else arrays
    where = session or default_session()
    plan, bound = _plan(lazy, cluster=where.cluster)
    found = where.execute(plan, bound).value
    values = iter(found if len(lazy) > 1 else (found,))
    packed = tuple(next(values) if isinstance(a, LazyArray) else a for a in arrays)
    return packed[0] if len(arrays) == 1 else packed


def _plan(
    arrays: tuple[LazyArray, ...], *, cluster: Any = None, **options: Any
) -> tuple[Plan, list[Bound]]:
    chosen = config.current().replace(**options)
    check_supported(chosen)
    notes: Notes = {}
    for array in arrays:
        notes.update(array.notes)
    roots = [a.expr for a in arrays]
    leaves = [n for n in walk(roots) if n.op == "input"]
    bound: list[Bound] = []
    mapping: dict[Expr, Expr] = {}
    for position, leaf in enumerate(leaves):
        key = leaf.attr("key")
        assert isinstance(key, _Key)
        name = f"x{position + 1}" if len(leaves) > 1 else "x"
        held = key.bound
        bound.append(Bound(name, held.kind, held.type, held.facts, held.value))
        mapping[leaf] = make("input", name=name, type=typed(leaf))
    outputs = substitute(roots, mapping)
    order = dict(zip(walk(roots), walk(outputs), strict=False))
    kept = {order.get(node, node): note for node, note in notes.items()}
    kept.update({new: Note((), str(new.attr("name"))) for new in mapping.values()})
    logical = Logical(
        name="lazy",
        inputs=tuple(mapping.values()),
        outputs=outputs,
        tree=Leaf(output=0) if len(outputs) == 1 else tuple(map(Leaf, range(len(outputs)))),
        notes=kept,
        facts={b.name: b.facts for b in bound},
    )
    spec = cluster if cluster is not None else default_session().cluster
    request = Request(
        program=logical,
        algebra=chosen.algebra,
        rewrites=chosen.rewrites or (),
        cluster=spec,
    )
    plan = Plan(request, compile_until(request), spec, tuple(b.name for b in bound))
    return plan, bound


def _usable(value: Any) -> bool:
    return (
        isinstance(value, (LazyArray, bool, int, float, complex, np.generic, np.ndarray))
        or hasattr(value, "tocsr")
        or hasattr(value, "dask")
    )


def _lazy(value: Any) -> Any:
    """Wrap arrays that meet a lazy one; numbers stay numbers."""
    if isinstance(value, (LazyArray, bool, int, float, np.generic)):
        return value
    if isinstance(value, (np.ndarray,)) or hasattr(value, "tocsr") or hasattr(value, "dask"):
        return asarray(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_lazy(v) for v in value)
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, LazyArray):
        return value.expr
    if isinstance(value, tuple):
        return tuple(_plain(v) for v in value)
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return asarray(value).expr
    if isinstance(value, slice):
        return builtins.slice(_plain(value.start), _plain(value.stop), _plain(value.step))
    return value


def _build(entry: functions.Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with _located(*args):
        given = tuple(_lazy(a) for a in args)
        named = {k: _lazy(v) for k, v in kwargs.items()}
        result = functions.call(
            _CONTEXT, entry, [_plain(a) for a in given], {k: _plain(v) for k, v in named.items()}
        )
        return _wrap(result, (*given, *named.values()))


def _wrap(result: Any, parts: tuple[Any, ...]) -> Any:
    if isinstance(result, tuple):
        return tuple(_wrap(r, parts) for r in result)
    if not isinstance(result, Expr):
        return result
    notes: Notes = {}
    stack = list(parts)
    while stack:
        part = stack.pop()
        if isinstance(part, LazyArray):
            # The longest map is taken as it is: chains of thousands of steps share one.
            if len(part.notes) > len(notes):
                part.notes.update(notes)
                notes = part.notes
            else:
                notes.update(part.notes)
        elif isinstance(part, (list, tuple)):
            stack.extend(part)
    notes.setdefault(result, Note((_caller(),)))
    return LazyArray(result, notes)


def _frame() -> types.FrameType:
    """Return the user's frame: the innermost one outside Lineal and NumPy."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


def _caller() -> Span:
    """Return the user's line; its text is read only where it is shown."""
    frame = _frame()
    return Span(frame.f_code.co_filename, frame.f_lineno, function=frame.f_code.co_name)


def _caller_line() -> Span:
    """Return the user's line with its text and the expression that is being evaluated."""
    frame = _frame()
    code = frame.f_code
    line = linecache.getline(code.co_filename, frame.f_lineno).rstrip("\n")
    where = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None), None)
    column, end = 0, len(line)
    if where is not None and where[0] == where[1] == frame.f_lineno:
        column, end = where[2] or 0, where[3] or len(line)
    return Span(code.co_filename, frame.f_lineno, column, end, line, code.co_name)


class _located:
    """Adds the user's line and the operands to an error that building raises."""

    __slots__ = ("_operands",)

    def __init__(self, *operands: Any, **named: Any) -> None:
        self._operands = {f"operand {i + 1}": v for i, v in enumerate(operands)} | named

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, LinealError) or error.span is not None:
            return
        error.span = _caller_line()
        if not error.operands:
            error.operands = tuple(
                f"{name}: {typed(v.expr) if isinstance(v, LazyArray) else _kind(v)}"
                for name, v in self._operands.items()
            )


def _kind(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return repr(value) if isinstance(value, (int, float, str)) else type(value).__name__


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _flat(item)
    elif isinstance(value, slice):
        yield from (value.start, value.stop, value.step)
    else:
        yield value


def _dense(value: Any) -> Any:
    return value.toarray() if hasattr(value, "toarray") else value
