"""The plan's hash: equal across processes, different where something else runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lineal.errors import Span
from lineal.planner.expr import make
from lineal.planner.fingerprint import plan_hash
from lineal.planner.plan import Block, Once, PhysicalPlan, Step
from lineal.planner.types import Density, DensityKind, Sym, Type
from tests.explain import plans, programs

ROOT = Path(__file__).resolve().parent.parent.parent


def test_views_are_equal_in_processes_with_other_hash_seeds(
    run_python: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from lineal.engine.explain import FORMATS, explain\n"
        "from tests.explain import plans, programs\n"
        "made = [programs.plan(n) for n in programs.NAMES[::-1]] + [plans.several()]\n"
        "for plan in made:\n"
        "    for format in FORMATS:\n"
        "        print(explain(plan, format=format, verbose=True))\n"
    )
    texts = []
    for seed in ("1", "4711"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        done = run_python(code)
        assert done.returncode == 0, done.stderr  # type: ignore[attr-defined]
        texts.append(done.stdout)  # type: ignore[attr-defined]
    assert texts[0] == texts[1]
    for name in programs.NAMES:  # planned here in another order, in another process
        assert plan_hash(programs.plan(name)) in texts[0]


@pytest.mark.parametrize("name", programs.NAMES)
def test_equal_plans_have_equal_hashes(name: str) -> None:
    assert plan_hash(programs.plan(name)) == plan_hash(programs.plan(name))


def test_different_programs_have_different_hashes() -> None:
    assert len({plan_hash(programs.plan(name)) for name in programs.NAMES}) == len(programs.NAMES)


def _with(plan: PhysicalPlan, change: Callable[[Step], Step]) -> PhysicalPlan:
    first, *rest = plan.body.steps
    return replace(plan, body=replace(plan.body, steps=(change(first), *rest)))


def _attr(step: Step, value: object) -> Step:
    return replace(step, attrs=(("k", value),))  # type: ignore[arg-type]


def test_explanations_and_estimates_are_no_part_of_the_identity() -> None:
    plan = plans.several()
    same = [
        replace(plan, flops=1.0, est_seconds=2.0, trip_counts=(("line 1", 3.0, "assumed"),)),
        _with(plan, lambda s: replace(s, text="?", note="?", flops=9.0, runs=7.0)),
        _with(plan, lambda s: replace(s, spans=(Span("elsewhere.py", 3),))),
        _with(
            plan,
            lambda s: replace(
                s,
                outputs=tuple(
                    replace(v, label="other", density=Density(0.1, DensityKind.EXACT))
                    for v in s.outputs
                ),
            ),
        ),
    ]
    assert {plan_hash(p) for p in same} == {plan_hash(plan)}


def test_what_runs_is_part_of_the_identity() -> None:
    plan = plans.several()
    first = plan.body.steps[0].outputs[0]
    other_outputs = [
        replace(first, name="%9"),
        replace(first, storage="sparse"),
        replace(first, place="blocked", splits=((5, 5), (4,))),
        replace(first, place="blocked", splits=((4, 6), (4,))),
        replace(first, type=Type(first.type.shape, np.dtype("float32"))),
        replace(first, type=Type((Sym("other", 10), 4), np.dtype("float64"))),
        replace(first, type=Type((10, 4), np.dtype("float64"))),
    ]
    found = [plan, replace(plan, outputs=("%1.0",)), replace(plan, name="other")]
    found += [
        _with(plan, lambda s, v=v: replace(s, outputs=(v, *s.outputs[1:])))  # type: ignore[misc]
        for v in other_outputs
    ]
    values: list[object] = [
        None, 0, 1, 1.0, True, False, 0.0, -0.0, float("nan"), float("inf"), "1", "", (), (1,),
        ((1,),), (1, 1), ("1",), np.float64(1), np.float32(1), np.int64(1), np.bool_(True),
        np.dtype("int8"), ("a", "bc"), ("ab", "c"), ("a,b",), ("a", "b"),
    ]  # fmt: skip
    found += [_with(plan, lambda s, v=v: _attr(s, v)) for v in values]  # type: ignore[misc]
    found += [
        _with(plan, lambda s: replace(s, frees=("A",))),
        _with(plan, lambda s: replace(s, inputs=("A", "A"))),
        _with(plan, lambda s: replace(s, op="qr")),
    ]
    step = plan.body.steps[0]
    for level in (0, 1):
        found.append(replace(plan, body=Block(plan.body.steps[1:], (), (Once(level, (step,)),))))
    hashes = [plan_hash(p) for p in found]
    assert len(set(hashes)) == len(hashes)


def test_symbols_count_by_equality_not_by_object() -> None:
    def plan(a: object, b: object) -> PhysicalPlan:
        inputs = (plans.value("A", Sym(a, 5)), plans.value("B", Sym(b, 5)))
        return PhysicalPlan("p", inputs, Block(()), ("A",))

    node = make("const", value=3)
    assert plan_hash(plan("m", "m")) == plan_hash(plan(("mask", node), ("mask", node)))
    assert plan_hash(plan("m", "n")) == plan_hash(plan("x", node))
    assert plan_hash(plan("m", "m")) != plan_hash(plan("m", "n"))


def test_an_unknown_kind_of_attribute_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        plan_hash(_with(plans.several(), lambda s: _attr(s, object())))


def test_deep_and_long_plans() -> None:
    assert plan_hash(plans.deep(2000)) != plan_hash(plans.deep(2001))
    assert plan_hash(plans.long(5000)) == plan_hash(plans.long(5000))
