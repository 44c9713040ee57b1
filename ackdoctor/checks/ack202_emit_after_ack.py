"""ACK202: an anchored emit after its anchor was acked or failed."""

from collections.abc import Iterator

from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.flow.path.lattice import Token, TokenKind
from ackdoctor.flow.path.sighting import Anchors, Emitted
from ackdoctor.flow.path.witness import completions, line_of
from ackdoctor.model.dialect import Misuse, Moment
from ackdoctor.model.finding import Confidence, Finding
from ackdoctor.model.protocol import Breach

__all__ = ["check"]


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    """One finding for each emit call that can find its anchor completed."""
    told: set[int] = set()
    for flow, emit in diagnosis.sightings(Emitted):
        if not emit.late or id(emit.step) in told:
            continue
        told.add(id(emit.step))
        token, breach = emit.late[0]
        done = next(completions(emit.trail, token), None)
        when = f" on {line_of(done, emit.function)}" if done is not None else ""
        verb = "acked" if breach is Breach.EMIT_AFTER_ACK else "failed"
        how = "anchors to" if emit.anchors is Anchors.EXPLICIT else "is anchored by the framework to"
        yield diagnosis.finding(
            at=(emit.function, emit.step.span),
            message=f"this emit {how} {token.words}, which was {verb}{when}",
            misuse=Misuse.LATE_EMIT,
            trail=emit.trail,
            token=token,
            last=f"emitted, anchored to a tuple already {verb}",
            flow=flow,
            confidence=Confidence.MAY if diagnosis.discipline.completion is Moment.STORED else None,
            help=_help(diagnosis, token, by_hand=done is not None),
        )


def _help(diagnosis: Diagnosis, token: Token, *, by_hand: bool) -> str:
    if by_hand or token.kind is not TokenKind.ELEMENT:
        return f"emit first, then complete {token.words}"
    return f"leave the anchor out: {diagnosis.dialect.title} acks {token.words} by itself"
