"""ACK110: a handler that is a generator or a coroutine: its body never runs."""

from collections.abc import Iterator

from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding

__all__ = ["check"]


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for each handler that the framework calls and nobody iterates or awaits."""
    for flow in context.flows:
        handler = flow.function
        if flow.entry is None or flow.wrapped or not (handler.is_async or handler.is_generator):
            continue
        what = "a coroutine" if handler.is_async else "a generator"
        yield context.finding(
            at=(handler, handler.head),
            message=f"{context.component.name}.{handler.name} is {what} and its body never runs",
            misuse=Misuse.NEVER_RUNS,
            last=f"calling it only makes {what}",
            flow=flow,
            help="make it a plain method; run asynchronous work to its end inside it",
        )
