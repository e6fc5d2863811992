"""Random valid programs: text that NumPy can run, built against live values.

Each statement is run as it is generated, so the generator knows every shape and dtype and seldom
produces what NumPy refuses.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .templates import (
    AXIS,
    BINARY,
    HELPERS,
    INDEXING,
    LINALG,
    MATRIX,
    PAIR,
    REDUCTIONS,
    SCALAR,
    UNARY,
    VECTOR,
)

DTYPES = ("f8", "f4", "i8", "i4", "i1", "?")
SIZES = (0, 1, 2, 3, 5)
MAX_ENTRIES = 400
"""Values larger than this are not kept, so that shapes do not grow without end."""


class Chooser(Protocol):
    """Where randomness comes from: Hypothesis, or a seeded generator."""

    def pick(self, options: Any) -> Any: ...
    def number(self, low: int, high: int) -> int: ...


class SeededChooser:
    """A chooser over a NumPy generator, for long unattended runs."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def pick(self, options: Any) -> Any:
        options = list(options)
        return options[int(self._rng.integers(len(options)))]

    def number(self, low: int, high: int) -> int:
        return int(self._rng.integers(low, high + 1))


@dataclass
class Generated:
    """A program's text and inputs."""

    text: str
    inputs: dict[str, Any]

    def function(self) -> Callable[..., Any]:
        """Return the function, with its source where `inspect` finds it."""
        name = f"<fuzz {hash(self.text) & 0xFFFFFFFF:x}>"
        lines = self.text.splitlines(keepends=True)
        linecache.cache[name] = (len(self.text), None, lines, name)
        space: dict[str, Any] = {"np": np}
        exec(compile(self.text, name, "exec"), space)
        function: Callable[..., Any] = space["program"]
        return function


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


def is_float_array(value: Any) -> bool:
    return is_array(value) and value.dtype.kind == "f"


def is_scalar(value: Any) -> bool:
    return np.ndim(value) == 0


def in_language(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(in_language, value))
    if not isinstance(value, (np.ndarray, np.generic, bool, int, float)):
        return False
    if isinstance(value, int) and not -(2**60) < value < 2**60:
        return False
    held = np.asarray(value)
    return (
        held.dtype.kind in "fiub"
        and held.dtype != np.float16
        and held.ndim <= 2
        and held.size <= MAX_ENTRIES
    )


@dataclass
class Builder:
    """Grows one program."""

    chooser: Chooser
    exceptional: bool = False
    env: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    helpers: set[str] = field(default_factory=set)
    count: int = 0

    # -- inputs --------------------------------------------------------------------------

    def array(self) -> Any:
        ndim = self.chooser.pick((0, 1, 1, 2, 2, 2))
        shape = tuple(self.chooser.pick(SIZES) for _ in range(ndim))
        dtype = np.dtype(self.chooser.pick(DTYPES))
        rng = np.random.default_rng(self.chooser.number(0, 1000))
        if dtype.kind == "f":
            value = rng.normal(size=shape).astype(dtype)
            if self.exceptional and value.size:
                value = np.array(value)
                value.flat[0] = self.chooser.pick((np.nan, np.inf, -np.inf, 0.0, -0.0))
        elif dtype.kind == "b":
            value = rng.integers(0, 2, size=shape).astype(bool)
        elif dtype == np.int8 and self.chooser.pick((True, False)):
            value = rng.integers(-128, 128, size=shape).astype(dtype)  # overflows soon
        else:
            value = rng.integers(-5, 6, size=shape).astype(dtype)
        if ndim == 0:
            return self.chooser.pick((float(value), int(value) if np.isfinite(value) else 1,
                                      np.asarray(value)[()]))
        return value

    # -- names and running ---------------------------------------------------------------

    def space(self) -> dict[str, Any]:
        space: dict[str, Any] = {"np": np}
        for name in self.helpers:
            exec(HELPERS[name], space)
        return space

    def evaluate(self, text: str) -> Any:
        """Evaluate `text` under NumPy; raise whatever NumPy raises."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return eval(text, self.space(), dict(self.env))

    def execute(self, body: list[str]) -> dict[str, Any] | None:
        """Return the names after running `body`, None if NumPy or the language refuses."""
        env = {k: np.array(v) if is_array(v) else v for k, v in self.env.items()}
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                exec("\n".join(body), self.space(), env)
        except Exception:  # whatever NumPy raises: this choice does not fit, another is drawn
            return None
        changed = [v for k, v in env.items() if k not in self.env]
        return env if all(map(in_language, changed)) else None

    def fresh(self, letter: str = "v") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def variable(self, test: Callable[[Any], bool] = lambda v: True) -> str | None:
        names = [n for n, v in self.env.items() if not isinstance(v, tuple) and test(v)]
        return self.chooser.pick(names) if names else None

    # -- expressions ---------------------------------------------------------------------

    def expression(self) -> tuple[str, Any] | None:
        """Return one valid expression over the variables, None if this choice does not fit."""
        kind = self.chooser.pick(
            ("unary", "binary", "binary", "reduction", "axis", "matrix", "vector", "pair", "pair",
             "indexing", "linalg", "scalar", "helper")
        )
        parts: list[str | None]
        if kind == "unary":
            parts, templates = [self.variable(is_array)], UNARY
        elif kind == "binary":
            parts, templates = [self.variable(), self.variable()], BINARY
        elif kind == "reduction":
            parts, templates = [self.variable(is_array)], REDUCTIONS
        elif kind == "axis":
            axis = str(self.chooser.pick((0, 1, -1, (0, 1), (1,))))
            parts, templates = [self.variable(is_array), axis], AXIS
        elif kind == "matrix":
            parts = [self.variable(lambda v: is_array(v) and v.ndim == 2)]
            templates = MATRIX
        elif kind == "vector":
            parts = [self.variable(lambda v: is_array(v) and v.ndim == 1)]
            templates = VECTOR
        elif kind == "pair":
            parts, templates = [self.variable(is_array), self.variable(is_array)], PAIR
        elif kind == "indexing":
            parts, templates = [self.variable(is_array), self.variable(is_scalar)], INDEXING
        elif kind == "linalg":
            parts = [self.variable(lambda v: is_float_array(v) and v.ndim == 2
                                   and v.shape[0] > 0 and np.isfinite(v).all()
                                   and np.abs(v).max(initial=0.0) < 1e3)]
            templates = LINALG
        elif kind == "scalar":
            parts, templates = [self.variable(is_scalar), self.variable(is_scalar)], SCALAR
        else:
            name = self.chooser.pick(sorted(HELPERS))
            self.helpers.add(name)
            parts = [self.variable(is_array), self.variable()]
            templates = (f"{name}({{0}}, {{1}})", f"{name}({{0}}, 2) + {{0}}",
                         f"{name}({name}({{0}}, 1), {{1}})")
        if any(p is None for p in parts):
            return None
        text = self.chooser.pick(templates).format(*parts)
        try:
            value = self.evaluate(text)
        except Exception:  # likewise
            return None
        return (text, value) if in_language(value) else None

    # -- statements ----------------------------------------------------------------------

    def assign(self) -> None:
        for _ in range(6):
            found = self.expression()
            if found is not None:
                text, value = found
                if isinstance(value, tuple):
                    names = [self.fresh() for _ in value]
                    self.env.update(zip(names, value, strict=True))
                    self.lines.append(f"{', '.join(names)} = {text}")
                    return
                name = self.fresh()
                self.env[name] = value
                self.lines.append(f"{name} = {text}")
                return

    def in_place(self) -> None:
        """Augmented and slice assignment to a private copy."""
        name = self.variable(is_array)
        other = self.variable()
        if name is None or other is None:
            return
        fresh = self.fresh()
        head = f"{fresh} = {name}{self.chooser.pick(('.copy()', ' * 1', ' + 0'))}"
        change = self.chooser.pick((
            f"{fresh} += {other}", f"{fresh} *= 2", f"{fresh} -= {fresh}", f"{fresh}[0] = {other}",
            f"{fresh}[1:] = 0", f"{fresh}[::2] += 1", f"{fresh}[..., -1] = {fresh}[..., 0]",
            f"{fresh}[{fresh} > 0] = 7", f"{fresh}[[0, -1]] = {other}", f"{fresh}[:] = {other}",
            f"{fresh} /= 3", f"{fresh} **= 2", f"{fresh}[:1] *= -1", f"{fresh}[0, 0] = 3",
            f"{fresh}[-1] -= {fresh}[0]", f"{fresh}[:, 0] = {fresh}[:, -1]",
        ))
        self.keep([head, change], fresh)

    def keep(self, body: list[str], *results: str) -> None:
        """Run `body`; if it is valid, make it part of the program."""
        env = self.execute(body)
        if env is None or not all(n in env and in_language(env[n]) for n in results):
            return
        # A loop variable that is in use may have got another value.
        self.env.update({k: v for k, v in env.items() if k in self.env or k in results})
        self.lines.extend(body)

    def update(self, fresh: str, name: str, index: str) -> str:
        """Return an expression that keeps the shape and dtype of `fresh` most of the time."""
        other = self.variable() or name
        value = self.env[name]
        updates = [f"{fresh} * 0.5 + {name}", f"{fresh} + {other}", f"np.tanh({fresh}) - 1",
                   f"np.where({fresh} > 0, {fresh}, {name})", f"{fresh} - {fresh}.mean()",
                   f"{fresh} * {index}", f"np.maximum({fresh}, {name} - {index})",
                   f"{fresh} / (1 + np.abs({fresh}).sum())", f"np.sort({fresh}, axis=0)[::-1]"]
        if value.ndim == 2:
            updates += [f"({name} @ {name}.T) @ {fresh} * 0.1", f"{fresh} @ ({name}.T @ {name})",
                        f"{name} @ {name}.T @ {fresh} * 0.1",
                        f"{fresh} - 0.1 * ({name} @ ({name}.T @ {fresh}))"]
        return str(self.chooser.pick(updates))

    def loop(self) -> None:
        """A loop over values that keep their shape."""
        name = self.variable(is_float_array)
        if name is None:
            return
        trips = self.chooser.pick((0, 1, 2, 3, 4))
        bound = self.chooser.pick((str(trips), str(trips), f"min({trips}, {name}.shape[0])"))
        fresh = self.fresh()
        style = self.chooser.pick(("for", "for", "while", "data", "break", "branch", "item",
                                   "total", "nested", "two", "only", "continue", "tuple", "chain",
                                   "exits", "exits"))
        head = f"{fresh} = {name}{self.chooser.pick(('', '.copy()', ' * 1.5'))}"
        update = self.update(fresh, name, "i")
        results = [fresh]
        if style == "while":
            k = self.fresh("k")
            body = [head, f"{k} = 0", f"while {k} < {trips}:",
                    f"    {fresh} = {self.update(fresh, name, k)}", f"    {k} += 1"]
            results.append(k)
        elif style == "data":
            k = self.fresh("k")
            body = [head, f"{k} = 0",
                    f"while np.abs({fresh}).sum() > 1.0 and {k} < {trips}:",
                    f"    {fresh} = {self.update(fresh, name, k)}", f"    {k} = {k} + 1"]
            results.append(k)
        elif style == "break":
            body = [head, f"for i in range({bound}):", f"    {fresh} = {update}",
                    f"    if np.abs({fresh}).sum() > 10.0:", "        break",
                    f"    {fresh} = {fresh} + 1"]
        elif style == "continue":
            body = [head, f"for i in range({trips}):", f"    if {fresh}.sum() > i:",
                    f"        {fresh} = {fresh} - 1", "        if i > 1:", "            continue",
                    f"    {fresh} = {update}"]
        elif style == "exits":
            k = self.fresh("k")
            ends = [self.chooser.pick(("break", "continue", "pass", f"{k} += 2")) for _ in range(3)]
            tests = [f"{fresh}.sum() > {self.chooser.number(-2, 4)}", "i % 2 == 0", f"{k} > 1",
                     f"not {fresh}.sum() < i"]
            body = [head, f"{k} = 0", f"for i in range({trips + 1}):",
                    f"    if {self.chooser.pick(tests)}:",
                    f"        if {self.chooser.pick(tests)}:",
                    f"            {fresh} = {update}", f"            {ends[0]}",
                    f"        {k} = {k} + 1", "    else:", f"        {fresh} = {fresh} - 0.5",
                    f"        if {self.chooser.pick(tests)}:", f"            {ends[1]}",
                    f"    {fresh} = {fresh} + 1", f"    if {self.chooser.pick(tests)}:",
                    f"        {ends[2]}", f"    {k} += 1"]
            results.append(k)
        elif style == "branch":
            body = [head, f"for i in range({bound}):",
                    f"    if i % 2 == 0 and {fresh}.sum() > 0:", f"        {fresh} = {update}",
                    "    else:", f"        {fresh} = {fresh} + 1"]
        elif style == "chain":
            t = self.fresh("t")
            body = [head, f"{t} = 0", f"for i in range({trips}):",
                    f"    if {fresh}.sum() < -1:", f"        {t} = {t} + 1",
                    f"    elif {fresh}.sum() < 1:", f"        {fresh} = {fresh} + 0.5",
                    "    else:", f"        {fresh} = {update}", f"        {t} = {t} - 1"]
            results.append(t)
        elif style == "item":
            body = [f"{fresh} = {name}.copy()",
                    f"for i in range(min({trips}, {name}.shape[0])):",
                    f"    {fresh}[i] = {fresh}[i] * 2 + i", f"    {fresh} += 1"]
        elif style == "total":
            total = self.fresh("t")
            body = [head, f"{total} = 0", f"for i in range({bound}):",
                    f"    {total} = {total} + {fresh}.sum()", f"    {fresh} = {update}",
                    f"{fresh} = {fresh} + {total}"]
        elif style == "nested":
            inner = self.update(fresh, name, "j")
            turns = self.chooser.pick(("2", "i", "i + 1"))
            body = [head, f"for i in range({trips}):", f"    for j in range({turns}):",
                    f"        {fresh} = {inner}", f"    {fresh} = {update}"]
        elif style == "two":
            other = self.fresh()
            body = [head, f"{other} = {name}", f"for i in range({trips}):",
                    f"    {fresh}, {other} = {other}, {update}"]
            results.append(other)
        elif style == "only":
            last = self.fresh()
            body = [head, f"for i in range({max(trips, 1)}):", f"    {last} = {update}",
                    f"    {fresh} = {last} * 0.5"]
            results += [last, "i"]
        elif style == "tuple":
            t = self.fresh("t")
            body = [head, f"{t} = ({fresh}, 0.0)", f"for i in range({trips}):",
                    f"    {t} = ({t}[0] * 0.5 + {name}, {t}[1] + {t}[0].sum())",
                    f"{fresh} = {t}[0] + {t}[1]"]
        else:
            body = [head, f"for i in range({bound}):", f"    {fresh} = {update}"]
        self.keep(body, *results)

    def branch(self) -> None:
        scalar = self.variable(is_scalar)
        array = self.variable(is_float_array)
        if scalar is None or array is None:
            return
        fresh = self.fresh()
        one, two = self.update(array, array, "1"), self.update(array, array, "2")
        style = self.chooser.pick(("else", "elif", "over", "nested", "expression"))
        if style == "else":
            body = [f"if {scalar} > 0:", f"    {fresh} = {one}", "else:", f"    {fresh} = {two}"]
        elif style == "elif":
            body = [f"if {scalar} > 1:", f"    {fresh} = {one}", f"elif {array}.sum() > 0:",
                    f"    {fresh} = {two}", "else:", f"    {fresh} = {array} - 1"]
        elif style == "over":
            body = [f"{fresh} = {array}", f"if {scalar} > 0 and {array}.sum() < 3:",
                    f"    {fresh} = {one}"]
        elif style == "nested":
            body = [f"{fresh} = {array} * 1.0", f"if {scalar} > -2:", f"    {fresh} += 1",
                    f"    if not {array}.sum() > 0:", f"        {fresh} = {two}"]
        else:
            body = [f"{fresh} = {one} if {scalar} > 0 or {array}.sum() > 1 else {two}"]
        self.keep(body, fresh)


def generate(chooser: Chooser, exceptional: bool = False) -> Generated:
    """Return a random program with its inputs."""
    builder = Builder(chooser, exceptional)
    inputs = {f"x{i}": builder.array() for i in range(chooser.number(1, 3))}
    builder.env.update(inputs)
    for _ in range(chooser.number(1, 8)):
        kind = chooser.pick(("assign",) * 6 + ("loop", "loop", "branch", "in_place"))
        getattr(builder, kind)()
    made = [n for n in builder.env if n not in inputs] or list(inputs)
    results = [chooser.pick(made) for _ in range(chooser.number(1, 3))]
    if made[-1] not in results:
        results.append(made[-1])
    last = f"return {', '.join(results)}"
    scalars = [n for n in made if is_scalar(builder.env[n])]
    if scalars and chooser.number(0, 9) == 0:
        # An early return: both paths give the same shapes and dtypes.
        test = chooser.pick(scalars)
        builder.lines += [f"if {test} > 0:", f"    {last}"]
    body = "".join(f"    {line}\n" for line in [*builder.lines, last])
    helpers = "".join(f"{HELPERS[name]}\n\n" for name in sorted(builder.helpers))
    return Generated(f"{helpers}def program({', '.join(inputs)}):\n{body}", inputs)
