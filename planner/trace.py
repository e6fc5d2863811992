"""Traces a program: syntax and input descriptions in, logical program out.

Statements are executed symbolically over an environment of names.  Loops are traced once (a
body whose types change in its first iteration is peeled), branches are traced on both sides and
merged, `break`, `continue` and early `return` become flags that guard what follows.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lineal.errors import (
    AliasError,
    DTypeError,
    InputError,
    ShapeError,
    UnboundNameError,
    UnsupportedError,
)
from lineal.planner import build, functions
from lineal.planner.bindings import (
    Arr,
    Conflict,
    ListValue,
    Maybe,
    Rng,
    leaves,
    same,
    storages,
    unwrap,
)
from lineal.planner.expr import Expr, make
from lineal.planner.infer import RNG, typed
from lineal.planner.liveness import contains, reads
from lineal.planner.logical import Leaf, Logical, Note, Tree
from lineal.planner.merge import merge_values
from lineal.planner.outside import Outside, Read
from lineal.planner.source import Source, capture
from lineal.planner.trace_expr import ExpressionTracer, Frame
from lineal.planner.trace_loop import LoopTracer
from lineal.planner.types import Facts, Type

_LEAVES = (ast.Break, ast.Continue, ast.Return)
_NESTED = 16  # branches that may nest before the rest of a chain starts a new branch
_STATEMENT_HINTS: dict[type[ast.stmt], tuple[str, str]] = {
    ast.With: ("with", "do it outside the program"),
    ast.Try: ("try", "test the condition with if"),
    ast.Raise: ("raise", "use assert"),
    ast.FunctionDef: ("a nested function", "define it at module level; it will be inlined"),
    ast.ClassDef: ("a class", "pass arrays and numbers"),
    ast.Import: ("import", "import at the top of the file"),
    ast.ImportFrom: ("import", "import at the top of the file"),
    ast.Global: ("global", "return the value instead"),
    ast.Nonlocal: ("nonlocal", "return the value instead"),
    ast.Delete: ("del", "Lineal frees values at their last use; drop the line"),
    ast.Match: ("match", "use if and elif"),
    ast.AsyncFor: ("async for", "use for"),
    ast.AsyncWith: ("async with", "do it outside the program"),
}


_UNKNOWN = Facts()


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One input as the planner sees it: its type and facts, and a scalar's value."""

    name: str
    type: Type
    facts: Facts = _UNKNOWN
    value: Any = None


@dataclass(frozen=True)
class Traced:
    """The logical program and what tracing has learned about the outside.

    `hidden` maps the names of hidden inputs to the outside objects; `log` records every
    outside read (see planner.outside).
    """

    logical: Logical
    hidden: dict[str, Any]
    log: dict[str, Read]


Describe = Callable[[Any, str], InputSpec | None]


def trace(
    source: Source,
    arguments: Mapping[str, Any],
    *,
    bindings: Mapping[str, Any] | None = None,
    describe: Describe = lambda value, name: None,
) -> Traced:
    """Trace the function of `source` for `arguments`.

    `arguments` maps parameter names to InputSpec (arrays and numbers) or to values that are
    static (None, bool, str, tuples).  `bindings` are outside names of an unpickled program,
    `describe` recognises outside arrays.
    """
    tracer = Tracer(describe)
    return tracer.run(source, arguments, bindings or {})


class Tracer(LoopTracer, ExpressionTracer):
    """One trace of one program."""

    def __init__(self, describe: Describe) -> None:
        super().__init__()
        self._describe = describe
        self._bindings: Mapping[str, Any] = {}
        self._inputs: dict[str, Expr] = {}
        self._facts: dict[str, Facts] = {}
        self._hidden: dict[str, Any] = {}
        self._log: dict[str, Read] = {}

    # -- the whole program ---------------------------------------------------------------

    def run(
        self, source: Source, arguments: Mapping[str, Any], bindings: Mapping[str, Any]
    ) -> Traced:
        """Trace the whole program."""
        self._bindings = bindings
        self.state["@token"] = make("const", value=True)
        frame = Frame(source, Outside(source.function, bindings, self._log), source.name)
        self.frames.append(frame)
        for name, value in arguments.items():
            if isinstance(value, InputSpec):
                frame.env[name] = self.declare(value, hidden=False)
            else:
                frame.env[name] = self._static_argument(value)
        result = self.body(source.tree)
        self.frames.pop()
        outputs: list[Expr] = []
        tree = self._tree(result, outputs, source)
        effects = 0 if self.state["@token"].op == "const" else 1
        if effects:
            outputs.append(self.state["@token"])
        visible = [e for n, e in self._inputs.items() if n not in self._hidden]
        hidden = [self._inputs[n] for n in self._hidden]
        logical = Logical(
            name=source.name,
            inputs=tuple(visible + hidden),
            outputs=tuple(outputs),
            tree=tree,
            effects=effects,
            notes=self.notes,
            facts=self._facts,
            guards=tuple(self.guards),
            scalars={str(e.attr("name")): v for e, v in self.scalars.items()},
            warnings=tuple(self.warnings),
        )
        return Traced(logical, self._hidden, self._log)

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

    def _static_argument(self, value: Any) -> Any:
        return (
            tuple(map(self._static_argument, value)) if isinstance(value, (tuple, list)) else value
        )

    def _tree(self, value: Any, outputs: list[Expr], source: Source) -> Tree:
        if isinstance(value, tuple):
            return tuple(self._tree(v, outputs, source) for v in value)
        if isinstance(value, Arr):
            if value.expr.op == "const":
                return Leaf(value=value.expr.attr("value"))
            outputs.append(value.expr)
            return Leaf(output=len(outputs) - 1)
        if isinstance(value, Rng):
            raise UnsupportedError(
                f"{source.name!r} returns a random generator",
                hint="return the drawn values",
                span=source.span(_last_return(source.tree)),
            )
        if value is None or isinstance(value, (bool, int, float, str, np.generic, np.dtype)):
            return Leaf(value=value)
        raise UnsupportedError(
            f"{source.name!r} returns a value of type {type(value).__name__}",
            hint="return arrays, numbers and tuples of them",
            span=source.span(_last_return(source.tree)),
        )

    def body(self, tree: ast.FunctionDef) -> Any:
        """Run a function body in the current frame and return its value."""
        self.frame.env["@exit"] = False
        self.block(tree.body)
        env = self.frame.env
        found = env.get("@return")
        if found is None and "@return" not in env:
            raise self.fail(
                UnsupportedError, f"{tree.name!r} returns nothing", tree, "return a value"
            )
        if isinstance(found, Maybe):
            raise self.fail(
                UnboundNameError,
                f"{tree.name!r} returns a value only on some paths",
                tree,
                "return a value at the end",
            )
        if isinstance(found, Conflict):
            raise self.fail(ShapeError, f"the returned value {found.message}", tree)
        return found

    # -- statements ----------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> None:
        """Run statements in order; what follows a possible exit runs under its flag.

        The rest of a block nests one level deeper at each possible exit, so it is cut into
        parts of `_NESTED` exits: after a part, the flag stands for all exits before it.
        """
        position = 0
        while position < len(statements):
            statement = statements[position]
            position += 1
            self.statement(statement)
            if not contains(statement, _LEAVES):
                continue
            while position < len(statements):
                flag = self.frame.env.get("@exit", False)
                if flag is False:
                    break
                if flag is True:
                    return
                part = self._part(statements[position:])
                position += len(part)
                live = self.frame.live.after[id(part[-1])]
                running = build.apply("py.not", flag.expr)
                self.fork(
                    running, partial(self._go_on, part), self._gone, live, part[0]
                )

    def _go_on(self, part: list[ast.stmt]) -> None:
        env = self.frame.env
        env["@exit"] = False
        if "@break" in env:
            env["@break"] = False
        self.block(part)

    def _gone(self) -> None:
        self.frame.env["@exit"] = True

    @staticmethod
    def _part(rest: list[ast.stmt]) -> list[ast.stmt]:
        exits = 0
        for count, statement in enumerate(rest, 1):
            exits += contains(statement, _LEAVES)
            if exits == _NESTED:
                return rest[:count]
        return rest

    def statement(self, s: ast.stmt) -> None:
        """Trace one statement."""
        method = getattr(self, f"_do_{type(s).__name__}", None)
        if method is None:
            what, hint = _STATEMENT_HINTS.get(type(s), (type(s).__name__, "see the grammar page"))
            raise self.fail(UnsupportedError, f"`{what}` is outside the language", s, hint)
        method(s)

    def _do_Pass(self, s: ast.Pass) -> None:
        return

    def _do_Expr(self, s: ast.Expr) -> None:
        if isinstance(s.value, ast.Constant):
            return
        self.ev(s.value)

    def _do_Assign(self, s: ast.Assign) -> None:
        value = self.ev(s.value)
        for target in s.targets:
            self.assign(target, value, s)

    def _do_AnnAssign(self, s: ast.AnnAssign) -> None:
        if s.value is not None:
            self.assign(s.target, self.ev(s.value), s)

    def assign(self, target: ast.expr, value: Any, s: ast.stmt) -> None:
        """Bind `value` to a target: a name, a tuple of targets, or a part of an array."""
        if isinstance(target, ast.Name):
            if isinstance(value, Arr) and value.expr.op not in ("input", "param", "const"):
                self.note(value.expr, s, target.id)
            self.frame.env[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            if not isinstance(value, tuple):
                raise self.fail(
                    UnsupportedError,
                    "unpacking of something that is no tuple",
                    target,
                    "index it: a = x[0]",
                )
            if len(value) != len(target.elts):
                raise self.fail(
                    ShapeError,
                    f"{len(value)} value(s) to unpack into {len(target.elts)} name(s)",
                    target,
                )
            for part, item in zip(target.elts, value, strict=True):
                self.assign(part, item, s)
        elif isinstance(target, ast.Subscript):
            self._assign_item(target, value, s)
        else:
            raise self.fail(
                UnsupportedError,
                "assignment to an attribute is outside the language",
                target,
                "assign to a name",
            )

    def _assign_item(self, target: ast.Subscript, value: Any, s: ast.stmt) -> None:
        if not isinstance(target.value, ast.Name):
            raise self.fail(
                UnsupportedError,
                "assignment into a part of an expression",
                target,
                "give the array a name first",
            )
        name = target.value.id
        base = self.ev(target.value)
        index = self.ev(target.slice)
        if not isinstance(base, Arr) or not typed(base.expr).ndim:
            raise self.fail(
                UnsupportedError,
                f"{name!r} is no array and cannot be assigned into",
                target,
                "allocate it with np.zeros first",
            )
        with self.at(target, {name: base, "value": value}):
            self.check_alias(name, base, s, f"{name}[...] = ...")
            if isinstance(value, tuple):
                value = Arr(build.literal(self, unwrap(value)))
            result = build.setitem(self, base.expr, unwrap(index), unwrap(value))
            self.note(result, s, name)
            self.frame.env[name] = Arr(result, base.storage)

    def _do_AugAssign(self, s: ast.AugAssign) -> None:
        load: ast.expr
        if isinstance(s.target, ast.Name):
            load = ast.copy_location(ast.Name(s.target.id, ast.Load()), s.target)
        elif isinstance(s.target, ast.Subscript):
            load = ast.copy_location(
                ast.Subscript(s.target.value, s.target.slice, ast.Load()), s.target
            )
        else:
            raise self.fail(
                UnsupportedError, "assignment to an attribute is outside the language", s.target
            )
        if isinstance(load, ast.Subscript):
            # The index is evaluated for reading and again for writing.
            with self.no_draws(load, "the index of an augmented assignment"):
                left = self.ev(load)
        else:
            left = self.ev(load)
        right = self.ev(s.value)
        result = self._binary(
            ast.copy_location(ast.BinOp(load, s.op, s.value), s), left, load, right
        )
        if isinstance(s.target, ast.Name) and isinstance(left, Arr) and typed(left.expr).ndim:
            name = s.target.id
            with self.at(s, {name: left, self._shown(s.value): right}):
                self.check_alias(name, left, s, f"{name} {_symbol(s.op)}= ...")
                result = Arr(self._in_place(left.expr, unwrap(result)), left.storage)
        elif isinstance(left, Arr) and typed(left.expr).ndim:
            with self.at(s, {self._shown(s.target): left, self._shown(s.value): right}):
                result = Arr(self._in_place(left.expr, unwrap(result)), left.storage)
        self.assign(s.target, result, s)

    def _in_place(self, old: Expr, new: Expr) -> Expr:
        before, after = typed(old), typed(new)
        if after.shape != before.shape:
            raise ShapeError(
                f"an in-place operation cannot change the shape from {before} to {after}",
                hint="write x = x + ... instead",
            )
        if after.dtype == before.dtype:
            return new
        if not np.can_cast(after.dtype, before.dtype, "same_kind"):
            raise DTypeError(
                f"an in-place operation cannot store {after.dtype} into {before.dtype}",
                hint="write x = x + ... instead, or convert x with astype first",
            )
        return build.apply("cast", new, dtype=before.dtype.name)

    def check_alias(self, name: str, value: Arr, s: ast.stmt, shown: str) -> None:
        """Raise AliasError if an in-place update of `name` would be seen elsewhere."""
        for place in sorted(value.storage):
            if place.startswith(("input:", "arg:")):
                owner = place.rpartition(":")[2]
                raise AliasError(
                    f"{shown} would write into the input {owner!r}",
                    hint=f"copy it first: {name} = {name}.copy()",
                )
        live = self.frame.live.after[id(s)]
        for other, bound in sorted(self.frame.env.items()):
            if other == name or other not in live:
                continue
            held = bound.value if isinstance(bound, Maybe) else bound
            if storages(held) & value.storage:
                raise AliasError(
                    f"{shown} would also change {other!r}, which shares its storage",
                    hint=f"copy one of them: {other} = {other}.copy()",
                )

    def _do_Assert(self, s: ast.Assert) -> None:
        message: Any = ""
        if s.msg is not None:
            if not isinstance(s.msg, ast.Constant):
                raise self.fail(
                    UnsupportedError,
                    "an assert message that is computed",
                    s.msg,
                    "use a plain string",
                )
            message = s.msg.value
        condition = self.condition(s.test)
        if condition is True:
            return
        if condition is False:
            condition = make("const", value=False)
        token = build.apply(
            "assert_", condition, self.state["@token"], message=str(message)
        )
        self.note(token, s)
        self.state["@token"] = token
        if condition.op != "const":
            self.assume(condition, True)

    def _do_Return(self, s: ast.Return) -> None:
        if s.value is None:
            raise self.fail(UnsupportedError, "return without a value", s, "return a value")
        self.frame.env["@return"] = self.ev(s.value)
        self.frame.env["@exit"] = True

    def _do_If(self, s: ast.If) -> None:
        self._chain(s, self.frame.live.after[id(s)])

    def _chain(self, first: ast.If, live: frozenset[str]) -> None:
        """Take an elif chain link by link, then merge from the last link back.

        Each link nests in the one before, so after `_NESTED` links the others go into a branch
        of their own, under the condition that none was taken.
        """
        mark = f"@taken:{first.lineno}"
        start = len(self.known)
        taken: list[tuple[Expr, dict[str, Any], dict[str, Expr], ast.If]] = []
        link = first
        rest: ast.If | None = None
        self.frame.env[mark] = False
        while True:
            condition = self.condition(link.test)
            if isinstance(condition, Expr):
                env, state = dict(self.frame.env), dict(self.state)
                known = len(self.known)
                self.assume(condition, True)
                self.frame.env[mark] = True
                self.block(link.body)
                del self.known[known:]
                taken.append((condition, self.frame.env, self.state, link))
                self.frame.env, self.state = env, state
                self.assume(condition, False)
            elif condition:
                self.block(link.body)
                break
            if len(link.orelse) == 1 and isinstance(link.orelse[0], ast.If):
                link = link.orelse[0]
                if len(taken) == _NESTED:
                    rest = link
                    break
                continue
            self.block(link.orelse)
            break
        del self.known[start:]
        if rest is not None:
            live |= reads(rest)
        for condition, env, state, place in reversed(taken):
            self.merge(condition, env, state, live, place)
        done = self.frame.env.pop(mark)
        if rest is not None:
            none = build.apply("py.not", unwrap(done))
            self.fork(none, partial(self._chain, rest, live), lambda: None, live, rest)

    def fork(
        self,
        condition: Expr,
        then: Callable[[], None],
        other: Callable[[], None],
        live: frozenset[str],
        place: ast.AST,
    ) -> None:
        """Run `then` where `condition` holds and `other` where not, and merge what they leave."""
        start = len(self.known)
        env, state = dict(self.frame.env), dict(self.state)
        self.assume(condition, True)
        then()
        del self.known[start:]
        then_env, then_state = self.frame.env, self.state
        self.frame.env, self.state = env, state
        self.assume(condition, False)
        other()
        del self.known[start:]
        self.merge(condition, then_env, then_state, live, place)

    def merge(
        self,
        condition: Expr,
        env: dict[str, Any],
        state: dict[str, Expr],
        live: frozenset[str],
        place: ast.AST,
    ) -> None:
        """Merge `env` (taken where `condition` holds) into the current environment."""
        current = self.frame.env
        names = [n for n in dict.fromkeys([*env, *current]) if n in live or n.startswith("@")]
        pairs = {n: (env.get(n, _MISSING), current.get(n, _MISSING)) for n in names}
        with self.at(place):
            merged = merge_values(self, condition, pairs, _MISSING)
        self.frame.env = merged
        states = {n: (Arr(state[n]), Arr(self.state[n])) for n in self.state if n in state}
        for n in state:
            self.state.setdefault(n, state[n])
        changed = {n: p for n, p in states.items() if not same(*p)}
        if changed:
            found = merge_values(self, condition, changed, _MISSING)
            for n, value in found.items():
                self.state[n] = value.expr

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
        """Return the source of a function that is inlined where it is called, None for others."""
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
        """Trace a call of another function in a frame of its own."""
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


_MISSING = object()


def _last_return(tree: ast.FunctionDef) -> ast.AST:
    """Return the statement that an error about the returned value points at."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Return)]
    return max(found, key=lambda node: node.lineno, default=tree)


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


def _symbol(op: ast.operator) -> str:
    return {
        ast.Add: "+",
        ast.Sub: "-",
        ast.Mult: "*",
        ast.Div: "/",
        ast.FloorDiv: "//",
        ast.Mod: "%",
        ast.Pow: "**",
        ast.MatMult: "@",
        ast.BitAnd: "&",
        ast.BitOr: "|",
        ast.BitXor: "^",
    }.get(type(op), "?")


__all__ = ["RNG", "InputSpec", "Traced", "Tracer", "leaves", "trace"]
