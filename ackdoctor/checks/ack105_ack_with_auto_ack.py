"""ACK105: the code acks or fails a tuple that the framework completes as well."""

from collections.abc import Iterator

from ackdoctor.checks.facts.completions import BY_HAND
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, Path, points_back
from ackdoctor.flow.values import Token, TokenKind
from ackdoctor.flow.witness import completions
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding, Severity
from ackdoctor.model.protocol import Op
from ackdoctor.rulebook.advice import complete_by_hand, fail_instead


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each explicit ack or fail that the framework repeats."""
    if not context.component.auto_ack:
        return
    for flow, done in context.events(Completed):
        if done.op not in BY_HAND or done.token is None or done.tick.is_system:
            continue
        if flow.entry is None and done.token.kind is not TokenKind.STORED:
            continue
        end = _repeated(flow, done, done.token)
        if end is None or not context.is_first(done.step):
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


def _repeated(flow: Flow, done: Completed, token: Token) -> Path | None:
    """Return a path on which the framework completes the tuple again; None if every path raises first."""
    if done.deferral is not None or token.kind is TokenKind.ELEMENT:
        return done.path
    if token.kind is TokenKind.STORED:
        return done.path if done.breach is not None else None
    passed = False
    for event in flow.events:
        match event:
            case Completed(op=Op.AUTO_ACK, token=acked, breach=breach, path=path) if (
                acked == token and breach
            ):
                if any(visit.step is done.step for visit in completions(path, token)):
                    return path
            case Ended(deferral=None, path=path):
                passed = passed or any(visit.step is done.step for visit, _, _ in points_back(path))
            case _:
                pass
    return None if passed else done.path
