"""The NumPy functions of the language: one builder each, one table.

The table is the only list of what is supported: the front ends dispatch through it, and the
grammar page is printed from it.  One module per family.
"""

from __future__ import annotations

if __name__ != "lineal.planner.functions":  # a second copy of a class breaks isinstance
    raise ImportError("import this package as lineal.planner.functions")

from lineal.planner.functions.draws import DRAWS, draw
from lineal.planner.functions.entry import Entry, call
from lineal.planner.functions.table import FUNCTIONS, METHODS

__all__ = ["DRAWS", "FUNCTIONS", "METHODS", "Entry", "call", "draw"]
