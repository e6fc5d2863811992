"""Numbers as people read them: fixed rules, no locale, the same text everywhere."""

from __future__ import annotations

import math

from lineal.planner.plan import Value
from lineal.planner.types import Density, DensityKind

_SHORT_KIND = {DensityKind.EXACT: "=", DensityKind.ESTIMATED: "~", DensityKind.UPPER: "<="}
_SHORT_DTYPE = {"float": "f", "int": "i", "uint": "u"}


def count(value: float | None) -> str:
    """Return a plain count, e.g. FLOPs: 0, 800, 4.0e+04."""
    if value is None or math.isnan(value):
        return "?"
    if math.isinf(value):
        return "inf"
    if abs(value) < 10_000:
        return f"{value:.4g}"
    return f"{value:.1e}"


def size(value: float | None) -> str:
    """Return bytes in decimal units: 16 B, 1.6 kB, 3.1 GB."""
    if value is None or math.isnan(value):
        return "?"
    if math.isinf(value):
        return "inf"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(value) < 999.5:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 99.5 else f"{value:.2g} {unit}"
        value /= 1000
    return f"{value:.3g} PB"


def seconds(value: float | None) -> str:
    """Return a duration: 12 us, 3.4 ms, 41.2 s."""
    if value is None or math.isnan(value):
        return "?"
    if math.isinf(value):
        return "inf"
    for scale, unit in ((1e-6, "us"), (1e-3, "ms")):
        if abs(value) < 0.9995 * scale * 1000:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.3g} s" if abs(value) < 1000 else f"{value:.2e} s"


def figure(name: str, value: float) -> str:
    """Return a decision's number in the unit that its name ends in."""
    if name.endswith("bytes"):
        return size(value)
    if name.endswith(("seconds", "_s")):
        return seconds(value)
    return count(value)


def density(value: Density) -> str:
    """Return a density with its kind: =0.05 exact, ~0.05 estimated, <=0.05 upper bound."""
    return f"{_SHORT_KIND[value.kind]}{value.value:.3g}"


def type_text(value: Value) -> str:
    """Return dtype and shape, short: f8[1000, 20]; Python scalars by their name."""
    type_ = value.type
    full = str(type_)
    if type_.kind != "array" or type_.weak:
        return full
    name = type_.dtype.name
    for long, short in _SHORT_DTYPE.items():
        digits = name.removeprefix(long)
        if digits.isdigit():
            return full.replace(name, f"{short}{int(digits) // 8}", 1)
    return full


def places(value: Value) -> str:
    """Return the grid of a blocked value: 4x1 blocks."""
    return "x".join(str(len(axis)) for axis in value.splits)


def elide(text: str, width: int) -> str:
    """Return `text` on one line in at most `width` characters, ".." for an end that is cut."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: max(width - 2, 0)] + ".."
