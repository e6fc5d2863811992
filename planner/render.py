"""Shows one operation as text, by the user's names where there are any."""

from __future__ import annotations

from typing import Any

from lineal.planner.expr import Expr
from lineal.planner.logical import Note, Notes

_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//",
    "remainder": "%", "power": "**", "matmul": "@", "less": "<", "less_equal": "<=",
    "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "py.add": "+", "py.sub": "-", "py.mul": "*", "py.truediv": "/", "py.floordiv": "//",
    "py.mod": "%", "py.pow": "**", "py.lt": "<", "py.le": "<=", "py.gt": ">", "py.ge": ">=",
    "py.eq": "==", "py.ne": "!=",
}  # fmt: skip
_PREFIX = {"negative": "-", "invert": "~", "py.neg": "-", "py.not": "not "}
_POSTFIX = ("transpose", "getitem", "square")
_HIDDEN = frozenset(["type", "loop", "index", "n", "values"])


def render(node: Expr, notes: Notes, names: dict[Expr, str]) -> str:
    """Return `node`'s operation on its operands' names."""
    shown = [operand(child, notes, names) for child in node.inputs]
    if node.op in _INFIX:
        return f"{shown[0]} {_INFIX[node.op]} {shown[1]}"
    if node.op in _PREFIX:
        return f"{_PREFIX[node.op]}{shown[0]}"
    if node.op == "transpose":
        return f"{shown[0]}.T"
    if node.op == "square":
        return f"{shown[0]} ** 2"
    if node.op == "const":
        return repr(node.attr("value"))
    if node.op == "literal":
        return f"array({list(node.attr('values'))})"  # type: ignore[call-overload]
    if node.op == "getitem":
        return f"{shown[0]}[{index_text(node.attr('spec'), shown[1:])}]"
    if node.op == "setitem":
        return f"{shown[0]}[{index_text(node.attr('spec'), shown[2:])}] = {shown[1]}"
    attrs = [
        f"{key}={value!r}"
        for key, value in node.attrs
        if key not in _HIDDEN and value is not None and value is not False
    ]
    return f"{node.op.removeprefix('py.').rstrip('_')}({', '.join([*shown, *attrs])})"


def expression(node: Expr, notes: Notes, depth: int = 3) -> str:
    """Return `node` written out down to named values, at most `depth` operations deep."""
    names: dict[Expr, str] = {}

    def show(at: Expr, left: int, top: bool) -> str:
        note = notes.get(at, Note())
        named = note.name and not note.name.startswith("@")
        if named and not top:
            return note.name
        if at.op in ("const", "input", "param", "item", "loop", "if") or left == 0:
            short = operand(at, notes, names)
            return "..." if short == at.op else short
        for child in at.inputs:
            names[child] = show(child, left - 1, False)
            if _needs_brackets(names[child], child, at):
                names[child] = f"({names[child]})"
        return render(at, _Unnamed(notes, at.inputs), names)

    return show(node, depth, True)


def _needs_brackets(text: str, child: Expr, parent: Expr) -> bool:
    """Tell whether the text of an operand would bind otherwise inside its parent's."""
    if child.op in _PREFIX:
        if parent.op in (*_POSTFIX, "power", "py.pow"):
            return not text.isidentifier() and text != "..."
        return " " in text and (parent.op in _INFIX or parent.op in _PREFIX)
    if child.op in _INFIX or child.op == "square":
        tight = parent.op in _INFIX or parent.op in _PREFIX or parent.op in _POSTFIX
        return tight and " " in text
    return False


class _Unnamed(dict[Expr, Note]):
    """Notes in which some nodes are shown by the text found for them, not by their name."""

    def __init__(self, notes: Notes, hidden: tuple[Expr, ...]) -> None:
        super().__init__()
        self._notes = notes
        self._hidden = hidden

    def get(self, key: Expr, default: Any = None) -> Any:
        return default if key in self._hidden else self._notes.get(key, default)


def operand(node: Expr, notes: Notes, names: dict[Expr, str]) -> str:
    """Return the name by which a plan's text refers to `node`."""
    if node.op == "const":
        return repr(node.attr("value"))
    note = notes.get(node, Note())
    if note.name and not note.name.startswith("@"):
        return note.name
    if node.op == "item" and node.inputs[0] in names:
        return f"{names[node.inputs[0]]}.{node.attr('k')}"
    return names.get(node, node.op)


def index_text(spec: Any, values: list[str]) -> str:
    """Return an index template as it was written."""
    parts = []
    for entry in spec:
        if entry[0] == "new":
            parts.append("None")
        elif entry[0] in ("int", "array"):
            parts.append(values[entry[1]])
        else:
            _, start, stop, step = entry
            if start is None and stop is None and step is None:
                parts.append(":")
            else:
                tail = "" if step in (None, 1) else f":{step}"
                first, last = ("" if bound is None else bound for bound in (start, stop))
                parts.append(f"{first}:{last}{tail}")
    return ", ".join(parts)
