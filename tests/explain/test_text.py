"""Texts of plans: golden files, order, width, decisions, and the hash of what runs."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

import lineal as la
from lineal.engine.explain import FORMATS, MODES, explain
from lineal.engine.explain import numbers as shown
from lineal.engine.explain.rows import rows
from lineal.errors import OptionError
from lineal.planner.fingerprint import plan_hash
from tests.explain import plans, programs

GOLDEN = Path(__file__).parent / "golden"
UPDATE = "LINEAL_UPDATE_GOLDEN"  # set it to 1 to write the golden files anew

VIEWS = [(name, "physical", False) for name in programs.NAMES]
VIEWS += [("gd", "memory", False), ("dfp", "decisions", True)]


@pytest.mark.parametrize(("name", "mode", "verbose"), VIEWS)
def test_golden(name: str, mode: str, verbose: bool) -> None:
    """`LINEAL_UPDATE_GOLDEN=1 pytest tests/explain` writes the files; read the diff."""
    text = explain(programs.plan(name), mode=mode, verbose=verbose)
    file = GOLDEN / f"{name}.{mode}.txt"
    if os.environ.get(UPDATE):
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.parametrize("name", ["several", "nested_loops", "hostile"])
def test_golden_by_hand(name: str) -> None:
    text = explain(getattr(plans, name)(), verbose=True)
    file = GOLDEN / f"{name}.txt"
    if os.environ.get(UPDATE):
        file.write_text(text)
    assert text == file.read_text()


def test_K1_printed_plan_is_the_plan_that_runs() -> None:
    A = np.random.default_rng(0).normal(size=(200, 5))
    b = A @ np.ones((5, 1))
    session = la.Session(cluster=programs.HERE)
    printed = programs.dfp.plan(A, b, session=session)
    programs.dfp.run(A, b, session=session)
    ran = session.history[-1].plan
    head = printed.explain().splitlines()[0]
    assert f"  {plan_hash(ran.physical)[:12]}  " in head
    assert printed.to_dict()["hash"] == plan_hash(ran.physical) == ran.hash
    assert ran.explain() == printed.explain()


@pytest.mark.parametrize("name", programs.NAMES)
def test_K2_top_to_bottom_with_arrows(name: str) -> None:
    """Every operand's line stands above the line that reads it."""
    plan = programs.plan(name)
    text = explain(plan)
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("runs"))
    assert lines[start].split()[:4] == ["runs", "value", "computes", "from"]
    first: dict[str, int] = {}
    for number, line in enumerate(lines[start + 1 :]):
        made, _, read = line.partition("<- ")
        for operand in re.findall(r"%\d+(?:\.\d+)?", read.split("  ")[0]):
            assert operand in first, line
            assert first[operand] < number, line
        for value in re.findall(r"%\d+(?:\.\d+)?", made)[:1]:
            first.setdefault(value, number)
    assert any("<- " in line for line in lines)


def test_K5_rules_show_before_after_and_line() -> None:
    plan = programs.plan("dfp")
    text = explain(plan)
    fired = [d for d in plan.decisions if d.fired]
    refused = [d for d in plan.decisions if not d.fired]
    assert fired
    assert refused
    assert text.count("\nwhy ") == len(fired)
    assert f"{len(refused)} refused: " in text
    assert re.search(r"^why chain_order  line \d+  H @ .* -> H @ \(", text, re.MULTILINE)
    whole = explain(plan, mode="decisions", verbose=True)
    assert whole.count("\nrefused ") == len(refused)
    for decision in refused:
        assert decision.reason in whole


@pytest.mark.parametrize("name", programs.NAMES)
def test_rows_carry_the_plan_totals(name: str) -> None:
    plan = programs.plan(name)
    total = sum((row.flops or 0.0) * row.runs for row in rows(plan))
    assert total == pytest.approx(plan.flops)
    kinds = [row.kind for row in rows(plan)]
    assert kinds.count("end") == kinds.count("loop") + kinds.count("if")


def test_hoisted_rows_say_so() -> None:
    found = {row.outputs[0].name: row for row in rows(plans.nested_loops()) if row.kind == "op"}
    assert found["%4"].hoisted
    assert found["%4"].level == 0
    assert found["%5"].hoisted
    assert found["%5"].level == 1
    assert not found["%6"].hoisted
    assert found["%6"].runs == 50
    assert found["%6"].runs_guessed


def test_blocked_rows_say_where() -> None:
    where = {row.text: row.where for row in rows(programs.plan("gd_blocked")) if row.kind == "op"}
    assert where["A @ x"] == "broadcast"
    assert where["A.T"] == "blocked"
    assert where["alpha * %11"] == "driver"


@pytest.mark.parametrize("name", programs.NAMES)
def test_width(name: str) -> None:
    lines = explain(programs.plan(name)).splitlines()
    assert max(map(len, lines)) <= 120
    assert all(line == line.rstrip() for line in lines)


def test_unknown_mode_and_format_list_the_valid_ones() -> None:
    plan = plans.several()
    with pytest.raises(OptionError, match="mode='tree'") as caught:
        explain(plan, mode="tree")
    assert all(mode in caught.value.hint for mode in MODES)
    with pytest.raises(OptionError, match="format='png'") as caught:
        explain(plan, format="png")
    assert all(form in caught.value.hint for form in FORMATS)
    with pytest.raises(OptionError, match="mode='memory'"):
        explain(plan, mode="memory", format="svg")
    with pytest.raises(OptionError, match="mode=None"):
        explain(plan, mode=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("format", FORMATS)
def test_300_nested_branches(format: str) -> None:
    text = explain(plans.deep(300), format=format)
    assert "%300" in text


@pytest.mark.parametrize("format", FORMATS)
def test_5000_steps(format: str) -> None:
    assert "%4999" in explain(plans.long(5000), format=format)


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (shown.size(0), "0 B"),
        (shown.size(999), "999 B"),
        (shown.size(1600), "1.6 kB"),
        (shown.size(999_999), "1 MB"),
        (shown.size(3.1e9), "3.1 GB"),
        (shown.size(2e18), "2e+03 PB"),
        (shown.size(float("inf")), "inf"),
        (shown.size(None), "?"),
        (shown.count(9999), "9999"),
        (shown.count(40000), "4.0e+04"),
        (shown.count(float("nan")), "?"),
        (shown.seconds(0.0412), "41.2 ms"),
        (shown.seconds(118), "118 s"),
        (shown.seconds(2.5e-6), "2.5 us"),
        (shown.figure("held_bytes", 2e6), "2 MB"),
        (shown.figure("est_seconds", 2e-3), "2 ms"),
        (shown.elide("a  b\nc", 9), "a b c"),
        (shown.elide("abcdefghij", 6), "abcd.."),
    ],
)
def test_numbers(got: str, wanted: str) -> None:
    assert got == wanted
