"""ACK104: a loop acks a tuple that the loop does not rebind, once per round."""

from collections.abc import Iterator

from ackdoctor.checks.facts.completions import repeats
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Path
from ackdoctor.flow.witness import breach_site
from ackdoctor.model.cfg import Call, Closure
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding

__all__ = ["check"]


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for each completion that its own loop repeats."""
    if context.component.auto_ack:
        return
    for repeat in repeats(context):
        if repeat.automatic or not repeat.same_site:
            continue
        second = repeat.second
        site = breach_site(second.path, repeat.token)
        yield context.finding(
            at=(second.function, second.step.span)
            if site is second.path or _is_in_place(site)
            else (site.function, site.step.span),
            message=f"{repeat.token.words} is completed once in every round of the loop",
            misuse=Misuse.TWICE,
            path=second.path,
            token=repeat.token,
            last="completed again in the next round",
            flow=repeat.flow,
            help=f"complete {repeat.token.words} after the loop, not in it",
        )


def _is_in_place(site: Path) -> bool:
    """Whether a call runs code that is written there: the body of `words.forEach(word -> ...)`."""
    return isinstance(site.step.op, Call) and isinstance(site.step.op.func, Closure)
