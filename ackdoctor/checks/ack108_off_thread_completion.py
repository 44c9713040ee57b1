"""ACK108: the component acks, fails or emits on another thread than the framework's, and the dialect forbids it."""

from collections.abc import Iterator

from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Anchors, Completed, Emitted, Flow
from ackdoctor.model.dialect import Anchoring, Misuse
from ackdoctor.model.finding import Finding
from ackdoctor.model.protocol import Op
from ackdoctor.rulebook.advice import complete_on_framework_thread, emit_off_thread

_VERBS = {Op.ACK: "acks", Op.FAIL: "fails"}


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each framework call in code that the component starts on another thread."""
    locked = context.discipline.thread_safe
    if Misuse.OFF_THREAD not in context.discipline.prices:
        return
    events: list[tuple[Flow, Completed | Emitted]] = [*context.events(Completed), *context.events(Emitted)]
    for flow, event in events:
        if event.deferral is None or not event.deferral.thread:
            continue
        verb = _VERBS.get(event.op) if isinstance(event, Completed) else "emits"
        if verb is None or (locked and not _uses_default_anchors(context, event)):
            continue
        if context.is_first(event.step):
            advice = complete_on_framework_thread()
            if locked:
                advice = emit_off_thread(context.role, auto_ack=bool(context.component.auto_ack))
            runner, line = event.deferral.runner, event.deferral.step.span.line
            words = context.words(
                does=verb, thread=context.phrase("thread", runner=runner, line=line), advice=advice
            )
            yield context.finding(
                words,
                Misuse.OFF_THREAD,
                (event.function, event.step.span),
                flow=flow,
                path=event.path,
                token=event.token if isinstance(event, Completed) else None,
            )


def _uses_default_anchors(context: RuleContext, event: Completed | Emitted) -> bool:
    """Whether the framework anchors an emit to the tuple that its own thread handles at that moment."""
    default = isinstance(event, Emitted) and event.anchors is Anchors.DEFAULT
    return default and context.discipline.anchoring is not Anchoring.NONE
