"""ACK303: a spout remembers every tuple that it emits and does not forget it when the tuple is acked."""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import emptied_by, is_container
from ackdoctor.checks.facts.spouts import calls_super, entry_method, kept, kept_for_ever, reach
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import EntryKind, Kind
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for each field that only grows, and for each callback that keeps the framework's own from shrinking."""
    if context.role.kind is not Kind.SPOUT:
        return
    yield from _overridden(context)
    if context.component.opaque:
        return
    shrunk = emptied_by(context, _after_success(context))
    told: set[str] = set()
    for function, step, name in kept(context):
        if name in told or name in shrunk or not is_container(context, name):
            continue
        told.add(name)
        yield context.finding(
            at=(function, step.span),
            message=f"`self.{name}` gets an entry for every tuple and loses none when the tuple is acked: "
            "it grows for the life of the spout",
            misuse=None,
            last="kept here",
            severity=Severity.WARNING,
            help=f"take the entry out of `self.{name}` in `ack`",
        )
    yield from _sent_anew(context, told)


def _sent_anew(context: RuleContext, told: set[str]) -> Iterator[Finding]:
    """A record that is sent again under a new id, while its entry under the old one stays."""
    for function, step, name in kept_for_ever(context):
        if name in told:
            continue
        told.add(name)
        yield context.finding(
            at=(function, step.span),
            message=f"`self.{name}` gets an entry under a new id for every failure and keeps the one under the old id: "
            "it grows with every replay",
            misuse=None,
            last="kept here",
            severity=Severity.WARNING,
            help=f"take the old entry out of `self.{name}` in `fail`",
        )


# ---- the framework's own buffer ----


def _overridden(context: RuleContext) -> Iterator[Finding]:
    if not context.discipline.replays:
        return
    for kind in (EntryKind.ACKED, EntryKind.FAILED):
        method = entry_method(context, kind)
        if method is None or method.name not in context.role.owned:
            continue
        if any(calls_super(function) for function in reach(context, method) if function.name == method.name):
            continue
        yield context.finding(
            at=(method, method.head),
            message=f"`{method.name}` of {context.component.name} does not call the one of {context.role.name}: "
            f"{context.role.owned[method.name]}",
            misuse=None,
            last="defined here",
            severity=Severity.WARNING,
            help=f"call `super().{method.name}(...)` as well",
        )


# ---- the spout's own ----


def _after_success(context: RuleContext) -> list[Function]:
    """Every function but those that only a failure leads to."""
    reaches = {
        entry.method: reach(context, context.component.method(entry.method)) for entry in context.role.entries
    }
    failing = {entry.method for entry in context.role.entries if entry.kind is EntryKind.FAILED}
    others = {
        id(function) for method, found in reaches.items() if method not in failing for function in found
    }
    on_failure = {id(function) for method in failing for function in reaches[method]} - others
    return [function for function in context.functions() if id(function) not in on_failure]
