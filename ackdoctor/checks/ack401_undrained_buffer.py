"""ACK401: a bolt stores tuples in a field, and no handler ever acks or fails them."""

from collections.abc import Iterator

from ackdoctor.checks.facts.fields import LISTENERS, builders, stored_inputs, unreleased_fields
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each such field, at its first store."""
    fields = frozenset[str]() if context.component.opaque else unreleased_fields(context)
    for flow, stored in stored_inputs(context) if fields else ():
        field = stored.field.partition(".")[0]
        if field not in fields or any(LISTENERS & methods for methods in builders(context, field)):
            continue  # the listener of a cache gets the evicted entries
        if context.is_first(field):
            component, tup = context.component.name, f"`{stored.token.name}`"
            words = context.words(tup=tup, field=f"self.{field}", component=component)
            yield context.finding(words, Misuse.NEVER, stored, flow=flow)
