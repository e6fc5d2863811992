"""A plan as JSON for tools: stable keys, described by docs/explain-json.schema.json."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from lineal.engine.explain.rows import Row, rows
from lineal.errors import Span
from lineal.planner.fingerprint import plan_hash
from lineal.planner.plan import Decision, PhysicalPlan, Value
from lineal.planner.types import Sym, Type

VERSION = 1
"""Version of the document: raised when a key changes its meaning or goes; new keys may come."""


def dumps(plan: PhysicalPlan) -> str:
    """Return the document as JSON text, one key a line, keys in a fixed order."""
    return json.dumps(to_json(plan), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def to_json(plan: PhysicalPlan) -> dict[str, Any]:
    """Return the document: only dicts, lists, text, finite numbers, booleans and None.

    Unknown and infinite numbers are None.  Names of values connect rows; `hash` is the plan's
    identity.
    """
    symbols: dict[object, int] = {}
    return {
        "version": VERSION,
        "name": plan.name,
        "hash": plan_hash(plan),
        "stage": "physical",
        "totals": {
            "flops": _number(plan.flops),
            "flops_as_written": _number(plan.flops_as_written),
            "est_seconds": _number(plan.est_seconds),
            "est_seconds_as_written": _number(plan.est_seconds_as_written),
            "moved_bytes": _number(plan.moved_bytes),
            "peak_bytes": _number(plan.peak_bytes),
        },
        "trip_counts": [
            {"loop": label, "count": _number(count), "known": how}
            for label, count, how in plan.trip_counts
        ],
        "inputs": [_value(value, symbols) for value in plan.inputs],
        "rows": [_row(row, symbols) for row in rows(plan)],
        "outputs": list(plan.outputs),
        "decisions": [_decision(decision) for decision in plan.decisions],
    }


def _row(row: Row, symbols: dict[object, int]) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "op": row.op,
        "text": row.text,
        "inputs": list(row.inputs),
        "outputs": [_value(value, symbols) for value in row.outputs],
        "attrs": {name: _attr(value, symbols) for name, value in row.attrs},
        "where": row.where or None,
        "indent": row.indent,
        "loops": row.loops,
        "flops": _number(row.flops),
        "bytes_read": _number(row.bytes_read),
        "bytes_written": _number(row.bytes_written),
        "peak_bytes": _number(row.peak_bytes),
        "runs": _number(row.runs),
        "runs_guessed": row.runs_guessed,
        "hoisted": row.hoisted,
        "hoisted_to_loop_level": row.level if row.hoisted else None,
        "lines": list(row.lines),
        "spans": [_span(span) for span in row.spans],
        "frees": list(row.frees),
        "note": row.note,
        "carried": [
            {
                "label": item.value.label,
                "param": item.param,
                "init": item.init or None,
                "next": item.next,
                "output": item.value.name,
            }
            for item in row.carried
        ],
        "merged": [
            {"output": output, "then": then or None, "else": other or None}
            for output, then, other in row.merged
        ],
    }


def _value(value: Value, symbols: dict[object, int]) -> dict[str, Any]:
    return {
        "name": value.name,
        "label": value.label,
        **_type(value.type, symbols),
        "storage": value.storage,
        "density": {"value": _number(value.density.value), "kind": value.density.kind.value},
        "place": value.place,
        "splits": [list(axis) for axis in value.splits],
    }


def _type(type_: Type, symbols: dict[object, int]) -> dict[str, Any]:
    return {
        "kind": type_.kind,
        "dtype": type_.dtype.name,
        "python_scalar": type_.weak,
        "shape": [_dim(dim, symbols) for dim in type_.shape],
    }


def _dim(dim: object, symbols: dict[object, int]) -> object:
    if isinstance(dim, Sym):
        # Equal numbers mean equal sizes; the source itself is an object of this process.
        number = symbols.setdefault(dim.source, len(symbols))
        return {"symbol": f"s{number}", "name": dim.name, "bound": dim.bound}
    return dim


def _span(span: Span) -> dict[str, Any]:
    return {
        "function": span.function,
        "line": span.line,
        "column": span.column,
        "end_column": span.end_column,
        "text": span.text.strip(),
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "rule": decision.rule,
        "fired": decision.fired,
        "before": decision.before,
        "after": decision.after,
        "reason": decision.reason,
        "numbers": {name: _number(value) for name, value in decision.numbers},
        "numerics": decision.numerics,
        "span": None if decision.span is None else _span(decision.span),
    }


def _number(value: float | None) -> float | int | None:
    if value is None or not math.isfinite(value):
        return None
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _attr(value: object, symbols: dict[object, int]) -> object:
    """Return a static attribute; numbers that JSON cannot hold are shown as text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, (tuple, list)):
        return [_attr(item, symbols) for item in value]
    if isinstance(value, Sym):
        return _dim(value, symbols)
    if isinstance(value, Type):
        return _type(value, symbols)
    return str(value)
