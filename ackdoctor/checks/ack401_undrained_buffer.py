"""ACK401: tuples held in a field that no handler ever acks or fails."""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import LISTENERS, assigned, chain, kept_inputs, left_behind
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding

__all__ = ["check"]


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for each such field, where it is first filled."""
    if context.component.opaque:
        return
    fields = left_behind(context)
    told: set[str] = set()
    for flow, stored in kept_inputs(context):
        field = stored.field.partition(".")[0]
        if field not in fields or field in told or _listened_to(context, field):
            continue
        told.add(field)
        yield context.finding(
            at=(stored.function, stored.step.span),
            message=f"`{stored.token.name}` is kept in `self.{field}`, and nothing in {context.component.name} "
            "ever acks or fails what that holds",
            misuse=Misuse.NEVER,
            path=stored.path,
            token=stored.token,
            last=f"kept in self.{field}",
            flow=flow,
            help=f"ack or fail the tuples of `self.{field}` when their work is done, before you let them go",
        )


def _listened_to(context: RuleContext, field: str) -> bool:
    """Whether the field is a cache that somebody is told of what leaves it."""
    return any(
        LISTENERS & chain(function, call)
        for function in context.functions()
        for call in assigned(context, function, field)
    )
