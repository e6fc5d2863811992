"""Every error Lineal raises on purpose, and how it is shown.

An error names what is wrong, where in the user's file, the operands by the
user's own names with their shapes, and what to write instead.  This module
knows text only: no arrays, no expressions.
"""

from __future__ import annotations

from dataclasses import dataclass

if __name__ != "lineal.errors":  # a second copy of a class breaks isinstance
    raise ImportError("import this module as lineal.errors")

__all__ = [
    "AliasError",
    "DTypeError",
    "InputError",
    "LinealError",
    "LinealWarning",
    "MemoryLimitError",
    "OptionError",
    "ProgramError",
    "ReadError",
    "RunError",
    "ShapeError",
    "SourceError",
    "Span",
    "StaleSourceError",
    "StaticValueError",
    "UnboundNameError",
    "UnsupportedError",
]


@dataclass(frozen=True, slots=True)
class Span:
    """A place in the user's file: 1-based line, 0-based columns, the line's text."""

    file: str
    line: int
    column: int = 0
    end_column: int = 0
    text: str = ""
    function: str = ""

    def render(self) -> str:
        """Return `file:line` followed by the source line with the span underlined."""
        head = f'  File "{self.file}", line {self.line}'
        if self.function:
            head += f", in {self.function}"
        if not self.text:
            return head
        stripped = self.text.lstrip()
        shift = len(self.text) - len(stripped)
        start = max(self.column - shift, 0)
        width = max(min(self.end_column, len(self.text)) - self.column, 1)
        return f"{head}\n    {stripped.rstrip()}\n    {' ' * start}{'^' * width}"


class LinealWarning(UserWarning):
    """Base of the warnings that Lineal itself gives."""


class LinealError(Exception):
    """Base of every error raised on purpose.

    Attributes
    ----------
    message : str
        What is wrong, one sentence.
    hint : str
        What to write or do instead; may be empty.
    operands : tuple of str
        The operands, by the user's names, with shapes and dtypes.
    span : Span or None
        Where in the user's file.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        operands: tuple[str, ...] = (),
        span: Span | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.operands = operands
        self.span = span

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.hint, self.operands, self.span))

    def __str__(self) -> str:
        parts = [self.message]
        parts += [f"    {operand}" for operand in self.operands]
        if self.span is not None:
            parts.append(self.span.render())
        if self.hint:
            parts.append(f"  Try: {self.hint}")
        return "\n".join(parts)


def _rebuild(
    kind: type[LinealError],
    message: str,
    hint: str,
    operands: tuple[str, ...],
    span: Span | None,
) -> LinealError:
    return kind(message, hint=hint, operands=operands, span=span)


class ProgramError(LinealError):
    """The program cannot be planned; raised before anything runs."""


class UnsupportedError(ProgramError, NotImplementedError):
    """A construct, function or argument outside the language."""


class ShapeError(ProgramError, ValueError):
    """Shapes, axes or indices do not fit."""


class DTypeError(ProgramError, TypeError):
    """An element type that does not fit or is not supported."""


class AliasError(ProgramError, ValueError):
    """An in-place update of storage that another live name or the caller shares."""


class UnboundNameError(ProgramError, NameError):
    """A name that is, or may be, unbound where it is used."""


class StaticValueError(ProgramError, ValueError):
    """A value that must be known when the plan is made (a shape, an axis, a slice bound) is not."""


class SourceError(ProgramError, OSError):
    """The function's source text cannot be had."""


class StaleSourceError(SourceError):
    """The source text on disk is no longer the function's own code."""


class InputError(LinealError, ValueError):
    """An input that a program cannot take, or that contradicts what was declared of it."""


class ReadError(InputError, OSError):
    """A file that cannot be read as what it claims to be."""


class OptionError(LinealError, ValueError):
    """An unknown option or option value."""


class MemoryLimitError(LinealError, MemoryError):
    """A plan that cannot fit; raised before it runs."""


class RunError(LinealError, RuntimeError):
    """A run that could not finish for a reason that is not the program's own."""
