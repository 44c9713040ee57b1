"""ACK103: one path acks the same tuple twice, or a flush acks the tuples of a buffer and keeps them for the next."""

from collections.abc import Iterator

from ackdoctor.checks.facts.completions import repeats
from ackdoctor.checks.facts.fields import may_shrink_inside, shrunk_fields
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Ended
from ackdoctor.flow.state import Contents
from ackdoctor.flow.values import Field, TokenKind
from ackdoctor.flow.witness import breach_site, completions, line_text
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding
from ackdoctor.model.protocol import Breach, Stage
from ackdoctor.rulebook.advice import leave_first


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each second ack that the component's own code makes."""
    if context.component.auto_ack:
        return
    yield from _repeated(context)
    yield from _kept(context)


def _repeated(context: RuleContext) -> Iterator[Finding]:
    for repeat in repeats(context):
        path, token = repeat.second.path, repeat.token
        if repeat.automatic or repeat.same_site or repeat.second.breach is not Breach.DOUBLE_ACK:
            continue
        site = breach_site(path, token)
        leave = leave_first(alone=token.kind is TokenKind.INPUT)
        or_leave = ""  # the first ack is in another loop or handler
        if repeat.first is not None and not repeat.in_other_loop:
            where = f" (first on {line_text(repeat.first, site.function)})"
            or_leave = context.phrase("leave", leave=leave, where=where)
        words = context.words(tup=token.words, or_leave=or_leave)
        yield context.finding(words, Misuse.TWICE, site, flow=repeat.flow, path=path, token=token)


def _kept(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each buffer whose tuples a handler acks and that no code of the component ever empties."""
    if context.component.opaque or context.component.heirs:
        return
    shrunk = shrunk_fields(context, context.functions)
    for flow, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH, EntryKind.TICK):
        for field, contents in ended.state.contents.items() if ended.raised is None else ():
            acked_all = contents == Contents(Stage.ACKED, every=True)
            if not acked_all or not isinstance(field, Field) or field.taken or field.part:
                continue
            if field.name in shrunk or may_shrink_inside(context, field.name):
                continue
            acked = (token for token, held in ended.state.tokens.items() if held.stage is Stage.ACKED)
            token = next((each for each in acked if field.holds(each)), None)
            places = list(completions(ended.path, token)) if token is not None else []
            first = places[0] if len({id(place.step) for place in places}) == 1 else None  # else `_repeated`
            if first is not None and context.is_first(field.name):
                words = context.words("kept", field=f"self.{field.name}")
                yield context.finding(words, Misuse.TWICE, first, flow=flow, path=ended.path, token=token)
