"""ACK110: a handler is a generator or a coroutine, so its body never runs."""

from collections.abc import Iterator

from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each such handler; the framework neither iterates nor awaits its result."""
    for flow in context.flows:
        handler = flow.function
        if flow.entry is not None and not flow.wrapped and (handler.is_async or handler.is_generator):
            kind = "a coroutine" if handler.is_async else "a generator"
            words = context.words(handler=f"{context.component.name}.{handler.name}", kind=kind)
            yield context.finding(words, Misuse.NEVER_RUNS, handler, flow=flow)
