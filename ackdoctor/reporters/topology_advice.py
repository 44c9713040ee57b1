"""What to do about a reason that weakens a topology's guarantee: the help of the finding about it, or a sentence of its own."""

import re
from collections.abc import Mapping, Sequence

from ackdoctor.model.finding import Finding
from ackdoctor.model.topology import Place, Reason
from ackdoctor.rulebook import (
    ACKERS_ZERO,
    SPOUT_EMIT_WITHOUT_ID,
    SPOUT_WITHOUT_REPLAY,
    TIMEOUTS_DISABLED,
    UNANCHORED_EMIT,
)

__all__ = ["Advice"]

_RULES: Mapping[str, str] = {  # the rule about a fact, if its message is not the reason's
    "ackers-zero": ACKERS_ZERO,
    "spout-no-ids": SPOUT_EMIT_WITHOUT_ID,
    "spout-no-replay": SPOUT_WITHOUT_REPLAY,
    "timeouts-off": TIMEOUTS_DISABLED,
    "unanchored-emit": UNANCHORED_EMIT,
}
_ACTIONS: Mapping[str, str] = {  # of facts about which lint has no finding
    "bolt-acks-before-effect": "ack each tuple after its effect",
    "bounded-retry": "after the last attempt, move the message to a dead letter instead of dropping it",
    "source-acked-on-delivery": "let the source forget a message in the spout's `ack`, not when the spout takes it",
    "spout-no-replay": "emit the message again in `fail`, unless its loss is meant",
    "component-not-found": "name the file or directory with its code on the command line",
    "file-does-not-parse": "repair the file and run the command again",
}


class Advice:
    """The findings of lint about the same faults, which have the help."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._by_words = {(_place(each), _what(each.message)): each for each in findings}
        self._by_rule = {(_place(each), each.code): each for each in findings}

    def about(self, place: Place, why: str, fact: str = "") -> Finding | None:
        """Return the finding about a reason or a defect; None if lint reports none there."""
        return self._by_words.get((place, _what(why))) or self._by_rule.get((place, _RULES.get(fact, "")))

    def rule(self, reason: Reason) -> str:
        """Return the code of the rule about a reason; "" if there is none."""
        finding = self.about(reason.place, reason.why, reason.fact)
        return finding.code if finding is not None else _RULES.get(reason.fact, "")

    def action(self, reason: Reason) -> str:
        """Return how to remove a reason; "" if that is not known."""
        finding = self.about(reason.place, reason.why, reason.fact)
        help_text = finding.help if finding is not None else ""
        return help_text or _ACTIONS.get(reason.fact, "")


def _place(finding: Finding) -> Place:
    return Place(finding.site.path, finding.site.span.line)


def _what(message: str) -> str:
    """Return a message without the consequence, which the wiring may have changed."""
    return re.split("[:;] ", message, maxsplit=1)[0]
