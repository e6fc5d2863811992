"""Every Python block of README.md and docs/ runs; a block `output` after it is what it prints.

The blocks of one file share one namespace and run in order.  A block that begins with `>>>` is
a doctest.  A block marked ```python no-run is left alone.  Blocks are compiled under a real file
name, because programs are read from their source.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```\s*$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.checkout


def _pages() -> list[Path]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if page.exists()]


@pytest.mark.parametrize("page", _pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    blocks = [
        (m["info"].strip(), m["body"], text.count("\n", 0, m.start()) + 2)
        for m in FENCE.finditer(text)
    ]
    names: dict[str, Any] = {"__name__": "__docs__"}
    for index, (info, body, line) in enumerate(blocks):
        if info.split(" ")[0] != "python" or "no-run" in info:
            continue
        where = f"{page.name}:{line}"
        if body.lstrip().startswith(">>>"):
            _doctest(body, names, where)
            continue
        file = tmp_path / f"{page.stem}_{line}.py"
        file.write_text(body)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(body, str(file), "exec"), names)
        if index + 1 < len(blocks) and blocks[index + 1][0] == "output":
            assert _lines(printed.getvalue()) == _lines(blocks[index + 1][1]), where


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def _doctest(body: str, names: dict[str, Any], where: str) -> None:
    test = doctest.DocTestParser().get_doctest(body, names, where, where, 0)
    report = io.StringIO()
    runner = doctest.DocTestRunner(
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False
    )
    runner.run(test, out=report.write, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, report.getvalue()
