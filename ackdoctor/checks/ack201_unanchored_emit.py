"""ACK201: an emit without anchor in a bolt whose input is tracked."""

from collections.abc import Iterator

from ackdoctor.checks.facts.completions import ANCHORING, chosen
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Anchors, Emitted
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding, Severity
from ackdoctor.model.protocol import Stage

__all__ = ["check"]


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for each emit call that an input tuple causes and nothing anchors."""
    if not context.is_bolt or Misuse.UNANCHORED not in context.discipline.prices:
        return
    emits = [
        (flow, emit)
        for flow, emit in context.events(Emitted, EntryKind.DATA, EntryKind.BATCH)
        if emit.anchors is Anchors.NONE and not emit.tick.is_system
    ]
    if not emits:
        return
    by_choice = chosen(context, ANCHORING)
    told: set[int] = set()
    for flow, emit in emits:
        if id(emit.step) in told or by_choice(emit.path):
            continue
        told.add(id(emit.step))
        name = emit.subject.name if emit.subject is not None else "the input tuple"
        anchors = name if flow.entry is not None and flow.entry.kind is EntryKind.BATCH else f"[{name}]"
        yield context.finding(
            at=(emit.function, emit.step.span),
            message=f"this emit is not anchored to `{name}`",
            misuse=Misuse.UNANCHORED,
            path=emit.path,
            token=emit.subject,
            last="emitted without anchor",
            flow=flow,
            severity=Severity.WARNING,
            help=(f"emit before `{name}` is completed, and " if _is_late(emit) else "")
            + (
                context.advice(Misuse.UNANCHORED, name)
                or f"pass `{emit.verb.anchors}={anchors}`, or `{emit.verb.anchors}=[]` where the new tuple needs no replay"
            ),
        )


def _is_late(emit: Emitted) -> bool:
    """Whether the tuple is completed by then: as an anchor it would make matters worse."""
    token_state = emit.path.state.tokens.get(emit.subject) if emit.subject is not None else None
    return token_state is not None and token_state.stage in (Stage.ACKED, Stage.FAILED)
