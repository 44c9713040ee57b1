"""ACK104: a loop completes a tuple in every iteration and never rebinds it."""

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
    """Yield one finding for each completion that its own loop repeats."""
    if context.component.auto_ack:
        return
    for repeat in repeats(context):
        if repeat.automatic or not repeat.same_site:
            continue
        second = repeat.second
        site = breach_site(second.path, repeat.token)
        own_call = site is second.path or _runs_lambda(site)
        yield context.finding(
            context.words(tup=repeat.token.words),
            at=(second.function, second.step.span) if own_call else (site.function, site.step.span),
            misuse=Misuse.TWICE,
            path=second.path,
            token=repeat.token,
            flow=repeat.flow,
        )


def _runs_lambda(site: Path) -> bool:
    """Whether a call runs a lambda that is written in its arguments: `words.forEach(word -> ...)`."""
    return isinstance(site.step.op, Call) and isinstance(site.step.op.func, Closure)
