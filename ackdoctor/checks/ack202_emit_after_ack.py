"""ACK202: an emit is anchored to a tuple that was already acked or failed."""

from collections.abc import Iterator

from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Anchors, Emitted
from ackdoctor.flow.values import Token, TokenKind
from ackdoctor.flow.witness import completions, line_text
from ackdoctor.model.dialect import Misuse, Moment
from ackdoctor.model.finding import Confidence, Finding
from ackdoctor.model.protocol import Breach
from ackdoctor.rulebook import advice


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each emit call that some path reaches with a completed anchor."""
    reaches_system = advice.reaches_system(context.discipline, Misuse.LATE_EMIT)
    for flow, emit in context.events(Emitted):
        # ticks and Storm's other own tuples are in no tree
        late = [each for each in emit.late if reaches_system or not _is_system_tuple(emit, each[0])]
        if not late or not context.is_first(emit.step):
            continue
        token, breach = late[0]
        done = next(completions(emit.path, token), None)
        words = context.words(
            is_anchored="anchors" if emit.anchors is Anchors.EXPLICIT else "is anchored by the framework",
            tup=token.words,
            done="acked" if breach is Breach.EMIT_AFTER_ACK else "failed",
            where=f" on {line_text(done, emit.function)}" if done is not None else "",
            advice=_advice(context, token, by_hand=done is not None),
        )
        confidence = Confidence.MAY if context.discipline.completion is Moment.STORED else None
        yield context.finding(words, Misuse.LATE_EMIT, emit, flow=flow, token=token, confidence=confidence)


def _is_system_tuple(emit: Emitted, token: Token) -> bool:
    token_state = emit.path.state.tokens.get(token)
    return token_state is not None and token_state.tick.is_system


def _advice(context: RuleContext, token: Token, *, by_hand: bool) -> str:
    if token.kind is TokenKind.ELEMENT and not by_hand:
        return context.phrase("no anchor", framework=context.dialect.title, tup=token.words)
    if context.component.auto_ack and not by_hand and context.role.by_hand:
        return context.phrase("by hand", by_hand=context.role.by_hand, tup=token.words)
    return context.phrase("emit first", tup=token.words)
