"""Captures a function's source and proves that it is the function's own.

Reads text; knows no arrays and runs nothing of the user's.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import textwrap
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lineal.errors import SourceError, Span, StaleSourceError, UnsupportedError

_LAZY_FORM = (
    "put the function in a file or a notebook cell, or build the computation lazily: "
    "X = la.asarray(A); (X.T @ X).compute()"
)


@dataclass(frozen=True)
class Source:
    """A function's text, its syntax tree, and where its names are looked up.

    `text` is dedented; `first_line` and `indent` map positions in it back to the file.
    `function` is None for a program that was unpickled; then `bindings` has all outside names.
    """

    name: str
    file: str
    text: str
    first_line: int
    indent: int
    tree: ast.FunctionDef = field(repr=False)
    function: Callable[..., Any] = field(repr=False)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of `text`."""
        return self.text.splitlines()

    def span(self, node: ast.AST) -> Span:
        """Return the place of `node` in the user's file."""
        row = getattr(node, "lineno", 1)
        column = getattr(node, "col_offset", 0)
        end = getattr(node, "end_col_offset", column + 1)
        lines = self.lines
        line = lines[row - 1] if 0 < row <= len(lines) else ""
        if getattr(node, "end_lineno", row) != row:
            end = len(line)
        return Span(self.file, self.first_line + row - 1, column, end or 0, line, self.name)

    def segment(self, node: ast.AST) -> str:
        """Return the user's text for `node` on one line, shortened."""
        row, end = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if not row or not end or end > len(self.lines):
            shown = " ".join(ast.unparse(node).split())
            return shown if len(shown) <= 60 else shown[:57] + "..."
        # Columns count UTF-8 bytes; what is not shown is not read.
        parts = [line.encode() for line in self.lines[row - 1 : min(end, row + 60)]]
        if end - row < 61:
            parts[-1] = parts[-1][: getattr(node, "end_col_offset", None)]
        parts[0] = parts[0][getattr(node, "col_offset", 0) :]
        shown = " ".join(b" ".join(parts)[:400].decode(errors="ignore").split())
        return shown if len(shown) <= 60 else shown[:57] + "..."


def capture(function: Callable[..., Any]) -> Source:
    """Return the source of `function`.

    Raises
    ------
    SourceError
        The text cannot be had (interactive prompt, exec).
    StaleSourceError
        The file has changed since the function was made.
    UnsupportedError
        `function` is not a plain `def`.
    """
    if not isinstance(function, types.FunctionType):
        raise UnsupportedError(
            f"la.program needs a plain function, not {type(function).__name__}",
            hint="decorate a `def` at module level or in a notebook cell",
        )
    code = function.__code__
    name = function.__name__
    if name == "<lambda>":
        raise UnsupportedError("a lambda cannot be a program", hint="write it as a `def`")
    linecache.checkcache(code.co_filename)
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError, IndexError, SyntaxError, ValueError):
        raise SourceError(
            f"the source of {name!r} cannot be had ({code.co_filename})", hint=_LAZY_FORM
        ) from None
    raw = "".join(lines)
    text = textwrap.dedent(raw)
    indent = len(raw) - len(raw.lstrip()) - (len(text) - len(text.lstrip()))
    tree = parse(text, name, code.co_filename)
    if not _is_own_code(tree, raw, code):
        if any(n.startswith("@py") for n in (*code.co_names, *code.co_varnames)):
            raise SourceError(
                f"pytest has rewritten the assert statements of {name!r}",
                hint="define the program in a module that is no test file, or write "
                "PYTEST_DONT_REWRITE into the test file's docstring",
            )
        raise StaleSourceError(
            f"the source text found for {name!r} in {code.co_filename} is not the code that runs",
            hint="the file changed after it was imported; import it again",
        )
    source = Source(name, code.co_filename, text, first, indent, tree, function)
    extra = tree.args.vararg or tree.args.kwarg
    if extra is not None:
        raise UnsupportedError(
            f"*args and **kwargs are outside the language: {name!r} takes {extra.arg!r}",
            hint="name every parameter",
            span=source.span(extra),
        )
    return source


def parse(text: str, name: str, file: str) -> ast.FunctionDef:
    """Return the definition of `name` in `text`."""
    try:
        module = ast.parse(text)
    except SyntaxError:
        raise SourceError(f"the source of {name!r} in {file} cannot be parsed") from None
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
        if isinstance(node, ast.AsyncFunctionDef):
            raise UnsupportedError("an async function cannot be a program")
    raise SourceError(f"no definition of {name!r} in the source found in {file}", hint=_LAZY_FORM)


def _is_own_code(tree: ast.FunctionDef, raw: str, code: types.CodeType) -> bool:
    """Tell whether the definition in `raw` (as it stands in the file) compiles to `code`.

    The text is compiled, not the tree: a sum of thousands of terms is too deep a tree for
    compile(), and removing the indentation would change the strings inside.
    """
    lines = raw.splitlines(keepends=True)[tree.lineno - 1 :]
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    head = ""
    if code.co_freevars:
        # Free variables exist only inside a function that binds them.
        names = "".join(f"{name} = " for name in code.co_freevars)
        head = f"def outer():\n{indent or ' '}{names}None\n"
    elif indent:
        head = "if True:\n"
    if code.co_freevars and not indent:
        lines = [f" {line}" for line in lines]
    future = code.co_flags & 0x1FF0000
    try:
        compiled = compile(
            head + "".join(lines), code.co_filename, "exec", flags=future, dont_inherit=True
        )
    except SyntaxError:
        return False
    return any(_same_code(found, code) for found in _codes(compiled, tree.name))


def _codes(code: types.CodeType, name: str) -> list[types.CodeType]:
    found: list[types.CodeType] = []
    stack = [code]
    while stack:
        current = stack.pop()
        for const in current.co_consts:
            if isinstance(const, types.CodeType):
                if const.co_name == name:
                    found.append(const)
                stack.append(const)
    return found


def _instructions(code: types.CodeType) -> list[tuple[str, object]]:
    """Return what the code does, without what depends on the rest of its module.

    The compiler calls attributes of imported names through other instructions than methods, and
    it knows the imports only when it sees the whole file.
    """
    jumps = {dis.opname[op] for op in (*dis.hasjrel, *dis.hasjabs)}
    found: list[tuple[str, object]] = []
    for step in dis.get_instructions(code):
        name = {"LOAD_METHOD": "LOAD_ATTR"}.get(step.opname, step.opname)
        if name in ("PUSH_NULL", "CACHE", "PRECALL", "RESUME", "NOP", "EXTENDED_ARG"):
            continue
        value = step.argval
        if name in jumps:
            value = None
        elif isinstance(value, types.CodeType):
            value = value.co_name
        elif name in ("CALL", "LOAD_CONST"):
            value = repr(step.argval)
        found.append((name, value))
    return found


def _same_code(a: types.CodeType, b: types.CodeType) -> bool:
    return (
        _instructions(a) == _instructions(b)
        and a.co_varnames == b.co_varnames
        and sorted(a.co_freevars) == sorted(b.co_freevars)
        and len(a.co_consts) == len(b.co_consts)
        and all(
            _same_code(x, y)
            if isinstance(x, types.CodeType) and isinstance(y, types.CodeType)
            else type(x) is type(y) and repr(x) == repr(y)
            for x, y in zip(a.co_consts, b.co_consts, strict=True)
        )
    )
