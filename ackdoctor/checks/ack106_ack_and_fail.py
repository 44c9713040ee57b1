"""ACK106: the same tuple is acked and failed on one path."""

from collections.abc import Iterator

from ackdoctor.checks.facts.completions import Repeat, repeats
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import callee_text
from ackdoctor.flow.state import TokenKind
from ackdoctor.flow.witness import breach_site, line_text, raising_visit
from ackdoctor.model.advice import ack_after_try, leave_after
from ackdoctor.model.cfg import Call, Throw, Way
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Confidence, Finding
from ackdoctor.model.protocol import Breach, Op

__all__ = ["check"]

_MIXED = {
    Breach.ACK_AFTER_FAIL: ("failed", "acked"),
    Breach.FAIL_AFTER_ACK: ("acked", "failed"),
    Breach.DOUBLE_FAIL: ("failed", "failed"),
}


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for each completion that contradicts, or by the framework repeats, an earlier one."""
    told: set[int] = set()
    for repeat in repeats(context):
        if repeat.second.op is Op.AUTO_FAIL:
            yield from _auto_failed(context, repeat, told)
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
        at=(site.function, site.step.span),
        message=f"{token.words} is {then} although this path has already {first} it",
        misuse=Misuse.MIXED,
        path=second.path,
        token=token,
        last=f"{then} as well",
        flow=repeat.flow,
        help=f"{leave_after(alone=token.kind is TokenKind.INPUT)} the first completion, so that {token.words} is completed once",
    )


def _auto_failed(context: RuleContext, repeat: Repeat, told: set[int]) -> Iterator[Finding]:
    """An exception leaves after a completion by hand, and the framework fails the tuple once more."""
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
    if not explicit and (key in told or context.component.auto_ack or _is_emit(context, thrown)):
        return  # an emit after its anchor is another rule's; with auto_ack on, ack-with-auto-ack has said so at the first completion
    told.add(key)
    what = "this exception" if explicit else f"if {_called(thrown)} raises, the exception"
    yield context.finding(
        at=(thrown.function, thrown.step.span),
        message=f"{what} leaves after {token.words} was completed on {line_text(first, thrown.function)}, and the framework fails it again",
        misuse=Misuse.MIXED,
        path=repeat.second.path,
        token=token,
        last="the framework fails it",
        flow=repeat.flow,
        confidence=None if explicit else Confidence.MAY,
        help=_help(context, repeat, thrown),
    )


def _help(context: RuleContext, repeat: Repeat, thrown: Path) -> str:
    """What to do so that the framework fails nothing that is completed; `auto_fail = False` would lose the tuple."""
    tup, component = repeat.token.words, context.component
    price = "" if context.raising else ", and ends the worker"
    if component.auto_ack:
        alone = f"remove the call by hand: the exception alone fails {tup}{price}"
        return (
            alone
            if context.raising
            else f"{context.role.by_hand}, and return instead of raising"
            if context.role.by_hand
            else alone
        )
    if repeat.second.breach is Breach.DOUBLE_FAIL:
        return f"return instead of raising: {tup} is failed already"
    if isinstance(thrown.step.op, Throw):
        return (
            f"fail {tup} and return instead of raising, and ack it only behind the last line that can raise"
        )
    return f"ack {tup} behind {_called(thrown)}, and catch what that raises: fail {tup} there and return"


def _is_emit(context: RuleContext, visit: Path) -> bool:
    return isinstance(visit.step.op, Call) and context.verb(visit.function, visit.step.op) is not None


def _in_finally(context: RuleContext, repeat: Repeat, first: Path) -> Finding:
    token = repeat.token
    return context.finding(
        at=(first.function, first.step.span),
        message=f"`finally` completes {token.words} while an exception leaves, and the framework fails it again",
        misuse=Misuse.MIXED,
        path=repeat.second.path,
        token=token,
        last="the framework fails it",
        flow=repeat.flow,
        help=ack_after_try(token.words, context.catch),
    )


def _called(visit: Path) -> str:
    return callee_text(visit.step.op.func) if isinstance(visit.step.op, Call) else "this"
