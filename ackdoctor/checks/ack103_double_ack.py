"""ACK103: one path acks the same tuple twice."""

from collections.abc import Iterator

from ackdoctor.checks.facts.completions import repeats
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.state import TokenKind
from ackdoctor.flow.witness import breach_site, line_text
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding
from ackdoctor.model.protocol import Breach
from ackdoctor.rulebook.advice import leave_first

__all__ = ["check"]


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each second ack that the component's own code makes."""
    if context.component.auto_ack:
        return
    for repeat in repeats(context):
        path, token = repeat.second.path, repeat.token
        if repeat.automatic or repeat.same_site or repeat.second.breach is not Breach.DOUBLE_ACK:
            continue
        site = breach_site(path, token)
        leave = leave_first(alone=token.kind is TokenKind.INPUT)
        where = f" (first on {line_text(repeat.first, site.function)})" if repeat.first is not None else ""
        words = context.words(tup=token.words, or_leave=context.phrase("leave", leave=leave, where=where))
        yield context.finding(words, Misuse.TWICE, site, flow=repeat.flow, path=path, token=token)
