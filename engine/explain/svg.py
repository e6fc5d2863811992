"""A plan as a drawing: SVG without dependencies, for light and dark pages."""

from __future__ import annotations

import unicodedata
from xml.sax.saxutils import escape

from lineal.engine.explain import numbers
from lineal.engine.explain.graph import Graph, Node, build
from lineal.engine.explain.layout import Drawing, Rect, layout
from lineal.planner.fingerprint import plan_hash
from lineal.planner.plan import PhysicalPlan

_CHAR = 7.35  # width of a character of 12 px in the widest of the usual monospace fonts
_SMALL = 6.2  # the same at 10 px
_LINE = 15.0
_TITLE = 42.0

_STYLE = """
svg { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  --page: #ffffff; --ink: #1d2733; --dim: #5b6673; --line: #8894a3; --edge: #9aa5b1;
  --driver: #e6eef8; --blocked: #fdebcf; --broadcast: #f8dcea; --plain: #f1f3f5;
  --loop: #2b6cb0; --branch: #8a5a00; --once: #2f855a; --tint: rgba(43, 108, 176, 0.05); }
@media (prefers-color-scheme: dark) { svg {
  --page: #14181d; --ink: #e4e9ee; --dim: #9aa6b2; --line: #6b7785; --edge: #5d6875;
  --driver: #1f2d3f; --blocked: #43341a; --broadcast: #422437; --plain: #23282e;
  --loop: #63a4e8; --branch: #d9a441; --once: #5fbf8f; --tint: rgba(99, 164, 232, 0.06); } }
.page { fill: var(--page); }
text { fill: var(--ink); font-size: 12px; }
.small { font-size: 10px; fill: var(--dim); }
.node rect { stroke: var(--line); fill: var(--plain); }
.node.driver rect { fill: var(--driver); }
.node.blocked rect { fill: var(--blocked); }
.node.broadcast rect { fill: var(--broadcast); }
.node.hoisted rect { stroke: var(--once); stroke-width: 1.6; }
.box { fill: none; stroke: var(--branch); stroke-width: 1.2; }
.box.loop { fill: var(--tint); stroke: var(--loop); stroke-width: 1.4; }
.box.then, .box.else { stroke-dasharray: 2 3; }
.box.once { stroke: var(--once); stroke-dasharray: 5 3; }
.edge { fill: none; stroke: var(--edge); stroke-width: 1.1; }
.turn { fill: none; stroke: var(--loop); stroke-width: 1.4; stroke-dasharray: 4 3; }
marker path { fill: var(--edge); }
marker.back path { fill: var(--loop); }
"""


def render(plan: PhysicalPlan) -> str:
    """Return an SVG document; what a node does not say is in its tooltip."""
    graph = build(plan)
    sizes = [_size(node) for node in graph.nodes]
    titles = [_width(box.title, _SMALL) for box in graph.boxes]
    drawing = layout(graph, sizes, titles)
    head = f"plan {plan.name} · {plan_hash(plan)[:12]}"
    totals = (
        f"est {numbers.seconds(plan.est_seconds)} · flops {numbers.count(plan.flops)} · "
        f"moved {numbers.size(plan.moved_bytes)} · peak {numbers.size(plan.peak_bytes)}"
    )
    width = max(drawing.width, _width(head, _CHAR) + 30, _width(totals, _SMALL) + 30)
    height = drawing.height + _TITLE
    shift = (width - drawing.width) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img">',
        f"<title>{_text(f'plan {plan.name}')}</title>",
        f"<style>{escape(_STYLE)}</style>",
        "<defs>",
        *(_marker(name, css) for name, css in (("arrow", ""), ("back", "back"))),
        "</defs>",
        f'<rect class="page" width="{width:.0f}" height="{height:.0f}"/>',
        f'<text x="14" y="18">{_text(head)}</text>',
        f'<text class="small" x="14" y="33">{_text(totals)}</text>',
        f'<g transform="translate({shift:.1f} {_TITLE - 6:.0f})">',
        *_boxes(graph, drawing),
        *_edges(graph, drawing),
        *_turns(graph, drawing),
        *(_node(node, rect) for node, rect in zip(graph.nodes, drawing.nodes, strict=True)),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _size(node: Node) -> tuple[float, float]:
    widths = [_width(text, _SMALL if i else _CHAR) for i, text in enumerate(node.lines)]
    return max(widths, default=0.0) + 16, _LINE * len(node.lines) + 9


def _width(text: str, char: float) -> float:
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return (len(text) + wide) * char


def _text(text: str) -> str:
    """Return `text` for XML, control characters that XML forbids shown as question marks."""
    legal = (
        c if c in "\n\t" or (c >= " " and not "\ud800" <= c <= "\udfff") else "?" for c in text
    )
    return escape("".join(c if c not in "\ufffe\uffff" else "?" for c in legal), {'"': "&quot;"})


def _marker(name: str, css: str) -> str:
    return (
        f'<marker id="lineal-{name}" class="{css}" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker>'
    )


def _boxes(graph: Graph, drawing: Drawing) -> list[str]:
    parts = []
    for box, rect in zip(graph.boxes, drawing.boxes, strict=True):
        parts.append(
            f'<rect class="box {box.kind}" x="{rect.x:.1f}" y="{rect.y:.1f}" '
            f'width="{rect.w:.1f}" height="{rect.h:.1f}" rx="8"/>'
            f'<text class="small" x="{rect.x + 8:.1f}" y="{rect.y + 13:.1f}">'
            f"{_text(box.title)}</text>"
        )
    return parts


def _edges(graph: Graph, drawing: Drawing) -> list[str]:
    parts = []
    for edge, points in zip(graph.edges, drawing.paths, strict=True):
        parts.append(
            f'<path class="edge" d="{_curve(points)}" marker-end="url(#lineal-arrow)">'
            f"<title>{_text(edge.value)}</title></path>"
        )
    return parts


def _curve(points: tuple[tuple[float, float], ...]) -> str:
    """Return a smooth path that leaves and enters every point vertically."""
    x, y = points[0]
    parts = [f"M{x:.1f} {y:.1f}"]
    for nx, ny in points[1:]:
        bend = (ny - y) / 2
        parts.append(f"C{x:.1f} {y + bend:.1f} {nx:.1f} {ny - bend:.1f} {nx:.1f} {ny:.1f}")
        x, y = nx, ny
    return " ".join(parts)


def _turns(graph: Graph, drawing: Drawing) -> list[str]:
    """Draw where a loop starts again: along the left rim of its box."""
    parts = []
    for end, head in graph.turns:
        a, b = drawing.nodes[end], drawing.nodes[head]
        box = drawing.boxes[graph.nodes[end].box]
        x = box.x + 6
        ay, by = a.y + a.h / 2, b.y + b.h / 2
        parts.append(
            f'<path class="turn" d="M{a.x:.1f} {ay:.1f} L{x + 6:.1f} {ay:.1f} Q{x:.1f} {ay:.1f} '
            f"{x:.1f} {ay - 6:.1f} L{x:.1f} {by + 6:.1f} Q{x:.1f} {by:.1f} {x + 6:.1f} {by:.1f} "
            f'L{b.x:.1f} {by:.1f}" marker-end="url(#lineal-back)"/>'
        )
    return parts


def _node(node: Node, rect: Rect) -> str:
    css = " ".join(filter(None, ("node", node.kind, node.where, "hoisted" if node.hoisted else "")))
    radius = rect.h / 2 if node.kind in ("input", "return") else 5
    parts = [
        f'<g class="{css}"><title>{_text(node.title)}</title>'
        f'<rect x="{rect.x:.1f}" y="{rect.y:.1f}" width="{rect.w:.1f}" height="{rect.h:.1f}" '
        f'rx="{radius:.1f}"/>'
    ]
    for number, line in enumerate(node.lines):
        y = rect.y + 15 + _LINE * number
        small = ' class="small"' if number else ""
        parts.append(
            f'<text{small} x="{rect.x + rect.w / 2:.1f}" y="{y:.1f}" text-anchor="middle">'
            f"{_text(line)}</text>"
        )
    parts.append("</g>")
    return "".join(parts)
