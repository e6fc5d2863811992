"""All families in one table."""

from __future__ import annotations

from typing import Any

from lineal.planner.functions import (
    creation,
    draws,
    elementwise,
    linalg,
    ordering,
    products,
    python_builtins,
    reductions,
    shapes,
)
from lineal.planner.functions.entry import Entry

FUNCTIONS: dict[Any, Entry] = {
    **elementwise.ENTRIES,
    **reductions.ENTRIES,
    **ordering.ENTRIES,
    **products.ENTRIES,
    **creation.ENTRIES,
    **shapes.ENTRIES,
    **linalg.ENTRIES,
    **products.LINEAR_ALGEBRA,
    **python_builtins.ENTRIES,
    **draws.ENTRIES,
}
"""Function object -> Entry; the strings "astype" and "flatten" stand for methods only."""

METHODS: dict[str, Entry] = {
    **{e.method: e for e in FUNCTIONS.values() if e.method},
    shapes.TRANSPOSE.method: shapes.TRANSPOSE,
    python_builtins.ITEM.method: python_builtins.ITEM,
}
"""Method name -> Entry."""
