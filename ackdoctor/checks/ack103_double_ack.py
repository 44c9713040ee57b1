"""ACK103: one path acks the same tuple twice, or a flush acks the tuples of a buffer and keeps them for the next."""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import shrunk_fields
from ackdoctor.checks.facts.completions import repeats
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Ended
from ackdoctor.flow.state import Contents, TokenKind
from ackdoctor.flow.witness import breach_site, completions, line_text
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding
from ackdoctor.model.protocol import Breach, Stage
from ackdoctor.rulebook.advice import leave_first

__all__ = ["check"]


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each second ack that the component's own code makes."""
    if context.component.auto_ack:
        return
    yield from _repeated(context)
    yield from _kept(context)


def _repeated(context: RuleContext) -> Iterator[Finding]:
    for repeat in repeats(context):
        second = repeat.second
        if repeat.automatic or repeat.same_site or second.breach is not Breach.DOUBLE_ACK:
            continue
        site = breach_site(second.path, repeat.token)
        leave = leave_first(alone=repeat.token.kind is TokenKind.INPUT)
        where = f" (first on {line_text(repeat.first, site.function)})" if repeat.first is not None else ""
        yield context.finding(
            context.words(tup=repeat.token.words, or_leave=context.phrase("leave", leave=leave, where=where)),
            at=(site.function, site.step.span),
            misuse=Misuse.TWICE,
            path=second.path,
            token=repeat.token,
            flow=repeat.flow,
        )


def _kept(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each buffer whose tuples a handler acks and that no code of the component ever empties."""
    if context.component.opaque or context.component.heirs:
        return
    kept = {
        (field, id(flow)): (flow, ended)
        for flow, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH, EntryKind.TICK)
        for field, contents in ended.state.contents.items()
        if contents == Contents(Stage.ACKED, every=True) and ended.raised is None and ended.deferral is None
    }
    shrunk = shrunk_fields(context, context.functions()) if kept else frozenset()
    reported: set[str] = set()
    for (field, _), (flow, ended) in kept.items():
        acked_here = (each for each, held in ended.state.tokens.items() if held.stage is Stage.ACKED)
        token = next((each for each in acked_here if each.field == each.buffer == field), None)
        acked = next(completions(ended.path, token), None) if token is not None else None
        if acked is None or field in shrunk or field in reported:
            continue
        reported.add(field)
        yield context.finding(
            context.words("kept", field=f"self.{field}"),
            at=(acked.function, acked.step.span),
            misuse=Misuse.TWICE,
            path=ended.path,
            token=token,
            flow=flow,
        )
