"""`import lineal` is light, modules stand alone, and the planner reads no environment."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HEAVY = ("scipy", "dask", "distributed", "sympy", "numba", "pandas", "networkx", "rich", "click")
RunPython = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize(
    "name", ["lineal", "lineal.errors", "lineal.config", "lineal.planner.types"]
)
def test_import_is_light(run_python: RunPython, name: str) -> None:
    done = run_python(
        f"import sys, {name}\n"
        f"heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "assert not heavy, heavy\n"
    )
    assert done.returncode == 0, done.stderr


def test_every_module_imports_first(run_python: RunPython) -> None:
    """No module leans on another having been imported before it."""
    names = sorted(_module_names())
    assert len(names) > 5
    done = run_python(
        "import importlib, sys, warnings\n"
        "warnings.simplefilter('error')\n"
        "import numpy\n"
        f"for name in {names!r}:\n"
        "    for loaded in [m for m in sys.modules if m.split('.')[0] == 'lineal']:\n"
        "        del sys.modules[loaded]\n"
        "    importlib.import_module(name)\n"
    )
    assert done.returncode == 0, done.stderr


def test_planner_reads_no_environment() -> None:
    """Same input, same plan; imports of clock and randomness are checked by import-linter."""
    import lineal.planner

    found = []
    for folder in lineal.planner.__path__:
        for file in sorted(Path(folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv"):
                    found.append(f"{file.name}:{node.lineno}")
    assert not found


def _module_names() -> set[str]:
    import lineal.engine
    import lineal.kernels
    import lineal.planner

    names: set[str] = set()
    for package in (lineal.planner, lineal.kernels, lineal.engine):
        for folder in map(Path, package.__path__):
            for file in folder.rglob("*.py"):
                parts = file.relative_to(folder).with_suffix("").parts
                parts = parts[:-1] if parts[-1] == "__init__" else parts
                if "__main__" not in parts:
                    names.add(".".join((package.__name__, *parts)))
    return names
