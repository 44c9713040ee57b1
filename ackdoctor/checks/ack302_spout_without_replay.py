"""ACK302: a spout emits with message ids and does not replay failed tuples."""

from collections.abc import Iterator

from ackdoctor.checks.facts.fields import drained_fields, is_container
from ackdoctor.checks.facts.spouts import (
    REMOVALS,
    Effect,
    Source,
    data_emits,
    entry_method,
    has_id,
    lasting_effects,
    payload_source,
    reach,
    stored_under_id,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.libraries.vocabulary import CONTAINER_STORES
from ackdoctor.model.dialect import EntryKind
from ackdoctor.model.finding import Finding, Severity

_DROPS = REMOVALS | {"del"}
_COMPLETES = frozenset(
    "ack acknowledge basicAck basic_ack commit commitAsync commitSync deleteMessage delete_message".split()
)
_IN_ARGUMENTS = frozenset("= execute executemany executeUpdate".split())  # the same word may do anything


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for a spout that loses failed tuples."""
    if context.is_bolt or context.discipline.replays or context.component.opaque:
        return
    found = [emit for emit in data_emits(context) if has_id(emit)]
    loss = _loss(context, found) if found else None
    if loss is not None:
        reason, severity = loss
        words = context.words(reason=reason)
        yield context.finding(words, None, found[0], severity=severity, details=context.heirs)


def _loss(context: RuleContext, found: list[Emitted]) -> tuple[str, Severity] | None:
    """Return why failed tuples are lost, and the severity; None if the spout replays them."""
    name = context.component.name
    failed, acked = (lasting_effects(context, kind) for kind in (EntryKind.FAILED, EntryKind.ACKED))
    actions = {effect.word for effect in failed}
    completed = _source_acks(failed) & _source_acks(acked)
    if completed and actions <= _DROPS | ({effect.word for effect in acked} - _IN_ARGUMENTS):
        return context.phrase("acked", component=name, call=min(completed)), Severity.WARNING
    calls = [each for each in acked if each.is_call and not (each.field and each.word in CONTAINER_STORES)]
    if not actions <= _DROPS or not all(each.field and is_container(context, each.field) for each in calls):
        return None  # `fail` does something, or the source keeps every record that `ack` does not complete
    stored = stored_under_id(context)
    drained = drained_fields(context, reach(context, EntryKind.NEXT))
    if any(use.field in drained for use in stored):
        return None  # `next_tuple` reads the records that it stored
    if actions:
        return context.phrase("dropped", component=name), Severity.INFO
    source = max(payload_source(context, emit) for emit in found)
    warns = source.replayable or (source is Source.UNKNOWN and stored)
    why = "missing" if entry_method(context, EntryKind.FAILED) is None else "idle"
    return context.phrase(why, component=name), Severity.WARNING if warns else Severity.INFO


def _source_acks(effects: list[Effect]) -> set[str]:
    """The calls that complete a record at its source, as `field.method`."""
    return {f"{each.field}.{each.word}" for each in effects if each.field and each.word in _COMPLETES}
