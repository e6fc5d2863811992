"""`Plan`: the frozen result of planning a program, and what can be asked of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lineal.engine.interpreter import Executable
from lineal.planner.cluster import ClusterSpec
from lineal.planner.expr import Expr
from lineal.planner.logical import Guard, Logical
from lineal.planner.pipeline import Compiled, Request, compile_until, no_outside
from lineal.planner.plan import Decision, PhysicalPlan

if TYPE_CHECKING:
    import networkx as nx

    from lineal.engine.session import Session


@dataclass(frozen=True, repr=False)
class Plan:
    """A program planned for given shapes, facts and machines.

    Attributes
    ----------
    request, compiled
        What was asked of the planner, and all that it made.
    cluster : ClusterSpec
        The machines that it is for.
    parameters : tuple of str
        Names of the inputs that `run` takes, in order.
    """

    request: Request = field(repr=False)
    compiled: Compiled = field(repr=False)
    cluster: ClusterSpec
    parameters: tuple[str, ...]

    @property
    def physical(self) -> PhysicalPlan:
        """The steps that run, which explain prints."""
        plan = self.compiled.plan
        assert plan is not None
        return plan

    @property
    def logical(self) -> Logical:
        """The program as expressions, after all rules."""
        return self.compiled.logical

    @property
    def flops(self) -> float:
        """Floating-point operations of the whole run: one per multiply, one per add."""
        return self.physical.flops

    @property
    def flops_as_written(self) -> float:
        """The same for the program in the order in which it is written."""
        return self.physical.flops_as_written

    @property
    def est_seconds(self) -> float:
        """Predicted seconds of the whole run."""
        return self.physical.est_seconds

    @property
    def peak_bytes(self) -> float:
        """Upper bound of the bytes held at once in the process that holds most."""
        return self.physical.peak_bytes

    @property
    def moved_bytes(self) -> float:
        """Bytes moved between processes in the whole run."""
        return self.physical.moved_bytes

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What every rule did, or why it did not, with the numbers compared."""
        return self.physical.decisions

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the plan; equal plans have equal hashes in every process."""
        from lineal.planner.fingerprint import plan_hash

        return plan_hash(self.physical)

    def explain(
        self, mode: str = "physical", *, format: str = "text", verbose: bool = False
    ) -> str:
        """Return the plan as text, JSON, DOT or SVG; nothing is run.

        Raises
        ------
        OptionError
            An unknown mode or format; lists the known ones.
        """
        from lineal.engine.explain import explain

        return explain(self.physical, mode=mode, format=format, verbose=verbose)

    def to_json(self) -> str:
        """Return the plan as a JSON document (schema: docs/explain-json.schema.json)."""
        return self.explain(format="json")

    def graph(self) -> nx.DiGraph:
        """Return the plan as a networkx DiGraph of steps."""
        from lineal.engine.explain.graph import to_networkx

        return to_networkx(self.physical)

    def run(self, *inputs: Any, session: Session | None = None) -> Any:
        """Run this very plan on `inputs` (arrays of the planned shapes, in parameter order)."""
        from lineal.engine.session import default_session

        return (session or default_session()).run_plan(self, inputs).value

    # -- what the engine needs -------------------------------------------------------------

    @cached_property
    def executable(self) -> Executable:
        """The plan compiled for this process; made once."""
        return Executable(self.physical)

    @cached_property
    def fits(self) -> bool:
        """Raise MemoryLimitError if the plan cannot fit its machines; True otherwise."""
        from lineal.planner.placement_cost import check_memory

        check_memory(self.physical, self.cluster)
        return True

    @cached_property
    def needs_finite(self) -> bool:
        """Whether a rule fired that holds over the reals only, for finite inputs."""
        return any(d.fired and d.numerics == "real" for d in self.decisions)

    @cached_property
    def strict(self) -> Plan:
        """The plan with bit-identical rules only, for inputs that hold NaN or Inf."""
        traced = self.compiled.traced
        request = replace(self.request, program=traced.logical, algebra="strict")
        done = compile_until(request)
        compiled = Compiled(replace(traced, logical=done.traced.logical), done.logical, done.plan)
        return Plan(request, compiled, self.cluster, self.parameters)

    @property
    def hidden(self) -> dict[str, Any]:
        """Arrays that the program reads from outside its arguments, by input name."""
        return self.compiled.traced.hidden

    @property
    def guards(self) -> tuple[Guard, ...]:
        """Conditions on scalar inputs under which the plan holds."""
        return self.compiled.logical.guards

    def scalar_leaves(self) -> dict[str, Expr]:
        """Return the input leaves that guards are evaluated over, by name."""
        return {str(e.attr("name")): e for e in self.compiled.traced.logical.inputs}

    def __reduce__(self) -> tuple[Any, ...]:
        request = replace(
            self.request,
            program=self.compiled.traced.logical,
            arguments={},
            bindings={},
            describe=no_outside,
        )
        traced = replace(self.compiled.traced, log={})
        compiled = replace(self.compiled, traced=traced)
        return (Plan, (request, compiled, self.cluster, self.parameters))

    def __repr__(self) -> str:
        takes = ", ".join(str(v.type) for v in self.physical.inputs)
        return f"<lineal plan {self.physical.name}({takes}) {self.hash[:12]}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("Plan(...)" if cycle else self.explain())

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document as Python data."""
        found: dict[str, Any] = json.loads(self.to_json())
        return found
