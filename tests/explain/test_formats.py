"""JSON against its schema, DOT, SVG and networkx: well-formed, escaped, without other programs."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest

from lineal.engine.explain import explain
from lineal.engine.explain.graph import build, to_networkx
from lineal.engine.explain.jsonview import to_json
from lineal.engine.explain.layout import Rect, layout
from lineal.engine.explain.rows import rows
from lineal.planner.fingerprint import plan_hash
from lineal.planner.plan import PhysicalPlan
from tests.explain import plans, programs

ROOT = Path(__file__).resolve().parent.parent.parent
SVG = "{http://www.w3.org/2000/svg}"
MAKERS: dict[str, Callable[[], PhysicalPlan]] = {
    **{name: (lambda name=name: programs.plan(name)) for name in programs.NAMES},  # type: ignore[misc]
    "hostile": plans.hostile,
    "several": plans.several,
    "nested_loops": plans.nested_loops,
    "deep": lambda: plans.deep(5),
}


@pytest.fixture(params=MAKERS)
def plan(request: pytest.FixtureRequest) -> PhysicalPlan:
    return MAKERS[request.param]()


def _closed(schema: object) -> object:
    """Return the schema with unknown keys forbidden: what we write, the schema must name."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _closed(item) for key, item in schema.items()}
    if "properties" in found and "required" in found:
        found["additionalProperties"] = False
    return found


@pytest.mark.checkout
def test_K4_json_is_as_the_schema_says(plan: PhysicalPlan) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "docs" / "explain-json.schema.json").read_text())
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    validator(_closed(schema)).validate(json.loads(explain(plan, format="json")))


def test_json_keys_are_stable() -> None:
    document = to_json(programs.plan("gd"))
    assert list(document) == [
        "version", "name", "hash", "stage", "totals", "trip_counts", "inputs", "rows",
        "outputs", "decisions",
    ]  # fmt: skip
    (row,) = (r for r in document["rows"] if r["text"] == "A @ x")
    assert row["flops"] == 40000
    assert row["outputs"][0]["shape"] == [1000, 1]
    assert row["outputs"][0]["density"] == {"value": 1, "kind": "Upper bound"}
    assert row["where"] == "driver"
    assert row["runs"] == 100
    assert len(row["lines"]) == 1
    assert document["hash"] == plan_hash(programs.plan("gd"))


def test_json_holds_no_paths_and_no_infinities() -> None:
    text = explain(plans.hostile(), format="json")
    assert "secret.py" not in text
    document = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert document["totals"]["flops"] is None
    assert document["rows"][0]["attrs"]["limit"] == "inf"
    assert document["rows"][0]["attrs"]["k"] == 3
    kept = json.loads(explain(plans.several(), format="json"))["rows"][0]["outputs"][0]["shape"][0]
    assert kept == {"symbol": "s0", "name": "kept", "bound": 10}


def test_svg_is_xml_and_escaped(plan: PhysicalPlan) -> None:
    text = explain(plan, format="svg")
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert not root.findall(f".//{SVG}script")
    assert "prefers-color-scheme: dark" in text
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    groups = [g for g in root.iter(f"{SVG}g") if "node" in g.get("class", "")]
    assert len(groups) == len(build(plan).nodes)
    assert all(group.find(f"{SVG}title") is not None for group in groups)


def _inside(inner: Rect, outer: Rect) -> bool:
    return (
        inner.x >= outer.x
        and inner.y >= outer.y
        and inner.x + inner.w <= outer.x + outer.w + 1e-6
        and inner.y + inner.h <= outer.y + outer.h + 1e-6
    )


def _apart(a: Rect, b: Rect) -> bool:
    return (
        a.x + a.w <= b.x + 1e-6
        or b.x + b.w <= a.x + 1e-6
        or a.y + a.h <= b.y + 1e-6
        or b.y + b.h <= a.y + 1e-6
    )


def test_svg_layout_has_no_overlaps(plan: PhysicalPlan) -> None:
    graph = build(plan)
    sizes = [(20.0 + 7 * (i % 11), 20.0 + 3 * (i % 3)) for i in range(len(graph.nodes))]
    drawing = layout(graph, sizes, [60.0] * len(graph.boxes))
    page = Rect(0, 0, drawing.width, drawing.height)
    for i, a in enumerate(drawing.nodes):
        assert _inside(a, page)
        box = graph.nodes[i].box
        if box >= 0:
            assert _inside(a, drawing.boxes[box])
        for b in drawing.nodes[i + 1 :]:
            assert _apart(a, b)
    for i, a in enumerate(drawing.boxes):
        parent = graph.boxes[i].parent
        assert _inside(a, page if parent < 0 else drawing.boxes[parent])
        for j in range(i + 1, len(drawing.boxes)):
            if graph.boxes[j].parent == parent:
                assert _apart(a, drawing.boxes[j])
    for edge, points in zip(graph.edges, drawing.paths, strict=True):
        assert points[0][1] < points[-1][1], edge  # downwards
        assert [y for _, y in points] == sorted(y for _, y in points)


_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\];,=]|->|[A-Za-z_][\w]*|[\d.]+|\s+')


def test_dot_is_well_formed(plan: PhysicalPlan) -> None:
    text = explain(plan, format="dot")
    at, depth = 0, 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        assert found is not None, text[at : at + 40]
        at = found.end()
        depth += {"{": 1, "}": -1}.get(found.group(), 0)
        assert depth >= 0
    assert depth == 0
    assert text.startswith("digraph ")


def test_networkx_has_every_step(plan: PhysicalPlan) -> None:
    graph = to_networkx(plan)
    assert nx.is_directed_acyclic_graph(graph)
    steps = [row for row in rows(plan) if row.kind == "op"]
    assert sum(data["kind"] == "op" for _, data in graph.nodes(data=True)) == len(steps)
    assert len(graph) == len(build(plan).nodes)
    assert nx.ancestors(graph, "return") >= {v.name for v in plan.inputs} - {"tol", "c", "iters"}


def test_networkx_edges_name_the_values() -> None:
    graph = to_networkx(programs.plan("normal"))
    assert graph.edges["A", "%1"]["value"] == ["A"]
    assert graph.nodes["%1"]["shape"] == (8, 300)
    assert graph.nodes["%2"]["flops"] > 0


def test_K8_drawing_needs_no_graphviz(
    run_python: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With neither Graphviz nor a package for it on the machine, views are whole."""
    monkeypatch.setenv("PATH", "")
    code = (
        "import sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "for name in ('graphviz', 'pydot', 'pygraphviz', 'networkx', 'matplotlib'):\n"
        "    sys.modules[name] = None\n"
        "from lineal.engine.explain import explain\n"
        "from tests.explain import plans\n"
        "plan = plans.nested_loops()\n"
        "assert explain(plan, format='svg').startswith('<svg ')\n"
        "assert explain(plan, format='dot').startswith('digraph ')\n"
        "print(explain(plan))\n"
    )
    done = run_python(code)
    assert done.returncode == 0, done.stderr  # type: ignore[attr-defined]
    assert "for x10" in done.stdout  # type: ignore[attr-defined]
