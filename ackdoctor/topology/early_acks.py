"""Effects that happen after the ack: what a bolt collects from acked tuples and sends later, by tick, count or thread."""

from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.model.topology import Place


def early_ack(context: RuleContext) -> Place | None:
    """Return where a bolt collects what it sends after the ack, or None."""
    del context
    return None
