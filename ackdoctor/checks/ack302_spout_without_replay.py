"""ACK302: a spout that emits with message ids and does nothing when a tuple has failed."""

from collections.abc import Iterator

from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.checks.facts.fields import is_container, taken_from
from ackdoctor.checks.facts.kept import kept
from ackdoctor.checks.facts.provenance import provenance
from ackdoctor.checks.facts.sources import Source, source_of
from ackdoctor.checks.facts.spouts import (
    REMOVALS,
    acts,
    calls_of,
    data_emits,
    entry_method,
    first,
    has_id,
    reach,
)
from ackdoctor.flow.linking.known import CONTAINER_STORES
from ackdoctor.flow.path.sighting import Emitted
from ackdoctor.model.cfg import Attr
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import EntryKind, Kind
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]

_GIVES_UP = REMOVALS | {"del"}


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    """One finding for a spout whose failed tuples are lost."""
    component = diagnosis.component
    if diagnosis.role.kind is not Kind.SPOUT or diagnosis.discipline.replays or component.opaque:
        return
    found = [emit for emit in data_emits(diagnosis) if has_id(emit)]
    fail = entry_method(diagnosis, EntryKind.FAILED)
    deeds = set(acts(diagnosis, fail))
    if not found or not deeds <= _GIVES_UP or _source_keeps(diagnosis) or _sent_again_elsewhere(diagnosis):
        return
    emit = first(found)
    yield diagnosis.finding(
        at=(emit.function, emit.step.span),
        message=f"this emit passes a message id, but {_says(diagnosis, fail, deeds)}",
        misuse=None,
        trail=emit.trail,
        last="emitted with a message id",
        severity=Severity.INFO if deeds else _severity(diagnosis, found),
        help="send the record again in `fail`, or leave the id out if losing it is fine",
    )


def _says(diagnosis: Diagnosis, fail: Function | None, deeds: set[str]) -> str:
    name = diagnosis.component.name
    if deeds:
        return f"`fail` of {name} gives the record up: every failed or timed-out tuple is lost"
    what = f"{name} has no `fail`" if fail is None else f"`fail` of {name} does nothing about it"
    return f"{what}: every failed or timed-out tuple is lost"


def _severity(diagnosis: Diagnosis, found: list[Emitted]) -> Severity:
    names: set[str] = set()
    for emit in found:
        payload = emit.args.get(emit.verb.subject or "")
        if payload is not None:
            names |= provenance(diagnosis, emit.function, payload)
    source = source_of(names)
    remembers = source is Source.UNKNOWN and any(True for _ in kept(diagnosis))
    return Severity.WARNING if source.replayable or remembers else Severity.INFO


def _next(diagnosis: Diagnosis) -> tuple[Function, ...]:
    return reach(diagnosis, entry_method(diagnosis, EntryKind.NEXT))


def _source_keeps(diagnosis: Diagnosis) -> bool:
    """Whether `ack` completes the record at its source, which therefore still has what was not acked."""
    for function, call in calls_of(diagnosis, entry_method(diagnosis, EntryKind.ACKED)):
        if not isinstance(call.func, Attr):
            return True
        name = diagnosis.field(function, call.func.obj)
        if name is None or not (is_container(diagnosis, name) or call.func.name in CONTAINER_STORES):
            return True
    return False


def _sent_again_elsewhere(diagnosis: Diagnosis) -> bool:
    """Whether `next_tuple` looks through what it has kept."""
    return any(name in taken_from(diagnosis, _next(diagnosis)) for _, _, name in kept(diagnosis))
