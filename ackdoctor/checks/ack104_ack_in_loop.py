"""ACK104: a loop completes a tuple in every iteration and never rebinds it."""

from collections.abc import Iterator

from ackdoctor.checks.facts.completions import repeats
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.witness import breach_site
from ackdoctor.model.cfg import Call, Closure
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each completion that its own loop repeats."""
    if context.component.auto_ack:
        return
    for repeat in repeats(context):
        if repeat.automatic or not repeat.same_site:
            continue
        path, token = repeat.second.path, repeat.token
        site = breach_site(path, token)
        call = site.step.op
        if isinstance(call, Call) and isinstance(call.func, Closure):
            site = (
                path  # the call runs a lambda that is written in its arguments: `words.forEach(word -> ...)`
            )
        words = context.words(tup=token.words)
        yield context.finding(words, Misuse.TWICE, site, flow=repeat.flow, path=path, token=token)
