"""ACK202: an anchored emit after its anchor was acked or failed."""

from collections.abc import Iterator

from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Anchors, Emitted
from ackdoctor.flow.state import Token, TokenKind
from ackdoctor.flow.witness import completions, line_text
from ackdoctor.model import advice
from ackdoctor.model.dialect import Misuse, Moment
from ackdoctor.model.finding import Confidence, Finding
from ackdoctor.model.protocol import Breach

__all__ = ["check"]


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for each emit call that can find its anchor completed."""
    told: set[int] = set()
    for flow, emit in context.events(Emitted):
        late = [
            (token, breach)
            for token, breach in emit.late
            if not _of_storm(emit, token)
            or advice.applies_to_system_tuples(context.discipline, Misuse.LATE_EMIT)
        ]
        if not late or id(emit.step) in told:
            continue
        told.add(id(emit.step))
        token, breach = late[0]
        done = next(completions(emit.path, token), None)
        when = f" on {line_text(done, emit.function)}" if done is not None else ""
        verb = "acked" if breach is Breach.EMIT_AFTER_ACK else "failed"
        how = "anchors to" if emit.anchors is Anchors.EXPLICIT else "is anchored by the framework to"
        yield context.finding(
            at=(emit.function, emit.step.span),
            message=f"this emit {how} {token.words}, which was {verb}{when}",
            misuse=Misuse.LATE_EMIT,
            path=emit.path,
            token=token,
            last=f"emitted, anchored to a tuple already {verb}",
            flow=flow,
            confidence=Confidence.MAY if context.discipline.completion is Moment.STORED else None,
            help=_help(context, token, by_hand=done is not None),
        )


def _of_storm(emit: Emitted, token: Token) -> bool:
    """Whether the anchor is a tick or another tuple of Storm's own, which is in no tree."""
    token_state = emit.path.state.tokens.get(token)
    return token_state is not None and token_state.tick.is_system


def _help(context: RuleContext, token: Token, *, by_hand: bool) -> str:
    if (
        context.component.auto_ack
        and not by_hand
        and token.kind is not TokenKind.ELEMENT
        and context.role.by_hand
    ):
        return f"{context.role.by_hand}: complete {token.words} after this emit"
    if by_hand or token.kind is not TokenKind.ELEMENT:
        return f"emit first, then complete {token.words}"
    return f"leave the anchor out: {context.dialect.title} acks {token.words} by itself"
