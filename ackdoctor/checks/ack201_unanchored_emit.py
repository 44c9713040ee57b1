"""ACK201: a bolt whose input is tracked emits without anchor."""

from collections.abc import Iterator

from ackdoctor.checks.facts.fields import ANCHORING, depends_on_setting
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Anchors, Emitted, Flow
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding, Severity
from ackdoctor.model.protocol import Stage


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each emit call that handles an input tuple and has no anchor."""
    if not context.is_bolt or Misuse.UNANCHORED not in context.discipline.prices:
        return
    emits = [
        (flow, emit)
        for flow, emit in context.events(Emitted, EntryKind.DATA, EntryKind.BATCH)
        if emit.anchors is Anchors.NONE and not emit.tick.is_system
    ]
    is_opt_out = depends_on_setting(context, ANCHORING) if emits else None
    for flow, emit in emits:
        if is_opt_out is not None and not is_opt_out(emit.path) and context.is_first(emit.step):
            name = emit.subject.name if emit.subject is not None else "the input tuple"
            advice = _advice(context, flow, emit, name)
            details = (
                emit.verb.anchors or "",
                emit.subject.name if emit.subject is not None else "",
                _value(flow, name),
            )
            yield context.finding(
                context.words(tup=f"`{name}`", advice=advice),
                Misuse.UNANCHORED,
                emit,
                flow=flow,
                severity=Severity.WARNING,
                details=details,
            )


def _advice(context: RuleContext, flow: Flow, emit: Emitted, name: str) -> str:
    token_state = emit.path.state.tokens.get(emit.subject) if emit.subject is not None else None
    late = token_state is not None and token_state.stage in (Stage.ACKED, Stage.FAILED)
    first = context.phrase("early", tup=f"`{name}`") if late else ""  # a completed anchor would do harm
    return first + (
        context.advice(Misuse.UNANCHORED, name)
        or context.phrase("anchor", anchors=emit.verb.anchors, value=_value(flow, name))
    )


def _value(flow: Flow, name: str) -> str:
    """Return the list of anchors: the batch, or a list of the one tuple."""
    return name if flow.entry is not None and flow.entry.kind is EntryKind.BATCH else f"[{name}]"
