"""A plan as a graph: steps as nodes, values as edges, loops and branches as boxes.

Drawings and `to_networkx` read this; it is made from the rows and knows no formats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineal.engine.explain import numbers
from lineal.engine.explain.rows import Row, rows
from lineal.planner.plan import PhysicalPlan, Value

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, slots=True)
class Node:
    """One node: an input, a step, a control mark or the result.

    `key` is unique and stable: the name of the first value made, "loop %7" and "end %7" for
    control, "return".  `lines` are to be written in the node, `title` holds the numbers.
    `box` is the index of the box around it, -1 for none.
    """

    key: str
    kind: str
    lines: tuple[str, ...]
    title: str
    box: int
    where: str = ""
    hoisted: bool = False
    row: Row | None = None
    value: Value | None = None


@dataclass(frozen=True, slots=True)
class Box:
    """A loop, a branch, one side of a branch, or the steps hoisted out of a loop.

    `head` is the node that decides whether this side of a branch runs, -1 for other boxes.
    """

    kind: str
    title: str
    parent: int
    head: int = -1


@dataclass(frozen=True, slots=True)
class Edge:
    """`value` flows from node `source` to node `target` (indices)."""

    source: int
    target: int
    value: str


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in execution order, boxes with parents before children, edges without cycles.

    `turns` are the pairs (end, head) of each loop, where the next iteration starts.
    """

    nodes: tuple[Node, ...]
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    turns: tuple[tuple[int, int], ...]


def build(plan: PhysicalPlan) -> Graph:
    """Return the graph of `plan`; constants have no node of their own."""
    return _Builder(plan).run()


class _Builder:
    def __init__(self, plan: PhysicalPlan) -> None:
        self.plan = plan
        self.nodes: list[Node] = []
        self.boxes: list[Box] = []
        self.edges: dict[Edge, None] = {}
        self.turns: list[tuple[int, int]] = []
        self.producer: dict[str, int] = {}
        self.open: list[tuple[int, int]] = []  # (box, head node) of the loops and branches around
        self.sides: list[int] = []
        self.hoists: dict[int, int] = {}

    def run(self) -> Graph:
        found = rows(self.plan)
        for value in self.plan.inputs:
            self.add(
                Node(
                    value.name, "input", (value.name, _form(value)), f"input {value.name}",
                    -1, value.place, value=value,
                )
            )  # fmt: skip
            self.producer[value.name] = len(self.nodes) - 1
        for row in found:
            if row.kind == "const":
                continue
            getattr(self, f"_{row.kind}")(row)
        shown = ", ".join(self.plan.results)
        last = self.add(Node("return", "return", ("return", numbers.elide(shown, 40)), shown, -1))
        self.connect(self.plan.results, last)
        return Graph(tuple(self.nodes), tuple(self.boxes), tuple(self.edges), tuple(self.turns))

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def connect(self, names: tuple[str, ...], target: int) -> bool:
        """Add the edges of `names` to `target`; tell whether there was any."""
        sources = [(self.producer.get(name), name) for name in names]
        found = [Edge(s, target, name) for s, name in sources if s is not None and s != target]
        self.edges.update(dict.fromkeys(found))
        return bool(found)

    @property
    def box(self) -> int:
        if not self.open:
            return -1
        side = self.sides[-1]
        return side if side >= 0 else self.open[-1][0]

    def _op(self, row: Row) -> None:
        box = self.box
        if row.hoisted:
            if box not in self.hoists:
                self.boxes.append(Box("once", "once, taken out of the loop", box))
                self.hoists[box] = len(self.boxes) - 1
            box = self.hoists[box]
        first = row.outputs[0] if row.outputs else None
        head = " ".join(filter(None, (_names(row.outputs), "=", row.text)))
        detail = [_form(first) if first else "", _often(row), row.where]
        if row.flops:
            detail.append(f"{numbers.count(row.flops)} flop")
        at = self.add(
            Node(
                first.name if first else f"step {len(self.nodes)}",
                "op",
                (numbers.elide(head, 46), " · ".join(d for d in detail if d)),
                title(row),
                box,
                row.where,
                row.hoisted,
                row,
                first,
            )
        )
        self.connect(row.inputs, at)
        for value in row.outputs:
            self.producer[value.name] = at

    def _open(self, row: Row, text: str) -> int:
        self.boxes.append(Box(row.kind, text, self.box))
        box = len(self.boxes) - 1
        shown = ", ".join(f"{c.value.label or '-'} {c.param}" for c in row.carried)
        lines = (numbers.elide(text, 46), *([numbers.elide(shown, 46)] if shown else []))
        at = self.add(
            Node(f"{row.kind} {len(self.nodes)}", row.kind, lines, title(row), box, row=row)
        )
        self.connect(row.inputs, at)
        for item in row.carried:
            self.producer[item.param] = at
        self.open.append((box, at))
        self.sides.append(-1)
        return at

    def _loop(self, row: Row) -> None:
        self._open(row, row.text)

    def _if(self, row: Row) -> None:
        self._open(row, row.text)

    def _then(self, row: Row) -> None:
        box, head = self.open[-1]
        self.boxes.append(Box(row.kind, row.kind, box, head))
        self.sides[-1] = len(self.boxes) - 1

    _else = _then

    def _test(self, row: Row) -> None:
        at = self.add(
            Node(
                f"test {len(self.nodes)}", "test", (f"while {' '.join(row.inputs)}",), title(row),
                self.box, row=row,
            )
        )  # fmt: skip
        self.connect(row.inputs, at)

    def _end(self, row: Row) -> None:
        box, head = self.open.pop()
        self.sides.pop()
        word = "next" if row.carried else "result"
        shown = f"{word} {_names(row.outputs)}"
        key = f"end {row.outputs[0].name}" if row.outputs else f"end {len(self.nodes)}"
        at = self.add(Node(key, "end", (numbers.elide(shown, 46),), title(row), box, row=row))
        if not self.connect(row.inputs, at):
            self.edges[Edge(head, at, "")] = None
        for value in row.outputs:
            self.producer[value.name] = at
        if row.op == "loop":
            self.turns.append((at, head))


def title(row: Row) -> str:
    """Return all that a row knows, one fact a line."""
    lines = [row.text]
    for value in row.outputs:
        lines.append(f"{value.name} {value.label}: {numbers.type_text(value)}, {value.storage}, "
                     f"density {numbers.density(value.density)}, {value.place}")  # fmt: skip
    if row.inputs:
        lines.append(f"from {', '.join(row.inputs)}")
    if row.flops is not None:
        lines.append(f"{numbers.count(row.flops)} flop, reads {numbers.size(row.bytes_read)}, "
                     f"writes {numbers.size(row.bytes_written)}, "
                     f"peak {numbers.size(row.peak_bytes)}")  # fmt: skip
        lines.append(f"runs {_often(row)}")
    if row.lines:
        lines.append(f"line {', '.join(map(str, row.lines))}")
    if row.note:
        lines.append(row.note)
    return "\n".join(lines)


def _often(row: Row) -> str:
    if row.hoisted and row.level == 0:
        return "at most once"
    if row.runs == 1 and not row.loops:
        return "once"
    return f"{'~' if row.runs_guessed else ''}x{row.runs:g}"


def _names(values: tuple[Value, ...]) -> str:
    return ", ".join(f"{v.name} {'' if v.label[:1] == '@' else v.label}".rstrip() for v in values)


def _form(value: Value) -> str:
    sparse = f" {value.storage} {numbers.density(value.density)}"
    return numbers.type_text(value) + (sparse if value.storage != "dense" else "")


def to_networkx(plan: PhysicalPlan) -> nx.DiGraph:
    """Return the plan as a networkx DiGraph without cycles.

    Node attributes: kind, op, text, where, shape, dtype, storage, density, density_kind, flops,
    bytes_read, bytes_written, peak_bytes, runs, hoisted, lines, box.  Edges carry `value`, the
    list of names that flow along them.  The graph's own attributes: name, boxes, and `turns`,
    the pairs (end, head) of each loop.
    """
    import networkx as nx

    graph = build(plan)
    boxes = [(box.kind, box.title, box.parent) for box in graph.boxes]
    turns = [(graph.nodes[a].key, graph.nodes[b].key) for a, b in graph.turns]
    found: nx.DiGraph = nx.DiGraph(name=plan.name, boxes=boxes, turns=turns)
    for node in graph.nodes:
        row, value = node.row, node.value
        found.add_node(
            node.key,
            kind=node.kind,
            op=row.op if row else node.kind,
            text=row.text if row else node.lines[0],
            where=node.where,
            shape=value.type.shape if value else None,
            dtype=value.type.dtype.name if value else None,
            storage=value.storage if value else None,
            density=value.density.value if value else None,
            density_kind=value.density.kind.value if value else None,
            flops=row.flops if row else None,
            bytes_read=row.bytes_read if row else None,
            bytes_written=row.bytes_written if row else None,
            peak_bytes=row.peak_bytes if row else None,
            runs=row.runs if row else 1.0,
            hoisted=node.hoisted,
            lines=row.lines if row else (),
            box=node.box,
        )
    for edge in graph.edges:
        a, b = graph.nodes[edge.source].key, graph.nodes[edge.target].key
        if found.has_edge(a, b):
            found.edges[a, b]["value"].append(edge.value)
        else:
            found.add_edge(a, b, value=[edge.value])
    return found
