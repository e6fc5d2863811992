"""`program`: the decorator that makes a plain NumPy function a planned one."""

from __future__ import annotations

import inspect
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lineal import config
from lineal.engine.inputs import Bound, describe
from lineal.engine.plan import Plan
from lineal.engine.session import Run, Session, default_session
from lineal.errors import InputError, LinealError, LinealWarning, OptionError, ProgramError
from lineal.planner.fold import evaluate_scalar
from lineal.planner.logical import Guard
from lineal.planner.outside import Read, current
from lineal.planner.pipeline import RULE_NAMES, Request, compile_until
from lineal.planner.source import Source, capture
from lineal.planner.trace import InputSpec

_RESERVED = ("session", "result", "cluster", "iterations")
_PLANS_KEPT = 64


@dataclass
class _Cached:
    """A plan with what must still hold for it to be used again."""

    plan: Plan
    log: dict[str, Read]
    hidden_key: tuple[Any, ...]


class Program:
    """A function that is planned before it runs; made by `la.program`.

    Calling it returns what NumPy would return.  `.python` is the undecorated function, and its
    result under NumPy is the definition of correct.
    """

    def __init__(self, source: Source, bindings: dict[str, Any] | None = None) -> None:
        self._source = source
        self._bindings = bindings or {}
        function = source.function
        self.python: Callable[..., Any] = function
        self._signature = inspect.signature(function)
        self.__name__ = source.name
        self.__qualname__ = getattr(function, "__qualname__", source.name)
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__wrapped__ = function
        self._plans: OrderedDict[tuple[Any, ...], list[_Cached]] = OrderedDict()
        self._lock = threading.Lock()
        taken = sorted(set(self._signature.parameters) & {*config.OPTION_NAMES, *_RESERVED})
        if taken:
            raise OptionError(
                f"{source.name!r} has a parameter named like an option: {', '.join(taken)}",
                hint="rename the parameter",
            )

    @property
    def __lineal_source__(self) -> Source:
        return self._source

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Plan (or find the plan at hand), run in-process, return NumPy values."""
        return self._execute(default_session(), config.current(), args, kwargs).value

    def run(
        self, *args: Any, session: Session | None = None, result: str = "numpy", **kwargs: Any
    ) -> Any:
        """Run in `session`; option keywords (`algebra=...`) hold for this call.

        Parameters
        ----------
        session : Session, optional
            Where to run; in-process if not given.
        result : {"numpy", "dask"}
            "dask" returns large outputs as Dask arrays that stay where they were computed.
        """
        if result not in ("numpy", "dask"):
            raise OptionError(f"result must be 'numpy' or 'dask', not {result!r}")
        if session is not None and not isinstance(session, Session):
            raise OptionError(
                f"session must be a la.Session, not {type(session).__name__}",
                hint="la.Session(client), or leave it out to run in this process",
            )
        options, kwargs = self._split(kwargs)
        return self._execute(session or default_session(), options, args, kwargs, result).value

    def plan(
        self,
        *args: Any,
        cluster: Any = None,
        session: Session | None = None,
        iterations: dict[str, float] | float | None = None,
        **kwargs: Any,
    ) -> Plan:
        """Return the plan for these inputs (data, or `la.spec`); nothing is run.

        Parameters
        ----------
        cluster : ClusterSpec, optional
            Machines to plan for; the session's (or this process) if not given.
        iterations : float or dict, optional
            Assumed iteration count of loops that have no bound, or one per loop ("line 12").
        """
        options, kwargs = self._split(kwargs)
        bound = self._bind(args, kwargs)
        spec = cluster if cluster is not None else (session or default_session()).cluster
        return self._planned(bound, options, spec, iterations)

    def explain(self, *args: Any, mode: str = "physical", format: str = "text",
                verbose: bool = False, **kwargs: Any) -> str:
        """Return the plan for these inputs as text (or JSON, DOT, SVG); nothing is run."""
        for name in ("mode", "format", "verbose"):
            if name in self._signature.parameters:
                raise OptionError(
                    f"{self.__name__!r} has a parameter {name!r}",
                    hint="use .plan(...).explain(...)",
                )
        return self.plan(*args, **kwargs).explain(mode, format=format, verbose=verbose)

    # -- planning --------------------------------------------------------------------------

    def _split(self, kwargs: dict[str, Any]) -> tuple[config.Options, dict[str, Any]]:
        chosen = {k: v for k, v in kwargs.items() if k in config.OPTION_NAMES}
        rest = {k: v for k, v in kwargs.items() if k not in chosen}
        return config.current().replace(**chosen), rest

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Bound]:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InputError(f"{self.__name__}(): {error}") from None
        bound.apply_defaults()
        return [describe(value, name) for name, value in bound.arguments.items()]

    def _execute(
        self,
        session: Session,
        options: config.Options,
        args: Any,
        kwargs: dict[str, Any],
        result: str = "numpy",
    ) -> Run:
        bound = self._bind(args, kwargs)
        plan = self._planned(bound, options, session.cluster, None)
        self._warn(plan)
        dynamic = [b for b in bound if not is_static(b)]
        now = current(plan.compiled.traced.log, plan.hidden) or plan.hidden
        hidden = [describe(value, name) for name, value in now.items()]
        return session.execute(plan, [*dynamic, *hidden], result)

    @staticmethod
    def _warn(plan: Plan) -> None:
        for message, span in plan.compiled.traced.logical.warnings:
            text = f"{message}\n{span.render()}"
            warnings.warn_explicit(text, LinealWarning, span.file, span.line)

    def _planned(
        self,
        bound: list[Bound],
        options: config.Options,
        cluster: Any,
        iterations: dict[str, float] | float | None,
    ) -> Plan:
        check_supported(options)
        key = (
            tuple(_input_key(b) for b in bound),
            options,
            cluster,
            repr(iterations),
        )
        with self._lock:
            for cached in self._plans.get(key, ()):
                if self._holds(cached, bound):
                    self._plans.move_to_end(key)
                    return cached.plan
        arguments = {
            b.name: b.value if is_static(b) else input_spec(b) for b in bound
        }
        request = Request(
            program=self._source,
            arguments=arguments,
            bindings=self._bindings,
            describe=describe_outside,
            algebra=options.algebra,
            rewrites=options.rewrites or (),
            iterations=iterations,
            cluster=cluster,
        )
        compiled = compile_until(request)
        parameters = tuple(b.name for b in bound if not is_static(b))
        plan = Plan(request, compiled, cluster, parameters)
        log = dict(compiled.traced.log)
        cached = _Cached(plan, log, _hidden_key(plan.hidden))
        with self._lock:
            self._plans.setdefault(key, []).append(cached)
            del self._plans[key][:-8]
            while len(self._plans) > _PLANS_KEPT:
                self._plans.popitem(last=False)
        return plan

    def _holds(self, cached: _Cached, bound: list[Bound]) -> bool:
        """Tell whether outside names and guards are as the plan found them."""
        now = current(cached.log, cached.plan.hidden)
        if now is None:
            return False
        try:
            if now and _hidden_key(now) != cached.hidden_key:
                return False
        except LinealError:
            return False  # planning again says what is wrong with it, and where it is read
        leaves = cached.plan.scalar_leaves()
        known = {leaves[b.name]: b.value for b in bound if b.name in leaves and b.kind == "scalar"}
        return all(_guard_holds(g, known) for g in cached.plan.guards)

    # -- pickling ----------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        from lineal.engine.pickling import program_state, restore_program

        return (restore_program, program_state(self._source, self._bindings))

    def __repr__(self) -> str:
        return f"<lineal program {self.__name__}{self._signature}>"


def program(function: Callable[..., Any]) -> Program:
    """Make a plain NumPy function a planned program.

    Raises
    ------
    SourceError
        The function's source cannot be had, e.g. at an interactive prompt.
    StaleSourceError
        The source on disk is no longer the function's own.
    OptionError
        A parameter has an option's name.
    """
    if isinstance(function, Program):
        return function
    return Program(capture(function))


def check_supported(options: config.Options) -> None:
    """Raise OptionError for rules that there are not, and for values not available yet."""
    unknown = sorted(set(options.rewrites or ()) - set(RULE_NAMES))
    if unknown:
        raise OptionError(
            f"rewrites names no rule: {', '.join(map(repr, unknown))}",
            hint="one of " + ", ".join(RULE_NAMES),
        )
    if options.redundancy not in ("adaptive", "conservative"):
        raise OptionError(
            f"redundancy={options.redundancy!r} is not available yet",
            hint="use 'adaptive' (default) or 'conservative'",
        )
    if options.evaluation == "incremental":
        raise OptionError(
            "evaluation='incremental' is not available yet", hint="use 'hybrid' or 'full'"
        )


def is_static(bound: Bound) -> bool:
    """Tell whether an argument is part of the plan rather than an input of the run."""
    return bound.kind == "static" or isinstance(bound.value, bool)


def input_spec(bound: Bound) -> InputSpec:
    """Return what the planner is told of an argument."""
    assert bound.type is not None
    value = bound.value if bound.kind == "scalar" else None
    return InputSpec(bound.name, bound.type, bound.facts, value)


def describe_outside(value: Any, name: str) -> InputSpec | None:
    """Return the description of an outside array, None for what is none."""
    try:
        bound = describe(value, name)
    except (InputError, ProgramError):
        raise
    if bound.type is None or bound.kind == "static":
        return None
    return input_spec(bound)


def _input_key(bound: Bound) -> tuple[Any, ...]:
    if is_static(bound):
        return (bound.name, type(bound.value).__name__, repr(bound.value))
    facts = bound.facts
    share = float(f"{facts.density.value:.2g}")
    rest = (facts.storage, share, facts.properties, facts.bandwidth, facts.chunks)
    return (bound.name, bound.kind, isinstance(bound.value, np.generic), bound.type, rest)


def _hidden_key(hidden: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(_input_key(describe(value, name)) for name, value in hidden.items())


def _guard_holds(guard: Guard, known: dict[Any, Any]) -> bool:
    found = evaluate_scalar(guard.expr, known)
    return found is not None and repr(found[0]) == repr(guard.value)



