"""ACK302: a spout that emits with message ids and does nothing when a tuple has failed."""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import is_container, taken_from
from ackdoctor.checks.facts.provenance import Source, provenance, source_of
from ackdoctor.checks.facts.spouts import (
    REMOVALS,
    acts,
    calls_of,
    data_emits,
    entry_method,
    first,
    has_id,
    kept,
    reach,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.library import CONTAINER_STORES
from ackdoctor.model.cfg import Attr
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import EntryKind, Kind
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]

_GIVES_UP = REMOVALS | {"del"}
_COMPLETES = frozenset(
    "ack acknowledge basicAck basic_ack commit commitAsync commitSync deleteMessage delete_message".split()
)


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for a spout whose failed tuples are lost."""
    component = context.component
    if context.role.kind is not Kind.SPOUT or context.discipline.replays or component.opaque:
        return
    found = [emit for emit in data_emits(context) if has_id(emit)]
    if not found or (told := _told(context, found)) is None:
        return
    said, severity = told
    emit = first(found)
    yield context.finding(
        at=(emit.function, emit.step.span),
        message=f"this emit passes a message id, but {said}: every failed or timed-out tuple is lost",
        misuse=None,
        path=emit.path,
        last="emitted with a message id",
        severity=severity,
        help="keep the record until `ack` and send it again in `fail`, a few times at most; or leave the id out if losing it is fine",
    )


def _told(context: RuleContext, found: list[Emitted]) -> tuple[str, Severity] | None:
    """Why failed tuples are lost and how bad that is; None where they are not."""
    fail = entry_method(context, EntryKind.FAILED)
    deeds = set(acts(context, fail))
    name = context.component.name
    if completed := _completed_as_well(context, fail, deeds):
        return f"`fail` of {name} calls `{completed}` as `ack` does", Severity.WARNING
    if not deeds <= _GIVES_UP or _source_keeps(context) or _sent_again_elsewhere(context):
        return None
    if deeds:
        return f"`fail` of {name} gives the record up", Severity.INFO
    what = f"{name} has no `fail`" if fail is None else f"`fail` of {name} does nothing about it"
    return what, _severity(context, found)


def _completed_as_well(context: RuleContext, fail: Function | None, deeds: set[str]) -> str:
    """The call by which `fail`, which sets nothing and does nothing that `ack` does not, completes the record at its source; else ""."""
    ack = entry_method(context, EntryKind.ACKED)
    if not deeds <= _GIVES_UP | (set(acts(context, ack)) - {"="}):
        return ""
    common = _completing(context, fail) & _completing(context, ack)
    return min(common, default="")


def _completing(context: RuleContext, method: Function | None) -> set[str]:
    """`field.name` of the calls that tell a source that a record is done with."""
    return {
        f"{field}.{call.func.name}"
        for function, call in calls_of(context, method)
        if isinstance(call.func, Attr)
        and call.func.name in _COMPLETES
        and (field := context.field(function, call.func.obj))
    }


def _severity(context: RuleContext, found: list[Emitted]) -> Severity:
    names: set[str] = set()
    for emit in found:
        payload = emit.args.get(emit.verb.subject or "")
        if payload is not None:
            names |= provenance(context, emit.function, payload)
    source = source_of(names)
    remembers = source is Source.UNKNOWN and any(True for _ in kept(context))
    return Severity.WARNING if source.replayable or remembers else Severity.INFO


def _next(context: RuleContext) -> tuple[Function, ...]:
    return reach(context, entry_method(context, EntryKind.NEXT))


def _source_keeps(context: RuleContext) -> bool:
    """Whether `ack` completes the record at its source, which therefore still has what was not acked."""
    for function, call in calls_of(context, entry_method(context, EntryKind.ACKED)):
        if not isinstance(call.func, Attr):
            return True
        name = context.field(function, call.func.obj)
        if name is None or not (is_container(context, name) or call.func.name in CONTAINER_STORES):
            return True
    return False


def _sent_again_elsewhere(context: RuleContext) -> bool:
    """Whether `next_tuple` looks through what it has kept."""
    return any(name in taken_from(context, _next(context)) for _, _, name in kept(context))
