"""ACK303: a spout stores an entry for every tuple and does not remove it when the tuple is acked."""

from collections.abc import Iterator

from ackdoctor.checks.facts.fields import is_container, shrunk_fields
from ackdoctor.checks.facts.spouts import calls_super, entry_method, reach, stored_for_ever, stored_under_id
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.model.cfg import Function
from ackdoctor.model.dialect import EntryKind
from ackdoctor.model.finding import Finding


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each field that only grows, and for each override that disables the framework's cleanup."""
    if context.is_bolt:
        return
    if context.discipline.replays:
        yield from _overridden(context)
    if context.component.opaque:
        return
    shrunk = shrunk_fields(context, _after_success(context))
    growing = [
        use
        for use in stored_under_id(context)
        if use.field not in shrunk and is_container(context, use.field)
    ]
    replayed = stored_for_ever(context)  # under a new id, and the entry under the old id stays
    for case, found in (("message", growing), ("new id", replayed)):
        for use in found:
            if context.is_first(use.field):
                words = context.words(case, field=f"self.{use.field}")
                yield context.finding(words, None, (use.function, use.step.span), details=context.heirs)


def _overridden(context: RuleContext) -> Iterator[Finding]:
    """Yield the overrides of the framework's own callbacks that do not call them."""
    for kind in (EntryKind.ACKED, EntryKind.FAILED):
        method = entry_method(context, kind)
        if method is None or method.name not in context.role.owned:
            continue
        if any(calls_super(each) for each in reach(context, kind) if each.name == method.name):
            continue
        words = context.words(
            "owned method",
            method=method.name,
            component=context.component.name,
            role=context.role.name,
            damage=context.role.owned[method.name],
        )
        yield context.finding(words, None, method, details=context.heirs)


def _after_success(context: RuleContext) -> list[Function]:
    """Every function except those that only `fail` reaches."""
    others = reach(context, *(kind for kind in EntryKind if kind is not EntryKind.FAILED))
    failing = set(reach(context, EntryKind.FAILED)).difference(others)
    return [function for function in context.functions if function not in failing]
