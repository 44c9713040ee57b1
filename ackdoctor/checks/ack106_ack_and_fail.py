"""ACK106: one path acks and fails the same tuple, by hand or by the framework after an exception."""

from collections.abc import Iterator

from ackdoctor.checks.facts.completions import Repeat, repeats
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import callee_text
from ackdoctor.flow.values import TokenKind
from ackdoctor.flow.witness import breach_site, line_text, raising_visit
from ackdoctor.model.cfg import Call, Throw, Way
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Confidence, Finding
from ackdoctor.model.protocol import Breach, Op
from ackdoctor.rulebook.advice import ack_after_try, leave_first

_MIXED = {
    Breach.ACK_AFTER_FAIL: ("failed", "acked"),
    Breach.FAIL_AFTER_ACK: ("acked", "failed"),
    Breach.DOUBLE_FAIL: ("failed", "failed"),
}


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each completion that contradicts an earlier one, and for each automatic fail after one."""
    for repeat in repeats(context):
        if repeat.second.op is Op.AUTO_FAIL:
            yield from _auto_failed(context, repeat)
        elif not repeat.automatic and not repeat.same_site and not context.component.auto_ack:
            yield from _by_hand(context, repeat)


def _by_hand(context: RuleContext, repeat: Repeat) -> Iterator[Finding]:
    path, token, breach = repeat.second.path, repeat.token, repeat.second.breach
    if breach in _MIXED:
        first, then = _MIXED[breach]
        leave = leave_first(alone=token.kind is TokenKind.INPUT)
        case = "other loop" if repeat.in_other_loop else "message"
        words = context.words(case, tup=token.words, first=first, then=then, leave=leave)
        site = breach_site(path, token)
        yield context.finding(words, Misuse.MIXED, site, flow=repeat.flow, path=path, token=token)


def _auto_failed(context: RuleContext, repeat: Repeat) -> Iterator[Finding]:
    """Yield the finding of an exception that leaves after an explicit completion: the framework fails the tuple again."""
    path, token, first = repeat.second.path, repeat.token, repeat.first
    thrown = raising_visit(path)
    if thrown is None or first is None:
        return
    if first.step.way is Way.RAISE:
        words = context.words(
            "finally", tup=token.words, advice=ack_after_try(token.words, context.notation.catch)
        )
        yield context.finding(words, Misuse.MIXED, first, flow=repeat.flow, path=path, token=token)
        return
    call = thrown.step.op
    explicit = isinstance(call, Throw)
    emits = isinstance(call, Call) and context.verb_kind(thrown.function, call) is not None
    if not explicit and (context.component.auto_ack or emits):
        return  # emit-after-ack reports the emit, and with auto_ack on ack-with-auto-ack reports the first completion
    if not context.is_first(first.step) and not explicit:
        return
    callee = callee_text(call.func) if isinstance(call, Call) else "this"
    yield context.finding(
        context.words(
            "exception",
            exception="this exception" if explicit else context.phrase("implicit exception", call=callee),
            tup=token.words,
            done="completed",
            where=f" on {line_text(first, thrown.function)}",
            advice=_advice(context, repeat, thrown, callee),
        ),
        Misuse.MIXED,
        thrown,
        flow=repeat.flow,
        path=path,
        token=token,
        confidence=None if explicit else Confidence.MAY,
    )


def _advice(context: RuleContext, repeat: Repeat, thrown: Path, callee: str) -> str:
    """How to keep the framework from failing a completed tuple; `auto_fail = False` would lose the tuple."""
    tup, component = repeat.token.words, context.component
    if component.auto_ack and context.role.by_hand and not context.raising:
        return context.phrase("auto-ack by hand", by_hand=context.role.by_hand)
    if component.auto_ack:
        return context.phrase("auto-ack", tup=tup, exit="" if context.raising else ", and ends the worker")
    if repeat.second.breach is Breach.DOUBLE_FAIL:
        return context.phrase("failed", tup=tup)
    if isinstance(thrown.step.op, Throw):
        return context.phrase("throw", tup=tup)
    return context.phrase("call", tup=tup, call=callee)
