"""The grammar page is the generated one, and the page on plans names every column."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
from pathlib import Path
from typing import Any

import pytest

from lineal.engine import grammar
from lineal.engine.explain import text
from lineal.planner.functions import DRAWS, FUNCTIONS, METHODS

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.checkout


def test_grammar_page_is_up_to_date() -> None:
    """`python -m lineal.engine.grammar docs/grammar.md` writes it."""
    assert (ROOT / "docs" / "grammar.md").read_text() == grammar.page()


def test_grammar_describes_what_the_tracer_takes() -> None:
    assert grammar.supported("_do_") == set(grammar.STATEMENTS)
    assert grammar.supported("_ev_") == set(grammar.EXPRESSIONS)


def test_every_statement_of_python_is_on_the_page() -> None:
    from lineal.planner import trace, trace_expr

    statements = {cls.__name__ for cls in ast.stmt.__subclasses__()}
    named = set(grammar.STATEMENTS) | {cls.__name__ for cls in trace._STATEMENT_HINTS}
    later = {"TypeAlias", "TryStar", "AsyncFunctionDef"}  # refused by the general message
    assert statements - later <= named
    expressions = {cls.__name__ for cls in ast.expr.__subclasses__()}
    named = set(grammar.EXPRESSIONS)
    named |= {cls.__name__ for cls in trace_expr._UNSUPPORTED_EXPRESSIONS}
    inside = {"FormattedValue", "TemplateStr", "Interpolation"}  # parts of what is refused
    assert expressions - inside <= named


def test_every_function_is_on_the_page() -> None:
    page = grammar.page()
    for entry in FUNCTIONS.values():
        assert f"`{entry.name}" in page
    for name in METHODS:
        assert f"`.{name}`" in page
    for name in DRAWS:
        assert f"`rng.{name}(" in page


def test_main_prints_or_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert grammar.main([]) == 0
    assert capsys.readouterr().out == grammar.page()
    assert grammar.main([str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text() == grammar.page()


def test_page_on_plans_explains_every_column() -> None:
    page = (ROOT / "docs" / "reading-plans.md").read_text()
    for column in (*text.columns("physical"), *text.columns("memory")):
        assert f"| `{column}` |" in page


FENCE = re.compile(r"^```(python|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _refreshed(page: str, folder: Path) -> str:
    """Run the page's blocks in order and put what each prints into its `output` block."""
    names: dict[str, Any] = {"__name__": "__docs__"}
    printed = [""]

    def run(block: re.Match[str]) -> str:
        kind, body = block.groups()
        if kind == "output":
            return f"```output\n{printed[-1].rstrip()}\n```"
        file = folder / f"page_{block.start()}.py"  # programs are read from their source
        file.write_text(body)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(body, str(file), "exec"), names)
        printed.append(out.getvalue())
        return block.group()

    return FENCE.sub(run, page)


@pytest.mark.parametrize("name", ["reading-plans.md", "grammar.md"])
def test_outputs_on_the_page_are_what_is_printed(name: str, tmp_path: Path) -> None:
    """`LINEAL_UPDATE_GOLDEN=1 pytest tests/explain` writes them anew."""
    file = ROOT / "docs" / name
    before = file.read_text()
    after = _refreshed(before, tmp_path)
    if os.environ.get("LINEAL_UPDATE_GOLDEN") and after != before:
        file.write_text(after)
        before = after
    assert after == before
