"""ACK302: a spout emits with message ids and does not replay failed tuples."""

from collections.abc import Iterator

from ackdoctor.checks.facts.fields import drained_fields, is_container
from ackdoctor.checks.facts.spouts import (
    REMOVALS,
    Effect,
    Source,
    data_emits,
    entry_method,
    first_in_source,
    has_id,
    lasting_effects,
    payload_source,
    reach,
    stored_under_id,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.library import CONTAINER_STORES
from ackdoctor.model.cfg import Attr, Call
from ackdoctor.model.dialect import EntryKind
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]

_DROPS = REMOVALS | {"del"}
_COMPLETES = frozenset(
    "ack acknowledge basicAck basic_ack commit commitAsync commitSync deleteMessage delete_message".split()
)


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for a spout that loses failed tuples."""
    if context.is_bolt or context.discipline.replays or context.component.opaque:
        return
    found = [emit for emit in data_emits(context) if has_id(emit)]
    loss = _loss(context, found) if found else None
    if loss is not None:
        reason, severity = loss
        words = context.words(reason=reason)
        yield context.finding(words, None, first_in_source(found), severity=severity)


def _loss(context: RuleContext, found: list[Emitted]) -> tuple[str, Severity] | None:
    """Return why failed tuples are lost, and the severity; None if the spout replays them."""
    name, fail = context.component.name, entry_method(context, EntryKind.FAILED)
    failed = lasting_effects(context, fail)
    acked = lasting_effects(context, entry_method(context, EntryKind.ACKED))
    actions = {effect.word for effect in failed}
    completed = _source_acks(context, failed) & _source_acks(context, acked)
    if completed and actions <= _DROPS | ({effect.word for effect in acked} - {"="}):
        return context.phrase("acked", component=name, call=min(completed)), Severity.WARNING
    if not actions <= _DROPS or _completes_at_source(context, acked):
        return None  # `fail` does something, or the source keeps every record that `ack` does not complete
    stored = stored_under_id(context)
    functions = reach(context, entry_method(context, EntryKind.NEXT))
    if not {use.field for use in stored}.isdisjoint(drained_fields(context, functions)):
        return None  # `next_tuple` reads the records that it stored
    if actions:
        return context.phrase("dropped", component=name), Severity.INFO
    source = max(payload_source(context, emit) for emit in found)
    warns = source.replayable or (source is Source.UNKNOWN and stored)
    reason = context.phrase("missing" if fail is None else "idle", component=name)
    return reason, Severity.WARNING if warns else Severity.INFO


def _source_acks(context: RuleContext, effects: list[Effect]) -> set[str]:
    """The calls that complete a record at its source, as `field.method`."""
    found: set[str] = set()
    for function, step, word in effects:
        if isinstance(step.op, Call) and isinstance(step.op.func, Attr) and word in _COMPLETES:
            field = context.field(function, step.op.func.obj)
            found |= {f"{field}.{word}"} if field else set()
    return found


def _completes_at_source(context: RuleContext, effects: list[Effect]) -> bool:
    """Whether `ack` calls something other than the spout's own containers."""
    for function, step, word in effects:
        if isinstance(step.op, Call):
            func = step.op.func
            field = context.field(function, func.obj) if isinstance(func, Attr) else None
            if field is None or not (is_container(context, field) or word in CONTAINER_STORES):
                return True
    return False
