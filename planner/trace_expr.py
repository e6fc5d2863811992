"""Traces the expressions of a program: syntax in, values out.

Every error leaves here with the user's line and operands attached.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import difflib
import types
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from lineal.errors import (
    DTypeError,
    ProgramError,
    ShapeError,
    Span,
    StaticValueError,
    UnboundNameError,
    UnsupportedError,
)
from lineal.planner import build, functions
from lineal.planner.bindings import (
    NOWHERE,
    Arr,
    Conflict,
    ListValue,
    Maybe,
    describe,
    leaves,
    storages,
    unwrap,
)
from lineal.planner.expr import Expr
from lineal.planner.fold import evaluate_scalar
from lineal.planner.infer import typed
from lineal.planner.known import Knowledge
from lineal.planner.liveness import Liveness
from lineal.planner.logical import Guard, Note, Notes
from lineal.planner.outside import Outside
from lineal.planner.source import Source
from lineal.planner.types import Sym

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
_LEAF_OPS = frozenset(["const", "input", "param", "undef"])
_STATIC_TYPES = (bool, int, float, str, type(None), np.dtype, slice, type(Ellipsis))
_UNSUPPORTED_EXPRESSIONS: dict[type[ast.expr], tuple[str, str]] = {
    ast.ListComp: ("a list comprehension", "use whole-array operations, or a `for` loop"),
    ast.SetComp: ("a set comprehension", "use whole-array operations"),
    ast.DictComp: ("a dict comprehension", "use separate names"),
    ast.GeneratorExp: ("a generator expression", "use whole-array operations"),
    ast.Lambda: ("a lambda", "write the expression in place, or call a named function"),
    ast.Dict: ("a dict", "use separate names or a tuple"),
    ast.Set: ("a set", "use a tuple"),
    ast.Await: ("await", "programs are plain functions"),
    ast.Yield: ("yield", "return all values at the end"),
    ast.YieldFrom: ("yield from", "return all values at the end"),
    ast.JoinedStr: ("an f-string", "use a plain string"),
    ast.NamedExpr: ("an assignment expression (:=)", "assign on a line of its own"),
    ast.Starred: ("a starred expression", "write the items out"),
}


_DEFAULT_HINTS: tuple[tuple[type[ProgramError], str], ...] = (
    (ShapeError, "slice, reshape or transpose an operand so that the shapes fit"),
    (DTypeError, "convert the operand with astype first"),
    (StaticValueError, "compute it from shapes, constants or integer arguments"),
    (UnboundNameError, "assign the name on every path before it is used"),
    (UnsupportedError, "write it with what the grammar page lists"),
)


def _default_hint(error: ProgramError) -> str:
    """Return what to try where the place of the error could not say it better."""
    for kind, hint in _DEFAULT_HINTS:
        if isinstance(error, kind):
            return hint
    return "NumPy raises here too; change the values"


class Frame:
    """One function being traced: its source, its names, its liveness."""

    def __init__(self, source: Source, outside: Outside, path: str) -> None:
        self.source = source
        self.outside = outside
        self.path = path
        self.env: dict[str, Any] = {}
        self.live = Liveness(source.tree.body)
        self.locals = frozenset(
            n.id
            for s in source.tree.body
            for n in ast.walk(s)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        )


class ExpressionTracer(Knowledge, build.Context, ABC):
    """Evaluates syntax to traced values within the current frame."""

    def __init__(self) -> None:
        self.notes: Notes = {}
        self.guards: dict[Guard, None] = {}
        self.scalars: dict[Expr, Any] = {}
        self.warnings: dict[tuple[str, Span], None] = {}
        self.known: list[tuple[Expr, bool]] = []
        self.frames: list[Frame] = []
        self.state: dict[str, Expr] = {}
        self._at: ast.AST | None = None
        self._fresh = 0

    # -- places and errors ---------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        """The function that is being traced."""
        return self.frames[-1]

    def span(self, node: ast.AST) -> Span:
        """Return `node`'s place in the user's file."""
        return self.frame.source.span(node)

    @contextlib.contextmanager
    def at(self, node: ast.AST, operands: dict[str, Any] | None = None) -> Iterator[None]:
        """Attach `node`'s place (and operands) to any ProgramError raised inside."""
        before, self._at = self._at, node
        try:
            yield
        except ProgramError as error:
            if error.span is None:
                error.span = self.span(node)
                error.hint = error.hint or _default_hint(error)
                if operands and not error.operands:
                    error.operands = tuple(f"{k}: {describe(v)}" for k, v in operands.items())
            raise
        finally:
            self._at = before

    def fail(
        self, kind: type[ProgramError], message: str, node: ast.AST, hint: str = ""
    ) -> ProgramError:
        """Return an error with `node`'s place."""
        error = kind(message, hint=hint, span=self.span(node))
        error.hint = error.hint or _default_hint(error)
        return error

    def warn(self, message: str) -> None:
        """Keep a warning for the place that is being built."""
        if self._at is not None:
            self.warnings.setdefault((message, self.span(self._at)))

    def fresh(self) -> frozenset[str]:
        """Return storage that nothing shares."""
        self._fresh += 1
        return frozenset([f"s{self._fresh}"])

    def note(self, expr: Expr, node: ast.AST, name: str = "") -> None:
        """Record `node`'s place, and the user's name, for an expression."""
        span = self.span(node)
        self.notes[expr] = self.notes.get(expr, Note()).merged(Note((span,), name))
        # What was built on the way has the same place: an error in it names the line too.
        stack = list(expr.inputs)
        while stack:
            part = stack.pop()
            if part not in self.notes and part.op not in _LEAF_OPS:
                self.notes[part] = Note((span,))
                stack.extend(part.inputs)

    # -- static values -------------------------------------------------------------------

    def static(self, value: object, what: str) -> Any:
        """Return a value that must be known when the plan is made."""
        if isinstance(value, Arr):
            value = value.expr
        if isinstance(value, Expr):
            found = self.try_static(value)
            if found is None:
                try:
                    evaluate_scalar(value, self.scalars, strict=True)
                except (ArithmeticError, ValueError) as error:
                    raise ProgramError(
                        f"{what}: {type(error).__name__}: {error}",
                        hint="NumPy raises here too; change the values",
                    ) from error
                raise StaticValueError(
                    f"{what} must be known when the plan is made, and here it depends on data "
                    "or on a loop",
                    hint="compute it from shapes, constants or integer arguments",
                )
            return found[0]
        return value

    def try_static(self, expr: Expr) -> tuple[Any] | None:
        """Return the value of an expression over scalar arguments, recording it as a guard."""
        if expr.op == "const":
            return (expr.attr("value"),)
        found = evaluate_scalar(expr, self.scalars)
        if found is not None:
            self.guards.setdefault(Guard(expr, found[0]))
        return found

    # -- expressions ---------------------------------------------------------------------

    def ev(self, node: ast.expr) -> Any:
        """Evaluate one expression."""
        method = getattr(self, f"_ev_{type(node).__name__}", None)
        if method is None:
            what, hint = _UNSUPPORTED_EXPRESSIONS.get(
                type(node), (f"the expression {type(node).__name__}", "see the grammar page")
            )
            raise self.fail(UnsupportedError, f"{what} is outside the language", node, hint)
        return method(node)

    def wrap(self, result: Any, node: ast.AST, shared: frozenset[str] = NOWHERE) -> Any:
        """Return a builder's result as a traced value; `shared` is storage that views keep."""
        if isinstance(result, Expr):
            type_ = typed(result)
            self.note(result, node)
            if type_.kind != "array" or type_.ndim == 0:
                return Arr(result)
            return Arr(result, shared or self.fresh())
        if isinstance(result, tuple):
            return tuple(self.wrap(r, node, shared) for r in result)
        return result

    def _ev_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, complex):
            raise self.fail(
                DTypeError,
                "complex numbers are not supported",
                node,
                "keep real and imaginary parts in two arrays",
            )
        if isinstance(node.value, bytes):
            raise self.fail(UnsupportedError, "bytes are outside the language", node)
        return node.value

    def _ev_Name(self, node: ast.Name) -> Any:
        env = self.frame.env
        if node.id in env:
            return self._bound(env[node.id], node)
        if node.id in self.frame.locals:
            raise self.fail(
                UnboundNameError,
                f"{node.id!r} is used before it is assigned",
                node,
                f"assign {node.id} first",
            )
        return self._outside(node.id, node)

    def _bound(self, value: Any, node: ast.Name) -> Any:
        if isinstance(value, Conflict):
            raise self.fail(
                ShapeError,
                f"{node.id!r} {value.message}",
                node,
                "give it the same shape and dtype on every path",
            )
        if isinstance(value, Maybe):
            for condition, truth in value.guards:
                if not self.holds(condition, truth):
                    raise self.fail(
                        UnboundNameError,
                        f"{node.id!r} may be unbound here: it is assigned only on some paths",
                        node,
                        f"assign {node.id} before the loop or branch",
                    )
            return value.value
        return value

    def holds(self, condition: Expr, truth: bool) -> bool:
        """Tell whether `condition` is known to be `truth` where we are."""
        decided = self.decided(condition)
        if decided is not None:
            return decided is truth
        found = self.try_static(condition)
        return found is not None and bool(found[0]) is truth

    def _outside(self, name: str, node: ast.AST) -> Any:
        found = self.frame.outside.lookup(name)
        if found is None:
            if hasattr(builtins, name):
                return getattr(builtins, name)
            raise self.fail(
                UnboundNameError, f"the name {name!r} is not defined", node, "define or import it"
            )
        return self.import_value(found[0], name, node)

    @abstractmethod
    def import_value(self, value: Any, name: str, node: ast.AST) -> Any:
        """Turn a value from outside the function into a traced value."""

    def _ev_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self._items(node.elts))

    def _ev_List(self, node: ast.List) -> Any:
        return ListValue(self._items(node.elts))

    def _items(self, nodes: list[ast.expr]) -> list[Any]:
        """Evaluate items in order; a starred tuple gives its own items."""
        found: list[Any] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                found.append(self.ev(node))
                continue
            value = self.ev(node.value)
            if not isinstance(value, tuple):
                raise self.fail(
                    UnsupportedError, "* of something that is no tuple", node, "index it"
                )
            found.extend(value)
        return found

    def _ev_Slice(self, node: ast.Slice) -> Any:
        return slice(*(p and self.ev(p) for p in (node.lower, node.upper, node.step)))

    def _ev_BinOp(self, node: ast.BinOp) -> Any:
        # Left spines are walked in a loop: a sum of thousands of terms is no deeper than one.
        spine: list[ast.BinOp] = []
        at: ast.expr = node
        while isinstance(at, ast.BinOp):
            spine.append(at)
            at = at.left
        left, left_node = self.ev(at), at
        for link in reversed(spine):
            right = self.ev(link.right)
            left = self._binary(link, left, left_node, right)
            left_node = link
        return left

    def _binary(self, node: ast.BinOp, left: Any, left_node: ast.expr, right: Any) -> Any:
        name = _BINARY.get(type(node.op))
        operands = {self._shown(left_node): left, self._shown(node.right): right}
        with self.at(node, operands):
            if name is None:
                raise UnsupportedError(
                    f"the operator {type(node.op).__name__} is outside the language",
                    hint="use + - * / // % ** @ & | ^",
                )
            if isinstance(left, tuple) or isinstance(right, tuple):
                return self._tuple_operator(name, left, right)
            return self.wrap(build.binary(self, name, unwrap(left), unwrap(right)), node)

    def _tuple_operator(self, name: str, left: Any, right: Any) -> Any:
        if name == "add" and isinstance(left, tuple) and isinstance(right, tuple):
            return left + right
        for items, times in ((left, right), (right, left)):
            if name == "mul" and isinstance(items, tuple) and not isinstance(times, tuple):
                count = self.static(times, "the number of repetitions")
                if isinstance(count, int):
                    return type(items)(list(items) * count)
        raise UnsupportedError(
            "arithmetic on a list or tuple", hint="make an array of it: np.array([...])"
        )

    def _shown(self, node: ast.AST) -> str:
        return self.frame.source.segment(node)

    def _ev_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.ev(node.operand)
        with self.at(node, {self._shown(node.operand): value}):
            if isinstance(node.op, ast.Not):
                return self.wrap(self.negate(self.truth(value)), node)
            name = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}[type(node.op)]
            return self.wrap(build.unary(self, name, unwrap(value)), node)

    def truth(self, value: Any) -> Any:
        """Return bool(value): a Python bool or a node."""
        if isinstance(value, Arr):
            return build.truth(value.expr)
        return bool(value)

    def negate(self, condition: Any) -> Any:
        """Return `not condition`."""
        if isinstance(condition, Expr):
            return build.apply("py.not", condition)
        return not condition

    @contextlib.contextmanager
    def no_draws(self, node: ast.AST, where: str) -> Iterator[None]:
        """Refuse random draws inside: they would happen whether Python reaches them or not."""
        before = dict(self.state)
        yield
        if any(self.state.get(name) is not state for name, state in before.items()):
            raise self.fail(
                UnsupportedError,
                f"a random draw in {where} is outside the language",
                node,
                "draw into a name, on a line of its own",
            )

    def _ev_BoolOp(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)
        values: list[tuple[Any, ast.expr]] = []
        known = len(self.known)
        for position, part in enumerate(node.values):
            if position:
                with self.no_draws(part, "a part of `and` or `or` that may be skipped"):
                    value = self.ev(part)
            else:
                value = self.ev(part)
            values.append((value, part))
            with self.at(part, {self._shown(part): value}):
                condition = self.truth(value)
            if not isinstance(condition, Expr) and condition is not is_and:
                break  # short circuit at plan time
            if isinstance(condition, Expr):
                self.assume(condition, is_and)
        del self.known[known:]
        result, part = values.pop()
        while values:
            left, part = values.pop()
            with self.at(node):
                condition = self.truth(left)
                if not isinstance(condition, Expr):
                    continue
                then, other = (result, left) if is_and else (left, result)
                result = self._choose(condition, then, other, node)
        return result

    def _choose(self, condition: Expr, then: Any, other: Any, node: ast.AST) -> Any:
        """Return `then if condition else other` for single values."""
        weak = [build.is_weak(unwrap(v)) for v in (then, other)]
        pair = [
            build.lift(build.truth(unwrap(v)))
            if self._boolean(then) and self._boolean(other) and len(set(weak)) == 2
            else build.lift(unwrap(v))
            for v in (then, other)
        ]
        result = build.choose_scalar(self, condition, pair[0], pair[1])
        return self.wrap(result, node, storages((then, other)))

    def _boolean(self, value: Any) -> bool:
        if isinstance(value, Arr):
            type_ = typed(value.expr)
            return type_.dtype.kind == "b" and type_.ndim == 0
        return isinstance(value, bool)

    def _ev_Compare(self, node: ast.Compare) -> Any:
        values = [self.ev(node.left)]
        parts: list[Any] = []
        left_node = node.left
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            if len(values) > 1:
                with self.no_draws(right_node, "a part of a comparison that may be skipped"):
                    values.append(self.ev(right_node))
            else:
                values.append(self.ev(right_node))
            left, right = values[-2:]
            with self.at(node, {self._shown(left_node): left, self._shown(right_node): right}):
                parts.append(self._compare(op, left, right, node))
            left_node = right_node
        result = parts[-1]
        for part in reversed(parts[:-1]):
            with self.at(node):
                condition = self.truth(part)
                if isinstance(condition, Expr):
                    result = self._choose(condition, result, part, node)
                elif not condition:
                    result = False
        return result

    def _compare(self, op: ast.cmpop, left: Any, right: Any, node: ast.AST) -> Any:
        if isinstance(op, (ast.Is, ast.IsNot)):
            if not any(isinstance(v, (bool, type(None))) for v in (left, right)):
                raise UnsupportedError("`is` between values", hint="use == for numbers")
            outcome = left is right
            return outcome if isinstance(op, ast.Is) else not outcome
        if isinstance(op, (ast.In, ast.NotIn)):
            if any(isinstance(leaf, Arr) for leaf in leaves((left, right))):
                raise UnsupportedError("`in` on arrays", hint="use (A == x).any()")
            outcome = left in right
            return outcome if isinstance(op, ast.In) else not outcome
        name = _COMPARE[type(op)]
        static = not isinstance(left, Arr) and not isinstance(right, Arr)
        if static and (isinstance(left, (tuple, str, np.dtype, type)) or left is None):
            return {"eq": left == right, "ne": left != right}[name]
        if right is None or left is None:
            raise UnsupportedError("a comparison with None", hint="use `is None`")
        return self.wrap(build.binary(self, name, unwrap(left), unwrap(right)), node)

    def _ev_IfExp(self, node: ast.IfExp) -> Any:
        condition = self.condition(node.test)
        if not isinstance(condition, Expr):
            return self.ev(node.body if condition else node.orelse)
        known = len(self.known)
        with self.no_draws(node, "one side of a conditional expression"):
            self.assume(condition, True)
            then = self.ev(node.body)
            del self.known[known:]
            self.assume(condition, False)
            other = self.ev(node.orelse)
        del self.known[known:]
        with self.at(node, {self._shown(node.body): then, self._shown(node.orelse): other}):
            if isinstance(then, tuple) or isinstance(other, tuple):
                raise UnsupportedError("a conditional tuple", hint="use an if statement")
            return self._choose(condition, then, other, node)

    def condition(self, node: ast.expr) -> Any:
        """Evaluate a test: a Python bool where scalar arguments decide it, else a node."""
        value = self.ev(node)
        with self.at(node, {self._shown(node): value}):
            condition = self.truth(value)
            if isinstance(condition, Expr):
                decided = self.decided(condition)
                if decided is not None:
                    return decided
                found = self.try_static(condition)
                return condition if found is None else bool(found[0])
            return condition

    # -- attributes, indexing ------------------------------------------------------------

    def _ev_Attribute(self, node: ast.Attribute) -> Any:
        base = self.ev(node.value)
        name = node.attr
        if isinstance(base, Arr):
            with self.at(node, {self._shown(node.value): base}):
                return self._array_attribute(base, name, node)
        if isinstance(base, types.ModuleType):
            if not hasattr(base, name):
                close = difflib.get_close_matches(name, dir(base), 3)
                raise self.fail(
                    UnboundNameError,
                    f"module {base.__name__!r} has no {name!r}",
                    node,
                    f"did you mean {' or '.join(close)}?" if close else "check the spelling",
                )
            self.frame.outside.record_attribute(base, name)
            return self.import_value(getattr(base, name), self._shown(node), node)
        if isinstance(base, (np.dtype, np.finfo, np.iinfo)):
            found = getattr(base, name, None)
            if isinstance(found, (int, float, str, np.generic)):
                return found
        raise self.fail(
            UnsupportedError,
            f"the attribute {name!r} of {describe(base)} is outside the language",
            node,
            "pass an array; la.read(path) reads a file"
            if isinstance(base, (str, type(None)))
            else "use arrays, numbers and functions of modules",
        )

    def _array_attribute(self, base: Arr, name: str, node: ast.AST) -> Any:
        type_ = typed(base.expr)
        if name == "T":
            if type_.ndim < 2:
                return base
            return self.wrap(build.apply("transpose", base.expr), node, base.storage)
        if name == "mT":
            result = functions.FUNCTIONS[np.matrix_transpose].fn(self, base.expr)
            return self.wrap(result, node, base.storage)
        if name == "shape":
            return tuple(self._dim(base.expr, axis) for axis in range(type_.ndim))
        if name == "ndim":
            return type_.ndim
        if name == "size":
            total: Any = 1
            for axis in range(type_.ndim):
                total = build.binary(self, "mul", total, unwrap(self._dim(base.expr, axis)))
            return Arr(total) if isinstance(total, Expr) else total
        if name == "dtype":
            return type_.dtype
        if name in functions.METHODS:
            raise UnsupportedError(
                f"the method {name!r} without a call", hint=f"write .{name}(...)"
            )
        raise UnsupportedError(
            f"the array attribute {name!r} is outside the language",
            hint="supported: T, mT, shape, ndim, size, dtype and the methods of the grammar page",
        )

    def _dim(self, expr: Expr, axis: int) -> Any:
        """Return a size: a number, or a run-time integer where only the run will know it."""
        size = typed(expr).shape[axis]
        return Arr(build.apply("dim", expr, axis=axis)) if isinstance(size, Sym) else size

    def _ev_Subscript(self, node: ast.Subscript) -> Any:
        base = self.ev(node.value)
        index = self.ev(node.slice)
        if isinstance(base, tuple):
            with self.at(node):
                if isinstance(index, slice):
                    return base[index]
                if isinstance(index, tuple):
                    raise UnsupportedError("a tuple index into a tuple")
                at = self.static(index, "an index into a tuple")
                if not isinstance(at, (int, np.integer)):
                    raise DTypeError(f"a tuple index must be an integer, not {at!r}")
                if not -len(base) <= at < len(base):
                    raise ShapeError(f"index {at} is out of range for {len(base)} item(s)")
                return base[at]
        if not isinstance(base, Arr):
            raise self.fail(UnsupportedError, f"{describe(base)} cannot be indexed", node)
        with self.at(node, {self._shown(node.value): base, self._shown(node.slice): index}):
            result = build.getitem(self, base.expr, unwrap(index))
            view = result.op != "getitem" or build.is_view(result.attr("spec"))  # type: ignore[arg-type]
            return self.wrap(result, node, base.storage if view else NOWHERE)
