"""ACK302: a spout emits with message ids and does not replay failed tuples."""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import drained_fields, is_container
from ackdoctor.checks.facts.provenance import Source, provenance, source_of
from ackdoctor.checks.facts.spouts import (
    REMOVALS,
    data_emits,
    effective_calls,
    entry_method,
    first_in_source,
    has_id,
    lasting_effects,
    reach,
    stored_under_id,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.library import CONTAINER_STORES
from ackdoctor.model.cfg import Attr, Function
from ackdoctor.model.dialect import EntryKind, Kind
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]

_DROPS = REMOVALS | {"del"}
_COMPLETES = frozenset(
    "ack acknowledge basicAck basic_ack commit commitAsync commitSync deleteMessage delete_message".split()
)


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for a spout that loses failed tuples."""
    component = context.component
    if context.role.kind is not Kind.SPOUT or context.discipline.replays or component.opaque:
        return
    found = [emit for emit in data_emits(context) if has_id(emit)]
    if not found or (loss := _loss(context, found)) is None:
        return
    reason, severity = loss
    emit = first_in_source(found)
    yield context.finding(
        context.words(reason=reason),
        at=(emit.function, emit.step.span),
        misuse=None,
        path=emit.path,
        severity=severity,
    )


def _loss(context: RuleContext, found: list[Emitted]) -> tuple[str, Severity] | None:
    """Return why failed tuples are lost, and the severity; None if the spout replays them."""
    fail = entry_method(context, EntryKind.FAILED)
    actions = set(lasting_effects(context, fail))
    name = context.component.name
    if completed := _acked_at_source(context, fail, actions):
        return context.phrase("acked", component=name, call=completed), Severity.WARNING
    if not actions <= _DROPS or _source_keeps(context) or _replayed_elsewhere(context):
        return None
    if actions:
        return context.phrase("dropped", component=name), Severity.INFO
    reason = context.phrase("missing" if fail is None else "idle", component=name)
    return reason, _severity(context, found)


def _acked_at_source(context: RuleContext, fail: Function | None, actions: set[str]) -> str:
    """Return the call with which `fail` completes the record at its source, exactly as `ack` does; else ""."""
    ack = entry_method(context, EntryKind.ACKED)
    if not actions <= _DROPS | (set(lasting_effects(context, ack)) - {"="}):
        return ""
    common = _source_acks(context, fail) & _source_acks(context, ack)
    return min(common, default="")


def _source_acks(context: RuleContext, method: Function | None) -> set[str]:
    """The calls that complete a record at its source, as `field.method`."""
    return {
        f"{field}.{call.func.name}"
        for function, call in effective_calls(context, method)
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
    remembers = source is Source.UNKNOWN and any(True for _ in stored_under_id(context))
    return Severity.WARNING if source.replayable or remembers else Severity.INFO


def _next_tuple(context: RuleContext) -> tuple[Function, ...]:
    return reach(context, entry_method(context, EntryKind.NEXT))


def _source_keeps(context: RuleContext) -> bool:
    """Whether `ack` completes the record at its source, so the source keeps every record without ack."""
    for function, call in effective_calls(context, entry_method(context, EntryKind.ACKED)):
        if not isinstance(call.func, Attr):
            return True
        name = context.field(function, call.func.obj)
        if name is None or not (is_container(context, name) or call.func.name in CONTAINER_STORES):
            return True
    return False


def _replayed_elsewhere(context: RuleContext) -> bool:
    """Whether `next_tuple` reads the records that it stored."""
    return any(
        name in drained_fields(context, _next_tuple(context)) for _, _, name in stored_under_id(context)
    )
