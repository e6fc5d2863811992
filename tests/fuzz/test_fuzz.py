"""Random programs equal NumPy in value, shape, dtype and NaN mask; what is refused is counted."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest

from lineal.errors import LinealError

from .differential import check
from .generator import Chooser, SeededChooser, generate
from .modes import MODES, run_seed

pytestmark = pytest.mark.slow

IN_CI = bool(os.environ.get("CI")) or os.environ.get("HYPOTHESIS_PROFILE") in ("ci", "deep")
SEEDS = 2000 if IN_CI else 400
PARTS = 8


class DrawnChooser:
    """A chooser over Hypothesis, so that a failing program shrinks."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def pick(self, options: Any) -> Any:
        return self._data.draw(st.sampled_from(list(options)))

    def number(self, low: int, high: int) -> int:
        return self._data.draw(st.integers(low, high))


@pytest.mark.parametrize("part", range(PARTS))
def test_seeded_programs(part: int) -> None:
    """Each seed is its own mode: finite or not, strict or real, dense or csr, rules on or off."""
    refused: Counter[str] = Counter()
    share = SEEDS // PARTS
    seeds = range(part * share, (part + 1) * share)
    for seed in seeds:
        try:
            run_seed(seed)
        except LinealError as error:
            refused[type(error).__name__] += 1
    assert refused.total() <= max(0.02 * len(seeds), 2), refused


@pytest.mark.parametrize("mode", sorted(MODES))
@hypothesis.settings(
    max_examples=60 if IN_CI else 15,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)
@hypothesis.given(data=st.data())
def test_drawn_programs(mode: str, data: st.DataObject) -> None:
    chooser: Chooser = DrawnChooser(data)
    program = generate(chooser, exceptional="exceptional" in mode)
    hypothesis.note(program.text)
    try:
        check(program, **MODES[mode])
    except LinealError as error:
        hypothesis.note(f"refused: {error}")
        hypothesis.event(f"refused: {type(error).__name__}")


def test_generator_covers_the_language() -> None:
    """Every kind of statement and expression turns up within a few hundred seeds."""
    texts = [generate(SeededChooser(seed)).text for seed in range(600)]
    wanted = ["while ", "break", "continue", "elif ", "for j in", "+= ", "[::2]", "[1:] = 0",
              "np.linalg.solve", "np.linalg.cholesky", "keepdims=True", "axis=(0, 1)", "def twice",
              "[[0, -1]]", " if v", "and ", " not ", "float(", "np.where", "@ ", ".astype(np.int8)",
              "np.linalg.svd"]  # fmt: skip
    missing = [w for w in wanted if not any(w in text for text in texts)]
    assert not missing
