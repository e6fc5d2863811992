"""Writes docs/grammar.md from the tables that the planner itself dispatches through.

python -m lineal.engine.grammar            print the page
python -m lineal.engine.grammar FILE       write it
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from lineal.planner import trace, trace_expr
from lineal.planner.functions import DRAWS, FUNCTIONS, METHODS, Entry

STATEMENTS: dict[str, tuple[str, str]] = {
    "Assign": (
        "`x = ...`, `a, b = ...`, `x[i] = ...`",
        "Names, tuples and slices of arrays. Every version of a name is a value of its own.",
    ),
    "AugAssign": (
        "`x += ...`, `x[i] *= ...`",
        "In place as in NumPy: keeps shape and dtype. Refused where another live name or the "
        "caller shares the storage.",
    ),
    "AnnAssign": ("`x: T = ...`", "The annotation is not read."),
    "For": (
        "`for i in range(...)`",
        "One to three integer arguments, which may come from data. No `else`.",
    ),
    "While": ("`while condition`", "Any condition on values; no `else`."),
    "If": ("`if / elif / else`", "A condition that arguments decide is settled when planning."),
    "Break": ("`break`", "Leaves the innermost loop."),
    "Continue": ("`continue`", "Goes on with the next iteration."),
    "Return": (
        "`return a`, `return a, b`",
        "Anywhere but inside a loop. Arrays, numbers and nested tuples of them.",
    ),
    "Assert": ('`assert c, "text"`', "Checked in the run, in order; the message is plain text."),
    "Expr": ("a call or a docstring", "The value is dropped."),
    "Pass": ("`pass`", ""),
}
"""What is said of each statement that the tracer takes, by the name of its syntax class."""

EXPRESSIONS: dict[str, tuple[str, str]] = {
    "Constant": ('`1`, `2.5`, `True`, `None`, `"text"`', "No complex numbers, no bytes."),
    "Name": (
        "`x`",
        "Local names first, then closure and globals, read at each call. Outside arrays become "
        "hidden inputs.",
    ),
    "BinOp": ("`+ - * / // % ** @ & \\| ^`", "NumPy's broadcasting and dtype rules."),
    "UnaryOp": ("`-x`, `+x`, `~x`, `not c`", ""),
    "Compare": ("`< <= > >= == !=`, chains, `is None`, `in`", "`is` and `in` for plain values."),
    "BoolOp": ("`a and b`, `a or b`", "Of conditions; evaluates only what Python would."),
    "IfExp": ("`a if c else b`", "Only the side that is chosen is computed."),
    "Tuple": ("`(a, b)`", "For several results, shapes and indices."),
    "List": ("`[a, b]`", "As an argument: `np.array([a, b])`, `np.vstack([x, y])`."),
    "Slice": ("`a:b:c`", ""),
    "Subscript": (
        "`x[i]`, `x[a:b, None]`, `x[rows]`, `x[mask]`",
        "Integers, slices, `None`, `...`, integer arrays, boolean masks. `x[mask]` has a size "
        "that only the run knows.",
    ),
    "Attribute": (
        "`x.T x.mT x.shape x.ndim x.size x.dtype`",
        "And names of modules: `np.pi`, `np.finfo(float).eps`.",
    ),
    "Call": (
        "`f(...)`",
        "The functions and methods below, other programs, and plain Python functions that lie "
        "in the subset; these are inlined.",
    ),
}
"""The same for expressions."""

_LAWS = (
    (
        "Python is the meaning",
        "`program.python` run by NumPy on dense copies of the inputs defines the result. Sparse "
        "is storage, not meaning: SciPy's own meaning of `*` or `np.exp` never shows.",
    ),
    (
        "Storage",
        "In-place updates work on storage that nothing else sees. Writing into a parameter, or "
        "where another live name shares the storage, is an error that names both. Results never "
        "share storage with inputs.",
    ),
    (
        "Static and run-time",
        "Shapes, axes, dtypes and flags are fixed when planning. Range bounds, tolerances and "
        "other numbers stay inputs. The entries of an array are no part of a plan.",
    ),
    (
        "Names from outside",
        "Globals and closure variables are read at each call. Changed plain values plan again; "
        "arrays are inputs. Recursion is an error. A name that may be unbound is an error.",
    ),
    (
        "Source",
        "A program is read from its source text, which must be the function's own. Without "
        "source, build lazy arrays with `la.asarray`.",
    ),
    (
        "Sizes that data decides",
        "`A[mask]` has a size that only the run knows, at most that of `A`. Mismatches with it "
        "are errors of the run, with the line.",
    ),
    (
        "dtypes",
        "NumPy 2 rules; Python numbers are weak. Nothing changes a dtype; integers keep their "
        "overflow. No complex numbers, float16, objects, or more than two dimensions.",
    ),
    (
        "Warnings",
        "NumPy's floating-point warnings appear as under NumPy, once per line of the program.",
    ),
)

_INTRODUCTION = """\
# The language

A program is a plain Python function under `@la.program`, written in the subset of Python and
NumPy that this page lists. What is not listed is an error when the program is planned; the error
names the line and what to write instead. This page is generated from the tables that the planner
reads (`python -m lineal.engine.grammar docs/grammar.md`).

```python
import numpy as np
import lineal as la


@la.program
def ridge(X, y, strength=1.0):
    n, d = X.shape
    return np.linalg.solve(X.T @ X + strength * np.eye(d), X.T @ y)


X = np.arange(12.0).reshape(6, 2) ** 0.5
print(np.allclose(ridge(X, X @ [1.0, 2.0]), ridge.python(X, X @ [1.0, 2.0])))
```

```output
True
```
"""

_GROUP_NOTES = {
    "random": "A generator is made from a seed: `rng = np.random.default_rng(0)`. Draws happen "
    "in the program's order, are never merged and never moved out of a loop.",
    "Python builtins": "`abs` and `len` take arrays, the others numbers and arrays of one "
    "entry, as in Python.",
}


def page() -> str:
    """Return the text of docs/grammar.md."""
    return "\n".join(_page()) + "\n"


def supported(prefix: str) -> set[str]:
    """Return the syntax classes that the tracer has a method for; `prefix` "_do_" or "_ev_"."""
    names = {name for name in dir(trace.Tracer) if name.startswith(prefix)}
    return {name.removeprefix(prefix) for name in names}


def _page() -> Iterator[str]:
    yield _INTRODUCTION
    yield "## Statements\n"
    yield from _table(("statement", "notes"), STATEMENTS.values())
    yield "\nNot in the language:\n"
    refused = dict.fromkeys(trace._STATEMENT_HINTS.values())
    yield from _table(("statement", "write instead"), ((_code(a), b) for a, b in refused))
    yield "\n## Expressions\n"
    yield from _table(("expression", "notes"), EXPRESSIONS.values())
    yield "\nNot in the language:\n"
    yield from _table(("expression", "write instead"), trace_expr._UNSUPPORTED_EXPRESSIONS.values())
    yield "\n## Functions\n"
    yield (
        "Arguments that are not shown are not supported; an error lists those that are. The "
        "method column names the array method of the same meaning. A view may share its "
        "operand's storage, as in NumPy."
    )
    for group, entries in _groups().items():
        yield f"\n### {group[0].upper()}{group[1:]}\n"
        if _GROUP_NOTES.get(group):
            yield f"{_GROUP_NOTES[group]}\n"
        if group == "elementwise":
            yield from _elementwise(entries)
            continue
        rows = [
            (f"`{_signature(e)}`", f"`.{e.method}`" if e.method else "", "view" if e.view else "")
            for e in entries
        ]
        yield from _table(("function", "method", ""), rows)
    yield "\nDraws of a generator:\n"
    yield from _table(("draw", "dtype"), ((f"`rng.{n}({_draw(n)})`", DRAWS[n][1]) for n in DRAWS))
    yield "\n## Methods\n"
    yield ", ".join(f"`.{name}`" for name in sorted(METHODS)) + "."
    yield "\n## The law\n"
    for number, (title, text) in enumerate(_LAWS, 1):
        yield f"{number}. **{title}.** {text}"


def _code(text: str) -> str:
    return text if text.startswith("a ") else f"`{text}`"


def _groups() -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in FUNCTIONS.values():
        found.setdefault(entry.group, []).append(entry)
    return found


def _elementwise(entries: list[Entry]) -> Iterator[str]:
    """Elementwise functions differ in their names only: two lists, then the others."""
    for what, count in (("One operand", 1), ("Two operands", 2)):
        named = [e.name for e in entries if _is_plain(e, count)]
        yield f"{what}: {', '.join(f'`{name}`' for name in named)}.\n"
    rest = [e for e in entries if not _is_plain(e, 1) and not _is_plain(e, 2)]
    yield from _table(
        ("function", "method"),
        ((f"`{_signature(e)}`", f"`.{e.method}`" if e.method else "") for e in rest),
    )


def _is_plain(entry: Entry, count: int) -> bool:
    return _signature(entry) == entry.name + ("(x)" if count == 1 else "(x1, x2)")


def _signature(entry: Entry) -> str:
    """Return the signature as NumPy spells it: types by name, methods on their array."""
    text = entry.signature.replace('<class "', "").replace('">', "").replace("array_", "array")
    if not entry.name.startswith("x."):
        return text
    name, _, arguments = text.partition("(")
    _, _, rest = arguments.partition(", ") if ", " in arguments else ("", "", ")")
    return f"{name}({rest}"


def _draw(name: str) -> str:
    return ", ".join(key if value is None and key != "size" else f"{key}={value}"
                     for key, value in DRAWS[name][0])  # fmt: skip


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(row)} |"


def main(arguments: list[str]) -> int:
    """Print the page, or write it to the file that is named."""
    if arguments:
        Path(arguments[0]).write_text(page())
    else:
        sys.stdout.write(page())
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
