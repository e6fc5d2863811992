"""The command line: `lineal demo | run | explain | info`.

Exit codes: 0 done, 1 the program or its input failed, 2 wrong usage.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from lineal._version import __version__
from lineal.errors import InputError, LinealError

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 80}


@click.group(context_settings=_SETTINGS)
@click.version_option(__version__, prog_name="lineal")
def commands() -> None:
    """Plan and run NumPy programs.

    A program is FILE.py:FUNCTION, a plain NumPy function (decorated with la.program or not).
    """


_PROGRAM = click.argument("target", metavar="FILE:FUNC")
_INPUTS = click.option(
    "--input",
    "-i",
    "inputs",
    multiple=True,
    metavar="NAME=VALUE",
    help="An argument: a file (.npy .npz .mtx), or a Python literal: 3, 1e-3, True, \"'text'\". "
    "Repeatable.",
)
_SPECS = click.option(
    "--spec",
    "-s",
    "specs",
    multiple=True,
    metavar="NAME=MxN[:DENSITY]",
    help="An argument that is not here, by its shape. Repeatable.",
)
_ALGEBRA = click.option(
    "--algebra",
    type=click.Choice(["real", "strict"]),
    default="real",
    show_default=True,
    help="Re-associate as over the reals, or only what is bit-identical.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@commands.command()
@_PROGRAM
@_INPUTS
@_ALGEBRA
@_JSON
@click.option(
    "--out",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the results to this .npy or .npz file.",
)
@click.option(
    "--workers", type=click.IntRange(min=1), help="Run on a local cluster of this many processes."
)
@click.option("--scheduler", metavar="ADDRESS", help="Run on the Dask cluster at this address.")
def run(
    target: str,
    inputs: Sequence[str],
    algebra: str,
    as_json: bool,
    out: Path | None,
    workers: int | None,
    scheduler: str | None,
) -> None:
    """Run a program and print (or write) its results."""
    from lineal.engine.cli_run import execute

    if workers and scheduler:
        raise click.UsageError("--workers and --scheduler exclude each other")
    if out is not None and out.suffix not in (".npy", ".npz"):
        raise click.UsageError(f"--out must end in .npy or .npz, not {out.name!r}")
    if out is not None and not out.absolute().parent.is_dir():
        raise click.UsageError(f"--out: there is no folder {str(out.parent)!r}")
    program = load(target)
    given = arguments(inputs)
    _check_names(program, given)
    execute(program, given, algebra, out, workers, scheduler, as_json)


@commands.command()
@_PROGRAM
@_INPUTS
@_SPECS
@_ALGEBRA
@_JSON
@click.option(
    "--mode",
    type=click.Choice(["physical", "decisions", "memory"]),
    default="physical",
    show_default=True,
    help="What to show.",
)
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "dot", "svg"]),
    default="text",
    show_default=True,
    help="How to show it.",
)
@click.option("--verbose", is_flag=True, help="List refused rewrites, too.")
def explain(
    target: str,
    inputs: Sequence[str],
    specs: Sequence[str],
    algebra: str,
    as_json: bool,
    mode: str,
    style: str,
    verbose: bool,
) -> None:
    """Print a program's plan; nothing is run."""
    given = arguments(inputs)
    for item in specs:
        name, value = _pair(item, "--spec")
        if name in given:
            raise click.UsageError(f"{name!r} is given twice")
        given[name] = _spec(value)
    program = load(target)
    _check_names(program, given)
    plan = program.plan(**given, algebra=algebra)
    click.echo(plan.explain(mode, format="json" if as_json else style, verbose=verbose))


@commands.command()
@_JSON
def info(as_json: bool) -> None:
    """Print versions and native thread pools, for bug reports."""
    from lineal.engine.versions import native_pools, show_versions, versions

    if as_json:
        click.echo(json.dumps({"versions": versions(), "threads": native_pools()}, indent=2))
    else:
        show_versions()


@commands.command()
@_JSON
@click.option("--only", multiple=True, metavar="NAME", help="Run only this example. Repeatable.")
@click.option("--no-cluster", is_flag=True, help="Leave the two-worker cluster out.")
def demo(as_json: bool, only: Sequence[str], no_cluster: bool) -> None:
    """Run examples on real data and check each.

    In-process and on a cluster of two local workers, against NumPy.
    """
    from lineal.engine.demo import DEMO, run_demo

    unknown = sorted(set(only) - set(DEMO))
    if unknown:
        raise click.UsageError(
            f"the demo has no example {', '.join(unknown)}; it has {', '.join(DEMO)}"
        )
    failed = run_demo(only=tuple(only), cluster=not no_cluster, as_json=as_json)
    if failed:
        raise LinealError(f"{failed} result(s) differ from NumPy's")


def cli(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        commands.main(args=list(args) if args is not None else None, standalone_mode=False)
    except click.exceptions.Exit as error:
        return int(error.exit_code)
    except click.UsageError as error:
        error.show()
        return 2
    except click.Abort:
        click.echo("interrupted", err=True)
        return 1
    except LinealError as error:
        click.echo(f"{type(error).__name__}: {error}", err=True)
        return 1
    except Exception as error:  # the program's own failure, with the line it carries as a note
        click.echo(f"{type(error).__name__}: {error}", err=True)
        for note in getattr(error, "__notes__", ()):
            click.echo(note, err=True)
        return 1
    return 0


def load(target: str) -> Any:
    """Return the program FILE:FUNC names."""
    from lineal.engine.program import program

    path, colon, name = target.rpartition(":")
    if not colon or not path or not name:
        raise click.UsageError(f"{target!r} is not FILE:FUNC")
    file = Path(path)
    if not file.is_file():
        raise click.UsageError(f"there is no file {path!r}")
    module_name = f"lineal_run_{file.stem}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"{path!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    sys.path.insert(0, str(file.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    if not hasattr(module, name):
        raise click.UsageError(f"{path!r} defines no {name!r}")
    return program(getattr(module, name))


def arguments(inputs: Sequence[str]) -> dict[str, Any]:
    """Return arguments by name: files are read, everything else is a Python literal."""
    from lineal.engine.readers import read

    given: dict[str, Any] = {}
    for item in inputs:
        name, value = _pair(item, "--input")
        if name in given:
            raise click.UsageError(f"{name!r} is given twice")
        if Path(value).suffix in (".npy", ".npz", ".mtx") or Path(value).exists():
            given[name] = read(value)
            continue
        try:
            given[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            raise InputError(
                f"--input {item!r}: no such file, and no Python number, string or bool",
                hint="NAME=file.npy or NAME=1.5",
            ) from None
    return given


def _check_names(program: Any, given: dict[str, Any]) -> None:
    """Refuse arguments that the program does not have, and missing ones."""
    parameters = inspect.signature(program.python).parameters
    unknown = [name for name in given if name not in parameters]
    missing = [
        name
        for name, p in parameters.items()
        if p.default is inspect.Parameter.empty and name not in given
    ]
    if unknown or missing:
        problems = [f"unknown argument {n!r}" for n in unknown]
        problems += [f"missing argument {n!r}" for n in missing]
        raise click.UsageError(
            f"{', '.join(problems)}; {program.__name__} takes {', '.join(parameters)}"
        )


def _pair(item: str, option: str) -> tuple[str, str]:
    name, equals, value = item.partition("=")
    if not equals or not name.isidentifier() or not value:
        raise click.UsageError(f"{option} {item!r} is not NAME=VALUE")
    return name, value


def _spec(value: str) -> Any:
    from lineal.engine.inputs import spec

    sizes, _, density = value.partition(":")
    try:
        shape = tuple(int(float(part)) for part in sizes.split("x"))
        return spec(shape, density=float(density or 1.0))
    except ValueError:
        raise click.UsageError(f"--spec {value!r} is not MxN or MxN:DENSITY") from None
