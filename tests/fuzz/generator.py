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

DTYPES = ("f8", "f4", "i8", "i4", "i1", "?")
SIZES = (0, 1, 2, 3, 5)

UNARY = ("np.abs({0})", "-{0}", "np.sqrt(np.abs({0}))", "np.tanh({0})", "np.exp(-np.abs({0}))",
         "np.sign({0})", "np.square({0})", "np.floor({0})", "np.isnan({0})", "np.log1p(np.abs({0}))",
         "{0} ** 2", "{0}.astype(float)", "{0}.copy()", "np.logical_not({0})", "{0} > 0",
         "2 * {0}", "{0} / 3.0", "{0} + 1", "np.where({0} > 0, {0}, 0)", "np.clip({0}, -1, 1)",
         "np.maximum({0}, 0)", "np.ones_like({0})", "np.round({0}, 1)")  # fmt: skip
BINARY = ("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "np.maximum({0}, {1})",
          "np.minimum({0}, {1})", "{0} < {1}", "{0} == {1}", "np.where({0} > {1}, {0}, {1})",
          "np.logaddexp({0}, {1})", "np.logical_and({0}, {1})", "{0} // {1}", "{1} + {0}",
          "np.hypot({0}, {1})")  # fmt: skip
REDUCTIONS = ("{0}.sum()", "{0}.mean()", "np.max({0})", "{0}.min()", "np.any({0})", "{0}.all()",
              "np.var({0})", "{0}.std()", "np.prod({0})", "np.linalg.norm({0})",
              "np.count_nonzero({0})", "np.argmax({0})", "{0}.argmin()")  # fmt: skip
AXIS = ("{0}.sum(axis={1})", "{0}.mean(axis={1}, keepdims=True)", "np.max({0}, axis={1})",
        "{0}.var(axis={1})", "np.cumsum({0}, axis={1})", "np.sort({0}, axis={1})",
        "{0}.argmax(axis={1})", "np.any({0}, axis={1}, keepdims=True)", "np.diff({0}, axis={1})",
        "np.argsort({0}, axis={1}, kind='stable')", "np.linalg.norm({0}, axis={1})")  # fmt: skip
MATRIX = ("{0}.T", "{0}[:, 0]", "{0}[0]", "{0}[::-1]", "{0}[:, None, 0]", "{0}.ravel()",
          "{0}[1:, :-1]", "np.tril({0})", "np.trace({0})", "np.diag({0})", "{0}.T @ {0}",
          "{0} @ {0}.T", "({0} @ {0}.T)[0]", "{0}.T.T", "({0} + {0}).T", "np.triu({0}, 1)",
          "{0}[{0}[:, 0] > 0]", "np.vstack([{0}, {0}])", "np.hstack([{0}, {0}])",
          "{0}.reshape(-1)", "{0}[[0, -1]]", "(-{0}).T @ {0}", "(2 * {0}).T @ {0}",
          "np.einsum('ij,ij->i', {0}, {0})", "np.einsum('ij->ji', {0})")  # fmt: skip
VECTOR = ("{0}[:, None]", "{0}[None, :]", "{0}[0]", "{0}[1:]", "{0} @ {0}", "np.outer({0}, {0})",
          "np.diag({0})", "{0}[{0} > 0]", "np.concatenate([{0}, {0}])", "{0}.reshape(-1, 1)",
          "{0}[::2]", "np.unique({0})", "{0}[-1]", "np.cumsum({0})")  # fmt: skip
PAIR = ("{0} @ {1}", "{0}.T @ {1}", "{0} @ {1}.T", "{0}.T @ {1} @ {1}.T", "np.dot({0}, {1})",
        "np.concatenate([{0}, {1}])", "np.outer({0}, {1})", "({0} @ {1}).T", "{0} @ {1} @ {1}",
        "{0}.T @ ({0} @ {1})")  # fmt: skip


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


@dataclass
class Builder:
    """Grows one program."""

    chooser: Chooser
    exceptional: bool = False
    env: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    count: int = 0

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
        else:
            value = rng.integers(-5, 6, size=shape).astype(dtype)
        if ndim == 0:
            return self.chooser.pick((float(value), int(value) if np.isfinite(value) else 1,
                                      np.asarray(value)[()]))
        return value

    def run(self, text: str) -> Any:
        """Evaluate `text` under NumPy; raise whatever NumPy raises."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return eval(text, {"np": np}, self.env)

    def variable(self, test: Callable[[Any], bool] = lambda v: True) -> str | None:
        names = [n for n, v in self.env.items() if test(v)]
        return self.chooser.pick(names) if names else None

    def expression(self) -> tuple[str, Any] | None:
        """Return one valid expression over the variables, None if this choice does not fit."""
        kind = self.chooser.pick(("unary", "binary", "binary", "reduction", "axis", "matrix",
                                  "vector", "pair", "pair"))
        def is_array(v: Any) -> bool:
            return isinstance(v, np.ndarray) and v.ndim > 0
        if kind == "unary":
            parts = [self.variable(is_array)]
            template = self.chooser.pick(UNARY)
        elif kind == "binary":
            parts = [self.variable(), self.variable()]
            template = self.chooser.pick(BINARY)
        elif kind == "reduction":
            parts = [self.variable(is_array)]
            template = self.chooser.pick(REDUCTIONS)
        elif kind == "axis":
            parts = [self.variable(is_array), str(self.chooser.pick((0, 1, -1)))]
            template = self.chooser.pick(AXIS)
        elif kind == "matrix":
            parts = [self.variable(lambda v: is_array(v) and v.ndim == 2)]
            template = self.chooser.pick(MATRIX)
        elif kind == "vector":
            parts = [self.variable(lambda v: is_array(v) and v.ndim == 1)]
            template = self.chooser.pick(VECTOR)
        else:
            parts = [self.variable(is_array), self.variable(is_array)]
            template = self.chooser.pick(PAIR)
        if any(p is None for p in parts):
            return None
        text = template.format(*parts)
        try:
            value = self.run(text)
        except Exception:
            return None
        if not _in_language(value):
            return None
        return text, value

    def assign(self, indent: str) -> None:
        for _ in range(6):
            found = self.expression()
            if found is not None:
                text, value = found
                name = f"v{self.count}"
                self.count += 1
                self.env[name] = value
                self.lines.append(f"{indent}{name} = {text}")
                return

    def loop(self, indent: str) -> None:
        """A loop over values that keep their shape."""
        name = self.variable(lambda v: isinstance(v, np.ndarray) and v.ndim > 0
                             and v.dtype.kind == "f")
        if name is None:
            return
        other = self.variable()
        trips = self.chooser.number(0, 4)
        fresh = f"v{self.count}"
        self.count += 1
        value = self.env[name]
        updates = [f"{fresh} * 0.5 + {name}", f"{fresh} + {other}", f"np.tanh({fresh}) - 1",
                   f"np.where({fresh} > 0, {fresh}, {name})", f"{fresh} - {fresh}.mean()",
                   f"{fresh} * i"]
        if value.ndim == 2:
            updates += [f"({name} @ {name}.T) @ {fresh} * 0.1", f"{fresh} @ ({name}.T @ {name})",
                        f"{name} @ {name}.T @ {fresh} * 0.1"]
        update = self.chooser.pick(updates)
        style = self.chooser.pick(("for", "for", "while", "break", "branch", "item", "total"))
        head = f"{indent}{fresh} = {name}{self.chooser.pick(('', '.copy()', ' * 1.5'))}"
        body: list[str]
        if style == "while":
            k = f"k{self.count}"
            body = [head, f"{indent}{k} = 0", f"{indent}while {k} < {trips}:",
                    f"{indent}    {fresh} = {update.replace('* i', '* ' + k)}",
                    f"{indent}    {k} += 1"]
        elif style == "break":
            body = [head, f"{indent}for i in range({trips}):",
                    f"{indent}    {fresh} = {update}",
                    f"{indent}    if np.abs({fresh}).sum() > 10.0:", f"{indent}        break"]
        elif style == "branch":
            body = [head, f"{indent}for i in range({trips}):",
                    f"{indent}    if i % 2 == 0 and {fresh}.sum() > 0:",
                    f"{indent}        {fresh} = {update}",
                    f"{indent}    else:", f"{indent}        {fresh} = {fresh} + 1"]
        elif style == "item":
            body = [f"{indent}{fresh} = {name}.copy()",
                    f"{indent}for i in range(min({trips}, {name}.shape[0])):",
                    f"{indent}    {fresh}[i] = {fresh}[i] * 2 + i",
                    f"{indent}    {fresh} += 1"]
        elif style == "total":
            total = f"t{self.count}"
            body = [head, f"{indent}{total} = 0", f"{indent}for i in range({trips}):",
                    f"{indent}    {total} = {total} + {fresh}.sum()",
                    f"{indent}    {fresh} = {update}",
                    f"{indent}{fresh} = {fresh} + {total}"]
        else:
            body = [head, f"{indent}for i in range({trips}):",
                    f"{indent}    {fresh} = {update}"]
        text = "\n".join(line[len(indent):] for line in body)
        env = dict(self.env)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                exec(text, {"np": np}, env)
        except Exception:
            return
        if not _in_language(env[fresh]):
            return
        self.env[fresh] = env[fresh]
        self.lines.extend(body)

    def branch(self, indent: str) -> None:
        scalar = self.variable(lambda v: np.ndim(v) == 0)
        array = self.variable(lambda v: isinstance(v, np.ndarray) and v.dtype.kind == "f")
        if scalar is None or array is None:
            return
        fresh = f"v{self.count}"
        self.count += 1
        body = [f"{indent}if {scalar} > 0:", f"{indent}    {fresh} = {array} * 2",
                f"{indent}else:", f"{indent}    {fresh} = {array} - 1"]
        env = dict(self.env)
        try:
            exec("\n".join(line[len(indent):] for line in body), {"np": np}, env)
        except Exception:
            return
        self.env[fresh] = env[fresh]
        self.lines.extend(body)


def _in_language(value: Any) -> bool:
    if not isinstance(value, (np.ndarray, np.generic, bool, int, float)):
        return False
    return np.asarray(value).dtype.kind in "fiub" and np.asarray(value).dtype != np.float16 and (
        np.ndim(value) <= 2
    )


def generate(chooser: Chooser, exceptional: bool = False) -> Generated:
    """Return a random program with its inputs."""
    builder = Builder(chooser, exceptional)
    inputs = {f"x{i}": builder.array() for i in range(chooser.number(1, 3))}
    builder.env.update(inputs)
    for _ in range(chooser.number(1, 8)):
        kind = chooser.pick(("assign",) * 5 + ("loop", "branch"))
        getattr(builder, kind)("    ")
    made = [n for n in builder.env if n not in inputs] or list(inputs)
    results = [chooser.pick(made) for _ in range(chooser.number(1, 3))]
    if made[-1] not in results:
        results.append(made[-1])
    text = f"def program({', '.join(inputs)}):\n" + "\n".join(builder.lines)
    if builder.lines:
        text += "\n"
    text += f"    return {', '.join(results)}\n"
    return Generated(text, inputs)
