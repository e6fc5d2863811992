"""Traces loops: one pass over the body gives the region of a `loop` node.

The body is traced with a parameter for every carried value.  If a carried scalar's type is not
yet stable, the wider type is tried; if the body's own types change with it, the first iteration
is peeled off, so that every value keeps the type it has under NumPy.
"""

from __future__ import annotations

import ast
import builtins
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from lineal.errors import DTypeError, ProgramError, ShapeError, UnsupportedError
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
    unwrap,
)
from lineal.planner.expr import Expr, make
from lineal.planner.flags import negated
from lineal.planner.infer import PY_INT, typed
from lineal.planner.liveness import assigned, contains
from lineal.planner.logical import Note
from lineal.planner.loop_types import Head, Traced, plain, retype, sure, widened
from lineal.planner.trace_expr import ExpressionTracer
from lineal.planner.types import Type

_MAX_PEELS = 3
_EXITS = (ast.Break, ast.Continue)


class LoopTracer(ExpressionTracer):
    """The loop statements of a tracer."""

    _cause: tuple[str, Any, Any] = ("", None, None)  # the carried value that was looked at last

    @abstractmethod
    def block(self, statements: list[ast.stmt]) -> None:
        """Run statements in order."""

    @abstractmethod
    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """Evaluate a call's arguments."""

    @abstractmethod
    def fork(self, *args: Any) -> None:
        """Run two paths and merge what they leave."""

    def _do_Break(self, s: ast.Break) -> None:
        self.frame.env["@exit"] = True
        self.frame.env["@break"] = True

    def _do_Continue(self, s: ast.Continue) -> None:
        self.frame.env["@exit"] = True

    def _do_For(self, s: ast.For) -> None:
        if s.orelse:
            raise self.fail(UnsupportedError, "`else` of a loop is outside the language", s)
        if not isinstance(s.target, ast.Name):
            raise self.fail(UnsupportedError, "a loop variable must be a name", s.target)
        start, step, trip = self._range(s)
        env = self.frame.env
        self._check_no_return(s)
        static = trip if isinstance(trip, int) else None
        if static == 0:
            return
        trip_expr = build.lift(trip)
        if isinstance(trip, Expr):
            self.note(trip, s.iter)

        def index(counter: Expr) -> Any:
            moved = counter if step == 1 else build.binary(self, "mul", counter, step)
            return (
                moved
                if isinstance(start, int) and start == 0
                else build.binary(self, "add", moved, start)
            )

        # Whether an open range runs is asked only where it matters: a plan then serves both.
        runs = static is not None or self.decided(self._ran(trip_expr)) is True
        head = Head(trip_expr, index, s.target.id, None, runs)
        self._loop(s, head, env, peels=0)

    def _surely_runs(self, trip: Expr) -> bool:
        return self.holds(self._ran(trip), True)

    @staticmethod
    def _ran(trip: Expr) -> Expr:
        """Return the condition that a counted loop runs at all, in its simplest form."""
        if trip.op == "range_len":
            start, stop, step = trip.inputs
            if start is build.lift(0) and step is build.lift(1):
                return build.apply("py.gt", stop, 0)
        return build.apply("py.gt", trip, 0)

    def _range(self, s: ast.For) -> tuple[Any, Any, Any]:
        call = s.iter
        is_range = isinstance(call, ast.Call) and self.ev(call.func) is builtins.range
        if not is_range or not isinstance(call, ast.Call):
            raise self.fail(
                UnsupportedError,
                f"a loop over {self._shown(s.iter)} is outside the language",
                s.iter,
                "loop over range(n) and index: for i in range(len(x)): v = x[i]",
            )
        args, kwargs = self.arguments(call)
        values = [unwrap(a) for a in args]
        if kwargs or not 1 <= len(values) <= 3:
            raise self.fail(UnsupportedError, "range takes one to three arguments", call)
        for value, node in zip(values, call.args, strict=True):
            kind = (
                typed(build.lift(value)).dtype.kind
                if build.is_scalar_value(value) or isinstance(value, Expr)
                else "?"
            )
            if kind not in "iub" or (isinstance(value, Expr) and typed(value).ndim):
                found = describe(Arr(value)) if isinstance(value, Expr) else repr(value)
                raise self.fail(
                    DTypeError,
                    f"range needs integers, not {found}",
                    node,
                    "convert it with int(...)",
                )
        values = [
            build.apply("to_int", v) if isinstance(v, Expr) and not typed(v).weak else v
            for v in values
        ]
        start, stop, step = [[0, *values, 1], [*values, 1], values][len(values) - 1]
        if isinstance(step, int) and step == 0:
            raise self.fail(
                ProgramError, "range step must not be zero", call, "use a step such as 1 or -1"
            )
        if all(isinstance(v, int) for v in (start, stop, step)):
            return start, step, len(range(start, stop, step))
        return start, step, build.apply("range_len", start, stop, step)

    def _do_While(self, s: ast.While) -> None:
        if s.orelse:
            raise self.fail(UnsupportedError, "`else` of a loop is outside the language", s)
        self._check_no_return(s)
        first = self.condition(s.test)
        if first is False:
            return
        head = Head(make("const", value=-1), None, "", s.test, first is True)
        self._loop(s, head, self.frame.env, peels=0)

    def _check_no_return(self, s: ast.For | ast.While) -> None:
        for node in ast.walk(s):
            if isinstance(node, ast.Return):
                raise self.fail(
                    UnsupportedError,
                    "`return` inside a loop is outside the language",
                    node,
                    "set a variable and break, then return after the loop",
                )

    # -- the loop itself -----------------------------------------------------------------

    def _loop(self, s: ast.For | ast.While, head: Head, env: dict[str, Any], peels: int) -> None:
        tried = self._trace_stable(s, head, env, peels)
        if tried:
            return
        if peels == _MAX_PEELS:
            raise self._unsettled(s)
        self._peel(s, head, peels)

    def _unsettled(self, s: ast.stmt) -> ProgramError:
        name, before, after = self._cause
        shapes = isinstance(before, Arr) and isinstance(after, Arr)
        if shapes and typed(before.expr).dtype == typed(after.expr).dtype:
            return self.fail(
                ShapeError,
                f"{name!r} changes its shape in every iteration of this loop: "
                f"{describe(before)}, then {describe(after)}",
                s,
                "allocate the final shape before the loop and assign into parts of it",
            )
        return self.fail(
            DTypeError,
            f"{name!r} changes its type in every iteration of this loop: "
            f"{describe(before)}, then {describe(after)}",
            s,
            "convert it to one dtype with astype before and inside the loop",
        )

    def _peel(self, s: ast.For | ast.While, head: Head, peels: int) -> None:
        """Run the first iteration before the loop, then the loop for the rest."""
        live = self.frame.live.after[id(s)]
        path = self.frame.path

        def first() -> None:
            env = self.frame.env
            env["@exit"] = env["@break"] = False
            if head.index is not None:
                env[head.target] = self._value(head.index(make("const", value=0)))
            self.frame.path = f"{path}/peel{peels}"
            self.block(s.body)
            self.frame.path = path
            broke = self.frame.env.pop("@break", False)
            self.frame.env["@exit"] = False
            if broke is True:
                return
            if broke is False:
                rest()
            else:
                running = negated(build.lift(unwrap(broke)))
                self.fork(running, rest, lambda: None, live | self.frame.live.top[id(s)], s)

        def rest() -> None:
            if isinstance(s, ast.While):
                again = self.condition(s.test)
                if again is False:
                    return
                tail = Head(head.trip, None, "", s.test, again is True)
            else:
                index = head.index
                assert index is not None
                trip = build.lift(build.binary(self, "sub", plain(head.trip), 1))
                if trip.op == "const" and trip.attr("value") == 0:
                    return
                runs = trip.op == "const" or self._surely_runs(trip)
                shifted: Callable[[Expr], Any] = lambda k: index(  # noqa: E731
                    build.lift(build.binary(self, "add", k, 1))
                )
                tail = Head(trip, shifted, head.target, None, runs)
            self._loop(s, tail, self.frame.env, peels + 1)

        if head.at_least_one:
            first()
            return
        condition = self.condition(s.test) if isinstance(s, ast.While) else self._ran(head.trip)
        if isinstance(s, ast.For):
            known = self.try_static(condition)
            if known is not None:
                if known[0]:
                    first()
                return
        self.fork(condition, first, lambda: None, live, s)

    @staticmethod
    def _value(index: Any) -> Any:
        return Arr(index) if isinstance(index, Expr) else index

    def _trace_stable(
        self, s: ast.For | ast.While, head: Head, entry: dict[str, Any], peels: int
    ) -> bool:
        """Trace the loop with carried types that hold in every iteration; False to peel."""
        live_after = self.frame.live.after[id(s)]
        live_top = self.frame.live.top[id(s)]
        names = [n for n in assigned(s.body) if n in entry and n in live_top]
        names = [n for n in names if not isinstance(entry[n], (Maybe, Conflict)) or n in live_after]
        if head.target and head.target in live_after and head.target not in names:
            names.append(head.target)
        carried = [n for n in names if n in entry and not isinstance(entry[n], (Maybe, Conflict))]
        breaks = any(contains(b, (ast.Break,)) for b in s.body)
        start = {n: entry[n] for n in carried}
        types_ = {n: [self._leaf_type(v) for v in leaves(entry[n])] for n in carried}
        shared = {n: [self._leaf_storage(v) for v in leaves(entry[n])] for n in carried}
        state_before = dict(self.state)
        widened = False
        for _ in range(8):
            found = self._trace_once(s, head, start, types_, shared, breaks, peels)
            verdict = self._settle(found, carried, start, types_, shared, s)
            if verdict == "stable":
                if widened and not self._same_types_as_narrow(found, carried, start):
                    self._reset(entry, state_before)
                    return False
                self._finish(s, head, entry, found, carried, live_after, state_before, breaks)
                return True
            self._reset(entry, state_before)
            if verdict == "peel":
                return False
            widened = widened or verdict == "widened"
        raise self.fail(ProgramError, "the types of this loop do not settle", s)

    def _reset(self, entry: dict[str, Any], state: dict[str, Expr]) -> None:
        self.frame.env = dict(entry)
        self.state = dict(state)

    @staticmethod
    def _leaf_type(value: Any) -> Type | None:
        return typed(build.lift(unwrap(value))) if is_carriable(value) else None

    @staticmethod
    def _leaf_storage(value: Any) -> frozenset[str]:
        return value.storage if isinstance(value, Arr) else frozenset()

    def _trace_once(
        self,
        s: ast.For | ast.While,
        head: Head,
        start: dict[str, Any],
        types_: dict[str, list[Type | None]],
        shared: dict[str, list[frozenset[str]]],
        breaks: bool,
        peels: int,
    ) -> Traced:
        path = f"{self.frame.path}/{s.lineno}:{s.col_offset}.{peels}"
        counter = make("param", loop=path, index=-1, type=PY_INT)
        env = dict(self.frame.env)
        slots: list[tuple[str, Expr]] = []
        for name, value in start.items():
            new: list[Any] = []
            for leaf, type_, storage in zip(leaves(value), types_[name], shared[name], strict=True):
                if type_ is None:
                    new.append(leaf)
                    continue
                param = make("param", loop=path, index=len(slots), type=type_)
                self.notes.setdefault(param, Note((), name))
                slots.append((name, param))
                new.append(Arr(param, storage if type_.ndim else frozenset()))
            env[name] = refill(value, new)
        before_slots = dict(env)
        states: list[tuple[str, Expr]] = []
        for name, expr in self.state.items():
            param = make("param", loop=path, index=f"state{len(states)}", type=typed(expr))
            self.notes.setdefault(param, Note((), name))
            states.append((name, param))
        go = make("param", loop=path, index="go", type=typed(make("const", value=True)))
        before_env, before_state = self.frame.env, self.state
        before_path, known = self.frame.path, len(self.known)
        self.frame.env = env
        self.state = dict(states)
        self.frame.path = path
        try:
            test: Any = True
            if head.test is not None:
                if breaks:
                    self.assume(go, True)
                with self.no_draws(head.test, "the test of a while loop"):
                    test = self.condition(head.test)
                if isinstance(test, Expr):
                    self.assume(test, True)
            if head.index is not None:
                env[head.target] = self._value(head.index(counter))
            env["@exit"] = env["@break"] = False
            self.block(s.body)
            after, after_state = self.frame.env, self.state
        finally:
            self.frame.env, self.state = before_env, before_state
            self.frame.path = before_path
            del self.known[known:]
        return Traced(counter, go, slots, states, before_slots, after, after_state, test)

    def _settle(
        self,
        found: Traced,
        carried: list[str],
        start: dict[str, Any],
        types_: dict[str, list[Type | None]],
        shared: dict[str, list[frozenset[str]]],
        s: ast.stmt,
    ) -> str:
        """Compare carried types with what the body leaves; widen `types_` and `shared` in place."""
        verdict = "stable"
        held: dict[str, list[tuple[str, int]]] = {}
        for name in carried:
            value = found.after.get(name)
            if isinstance(value, Conflict):
                raise self.fail(ShapeError, f"{name!r} {value.message}", s)
            value = sure(value)
            self._cause = (name, start[name], value)
            old, new = leaves(start[name]), leaves(value)
            if len(old) != len(new) or isinstance(start[name], tuple) != isinstance(value, tuple):
                return "peel"
            for i, (leaf, type_) in enumerate(zip(new, types_[name], strict=True)):
                if type_ is None:
                    if not same(leaf, old[i]):
                        return "peel"
                    continue
                if not is_carriable(leaf):
                    return "peel"
                next_type = typed(build.lift(unwrap(leaf)))
                if next_type != type_:
                    label = (str(found.counter.attr("loop")), name, i)
                    wider = widened(type_, next_type, label)
                    if wider is None:
                        return "peel"
                    if wider != type_:
                        types_[name][i] = wider
                        verdict = "widened"
                for place in self._leaf_storage(leaf):
                    held.setdefault(place, []).append((name, i))
        if verdict == "widened":
            return verdict
        entry_places = set().union(*(p for ps in shared.values() for p in ps), frozenset())
        for place, owners in held.items():
            known = place in entry_places or place.startswith(("input:", "arg:"))
            if not known and len(owners) < 2:
                continue
            mark = place if known else f"pair:{'/'.join(f'{n}.{i}' for n, i in owners)}"
            for name, i in owners:
                if mark not in shared[name][i]:
                    shared[name][i] |= {mark}
                    verdict = "shared"
        return verdict

    def _same_types_as_narrow(
        self, found: Traced, carried: list[str], start: dict[str, Any]
    ) -> bool:
        """Tell whether the widened types also describe the first iteration.

        They do if only weak scalars were widened and nothing in the body takes its dtype from
        one: then each next value has the same type for the narrow initial value.
        """
        narrow: dict[Expr, Expr] = {}
        for (name, param), leaf in zip(
            found.slots, self._carried_leaves(carried, start), strict=True
        ):
            init = build.lift(unwrap(leaf))
            if typed(init) != typed(param):
                if not (typed(init).weak and not typed(init).ndim):
                    return False
                narrow[param] = make("param", loop=f"narrow:{name}", index=0, type=typed(init))
        nexts = [build.lift(unwrap(v)) for v in self._carried_leaves(carried, found.after)]
        try:
            replaced = retype(nexts, narrow)
        except ProgramError:
            return False
        return all(
            typed(a) == typed(b) or (not typed(b).ndim and a in narrow.values())
            for a, b in zip(replaced, nexts, strict=True)
        )

    def _carried_leaves(self, carried: list[str], env: dict[str, Any]) -> list[Any]:
        found: list[Any] = []
        for name in carried:
            value = sure(env[name])
            found += [v for v in leaves(value) if is_carriable(v) or isinstance(v, Arr)]
        return found

    def _finish(
        self,
        s: ast.For | ast.While,
        head: Head,
        entry: dict[str, Any],
        found: Traced,
        carried: list[str],
        live_after: frozenset[str],
        state_before: dict[str, Expr],
        breaks: bool,
    ) -> None:
        columns: list[tuple[Expr, Expr, Expr]] = []  # (initial value, param, next value)
        layout: list[tuple[str, Any, list[int | None]]] = []
        for name in carried:
            params = [p for n, p in found.slots if n == name]
            after = sure(found.after[name])
            where: list[int | None] = []
            for init, leaf, before in zip(
                leaves(entry[name]), leaves(after), leaves(found.before_slots[name]), strict=True
            ):
                if not isinstance(before, Arr) or before.expr not in params:
                    where.append(None)
                    continue
                where.append(len(columns))
                columns.append((build.lift(unwrap(init)), before.expr, build.lift(unwrap(leaf))))
            layout.append((name, after, where))
        loop_id = str(found.counter.attr("loop"))
        for name, value in self._fresh_names(entry, found, carried, live_after):
            where = []
            for leaf in leaves(value):
                expr = build.lift(unwrap(leaf))
                param = make("param", loop=loop_id, index=f"out{len(columns)}", type=typed(expr))
                self.notes.setdefault(param, Note((), name))
                where.append(len(columns))
                columns.append((make("undef", type=typed(expr)), param, expr))
            layout.append((name, value, where))
        states: dict[str, int] = {}
        for name, param in found.states:
            if found.after_state[name] is not param:
                states[name] = len(columns)
                columns.append((state_before[name], param, found.after_state[name]))
        test = build.lift(found.test)
        if breaks:
            broke = unwrap(found.after.get("@break", False))
            keeps_on = build.lift(self.negate(broke))
            columns.append((make("const", value=True), found.go, keeps_on))
            if found.test is True:
                test = found.go
            else:
                test = build.choose(found.go, [test], [make("const", value=False)])[0]
        n = len(columns)
        inits, params_, nexts = zip(*columns, strict=True) if columns else ((), (), ())
        node = build.apply("loop", *inits, *params_, *nexts, found.counter, head.trip, test, n=n)
        self.note(node, s)
        items = [build.apply("item", node, k=k) for k in range(n)]
        for item, param in zip(items, params_, strict=True):
            self.notes[item] = Note((self.span(s),), self.notes.get(param, Note()).name)
        env = dict(entry)
        for name, value, where in layout:
            new = [
                leaf if at is None else self._result(items[at], leaf)
                for leaf, at in zip(leaves(value), where, strict=True)
            ]
            made = refill(value, new)
            held = found.after[name]
            if name in carried:
                env[name] = made
            elif isinstance(held, Maybe):
                env[name] = Maybe(made, held.guards)
            elif head.at_least_one:
                env[name] = made
            else:
                ran = self._ran(head.trip) if head.test is None else build.lift(False)
                env[name] = Maybe(made, ((ran, True),))
        self.state = {**state_before, **{name: items[at] for name, at in states.items()}}
        env.pop("@break", None)
        env["@exit"] = entry.get("@exit", False)
        if "@break" in entry:
            env["@break"] = entry["@break"]
        self.frame.env = env

    @staticmethod
    def _result(item: Expr, leaf: Any) -> Arr:
        storage = leaf.storage if isinstance(leaf, Arr) else frozenset()
        return Arr(item, storage if typed(item).ndim else frozenset())

    def _fresh_names(
        self,
        entry: dict[str, Any],
        found: Traced,
        carried: list[str],
        live_after: frozenset[str],
    ) -> list[tuple[str, Any]]:
        """Return names that only the body binds and that are read after the loop."""
        fresh: list[tuple[str, Any]] = []
        for name, value in found.after.items():
            if name.startswith("@") or name in carried or name not in live_after:
                continue
            if name in entry and same(entry[name], value):
                continue
            held = value.value if isinstance(value, Maybe) else value
            if isinstance(held, Conflict):
                continue
            if all(is_carriable(v) for v in leaves(held)):
                fresh.append((name, held))
        return fresh
