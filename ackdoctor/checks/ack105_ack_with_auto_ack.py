"""ACK105: an explicit ack or fail where the framework completes the tuple as well."""

from collections.abc import Iterator

from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.flow.lattice import Tick, TokenKind
from ackdoctor.flow.sighting import Completed, Ended, Flow
from ackdoctor.flow.trail import Trail, stations
from ackdoctor.flow.witness import completions
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding, Severity
from ackdoctor.model.protocol import Op

__all__ = ["check"]

_BY_HAND = {Op.ACK: "acked", Op.FAIL: "failed"}


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    """One finding for each ack or fail by hand that the framework repeats."""
    if not diagnosis.component.auto_ack:
        return
    told: set[int] = set()
    for flow, done in diagnosis.sightings(Completed):
        if done.op not in _BY_HAND or done.token is None or done.tick is Tick.YES or id(done.step) in told:
            continue
        if flow.entry is None and done.token.kind is not TokenKind.STORED:
            continue
        end = _repeated(diagnosis, flow, done)
        if end is None:
            continue
        told.add(id(done.step))
        verb = _BY_HAND[done.op]
        misuse = Misuse.TWICE if done.op is Op.ACK else Misuse.MIXED
        yield diagnosis.finding(
            at=(done.function, done.step.span),
            message=f"{done.token.words} is {verb} by hand and {diagnosis.dialect.title} acks it as well",
            misuse=misuse,
            severity=None if misuse in diagnosis.discipline.prices else Severity.INFO,
            trail=end,
            token=done.token,
            last=f"{verb} by hand" if end is done.trail else "the framework acks it",
            flow=flow,
            help=_help(diagnosis, done),
        )


def _help(diagnosis: Diagnosis, done: Completed) -> str:
    attribute = diagnosis.discipline.auto_ack.attribute
    switch = (
        f"set `{attribute} = False` on the class" if attribute else "derive from the class that does not ack"
    )
    if done.op is Op.FAIL and diagnosis.discipline.auto_fail.default:
        return f"raise an exception to fail the tuple, or {switch} and complete it by hand on every path"
    return f"remove this call, or {switch} and complete the tuple by hand on every path"


def _repeated(diagnosis: Diagnosis, flow: Flow, done: Completed) -> Trail | None:
    """The path on which the framework completes what `done` has completed, or None if every path raises first."""
    token = done.token
    if token is None:
        return None
    if done.deferral is not None or token.kind is TokenKind.ELEMENT:
        return done.trail
    if token.kind is TokenKind.STORED:
        return done.trail if done.breach is not None else None
    for _, end in diagnosis.sightings(Completed, EntryKind.DATA, EntryKind.BATCH):
        acked = end.op is Op.AUTO_ACK and end.token == token and end.breach is not None
        if not acked or end.function is not flow.function:
            continue
        if any(visit.step is done.step for visit in completions(end.trail, token)):
            return end.trail
    ends = [s for s in flow.sightings if isinstance(s, Ended) and s.deferral is None]
    passes = [s for s in ends if any(station.visit.step is done.step for station in stations(s.trail))]
    return done.trail if not passes else None
