"""Every rule: where it fires, where it does not and why, and that it still fires in the pipeline.

A case states a program and the exact text of its result after the one rule, all others switched
off.  Values are compared with NumPy's with the rule alone and with every rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import lineal as la
from lineal.errors import OptionError, ProgramError
from lineal.planner.build import apply
from lineal.planner.expr import Expr, make
from lineal.planner.infer import type_of
from lineal.planner.logical import Leaf, Logical, Note
from lineal.planner.pipeline import RULE_NAMES
from lineal.planner.rules.protocol import Facts, Rule, apply_rules
from lineal.planner.types import Type
from tests.planner.written import decisions, nodes, planned, result_text, written

_RNG = np.random.default_rng(7)
WIDE = _RNG.normal(size=(3, 40))
TALL = _RNG.normal(size=(40, 3))
SQUARE = _RNG.normal(size=(4, 4))
OTHER = _RNG.normal(size=(4, 4))
WHOLE = _RNG.integers(-3, 4, size=(4, 4))

INPUTS: dict[str, Any] = {
    "W": WIDE,
    "T": TALL,
    "A": SQUARE,
    "B": OTHER,
    "K": WHOLE,
    "v": SQUARE[0].copy(),
    "r": OTHER[:1].copy(),
    "x": OTHER[:, :1].copy(),
    "mask": SQUARE[0] > 0,
    "n": 3,
}


@dataclass(frozen=True)
class Case:
    """`lines` over INPUTS; `after` is the text of the result, `refused` part of the reason."""

    rule: str
    lines: tuple[str, ...]
    after: str
    refused: str = ""

    @property
    def parameters(self) -> list[str]:
        """The inputs that the lines name."""
        words = " ".join(self.lines)
        for sign in "()[].,:@*+-=/<>":
            words = words.replace(sign, " ")
        return [name for name in INPUTS if name in words.split()]

    def plan(self, **options: Any) -> Any:
        """Plan, run and compare with NumPy; returns the plan."""
        function = written(", ".join(self.parameters), *self.lines)
        given = [INPUTS[name] for name in self.parameters]
        with la.options(**options):
            plan = planned(function, *given)
            with la.Session() as session:
                found = session.run_plan(plan, given).value
        expected = function(*given)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        assert np.shape(found) == np.shape(expected)
        if any(d.fired and d.numerics == "real" for d in plan.decisions):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(found, expected)
            assert np.array_equal(np.signbit(found), np.signbit(expected))
        return plan


def _case(rule: str, *lines: str, after: str, refused: str = "") -> Case:
    return Case(rule, lines, after, refused)


FIRES = (
    _case("prune_loops", "y = B", "for i in range(n):", "    y = y", "    A = A + y", "return A",
          after="A"),
    _case("prune_loops", "c = v", "for i in range(n):", "    c = c + 1", "    A = A + B",
          "return A", after="A"),
    _case("transpose_of_product", "return (A @ W.T[:4, :]).T", after="W.T[0:4, :].T @ A.T"),
    _case("transpose_of_product", "return (A @ B).T + r", after="(B.T @ A.T) + r"),
    _case("negation_out_of_product", "return (-W) @ T", after="-(W @ T)"),
    _case("negation_out_of_product", "return W @ (-T)", after="-(W @ T)"),
    _case("scalar_out_of_product", "return (2.0 * W) @ T", after="2.0 * (W @ T)"),
    _case("scalar_out_of_product", "return W @ (T * 0.5)", after="0.5 * (W @ T)"),
    _case("slice_of_product", "return (T @ W)[1:3, 2:5]", after="T[1:3, :] @ W[:, 2:5]"),
    _case("slice_of_product", "return (T @ W)[n, :]", after="T[n, :] @ W"),
    _case("slice_of_product", "return (A @ B)[:, 1]", after="A @ B[:, 1]"),
    _case("double_transpose", "return A.T.T + 1", after="A + 1"),
    _case("transpose_of_scaled", "return (2.0 * (A @ B)).T", after="2.0 * (A @ B).T"),
    _case("transpose_of_scaled", "return ((A @ B) * v[0]).T", after="(A @ B).T * v[0]"),
    _case("transpose_of_scaled", "return (-(A.T)).T", after="-A.T.T"),
    _case("slice_of_transpose", "return W.T[1:3, :2]", after="W[0:2, 1:3].T"),
    _case("slice_of_transpose", "return W.T[5]", after="W[:, 5]"),
    _case("slice_of_transpose", "return W.T[5, 1]", after="W[1, 5]"),
    _case("slice_of_elementwise", "return (A + B)[1:3]", after="A[1:3] + B[1:3]"),
    _case("slice_of_elementwise", "return (A * r)[1:3, ::2]", after="A[1:3, 0:4:2] * r[:, 0:4:2]"),
    _case("slice_of_elementwise", "return np.exp(A - v)[:, 3:0:-1]",
          after="exp(A[:, 3:0:-1] - v[3:0:-1])"),
    _case("commutative_order", "y = A + B", "z = B + A", "return y * z", after="y * y"),
    _case("chain_order", "return A @ B @ x", after="A @ (B @ x)"),
    _case("chain_order", "return W @ (T @ W)", after="(W @ T) @ W"),
    _case("chain_order", "return A @ B @ v", after="A @ (B @ v)"),
)

STAYS = (
    _case("prune_loops", "y = B", "for i in range(n):", "    y = y * 2", "    A = A + y",
          "return A", after="A"),
    _case("transpose_of_product", "P = A @ B", "return P.T @ P", after="P.T @ P",
          refused="the product itself is needed too"),
    _case("transpose_of_product", "return (K @ K).T", after="(K @ K).T"),
    _case("transpose_of_product", "return (A @ K).T", after="(A @ K).T"),
    _case("negation_out_of_product", "return (-T) @ W", after="-T @ W"),
    _case("negation_out_of_product", "return (-K) @ K", after="-K @ K"),
    _case("scalar_out_of_product", "return (1e-30 * W) @ T", after="(1e-30 * W) @ T",
          refused="the scalar is outside 2**-20 .. 2**20"),
    _case("scalar_out_of_product", "return (2.0 * T) @ W", after="(2.0 * T) @ W",
          refused="more entries than the scaled operand"),
    _case("scalar_out_of_product", "return (v[0] * W) @ T", after="(v[0] * W) @ T"),
    _case("scalar_out_of_product", "return (2 * K) @ K", after="(2 * K) @ K"),
    _case("slice_of_product", "P = A @ B", "return P[1:3] @ P", after="P[1:3] @ P",
          refused="the whole product is needed too"),
    _case("slice_of_product", "return (A @ B)[mask]", after="(A @ B)[mask]"),
    _case("slice_of_product", "return (K @ K)[1:3]", after="(K @ K)[1:3]"),
    _case("double_transpose", "return A.T + 1", after="A.T + 1"),
    _case("transpose_of_scaled", "return (2.0 * A).T", after="(2.0 * A).T"),
    _case("transpose_of_scaled", "return (x * (A @ B)).T", after="(x * (A @ B)).T"),
    _case("slice_of_transpose", "return A.T[[0, 2]]", after="A.T[array([0, 2])]"),
    _case("slice_of_transpose", "return A.T[mask]", after="A.T[mask]"),
    _case("slice_of_elementwise", "return (A + B)[1]", after="(A + B)[1]"),
    _case("slice_of_elementwise", "y = A + B", "return y[1:3] @ y", after="y[1:3] @ y"),
    _case("slice_of_elementwise", "return (A[mask] + 1)[:1]", after="(A[mask] + 1)[:1]"),
    _case("commutative_order", "y = A - B", "z = B - A", "return y * z", after="y * z"),
    _case("commutative_order", "return B + A", after="B + A"),
    _case("chain_order", "return A @ (B @ x)", after="A @ (B @ x)",
          refused="the order as written is the cheapest"),
    _case("chain_order", "return K @ K @ K", after="(K @ K) @ K"),
    _case("chain_order", "P = A @ B", "return (P @ x) * P.sum()", after="(P @ x) * sum(P)"),
)


def _label(case: Case) -> str:
    return f"{case.rule}: {'; '.join(case.lines)}"


def _others(rule: str) -> tuple[str, ...]:
    return tuple(name for name in RULE_NAMES if name != rule)


@pytest.mark.parametrize("case", FIRES, ids=_label)
def test_the_rule_alone_fires(case: Case) -> None:
    plan = case.plan(rewrites=_others(case.rule))
    assert {d.rule for d in plan.decisions if d.fired} == {case.rule}
    if case.rule != "prune_loops":  # its result is an item of a loop
        assert result_text(plan) == case.after


@pytest.mark.parametrize("case", FIRES, ids=_label)
def test_it_fires_in_the_whole_pipeline(case: Case) -> None:
    assert decisions(case.plan(), case.rule, True)


@pytest.mark.parametrize("case", FIRES, ids=_label)
def test_switched_off_it_does_not(case: Case) -> None:
    plan = case.plan(rewrites=(case.rule,))
    assert not [d for d in plan.decisions if d.rule == case.rule]


@pytest.mark.parametrize("case", STAYS, ids=_label)
def test_the_rule_alone_leaves(case: Case) -> None:
    plan = case.plan(rewrites=_others(case.rule))
    assert not [d for d in plan.decisions if d.fired]
    reasons = [d.reason for d in decisions(plan, case.rule, False)]
    if case.refused:
        assert any(case.refused in reason for reason in reasons)
        assert all(d.numbers for d in decisions(plan, case.rule, False))
    else:
        assert not reasons
    if case.rule != "prune_loops":
        assert result_text(plan) == case.after


def test_every_rule_has_cases() -> None:
    assert {case.rule for case in FIRES} == set(RULE_NAMES)
    assert {case.rule for case in STAYS} == set(RULE_NAMES)


def test_strict_plans_use_exact_rules_only() -> None:
    for case in FIRES:
        plan = case.plan(algebra="strict")
        assert all(d.numerics == "exact" for d in plan.decisions if d.fired), case


# -- what single cases do not show


def test_loops_lose_what_they_carry_for_nothing() -> None:
    unread, constant = FIRES[1], FIRES[0]
    for case in (unread, constant):
        (loop,) = nodes(case.plan(), "loop")
        assert loop.whole("n") == 1
        (loop,) = nodes(case.plan(rewrites=("prune_loops",)), "loop")
        assert loop.whole("n") == 2


def test_both_spellings_of_a_sum_are_computed_once() -> None:
    case = next(c for c in FIRES if c.rule == "commutative_order")
    assert len(nodes(case.plan(), "add")) == 1
    assert len(nodes(case.plan(rewrites=("commutative_order",)), "add")) == 2


def test_zero_keeps_its_sign_in_strict_plans() -> None:
    function = written("A, B", "return 1 / ((-A) @ B)")
    A, B = np.array([[1.0, 1.0]]), np.array([[1.0], [-1.0]])
    with np.errstate(divide="ignore"):
        assert la.program(function).run(A, B, algebra="strict") == function(A, B) == np.inf


def test_an_unknown_rule_is_refused_with_the_list() -> None:
    function = written("A", "return A + 1")
    with pytest.raises(OptionError, match="'chain_ordr'") as raised:
        la.program(function).run(SQUARE, rewrites=("chain_ordr",))
    assert all(name in str(raised.value) for name in RULE_NAMES)
    with pytest.raises(OptionError), la.options(rewrites=("nothing",)):
        (la.asarray(SQUARE) + 1).compute()


# -- the machine that applies rules


def _program() -> Logical:
    x = make("input", name="x", type=Type((4,), np.dtype(np.float64)))
    notes = {x: Note(name="x")}
    return Logical("toy", (x,), (apply("add", apply("square", x), 1.0),), Leaf(0), notes=notes)


def square_to_product(node: Expr, facts: Facts) -> Expr | None:
    """square(x) -> x * x"""
    return apply("multiply", *node.inputs * 2) if node.op == "square" else None


def product_to_square(node: Expr, facts: Facts) -> Expr | None:
    """x * x -> square(x)"""
    if node.op == "multiply" and node.inputs[0] is node.inputs[1]:
        return apply("square", node.inputs[0])
    return None


def one_more(node: Expr, facts: Facts) -> Expr | None:
    """square(x) -> square(|x|)"""
    return apply("square", apply("absolute", node.inputs[0])) if node.op == "square" else None


def widen(node: Expr, facts: Facts) -> Expr | None:
    """square(x) -> a wrong shape"""
    whole = {"axis": None, "keepdims": False, "dtype": None}
    return apply("sum", node, **whole) if node.op == "square" else None


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_rules_that_undo_each_other_are_named(order: tuple[int, int]) -> None:
    pair = (Rule(square_to_product, "exact"), Rule(product_to_square, "exact"))
    with pytest.raises(ProgramError, match="product_to_square, square_to_product undo") as raised:
        apply_rules(_program(), tuple(pair[k] for k in order), ())
    assert "square_to_product: x ** 2 -> x * x" in str(raised.value)


def test_rules_that_never_end_are_stopped() -> None:
    done = apply_rules(_program(), (Rule(one_more, "exact"),), ())
    assert {d.rule for d in done.decisions if d.fired} == {"one_more"}
    # What is reached is a valid program, and the plan says that the rules were stopped.
    (stopped,) = [d for d in done.decisions if not d.fired]
    assert stopped.rule == "fixpoint"
    assert "most passes" in stopped.reason
    assert type_of(done.outputs[0]) == type_of(_program().outputs[0])


def test_a_rule_that_changes_a_shape_is_named() -> None:
    with pytest.raises(la.errors.LinealError, match="rule widen changed the type"):
        apply_rules(_program(), (Rule(widen, "exact"),), ())


def test_one_rule_alone_settles() -> None:
    done = apply_rules(_program(), (Rule(square_to_product, "exact"),), ())
    assert [(d.before, d.after) for d in done.decisions] == [("x ** 2", "x * x")]
