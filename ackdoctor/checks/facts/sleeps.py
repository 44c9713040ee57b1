"""Calls that sleep: how long, as far as the code decides it."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ackdoctor.checks.facts.dataflow import canonical_form
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.libraries import LIBRARIES
from ackdoctor.model.cfg import Call, Function, Literal, Mix, Step
from ackdoctor.model.dialect import EntryKind


class Sleep(NamedTuple):
    """A call that sleeps for a constant time."""

    seconds: float
    function: Function
    step: Step


def sleeps(context: RuleContext, kinds: Collection[EntryKind]) -> Iterator[Sleep]:
    """Yield the calls that sleep in the handlers of these kinds, and in the helpers that these call."""
    for flow in context.flows_of(*kinds):
        for function in context.functions_of(flow):
            for step in function.cfg.steps:
                seconds = slept_seconds(context, function, step.op) if isinstance(step.op, Call) else None
                if seconds is not None:
                    yield Sleep(seconds, function, step)


def slept_seconds(context: RuleContext, function: Function, call: Call) -> float | None:
    """Return how long a call sleeps; None if it does not, or if only a run can know."""
    names = [*context.qualified_names(function, call.func)]
    units = [
        unit
        for end, unit in LIBRARIES[context.dialect.language].sleeps.items()
        if any(f".{name}".endswith(f".{end}") for name in names)
    ]
    if len(units) != 1 or len(call.args) != 1:
        return None
    slept = call.args[0].value
    field = context.own_field(function, slept)
    constant = context.component.attribute(field) if field is not None and field.isupper() else None
    match constant or canonical_form(function, slept):
        case Literal(value=int() | float() as number):
            return number * units[0]
        case Mix(
            op="*", parts=(Literal(value=int() | float() as one), Literal(value=int() | float() as two))
        ):
            return one * two * units[0]
        case _:
            return None
