"""ACK103: one path acks the same tuple twice."""

from collections.abc import Iterator

from ackdoctor.checks.facts.completions import repeats
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.state import TokenKind
from ackdoctor.flow.witness import breach_site, line_text
from ackdoctor.model.advice import leave_after
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding
from ackdoctor.model.protocol import Breach

__all__ = ["check"]


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for each second ack that the code itself makes."""
    if context.component.auto_ack:
        return
    for repeat in repeats(context):
        second = repeat.second
        if repeat.automatic or repeat.same_site or second.breach is not Breach.DOUBLE_ACK:
            continue
        site = breach_site(second.path, repeat.token)
        where = f" (first on {line_text(repeat.first, site.function)})" if repeat.first is not None else ""
        yield context.finding(
            at=(site.function, site.step.span),
            message=f"{repeat.token.words} is acked a second time on this path",
            misuse=Misuse.TWICE,
            path=second.path,
            token=repeat.token,
            last="acked again",
            flow=repeat.flow,
            help=f"{leave_after(alone=repeat.token.kind is TokenKind.INPUT)} the first ack{where}, or ack {repeat.token.words} in one place only",
        )
