"""ACK105: the code acks or fails a tuple that the framework completes as well."""

from collections.abc import Iterator, Mapping

from ackdoctor.checks.facts.completions import BY_HAND
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, Path, points_back
from ackdoctor.flow.state import Token, TokenKind
from ackdoctor.flow.witness import completions
from ackdoctor.model.cfg import Function, Step
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding, Severity
from ackdoctor.model.protocol import Op
from ackdoctor.rulebook.advice import complete_by_hand, fail_instead

__all__ = ["check"]


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each explicit ack or fail that the framework repeats."""
    if not context.component.auto_ack:
        return
    acked = _acked(context)
    for flow, done in context.events(Completed):
        if done.op not in BY_HAND or done.token is None or done.tick.is_system:
            continue
        if flow.entry is None and done.token.kind is not TokenKind.STORED:
            continue
        end = _repeated(flow, done, done.token, acked)
        if end is None or not context.once(done.step):
            continue
        verb = BY_HAND[done.op]
        title, advice = context.dialect.title, _advice(context, done, done.token)
        words = context.words(tup=done.token.words, done=verb, framework=title, advice=advice)
        note = "note" if end is done.path else "note of the framework"
        misuse = Misuse.TWICE if done.op is Op.ACK else Misuse.MIXED
        yield context.finding(
            words._replace(note=context.phrase(note, done=verb)),
            misuse,
            done,
            flow=flow,
            path=end,
            severity=None if misuse in context.discipline.prices else Severity.INFO,
        )


def _advice(context: RuleContext, done: Completed, token: Token) -> str:
    if done.op is Op.FAIL:
        return fail_instead(context.role, raising=context.raising)
    at_once = done.deferral is None and token.kind is not TokenKind.STORED
    return complete_by_hand(context.role, call=at_once)


def _acked(context: RuleContext) -> Mapping[tuple[Function, Token, Step], Path]:
    """Map (handler, tuple, completing step) to a path on which the framework acks the completed tuple."""
    paths: dict[tuple[Function, Token, Step], Path] = {}
    for flow, end in context.events(Completed, EntryKind.DATA, EntryKind.BATCH):
        if end.op is Op.AUTO_ACK and end.token is not None and end.breach is not None:
            for visit in completions(end.path, end.token):
                paths.setdefault((flow.function, end.token, visit.step), end.path)
    return paths


def _repeated(
    flow: Flow, done: Completed, token: Token, acked: Mapping[tuple[Function, Token, Step], Path]
) -> Path | None:
    """Return a path on which the framework completes the tuple again; None if every path raises first."""
    if done.deferral is not None or token.kind is TokenKind.ELEMENT:
        return done.path
    if token.kind is TokenKind.STORED:
        return done.path if done.breach is not None else None
    end = acked.get((flow.function, token, done.step))
    if end is not None:
        return end
    ends = [event for event in flow.events if isinstance(event, Ended) and event.deferral is None]
    passed = any(visit.step is done.step for ended in ends for visit, _, _ in points_back(ended.path))
    return None if passed else done.path
