"""Lineal: NumPy programs, planned and run.

Every public name is loaded when it is first used, so that importing Lineal costs little.
"""

from __future__ import annotations

import importlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineal._version import __version__

if TYPE_CHECKING:
    from lineal.config import Options, options
    from lineal.engine.inputs import declare, spec
    from lineal.engine.lazy import LazyArray, asarray, compute
    from lineal.engine.plan import Plan
    from lineal.engine.program import Program, program
    from lineal.engine.readers import read
    from lineal.engine.session import Run, Session
    from lineal.engine.versions import show_versions
    from lineal.planner.cluster import ClusterSpec

_here = Path(__file__).parent
if not (_here / "planner").is_dir() and (_here.parent / "planner").is_dir():
    # A source checkout on sys.path: the sub-packages are this folder's siblings, not its children.
    __path__.append(str(_here.parent))

_HOME = {
    "ClusterSpec": "lineal.planner.cluster",
    "LazyArray": "lineal.engine.lazy",
    "Options": "lineal.config",
    "Plan": "lineal.engine.plan",
    "Program": "lineal.engine.program",
    "Run": "lineal.engine.session",
    "Session": "lineal.engine.session",
    "asarray": "lineal.engine.lazy",
    "compute": "lineal.engine.lazy",
    "declare": "lineal.engine.inputs",
    "options": "lineal.config",
    "program": "lineal.engine.program",
    "read": "lineal.engine.readers",
    "show_versions": "lineal.engine.versions",
    "spec": "lineal.engine.inputs",
}

__all__ = [
    "ClusterSpec",
    "LazyArray",
    "Options",
    "Plan",
    "Program",
    "Run",
    "Session",
    "__version__",
    "asarray",
    "compute",
    "declare",
    "options",
    "program",
    "read",
    "show_versions",
    "spec",
]

logging.getLogger("lineal").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name in ("config", "errors"):
        return importlib.import_module(f"lineal.{name}")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'lineal' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
