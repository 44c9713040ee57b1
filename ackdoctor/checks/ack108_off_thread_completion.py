"""ACK108: the component acks, fails or emits on another thread than the framework's, and the dialect forbids it."""

from collections.abc import Iterator

from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Anchors, Completed, Deferral, Emitted, Flow
from ackdoctor.model.dialect import Anchoring, Misuse
from ackdoctor.model.finding import Finding
from ackdoctor.model.protocol import Op
from ackdoctor.rulebook.advice import complete_on_framework_thread, emit_off_thread

__all__ = ["check"]

_VERBS = {Op.ACK: "acks", Op.FAIL: "fails"}


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each framework call in code that the component starts on another thread."""
    if Misuse.OFF_THREAD not in context.discipline.prices:
        return
    reported: set[int] = set()
    for flow, event, deferral in _off_thread(context):
        if id(event.step) in reported:
            continue
        reported.add(id(event.step))
        verb = _VERBS[event.op] if isinstance(event, Completed) else "emits"
        thread = context.phrase("thread", runner=deferral.runner, line=deferral.step.span.line)
        yield context.finding(
            context.words(does=verb, thread=thread, advice=_advice(context, event)),
            at=(event.function, event.step.span),
            misuse=Misuse.OFF_THREAD,
            path=event.path,
            token=event.token if isinstance(event, Completed) else None,
            flow=flow,
        )


def _off_thread(context: RuleContext) -> Iterator[tuple[Flow, Completed | Emitted, Deferral]]:
    locked = context.discipline.thread_safe
    for flow, done in context.events(Completed):
        if done.deferral is not None and done.deferral.thread and done.op in _VERBS and not locked:
            yield flow, done, done.deferral
    for flow, emit in context.events(Emitted):
        if emit.deferral is None or not emit.deferral.thread:
            continue
        if not locked or _uses_default_anchors(context, emit):
            yield flow, emit, emit.deferral


def _uses_default_anchors(context: RuleContext, emit: Emitted) -> bool:
    """Whether the framework anchors the emit to the tuple that its own thread handles at that moment."""
    return emit.anchors is Anchors.DEFAULT and context.discipline.anchoring is not Anchoring.NONE


def _advice(context: RuleContext, event: Completed | Emitted) -> str:
    if context.discipline.thread_safe and isinstance(event, Emitted):
        return emit_off_thread(context.role, auto_ack=bool(context.component.auto_ack))
    return complete_on_framework_thread()
