"""Traces calls: operations of the table, methods, random draws, functions that are inlined.

Names from outside become traced values here: plain values stay what they are, arrays become
hidden inputs.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import types
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lineal.errors import InputError, ProgramError, UnsupportedError
from lineal.planner import functions
from lineal.planner.bindings import NOWHERE, Arr, ListValue, Rng, storages, unwrap
from lineal.planner.expr import Expr, make
from lineal.planner.logical import Note
from lineal.planner.outside import Outside, Read
from lineal.planner.source import Source, capture
from lineal.planner.trace_expr import ExpressionTracer, Frame
from lineal.planner.types import Facts, Type

NO_FACTS = Facts()


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One input as the planner sees it: its type and facts, and a scalar's value."""

    name: str
    type: Type
    facts: Facts = NO_FACTS
    value: Any = None


Describe = Callable[[Any, str], InputSpec | None]
"""Recognises an outside array: returns its description, None for what is no array."""


class CallTracer(ExpressionTracer):
    """The calls and outside names of a tracer."""

    def __init__(self, describe: Describe) -> None:
        super().__init__()
        self._describe = describe
        self._bindings: Mapping[str, Any] = {}
        self._inputs: dict[str, Expr] = {}
        self._facts: dict[str, Facts] = {}
        self._hidden: dict[str, Any] = {}
        self._log: dict[str, Read] = {}

    @abstractmethod
    def body(self, tree: ast.FunctionDef) -> Any:
        """Run a function body in the current frame and return its value."""

    def declare(self, spec: InputSpec, hidden: bool) -> Arr:
        """Make the leaf for one input."""
        expr = make("input", name=spec.name, type=spec.type)
        self._inputs[spec.name] = expr
        self._facts[spec.name] = spec.facts
        self.notes[expr] = Note((), spec.name)
        if spec.type.weak:
            self.scalars[expr] = spec.value
        # Python and NumPy scalars are immutable: `x += 1` on one only rebinds the name.
        scalar = spec.type.weak or isinstance(spec.value, np.generic)
        return Arr(expr, frozenset() if scalar else frozenset([f"input:{spec.name}"]))

    # -- calls ---------------------------------------------------------------------------

    def _ev_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            base = self.ev(node.func.value)
            if isinstance(base, (Arr, Rng)) or isinstance(base, tuple):
                return self._method(base, node.func.attr, node)
        target = self.ev(node.func)
        args, kwargs = self.arguments(node)
        inlined = self.inlinable(target)
        if inlined is not None:
            return self.inline(inlined, args, kwargs, node)
        entry = functions.FUNCTIONS.get(target) if _hashable(target) else None
        if entry is None:
            raise self._unsupported_call(target, node)
        return self._build(entry, args, kwargs, node)

    def _build(
        self, entry: functions.Entry, args: list[Any], kwargs: dict[str, Any], node: ast.Call
    ) -> Any:
        operands = {self._shown(a): v for a, v in zip(node.args, args, strict=False)}
        if len(args) > len(node.args):
            operands = {self._shown(node.func.value): args[0], **operands}  # type: ignore[attr-defined]
        with self.at(node, operands):
            plain = [unwrap(a) for a in args]
            result = functions.call(self, entry, plain, {k: unwrap(v) for k, v in kwargs.items()})
            if entry.name == "np.random.default_rng":
                return self._new_rng(result, node)
            shared = storages(tuple(args)) if entry.view else NOWHERE
            if isinstance(result, Expr) and any(result is p for p in plain):
                shared = storages(tuple(args))
            elif isinstance(result, Expr) and result.op in ("copy", "cast"):
                shared = NOWHERE
            return self.wrap(result, node, shared)

    def _new_rng(self, state: Expr, node: ast.Call) -> Rng:
        name = f"@rng:{self.frame.path}:{node.lineno}:{node.col_offset}"
        self.note(state, node)
        self.state[name] = state
        return Rng(name)

    def _method(self, base: Any, name: str, node: ast.Call) -> Any:
        args, kwargs = self.arguments(node)
        if isinstance(base, Rng):
            with self.at(node):
                value, state = functions.draw(
                    self, self.state[base.state], name, unwrap(args), unwrap_kwargs(kwargs)
                )
                self.state[base.state] = state
                return self.wrap(value, node)
        if isinstance(base, tuple):
            raise self.fail(
                UnsupportedError,
                f"the list or tuple method {name!r} is outside the language",
                node,
                "allocate an array before the loop and assign into it: out[i] = ...",
            )
        entry = functions.METHODS.get(name)
        if entry is None:
            raise self.fail(
                UnsupportedError,
                f"the array method {name!r} is outside the language",
                node,
                f"supported methods: {', '.join(sorted(functions.METHODS))}",
            )
        return self._build(entry, [base, *args], kwargs, node)

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """Evaluate a call's arguments; a starred tuple gives its own items."""
        args = self._items(node.args)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.fail(
                    UnsupportedError, "** in a call is outside the language", node, "name them"
                )
            kwargs[keyword.arg] = self.ev(keyword.value)
        return args, kwargs

    def _unsupported_call(self, target: Any, node: ast.Call) -> ProgramError:
        shown = self._shown(node.func)
        hints = {
            "print": "print the returned values, or use explain() and run history",
            "range": "range is for `for` loops; np.arange gives an array",
            "sum": "use np.sum",
            "sorted": "use np.sort",
            "enumerate": "use `for i in range(len(x))` and x[i]",
            "zip": "use `for i in range(n)` and index",
            "isinstance": "pass a flag argument instead",
        }
        hint = hints.get(getattr(target, "__name__", ""), "see the grammar page for what is")
        module = getattr(target, "__module__", "") or ""
        if module.startswith("numpy.random") or ".random." in shown:
            hint = "use a seeded generator: rng = np.random.default_rng(0)"
        return self.fail(UnsupportedError, f"a call of {shown} is outside the language", node, hint)

    # -- names from outside, inlined calls -----------------------------------------------

    def import_value(self, value: Any, name: str, node: ast.AST) -> Any:
        """Turn a value from outside the function into a traced value."""
        if value is None or isinstance(value, (bool, int, float, str, np.generic, np.dtype)):
            return value
        if isinstance(value, (types.ModuleType, type, types.BuiltinFunctionType, np.ufunc)):
            return value
        if isinstance(value, (types.FunctionType, np.finfo, np.iinfo)):
            return value
        if isinstance(value, (tuple, list)):
            kind = ListValue if isinstance(value, list) else tuple
            return kind(self.import_value(v, f"{name}[{i}]", node) for i, v in enumerate(value))
        if hasattr(value, "__lineal_source__") or _is_function(value):
            return value
        for label, held in self._hidden.items():
            if held is value:
                expr = self._inputs[label]
                return Arr(expr, frozenset([f"input:{label}"]))
        label = name if name not in self._inputs else f"{name}@{self.frame.source.name}"
        with self.at(node):
            try:
                spec = self._describe(value, label)
            except InputError as error:
                if hasattr(value, "shape"):  # an array that a program cannot take
                    error.span = error.span or self.span(node)
                    raise
                spec = None
        if spec is None:
            raise self.fail(UnsupportedError, *_unknown(value, name, node))
        self._hidden[label] = value
        return self.declare(spec, hidden=True)

    def inlinable(self, target: Any) -> Any:
        """Return the source of a function that is to be inlined, None for any other."""
        if hasattr(target, "__lineal_source__"):
            return target.__lineal_source__
        try:
            if target in functions.FUNCTIONS:
                return None
        except TypeError:
            return None
        if not isinstance(target, types.FunctionType):
            return None
        root = target.__module__.split(".")[0] if target.__module__ else ""
        if root in ("numpy", "scipy", "math", "dask", "pandas", "sklearn"):
            return None
        return capture(target)

    def inline(
        self, target: Source, args: list[Any], kwargs: dict[str, Any], node: ast.Call
    ) -> Any:
        """Trace a call's body in a frame of its own and return its value."""
        for frame in self.frames:
            if frame.source.tree is target.tree or (
                frame.source.function is target.function and target.function is not None
            ):
                raise self.fail(
                    UnsupportedError,
                    f"{target.name!r} calls itself",
                    node,
                    "write the recursion as a loop",
                )
        function = target.function
        try:
            bound = inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            raise self.fail(UnsupportedError, f"call of {target.name!r}: {error}", node) from None
        defaults = [
            p
            for p in inspect.signature(function).parameters.values()
            if p.name not in bound.arguments
        ]
        path = f"{self.frame.path}/{target.name}:{node.lineno}:{node.col_offset}"
        frame = Frame(target, Outside(function, self._bindings, self._log), path)
        frame.env.update(bound.arguments)
        for parameter in defaults:
            frame.env[parameter.name] = self.import_value(parameter.default, parameter.name, node)
        for name, value in frame.env.items():
            frame.env[name] = _mark(value, f"arg:{path}:{name}")
        self.frames.append(frame)
        try:
            return _unmark(self.body(target.tree), f"arg:{path}:")
        finally:
            self.frames.pop()


def unwrap_kwargs(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return keyword arguments as the builders take them."""
    return {k: unwrap(v) for k, v in kwargs.items()}


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _unknown(value: Any, name: str, node: ast.AST) -> tuple[str, ast.AST, str]:
    """Return message, place and remedy for an outside value that no program can use."""
    if isinstance(getattr(value, "__self__", None), np.random.RandomState):
        hint = "use a seeded generator: rng = np.random.default_rng(0)"
        return f"{name} is outside the language", node, hint
    if callable(value):
        known = sorted(e.name for e in functions.FUNCTIONS.values())
        near = difflib.get_close_matches(name, known, 3, 0.75)
        hint = "docs/grammar.md lists the functions there are"
        hint += f"; near: {', '.join(near)}" if near else "; write it with those"
        return f"{name} is outside the language", node, hint
    return (
        f"{name!r} is a {type(value).__name__}, which the language does not know",
        node,
        "pass arrays and numbers; methods of your own classes cannot be planned",
    )


def _mark(value: Any, place: str) -> Any:
    """Mark an argument's storage: the called function must not write into it."""
    if isinstance(value, Arr) and value.storage:
        return Arr(value.expr, value.storage | {place})
    if isinstance(value, tuple):
        return tuple(_mark(v, place) for v in value)
    return value


def _unmark(value: Any, prefix: str) -> Any:
    """Take a finished call's marks off its result."""
    if isinstance(value, Arr):
        return Arr(value.expr, frozenset(p for p in value.storage if not p.startswith(prefix)))
    if isinstance(value, tuple):
        return tuple(_unmark(v, prefix) for v in value)
    return value


def _is_function(value: Any) -> bool:
    try:
        return value in functions.FUNCTIONS
    except TypeError:
        return False
