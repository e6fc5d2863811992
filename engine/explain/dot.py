"""A plan as Graphviz source; made without Graphviz."""

from __future__ import annotations

from lineal.engine.explain.graph import Graph, Node, build
from lineal.planner.plan import PhysicalPlan

_SHAPES = {"input": "ellipse", "return": "ellipse", "loop": "house", "if": "diamond",
           "end": "invhouse", "test": "diamond"}  # fmt: skip
_FILL = {"blocked": "#fde7c7", "broadcast": "#f9d5e5", "driver": "#e3ecf7"}


def render(plan: PhysicalPlan) -> str:
    """Return DOT text: loops and branches are clusters, tooltips hold the numbers."""
    graph = build(plan)
    lines = [
        f"digraph {_quote(plan.name)} {{",
        "  rankdir=TB; compound=true;",
        '  node [fontname="monospace", fontsize=10, shape=box, style="rounded,filled", '
        'fillcolor="#f3f3f3"];',
        '  edge [fontname="monospace", fontsize=9];',
        '  graph [fontname="monospace", fontsize=10, style="rounded"];',
    ]
    lines += _clusters(graph)
    for edge in graph.edges:
        lines.append(f"  n{edge.source} -> n{edge.target} [tooltip={_quote(edge.value)}];")
    for end, head in graph.turns:
        lines.append(f'  n{end} -> n{head} [style=dashed, constraint=false, label="next"];')
    lines.append("}")
    return "\n".join(lines) + "\n"


def _clusters(graph: Graph) -> list[str]:
    """Return nodes inside nested clusters, without recursion."""
    inside: dict[int, list[int]] = {}
    for index, node in enumerate(graph.nodes):
        inside.setdefault(node.box, []).append(index)
    children: dict[int, list[int]] = {}
    for index, inner in enumerate(graph.boxes):
        children.setdefault(inner.parent, []).append(index)
    lines: list[str] = []
    stack: list[tuple[int, bool]] = [(-1, False)]
    while stack:
        box, done = stack.pop()
        if done:
            lines.append("  }")
            continue
        if box >= 0:
            found = graph.boxes[box]
            dashed = ' style="rounded,dashed";' if found.kind == "once" else ""
            lines.append(f"  subgraph cluster_{box} {{ label={_quote(found.title)};{dashed}")
            stack.append((box, True))
        lines += [_node(index, graph.nodes[index]) for index in inside.get(box, ())]
        stack.extend((child, False) for child in reversed(children.get(box, [])))
    return lines


def _node(index: int, node: Node) -> str:
    fill = _FILL.get(node.where) if node.kind == "op" else None
    attrs = [f"label={_quote(chr(10).join(node.lines))}", f"tooltip={_quote(node.title)}"]
    if node.kind in _SHAPES:
        attrs.append(f"shape={_SHAPES[node.kind]}")
    if fill:
        attrs.append(f'fillcolor="{fill}"')
    return f"  n{index} [{', '.join(attrs)}];"


def _quote(text: str) -> str:
    """Return a DOT string; backslashes are doubled so that no escape sequence is left."""
    shown = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{shown}"'
