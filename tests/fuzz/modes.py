"""Which inputs and options a seed is run with: all of them in turn."""

from __future__ import annotations

from typing import Any

from .differential import ALL_RULES, check
from .generator import Generated, SeededChooser, generate

MODES: dict[str, dict[str, Any]] = {
    "real": {},
    "strict": {"algebra": "strict"},
    "exceptional": {},
    "exceptional strict": {"algebra": "strict"},
    "csr": {"as_csr": True},
    "csr strict": {"as_csr": True, "algebra": "strict"},
    "no rules": {"rewrites": ALL_RULES},
    "csr exceptional": {"as_csr": True},
}


def mode_of(seed: int) -> str:
    """Return the mode of a seed."""
    return list(MODES)[seed % len(MODES)]


def program_of(seed: int) -> Generated:
    """Return the program of a seed."""
    return generate(SeededChooser(seed), exceptional="exceptional" in mode_of(seed))


def run_seed(seed: int) -> None:
    """Check one seed; raises what `check` raises."""
    check(program_of(seed), **MODES[mode_of(seed)])
