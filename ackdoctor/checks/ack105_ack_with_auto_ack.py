"""ACK105: the code acks or fails a tuple that the framework completes as well."""

from collections.abc import Iterator, Mapping

from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, Path, points_back
from ackdoctor.flow.state import Token, TokenKind
from ackdoctor.flow.witness import completions
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding, Severity
from ackdoctor.model.protocol import Op
from ackdoctor.rulebook.advice import complete_by_hand, fail_instead

__all__ = ["check"]

_BY_HAND = {Op.ACK: "acked", Op.FAIL: "failed"}


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each explicit ack or fail that the framework repeats."""
    if not context.component.auto_ack:
        return
    reported: set[int] = set()
    acked = _acked(context)
    for flow, done in context.events(Completed):
        if done.op not in _BY_HAND or done.token is None or done.tick.is_system or id(done.step) in reported:
            continue
        if flow.entry is None and done.token.kind is not TokenKind.STORED:
            continue
        end = _repeated(flow, done, acked)
        if end is None:
            continue
        reported.add(id(done.step))
        verb = _BY_HAND[done.op]
        words = context.words(
            tup=done.token.words, done=verb, framework=context.dialect.title, advice=_advice(context, done)
        )
        note = "note" if end is done.path else "note of the framework"
        misuse = Misuse.TWICE if done.op is Op.ACK else Misuse.MIXED
        yield context.finding(
            words._replace(note=context.phrase(note, done=verb)),
            at=(done.function, done.step.span),
            misuse=misuse,
            severity=None if misuse in context.discipline.prices else Severity.INFO,
            path=end,
            token=done.token,
            flow=flow,
        )


def _advice(context: RuleContext, done: Completed) -> str:
    if done.op is Op.FAIL:
        return fail_instead(context.role, raising=context.raising)
    at_once = done.deferral is None and done.token is not None and done.token.kind is not TokenKind.STORED
    return complete_by_hand(context.role, call=at_once)


def _acked(context: RuleContext) -> Mapping[tuple[int, Token, int], Path]:
    """Map (handler, tuple, completing step) to a path on which the framework acks the completed tuple."""
    paths: dict[tuple[int, Token, int], Path] = {}
    for flow, end in context.events(Completed, EntryKind.DATA, EntryKind.BATCH):
        if end.op is Op.AUTO_ACK and end.token is not None and end.breach is not None:
            for visit in completions(end.path, end.token):
                paths.setdefault((id(flow.function), end.token, id(visit.step)), end.path)
    return paths


def _repeated(flow: Flow, done: Completed, acked: Mapping[tuple[int, Token, int], Path]) -> Path | None:
    """Return a path on which the framework completes the tuple again; None if every path raises first."""
    token = done.token
    if token is None:
        return None
    if done.deferral is not None or token.kind is TokenKind.ELEMENT:
        return done.path
    if token.kind is TokenKind.STORED:
        return done.path if done.breach is not None else None
    end = acked.get((id(flow.function), token, id(done.step)))
    if end is not None:
        return end
    ends = [s for s in flow.events if isinstance(s, Ended) and s.deferral is None]
    passes = any(visit.step is done.step for s in ends for visit, _, _ in points_back(s.path))
    return done.path if not passes else None
