"""Places the nodes of a graph with nested boxes: a layered drawing, top to bottom.

Every box is laid out on its own, inner boxes first, and is then one item of the box around it.
An edge is cut into one piece per box that it passes; in each it keeps to a lane of its own, so
that lines do not run behind nodes.  Knows sizes and indices only; lengths are in pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lineal.engine.explain.graph import Graph

GAP_X = 18.0
GAP_Y = 26.0
PAD = 14.0
HEAD = 20.0
_SWEEPS = 6
_LANES_UP_TO = 600
"""Graphs with more edges than this draw them straight: lanes would be too many to read."""


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle: left upper corner, width, height."""

    x: float
    y: float
    w: float
    h: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """Where everything is; `paths` has the points of each edge, first to last."""

    width: float
    height: float
    nodes: tuple[Rect, ...]
    boxes: tuple[Rect, ...]
    paths: tuple[tuple[tuple[float, float], ...], ...]


Item = tuple[str, int]
"""("node" | "box", index), or ("lane", running number) for a place that an edge keeps free."""


@dataclass
class _Frame:
    """The inside of one box while it is laid out."""

    items: list[Item] = field(default_factory=list)
    links: list[tuple[Item, Item]] = field(default_factory=list)
    pieces: list[tuple[int, int, Item | None, Item | None]] = field(default_factory=list)
    place: dict[Item, Rect] = field(default_factory=dict)
    lanes: dict[tuple[int, int], list[Item]] = field(default_factory=dict)
    width: float = 0.0
    height: float = 0.0


def layout(graph: Graph, sizes: list[tuple[float, float]], titles: list[float]) -> Drawing:
    """Place `graph`; `sizes` are (width, height) per node, `titles` the width of box titles."""
    return _Layout(graph, sizes, titles).run()


class _Layout:
    def __init__(self, graph: Graph, sizes: list[tuple[float, float]], titles: list[float]) -> None:
        self.graph = graph
        self.sizes = sizes
        self.titles = titles
        self.frames: dict[int, _Frame] = {i: _Frame() for i in range(-1, len(graph.boxes))}
        self.sides: list[int] = []
        self.heads: frozenset[Item] = frozenset(("node", head) for _, head in graph.turns)
        self.with_lanes = len(graph.edges) <= _LANES_UP_TO

    def run(self) -> Drawing:
        for index, node in enumerate(self.graph.nodes):
            self.frames[node.box].items.append(("node", index))
        for index, box in enumerate(self.graph.boxes):
            around = self.frames[box.parent]
            around.items.append(("box", index))
            if box.head >= 0:  # a side of a branch stands between the branch's head and end
                around.links.append((("node", box.head), ("box", index)))
                self.sides.append(index)
        ends = {n.box: i for i, n in enumerate(self.graph.nodes) if n.kind == "end"}
        for index in self.sides:
            parent = self.graph.boxes[index].parent
            self.frames[parent].links.append((("box", index), ("node", ends[parent])))
        for index, edge in enumerate(self.graph.edges):
            self.cut(index, edge.source, edge.target)
        # Parents come before children in `boxes`: inner ones first means backwards.
        for index in range(len(self.graph.boxes) - 1, -2, -1):
            self.arrange(index)
        return self.place()

    def chain(self, node: int) -> list[int]:
        """Return the boxes around a node, innermost first, ending with -1."""
        found = [self.graph.nodes[node].box]
        while found[-1] >= 0:
            found.append(self.graph.boxes[found[-1]].parent)
        return found

    def cut(self, edge: int, source: int, target: int) -> None:
        """Give every box that an edge passes its piece; None stands for the box's rim."""
        out, into = self.chain(source), self.chain(target)
        while len(out) > 1 and len(into) > 1 and out[-2] == into[-2]:
            out.pop()
            into.pop()
        start: Item = ("node", source)
        for box in out[:-1]:
            self.frames[box].pieces.append((edge, 0, start, None))
            start = ("box", box)
        goal: Item = ("node", target)
        for box in into[:-1]:
            self.frames[box].pieces.append((edge, 2, None, goal))
            goal = ("box", box)
        if start != goal:
            meet = self.frames[out[-1]]
            meet.pieces.append((edge, 1, start, goal))
            meet.links.append((start, goal))

    def size(self, item: Item) -> tuple[float, float]:
        kind, index = item
        if kind == "node":
            return self.sizes[index]
        if kind == "box":
            frame = self.frames[index]
            return (
                max(frame.width, self.titles[index]) + 2 * PAD,
                frame.height + HEAD + 1.5 * PAD,
            )
        return (6.0, 0.0)

    def arrange(self, index: int) -> None:
        """Lay out the inside of one box: rank, lanes, order, coordinates."""
        frame = self.frames[index]
        rank = _ranks(frame.items, frame.links)
        depth = max(rank.values(), default=0)
        segments = self.lanes(frame, rank, depth)
        layers: list[list[Item]] = [[] for _ in range(depth + 1)]
        for item in sorted(rank, key=lambda i: (i[0] == "lane", i[1])):
            layers[rank[item]].append(item)
        ups: dict[Item, list[Item]] = {}
        downs: dict[Item, list[Item]] = {}
        for a, b in segments:
            downs.setdefault(a, []).append(b)
            ups.setdefault(b, []).append(a)
        _order(layers, ups, downs, self.heads)
        widths = {item: self.size(item)[0] for item in rank}
        xs = _columns(layers, ups, downs, widths)
        top = 0.0
        for layer in layers:
            height = max((self.size(item)[1] for item in layer), default=0.0)
            for item in layer:
                w, h = self.size(item)
                frame.place[item] = Rect(xs[item], top + (height - h) / 2, w, h)
            top += height + GAP_Y
        left = min(xs.values(), default=0.0)
        frame.place = {item: Rect(r.x - left, r.y, r.w, r.h) for item, r in frame.place.items()}
        frame.width = max((r.x + r.w for r in frame.place.values()), default=0.0)
        frame.height = max(top - GAP_Y, 0.0)

    def lanes(self, frame: _Frame, rank: dict[Item, int], depth: int) -> list[tuple[Item, Item]]:
        """Add lanes for pieces that span layers; return the links between adjacent layers.

        Edges of one value share their lanes.
        """
        segments: dict[tuple[Item, Item], None] = {}
        shared: dict[tuple[str, Item | None, int], Item] = {}
        number = 0
        for edge, part, start, goal in frame.pieces:
            low = -1 if start is None else rank[start]
            high = depth + 1 if goal is None else rank[goal]
            before = start
            route: list[Item] = []
            if self.with_lanes:
                for layer in range(low + 1, high):
                    # Shared from where the value comes; towards the rim, by value as well.
                    key = (self.graph.edges[edge].value, start, layer)
                    lane = shared.get(key)
                    if lane is None:
                        lane = shared[key] = ("lane", number)
                        number += 1
                        rank[lane] = layer
                    route.append(lane)
                    if before is not None:
                        segments[before, lane] = None
                    before = lane
            if before is not None and goal is not None:
                segments[before, goal] = None
            frame.lanes[edge, part] = frame.lanes.get((edge, part), []) + route
        return list(segments)

    def place(self) -> Drawing:
        """Turn places inside boxes into places on the page, and join the pieces of edges."""
        origin: dict[int, tuple[float, float]] = {-1: (PAD, PAD)}
        boxes: list[Rect] = []
        for index, box in enumerate(self.graph.boxes):
            ox, oy = origin[box.parent]
            inner = self.frames[box.parent].place["box", index]
            boxes.append(Rect(ox + inner.x, oy + inner.y, inner.w, inner.h))
            slack = inner.w - 2 * PAD - self.frames[index].width
            origin[index] = (ox + inner.x + PAD + slack / 2, oy + inner.y + HEAD + PAD / 2)
        nodes: list[Rect] = []
        for index, node in enumerate(self.graph.nodes):
            ox, oy = origin[node.box]
            inner = self.frames[node.box].place["node", index]
            nodes.append(Rect(ox + inner.x, oy + inner.y, inner.w, inner.h))
        paths = [self.path(i, nodes, origin) for i in range(len(self.graph.edges))]
        top = self.frames[-1]
        return Drawing(
            top.width + 2 * PAD, top.height + 2 * PAD, tuple(nodes), tuple(boxes), tuple(paths)
        )

    def path(
        self, index: int, nodes: list[Rect], origin: dict[int, tuple[float, float]]
    ) -> tuple[tuple[float, float], ...]:
        edge = self.graph.edges[index]
        a, b = nodes[edge.source], nodes[edge.target]
        out, into = self.chain(edge.source), self.chain(edge.target)
        while len(out) > 1 and len(into) > 1 and out[-2] == into[-2]:
            out.pop()
            into.pop()
        points = [(a.x + a.w / 2, a.y + a.h)]
        for part, boxes in ((0, out[:-1]), (1, [out[-1]]), (2, list(reversed(into[:-1])))):
            for box in boxes:
                frame = self.frames[box]
                ox, oy = origin[box]
                for lane in frame.lanes.get((index, part), ()):
                    at = frame.place[lane]
                    points.append((ox + at.x + at.w / 2, oy + at.y))
        points.append((b.x + b.w / 2, b.y))
        return tuple(points)


def _ranks(items: list[Item], links: list[tuple[Item, Item]]) -> dict[Item, int]:
    """Return the layer of each item: as high as its inputs allow."""
    after: dict[Item, list[Item]] = {item: [] for item in items}
    waits: dict[Item, int] = dict.fromkeys(items, 0)
    for a, b in dict.fromkeys(links):
        after[a].append(b)
        waits[b] += 1
    rank = dict.fromkeys(items, 0)
    ready = [item for item in items if not waits[item]]
    while ready:
        item = ready.pop()
        for other in after[item]:
            rank[other] = max(rank[other], rank[item] + 1)
            waits[other] -= 1
            if not waits[other]:
                ready.append(other)
    return rank


def _order(
    layers: list[list[Item]],
    ups: dict[Item, list[Item]],
    downs: dict[Item, list[Item]],
    first: frozenset[Item],
) -> None:
    """Sort each layer by the mean place of its neighbours, a few times down and up.

    Items in `first` stay at the left: a line comes to them from there.
    """
    for sweep in range(_SWEEPS):
        near = ups if sweep % 2 == 0 else downs
        sequence = layers if sweep % 2 == 0 else layers[::-1]
        place: dict[Item, float] = {}
        for layer in sequence:
            keys: dict[Item, float] = {}
            for position, item in enumerate(layer):
                found = [place[n] for n in near.get(item, ()) if n in place]
                mean = sum(found) / len(found) if found else position / len(layer)
                keys[item] = -1.0 if item in first else mean
            layer.sort(key=lambda item: keys[item])
            for position, item in enumerate(layer):
                place[item] = (position + 0.5) / len(layer)


def _columns(
    layers: list[list[Item]],
    ups: dict[Item, list[Item]],
    downs: dict[Item, list[Item]],
    widths: dict[Item, float],
) -> dict[Item, float]:
    """Return the left edge of each item: near its neighbours, without overlap."""
    xs: dict[Item, float] = {}
    for layer in layers:
        at = -(sum(widths[item] + GAP_X for item in layer) - GAP_X) / 2
        for item in layer:
            xs[item] = at
            at += widths[item] + GAP_X
    for sweep in range(2 * _SWEEPS):
        near = ups if sweep % 2 == 0 else downs
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            wanted: list[float] = []
            for item in layer:
                centres = [xs[n] + widths[n] / 2 for n in near.get(item, ())]
                middle = sum(centres) / len(centres) if centres else xs[item] + widths[item] / 2
                wanted.append(middle - widths[item] / 2)
            for item, x in zip(layer, _spread(layer, wanted, widths), strict=True):
                xs[item] = x
    return xs


def _spread(layer: list[Item], wanted: list[float], widths: dict[Item, float]) -> list[float]:
    """Return places in the given order, nearest to `wanted` in squares, that do not overlap.

    Items that would overlap form a group, which stands at the mean of what its items want.
    """
    groups: list[tuple[float, float, int]] = []  # (sum of wanted starts, width, members)
    for item, want in zip(layer, wanted, strict=True):
        total, width, members = want, widths[item] + GAP_X, 1
        while groups:
            before, span, count = groups[-1]
            if before / count + span <= total / members:
                break
            groups.pop()
            total += before - span * members
            width += span
            members += count
        groups.append((total, width, members))
    found: list[float] = []
    position = 0
    for total, _, members in groups:
        at = total / members
        for item in layer[position : position + members]:
            found.append(at)
            at += widths[item] + GAP_X
        position += members
    return found
