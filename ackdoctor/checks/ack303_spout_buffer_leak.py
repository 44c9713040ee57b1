"""ACK303: a spout stores an entry for every tuple and does not remove it when the tuple is acked."""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import is_container, shrunk_fields
from ackdoctor.checks.facts.spouts import calls_super, entry_method, reach, stored_for_ever, stored_under_id
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.model.cfg import Function
from ackdoctor.model.dialect import EntryKind, Kind
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each field that only grows, and for each override that disables the framework's cleanup."""
    if context.role.kind is not Kind.SPOUT:
        return
    yield from _overridden(context)
    if context.component.opaque:
        return
    shrunk = shrunk_fields(context, _after_success(context))
    reported: set[str] = set()
    for function, step, name in stored_under_id(context):
        if name in reported or name in shrunk or not is_container(context, name):
            continue
        reported.add(name)
        yield context.finding(
            context.words(field=f"self.{name}"),
            at=(function, step.span),
            misuse=None,
            severity=Severity.WARNING,
        )
    yield from _replayed_under_new_id(context, reported)


def _replayed_under_new_id(context: RuleContext, reported: set[str]) -> Iterator[Finding]:
    """Yield the fields in which `fail` stores a record under a new id and keeps the entry under the old id."""
    for function, step, name in stored_for_ever(context):
        if name in reported:
            continue
        reported.add(name)
        yield context.finding(
            context.words("new id", field=f"self.{name}"),
            at=(function, step.span),
            misuse=None,
            severity=Severity.WARNING,
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
            context.words(
                "owned method",
                method=method.name,
                component=context.component.name,
                role=context.role.name,
                damage=context.role.owned[method.name],
            ),
            at=(method, method.head),
            misuse=None,
            severity=Severity.WARNING,
        )


# ---- the spout's own buffers ----


def _after_success(context: RuleContext) -> list[Function]:
    """Every function except those that only `fail` reaches."""
    reaches = {
        entry.method: reach(context, context.component.method(entry.method)) for entry in context.role.entries
    }
    failing = {entry.method for entry in context.role.entries if entry.kind is EntryKind.FAILED}
    others = {
        id(function) for method, found in reaches.items() if method not in failing for function in found
    }
    on_failure = {id(function) for method in failing for function in reaches[method]} - others
    return [function for function in context.functions() if id(function) not in on_failure]
