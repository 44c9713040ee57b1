"""ACK401: a bolt stores tuples in a field, and no handler ever acks or fails them."""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import (
    LISTENERS,
    assigned_calls,
    chained_methods,
    stored_inputs,
    unreleased_fields,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding

__all__ = ["check"]


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each such field, at its first store."""
    if context.component.opaque:
        return
    fields = unreleased_fields(context)
    reported: set[str] = set()
    for flow, stored in stored_inputs(context):
        field = stored.field.partition(".")[0]
        if field not in fields or field in reported or _has_listener(context, field):
            continue
        reported.add(field)
        yield context.finding(
            context.words(
                tup=f"`{stored.token.name}`", field=f"self.{field}", component=context.component.name
            ),
            at=(stored.function, stored.step.span),
            misuse=Misuse.NEVER,
            path=stored.path,
            token=stored.token,
            flow=flow,
        )


def _has_listener(context: RuleContext, field: str) -> bool:
    """Whether the field is a cache with a listener for evicted entries."""
    return any(
        LISTENERS & chained_methods(function, call)
        for function in context.functions()
        for call in assigned_calls(context, function, field)
    )
