"""Programs travel as source plus bindings: no process needs to import the user's module."""

from __future__ import annotations

import ast
import importlib
import types
from typing import Any

from lineal.errors import InputError
from lineal.planner.outside import lookup
from lineal.planner.source import Source, capture, parse

State = tuple[Any, ...]


def program_state(source: Source, bindings: dict[str, Any]) -> State:
    """Return what `restore_program` needs, in values that plain pickle takes."""
    return _source_state(source, bindings)


def restore_program(*state: Any) -> Any:
    """Rebuild a program from its state."""
    from lineal.engine.program import Program

    return Program(_restore_source(*state))


def _source_state(source: Source, bindings: dict[str, Any]) -> State:
    names = {
        n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id != source.name
    }
    held: dict[str, tuple[str, Any]] = {}
    for name in sorted(names):
        found = lookup(source.function, bindings, name)
        if found is not None:
            held[name] = _encode(found[0], name)
    function = source.function
    return (
        source.name,
        source.file,
        source.text,
        source.first_line,
        source.indent,
        held,
        function.__defaults__,
        function.__kwdefaults__,
    )


def _encode(value: Any, name: str) -> tuple[str, Any]:
    if isinstance(value, types.ModuleType):
        return ("module", value.__name__)
    if hasattr(value, "__lineal_source__"):
        return ("program", _source_state(value.__lineal_source__, {}))
    if isinstance(value, types.FunctionType) and not value.__module__.startswith("numpy"):
        return ("function", _source_state(capture(value), {}))
    return ("value", value)


def _decode(kind: str, value: Any) -> Any:
    if kind == "module":
        try:
            return importlib.import_module(value)
        except ImportError as error:
            raise InputError(f"the program uses the module {value!r}: {error}") from None
    if kind == "program":
        return restore_program(*value)
    if kind == "function":
        return _restore_source(*value).function
    return value


def _restore_source(
    name: str,
    file: str,
    text: str,
    first_line: int,
    indent: int,
    held: dict[str, tuple[str, Any]],
    defaults: Any,
    kwdefaults: Any,
) -> Source:
    tree = parse(text, name, file)
    bare = parse(text, name, file)
    bare.decorator_list = []
    # Defaults were bound when the program was defined; their expressions are not run again.
    bare.args.defaults = [ast.Constant(None) for _ in bare.args.defaults]
    bare.args.kw_defaults = [d and ast.Constant(None) for d in bare.args.kw_defaults]
    for argument in (*bare.args.posonlyargs, *bare.args.args, *bare.args.kwonlyargs):
        argument.annotation = None
    bare.returns = None
    module = ast.fix_missing_locations(ast.Module(body=[bare], type_ignores=[]))
    ast.increment_lineno(module, first_line - 1)
    space: dict[str, Any] = {key: _decode(*pair) for key, pair in held.items()}
    space["__name__"] = f"lineal.restored.{name}"
    exec(compile(module, file, "exec"), space)  # the program's own source
    function = space[name]
    function.__defaults__, function.__kwdefaults__ = defaults, kwdefaults
    return Source(name, file, text, first_line, indent, tree, function)
