"""Seeded random generators: pure draws that give a value and the next generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lineal.errors import DTypeError, ProgramError, UnsupportedError
from lineal.planner import build
from lineal.planner.build import Context, Operand, apply, results
from lineal.planner.expr import Expr
from lineal.planner.functions.entry import Table
from lineal.planner.functions.shapes import known_shape
from lineal.planner.infer import typed


def _default_rng(ctx: Context, seed: Operand = None) -> Any:
    if seed is None:
        raise ProgramError(
            "np.random.default_rng() without a seed gives other values in every run",
            hint="pass a seed: np.random.default_rng(0)",
        )
    node = build.lift(seed)
    if typed(node).ndim or typed(node).dtype.kind not in "iu":
        raise DTypeError(
            "default_rng: the seed must be an integer", hint="np.random.default_rng(0)"
        )
    return apply("rng_new", node)


ENTRIES = Table("random")
ENTRIES.add(np.random.default_rng, "np.random.default_rng", _default_rng)

DRAWS: dict[str, tuple[tuple[tuple[str, object], ...], str]] = {
    "standard_normal": ((("size", None), ("dtype", "float64")), "float64"),
    "random": ((("size", None), ("dtype", "float64")), "float64"),
    "normal": ((("loc", 0.0), ("scale", 1.0), ("size", None)), "float64"),
    "uniform": ((("low", 0.0), ("high", 1.0), ("size", None)), "float64"),
    "exponential": ((("scale", 1.0), ("size", None)), "float64"),
    "integers": ((("low", None), ("high", None), ("size", None)), "int64"),
    "permutation": ((("x", None),), "int64"),
}
"""Draws of a Generator: argument names with defaults, and the dtype."""


def draw(
    ctx: Context, rng: Expr, method: str, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Expr, Expr]:
    """Return (value, next generator) for `rng.method(*args, **kwargs)`."""
    if method not in DRAWS:
        raise UnsupportedError(
            f"the draw {method!r}", hint=f"supported draws: {', '.join(sorted(DRAWS))}"
        )
    names = [name for name, _ in DRAWS[method][0]]
    given = dict(DRAWS[method][0])
    if len(args) > len(names) or not set(kwargs) <= set(names):
        raise UnsupportedError(
            f"{method}: unknown or too many arguments", hint=f"arguments are {', '.join(names)}"
        )
    given.update(zip(names, args, strict=False))
    given.update(kwargs)
    dtype = DRAWS[method][1]
    static: dict[str, Any] = {}
    if "dtype" in given:
        dtype = build.static_dtype(ctx, given.pop("dtype"))
        static["dtype"] = dtype
    size = given.pop("size", None)
    shape = None if size is None else known_shape(ctx, size)
    if method == "permutation":
        given["x"] = known_shape(ctx, given["x"])[0]
    present = {k: v for k, v in given.items() if v is not None}
    if any(isinstance(v, Expr) and typed(v).ndim for v in present.values()):
        raise UnsupportedError(f"{method} with array parameters", hint="draw, then scale")
    made = (given["x"],) if method == "permutation" else shape
    node = apply(
        "draw",
        rng,
        *present.values(),
        method=method,
        size=shape,
        kwargs=tuple(present),
        shape=() if made is None else made,
        result=dtype,
        **static,
    )
    value, state = results(node)
    return value, state
