"""ACK205: a payload that cannot be put on the wire."""

from collections.abc import Iterator

from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.checks.facts.payload import refused, wrong_shape
from ackdoctor.flow.events import Emitted
from ackdoctor.model.cfg import Expr
from ackdoctor.model.dialect import Misuse, VerbKind
from ackdoctor.model.finding import Finding

__all__ = ["check"]

_CURES = {
    "a set": "emit `sorted(...)` or `list(...)` of it",
    "a frozenset": "emit `sorted(...)` or `list(...)` of it",
    "a generator": "emit `list(...)` of it",
    "a datetime": "emit `.isoformat()` or a timestamp",
    "a date": "emit `.isoformat()`",
    "a time of day": "emit `.isoformat()`",
    "a timedelta": "emit `.total_seconds()`",
    "a UUID": "emit `str(...)` of it",
    "a Decimal": "emit `str(...)` of it",
    "an exception": "emit `str(...)` of it",
    "bytes": "decode it first",
}
_SERIALIZERS = {"json": "JSON", "simplejson": "JSON", "msgpack": "msgpack", "pickle": "pickle"}


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    """One finding for each emit call whose payload provably fails."""
    told: set[int] = set()
    for flow, emit in diagnosis.sightings(Emitted):
        payload = emit.args.get(emit.verb.subject or "")
        if payload is None or id(emit.step) in told:
            continue
        fault = _fault(diagnosis, emit, payload)
        if fault is None:
            continue
        told.add(id(emit.step))
        message, misuse, cure = fault
        yield diagnosis.finding(
            at=(emit.function, emit.step.span),
            message=message,
            misuse=misuse,
            trail=emit.trail,
            token=emit.subject,
            last="emitted here",
            flow=flow,
            help=cure,
        )


def _fault(diagnosis: Diagnosis, emit: Emitted, payload: Expr) -> tuple[str, Misuse, str] | None:
    if emit.verb.kind is VerbKind.EMIT:
        shape = wrong_shape(diagnosis, emit.trail, payload)
        if shape is not None:
            cure = "put it in a list, one element for each declared field"
            return f"the payload is {shape} instead of a list of fields", Misuse.PAYLOAD_SHAPE, cure
    word = refused(diagnosis, emit.trail, payload)
    if word is None:
        return None
    wire = _SERIALIZERS.get(diagnosis.discipline.serializer, diagnosis.discipline.serializer)
    message = f"the payload holds {word}, which {wire} cannot carry"
    return message, Misuse.PAYLOAD_OPAQUE, _CURES.get(word, "emit plain values only")
