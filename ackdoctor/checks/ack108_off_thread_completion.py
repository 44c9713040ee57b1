"""ACK108: ack, fail or emit on another thread than the framework's, where the dialect does not allow it."""

from collections.abc import Iterator

from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Anchors, Completed, Deferral, Emitted, Flow
from ackdoctor.model.advice import emit_off_thread
from ackdoctor.model.dialect import Anchoring, Misuse
from ackdoctor.model.finding import Finding
from ackdoctor.model.protocol import Op

__all__ = ["check"]

_WORDS = {Op.ACK: "acks", Op.FAIL: "fails"}


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for each framework call in code that the component itself starts on another thread."""
    if Misuse.OFF_THREAD not in context.discipline.prices:
        return
    told: set[int] = set()
    for flow, event, deferral in _off_thread(context):
        if id(event.step) in told:
            continue
        told.add(id(event.step))
        verb = _WORDS[event.op] if isinstance(event, Completed) else "emits"
        yield context.finding(
            at=(event.function, event.step.span),
            message=f"this {verb} on a thread that `{deferral.runner}` started on line {deferral.step.span.line}",
            misuse=Misuse.OFF_THREAD,
            path=event.path,
            token=event.token if isinstance(event, Completed) else None,
            last=f"{verb} off the framework's thread",
            flow=flow,
            help=_help(context, event),
        )


def _off_thread(context: RuleContext) -> Iterator[tuple[Flow, Completed | Emitted, Deferral]]:
    locked = context.discipline.thread_safe
    for flow, done in context.events(Completed):
        if done.deferral is not None and done.deferral.thread and done.op in _WORDS and not locked:
            yield flow, done, done.deferral
    for flow, emit in context.events(Emitted):
        if emit.deferral is None or not emit.deferral.thread:
            continue
        if not locked or _guesses(context, emit):
            yield flow, emit, emit.deferral


def _guesses(context: RuleContext, emit: Emitted) -> bool:
    """Whether the framework anchors the emit to the tuple that its own thread is at in that moment."""
    return emit.anchors is Anchors.DEFAULT and context.discipline.anchoring is not Anchoring.NONE


def _help(context: RuleContext, event: Completed | Emitted) -> str:
    if context.discipline.thread_safe and isinstance(event, Emitted):
        return emit_off_thread(context.role, auto_ack=bool(context.component.auto_ack))
    return "put the result into a queue and complete the tuple at a later tick, on the framework's thread"
