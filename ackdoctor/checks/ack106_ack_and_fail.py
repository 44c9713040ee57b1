"""ACK106: one path acks and fails the same tuple, by hand or by the framework after an exception."""

from collections.abc import Iterator

from ackdoctor.checks.facts.completions import Repeat, repeats
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import callee_text
from ackdoctor.flow.state import TokenKind
from ackdoctor.flow.witness import breach_site, line_text, raising_visit
from ackdoctor.model.cfg import Call, Throw, Way
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Confidence, Finding
from ackdoctor.model.protocol import Breach, Op
from ackdoctor.rulebook.advice import ack_after_try, leave_first

__all__ = ["check"]

_MIXED = {
    Breach.ACK_AFTER_FAIL: ("failed", "acked"),
    Breach.FAIL_AFTER_ACK: ("acked", "failed"),
    Breach.DOUBLE_FAIL: ("failed", "failed"),
}


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each completion that contradicts an earlier one, and for each automatic fail after one."""
    reported: set[int] = set()
    for repeat in repeats(context):
        if repeat.second.op is Op.AUTO_FAIL:
            yield from _auto_failed(context, repeat, reported)
        elif (
            not repeat.automatic
            and not repeat.same_site
            and repeat.second.breach in _MIXED
            and not context.component.auto_ack
        ):
            yield _by_hand(context, repeat)


def _by_hand(context: RuleContext, repeat: Repeat) -> Finding:
    second, token = repeat.second, repeat.token
    assert second.breach is not None  # the caller looked
    first, then = _MIXED[second.breach]
    site = breach_site(second.path, token)
    return context.finding(
        context.words(
            tup=token.words, first=first, then=then, leave=leave_first(alone=token.kind is TokenKind.INPUT)
        ),
        at=(site.function, site.step.span),
        misuse=Misuse.MIXED,
        path=second.path,
        token=token,
        flow=repeat.flow,
    )


def _auto_failed(context: RuleContext, repeat: Repeat, reported: set[int]) -> Iterator[Finding]:
    """Yield the finding of an exception that leaves after an explicit completion: the framework fails the tuple again."""
    token = repeat.token
    thrown = raising_visit(repeat.second.path)
    first = repeat.first
    if thrown is None or first is None:
        return
    if first.step.way is Way.RAISE:
        yield _in_finally(context, repeat, first)
        return
    key = id(first.step)
    explicit = isinstance(thrown.step.op, Throw)
    if not explicit and (key in reported or context.component.auto_ack or _is_emit(context, thrown)):
        return  # emit-after-ack reports the emit, and with auto_ack on ack-with-auto-ack reports the first completion
    reported.add(key)
    implicit = context.phrase("implicit exception", call=_callee_of(thrown))
    yield context.finding(
        context.words(
            "exception",
            exception="this exception" if explicit else implicit,
            tup=token.words,
            done="completed",
            where=f" on {line_text(first, thrown.function)}",
            advice=_advice(context, repeat, thrown),
        ),
        at=(thrown.function, thrown.step.span),
        misuse=Misuse.MIXED,
        path=repeat.second.path,
        token=token,
        flow=repeat.flow,
        confidence=None if explicit else Confidence.MAY,
    )


def _advice(context: RuleContext, repeat: Repeat, thrown: Path) -> str:
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
    return context.phrase("call", tup=tup, call=_callee_of(thrown))


def _is_emit(context: RuleContext, visit: Path) -> bool:
    return isinstance(visit.step.op, Call) and context.verb(visit.function, visit.step.op) is not None


def _in_finally(context: RuleContext, repeat: Repeat, first: Path) -> Finding:
    token = repeat.token
    return context.finding(
        context.words("finally", tup=token.words, advice=ack_after_try(token.words, context.catch)),
        at=(first.function, first.step.span),
        misuse=Misuse.MIXED,
        path=repeat.second.path,
        token=token,
        flow=repeat.flow,
    )


def _callee_of(visit: Path) -> str:
    return callee_text(visit.step.op.func) if isinstance(visit.step.op, Call) else "this"
