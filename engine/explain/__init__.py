"""Views of a plan: one walk makes rows (`rows`), printers render them.

`explain` is the one entry.  Views read a finished plan and run nothing.
"""

from __future__ import annotations

from typing import Literal

from lineal.errors import OptionError
from lineal.planner.plan import PhysicalPlan

if __name__ != "lineal.engine.explain":  # a second copy of a class breaks isinstance
    raise ImportError("import this package as lineal.engine.explain")

__all__ = ["FORMATS", "MODES", "explain"]

MODES: tuple[str, ...] = ("physical", "memory", "decisions")
"""What a text shows: the steps and decisions; the steps with their memory; decisions alone."""

FORMATS: tuple[str, ...] = ("text", "json", "dot", "svg")

Mode = Literal["physical", "memory", "decisions"]
Format = Literal["text", "json", "dot", "svg"]


def explain(
    plan: PhysicalPlan,
    *,
    mode: Mode | str = "physical",
    format: Format | str = "text",
    verbose: bool = False,
) -> str:
    """Return `plan` for people or tools; nothing is run.

    Parameters
    ----------
    plan : PhysicalPlan
        The plan that would run; its hash is in every view.
    mode : {"physical", "memory", "decisions"}
        What a text shows.  The other formats hold everything and take "physical" only.
    format : {"text", "json", "dot", "svg"}
        Text of about 100 columns; JSON as docs/explain-json.schema.json describes; Graphviz
        source; a drawing.
    verbose : bool
        List refused decisions too, with the numbers compared.

    Raises
    ------
    OptionError
        An unknown mode or format, or a pair of them that makes no sense.
    """
    _check("mode", mode, MODES)
    _check("format", format, FORMATS)
    if format == "text":
        from lineal.engine.explain import text

        return text.render(plan, mode=mode, verbose=verbose)
    if mode != "physical":
        raise OptionError(
            f"mode={mode!r} is for text; format={format!r} holds everything",
            hint=f"explain(mode={mode!r}) or explain(format={format!r})",
        )
    if format == "json":
        from lineal.engine.explain import jsonview

        return jsonview.dumps(plan)
    if format == "dot":
        from lineal.engine.explain import dot

        return dot.render(plan)
    from lineal.engine.explain import svg

    return svg.render(plan)


def _check(name: str, value: object, valid: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in valid:
        raise OptionError(
            f"{name}={value!r} is not a value of this option",
            hint="one of " + ", ".join(repr(choice) for choice in valid),
        )
