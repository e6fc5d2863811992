"""A plan as text: stable, aligned, top to bottom, one line per value."""

from __future__ import annotations

from collections.abc import Iterable

from lineal.engine.explain import numbers
from lineal.engine.explain.rows import Carried, Row, constant_texts, rows
from lineal.planner.fingerprint import plan_hash
from lineal.planner.plan import Decision, PhysicalPlan, Value
from lineal.planner.types import DENSE

WIDTH = 100
_MAX_INDENT = 12
_LEAST = {"computes": 18, "from": 12}
_RIGHT = frozenset(["flops", "bytes", "read", "written", "peak"])

Cells = dict[str, str]
Constants = dict[str, str]


def render(plan: PhysicalPlan, *, mode: str = "physical", verbose: bool = False) -> str:
    """Return the text of `plan`; `mode` is "physical", "memory" or "decisions"."""
    if mode == "decisions":
        parts = [_header(plan)[0], *_decisions(plan, verbose)]
        if len(parts) == 1:
            parts.append("no decisions")
        return "\n".join(parts) + "\n"
    shown = columns(mode)
    found = rows(plan)
    constants = constant_texts(found)
    table: list[Cells] = [{name: name for name in shown}]
    table += [_input(value) for value in plan.inputs]
    peaks = [row.peak_bytes or 0.0 for row in found if row.kind == "op"]
    largest = max(peaks, default=0.0)
    for row in found:
        if row.kind != "const" or (row.outputs and row.outputs[0].name in plan.results):
            table += _lines(row, plan, constants, largest if mode == "memory" else 0.0)
    parts = _header(plan)
    parts += _align(table, shown, narrow=not verbose)
    parts.append(_returned(plan, found))
    if mode == "physical":
        parts += _decisions(plan, verbose)
    return "\n".join(line.rstrip() for line in parts) + "\n"


def columns(mode: str) -> tuple[str, ...]:
    """Return the names of the columns of a mode's table."""
    first = ("runs", "value", "computes", "from", "type", "held")
    if mode == "memory":
        return (*first, "read", "written", "peak", "frees")
    return (*first, "where", "flops", "bytes", "line")


def _header(plan: PhysicalPlan) -> list[str]:
    """Return the plan's name and identity, and its totals."""
    head = f"plan {plan.name}  {plan_hash(plan)[:12]}  stage=physical"
    totals = [
        f"est {numbers.seconds(plan.est_seconds)}"
        f" (as written {numbers.seconds(plan.est_seconds_as_written)})",
        f"flops {numbers.count(plan.flops)} (as written {numbers.count(plan.flops_as_written)})",
        f"moved {numbers.size(plan.moved_bytes)}",
        f"peak {numbers.size(plan.peak_bytes)}",
    ]
    lines = [head, "  ".join(totals)]
    for label, trips, how in plan.trip_counts:
        lines.append(f"loop at {label}: x{trips:g} ({how})")
    return lines


def _input(value: Value) -> Cells:
    return {
        "runs": "input",
        "value": value.name,
        "type": numbers.type_text(value),
        "held": _held(value),
        "where": _where(value.place, value),
        "bytes": "",
    }


def _held(value: Value) -> str:
    if value.type.kind != "array" or not value.type.ndim:
        return ""
    if value.density == DENSE:  # at most all entries are not zero: nothing is known
        return value.storage
    return f"{value.storage} {numbers.density(value.density)}"


def _where(where: str, value: Value) -> str:
    grid = numbers.places(value)
    return f"{where} {grid}" if grid else where


def _lines(row: Row, plan: PhysicalPlan, constants: Constants, largest: float) -> list[Cells]:
    """Return the lines of one row: one per result, and per carried value of a loop."""
    if row.kind in ("op", "const"):
        return _operation(row, plan, constants, largest)
    if row.kind == "loop":
        head = _control(row, plan, row.text)
        return [head, *(_carried(row, c, "starts", constants) for c in row.carried)]
    if row.kind == "end" and row.carried:
        nexts = [_carried(row, c, "next", constants) for c in row.carried]
        return [*nexts, _control(row, plan, "end", line=False)]
    if row.kind == "end":
        merged = []
        for value, (_, then, other) in zip(row.outputs, row.merged, strict=True):
            cells = _value(row, value)
            pair = (_source(then, constants), _source(other, constants))
            cells["computes"] = f"then {pair[0]} else {pair[1]}"
            merged.append(cells)
        return [_control(row, plan, "end", line=False), *merged]
    if row.kind in ("then", "else"):
        return [_control(row, plan, row.kind, line=False)]
    return [_control(row, plan, row.text)]


def _operation(row: Row, plan: PhysicalPlan, constants: Constants, largest: float) -> list[Cells]:
    first: Cells = {
        "computes": row.text + (f"  [{row.note}]" if row.note else ""),
        "from": _from(row.inputs, constants),
        "where": _where(row.where, row.outputs[0]) if row.outputs else row.where,
        "flops": numbers.count(row.flops),
        "bytes": numbers.size(row.bytes_moved),
        "read": numbers.size(row.bytes_read),
        "written": numbers.size(row.bytes_written),
        "peak": numbers.size(row.peak_bytes)
        + (" *" if largest and row.peak_bytes == largest else ""),
        "frees": " ".join(n for n in row.frees if n not in constants),
        "line": _places(row, plan),
        "runs": _often(row),
    }
    if not row.outputs:
        return [{"value": _indent(row) + "-", **first}]
    made = [_value(row, value) for value in row.outputs]
    return [{**made[0], **first}, *made[1:]]


def _value(row: Row, value: Value) -> Cells:
    label = "" if value.label.startswith("@") else value.label
    return {
        "value": f"{_indent(row)}{value.name} {label}".rstrip(),
        "type": numbers.type_text(value),
        "held": _held(value),
    }


def _control(row: Row, plan: PhysicalPlan, text: str, line: bool = True) -> Cells:
    cells: Cells = {"value": f"{_indent(row)}{text}", "line": _places(row, plan) if line else ""}
    if row.kind in ("loop", "if"):
        cells["runs"] = _often(row)
    if row.kind == "test":
        cells["from"] = f"<- {' '.join(row.inputs)}"
    return cells


def _carried(row: Row, item: Carried, what: str, constants: Constants) -> Cells:
    """Return the line of a value that a loop carries: where it starts, or what it becomes."""
    name, source = (item.param, item.init) if what == "starts" else (item.value.name, item.next)
    label = "" if item.value.label.startswith("@") else item.value.label
    return {
        "value": f"{_indent(row, 1)}{name} {label}".rstrip(),
        "computes": what,
        "from": f"<- {_source(source, constants)}",
        "type": numbers.type_text(item.value),
        "held": _held(item.value),
    }


def _source(name: str, constants: Constants) -> str:
    return constants.get(name, name) if name else "(unset)"


def _indent(row: Row, more: int = 0) -> str:
    depth = row.indent + more
    if depth <= _MAX_INDENT:
        return "  " * depth
    return "  " * _MAX_INDENT + f"({depth}) "


def _from(names: tuple[str, ...], constants: Constants) -> str:
    shown = " ".join(name for name in names if name not in constants)
    return f"<- {shown}" if shown else ""


def _often(row: Row) -> str:
    if row.hoisted and row.level == 0:
        return "once*"
    guess = "~" if row.runs_guessed else ""
    if row.runs == 1 and row.loops == 0:
        return "once"
    return f"{guess}x{row.runs:g}{'*' if row.hoisted else ''}"


def _places(row: Row, plan: PhysicalPlan) -> str:
    """Return the user's lines; those of an inlined function carry its name."""
    found: dict[str, None] = {}
    for span in sorted(row.spans, key=lambda s: (s.function not in ("", plan.name), s.line)):
        own = span.function in ("", plan.name)
        found.setdefault(str(span.line) if own else f"{span.function}:{span.line}")
    shown = list(found)
    return ",".join(shown) if len(shown) <= 3 else f"{','.join(shown[:2])},+{len(shown) - 2}"


def _returned(plan: PhysicalPlan, found: tuple[Row, ...]) -> str:
    labels = {v.name: v.label for row in found for v in row.outputs}
    shown = [
        f"{name} {labels.get(name, '')}".rstrip() if not name.startswith("@") else name
        for name in plan.results
    ]
    starred = any(row.hoisted for row in found)
    note = "   (* loop-constant, taken out of its loop)" if starred else ""
    return f"return {', '.join(shown)}{note}"


def _align(table: list[Cells], names: Iterable[str], narrow: bool) -> list[str]:
    """Return the table's lines; if `narrow`, long texts are cut until WIDTH is kept if it can be.

    Control lines have no part in the widths: they run over the columns that they leave empty.
    """
    used = [c for c in names if any(cells.get(c) for cells in table[1:])]
    full = [cells for cells in table if cells.get("type") or cells.get("peak")]
    widths = {c: max((len(cells.get(c, "")) for cells in full), default=0) for c in used}
    operations = [len(cells.get("from", "")) for cells in full if cells.get("peak")]
    if "from" in widths and operations:
        widths["from"] = max(operations)
    for column in ("frees", "computes", "from"):
        if narrow and column in widths:
            over = sum(widths.values()) + 2 * (len(used) - 1) - WIDTH
            least = min(widths[column], _LEAST.get(column, 10))
            widths[column] = max(widths[column] - max(over, 0), least)
    return [_line(cells, used, widths) for cells in table]


def _line(cells: Cells, used: list[str], widths: dict[str, int]) -> str:
    parts: list[str] = []
    at = 0
    start = 0
    for position, column in enumerate(used):
        text = cells.get(column, "")
        width = widths[column]
        if text:
            if column in _LEAST or column == "frees":
                # An empty neighbour's place may be used.
                room = width
                for after in used[position + 1 :]:
                    if cells.get(after):
                        break
                    room += widths[after] + 2
                text = numbers.elide(text, room)
            text = text.rjust(width) if column in _RIGHT else text
            gap = max(start - at, 2 if parts else 0)
            parts.append(" " * gap + text)
            at += gap + len(text)
        start += width + 2
    return "".join(parts)


def _decisions(plan: PhysicalPlan, verbose: bool) -> list[str]:
    """Return the "why" lines: what fired, and what was refused with the numbers compared."""
    fired = [d for d in plan.decisions if d.fired]
    refused = [d for d in plan.decisions if not d.fired]
    lines = [line for d in fired for line in _decision(d, plan, "why", verbose)]
    if verbose:
        lines += [line for d in refused for line in _decision(d, plan, "refused", verbose)]
    elif refused:
        lines.append(f"{len(refused)} refused: explain(verbose=True) lists them with their reasons")
    return lines


def _decision(d: Decision, plan: PhysicalPlan, word: str, verbose: bool) -> list[str]:
    place = ""
    if d.span is not None:
        own = d.span.function in ("", plan.name)
        place = f"  line {d.span.line}" if own else f"  {d.span.function}:{d.span.line}"
    head = f"{word} {d.rule}{place}"
    before, after = " ".join(d.before.split()), " ".join(d.after.split())
    one = f"{head}  {before}{f' -> {after}' if after else ''}"
    if not before and not after:
        lines = [head]
    elif len(one) <= WIDTH:
        lines = [one]
    else:
        room = 10_000 if verbose else WIDTH - 7
        lines = [head, f"       {numbers.elide(before, room)}"]
        lines += [f"    -> {numbers.elide(after, room)}"] if after else []
    compared = ", ".join(f"{name} {numbers.figure(name, value)}" for name, value in d.numbers)
    numerics = "" if d.numerics == "exact" else f"numerics: {d.numerics}"
    detail = "; ".join(part for part in (d.reason, compared, numerics) if part)
    if detail:
        lines.append(f"    {detail}")
    return lines
