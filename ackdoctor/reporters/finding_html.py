"""Findings on an HTML page: what to do about them, and a card for each."""

from collections.abc import Sequence

from ackdoctor.model.finding import Confidence, Finding, PathWitness
from ackdoctor.reporters.html import Step
from ackdoctor.reporters.terminal import finding_place
from ackdoctor.rulebook import PENDING_GROWTH

MAX_CARDS = 50
_MAX_LEFT = 6  # lines about what a finding left behind


def repairs(worst: Sequence[Finding]) -> list[Step]:
    """Return what to do about the findings, in their order."""
    codes = {finding.code for finding in worst}
    shown_elsewhere = {PENDING_GROWTH} if len(codes) > 1 else set()  # its help names the other findings
    steps: dict[tuple[str, str], Step] = {}
    for number, finding in enumerate(worst):
        if finding.code in shown_elsewhere or finding.repaired_by in codes - {finding.code}:
            continue
        place = finding_place(finding)
        who = ".".join(filter(None, (finding.component, finding.handler)))
        step = Step(
            action=finding.help or f"read what {finding.code} means",
            place=place if place != finding.site.path else who or place,
            why=finding.message,
            code=finding.code,
            sure=finding.confidence is Confidence.MUST,
            target=f"finding-{number}" if number < MAX_CARDS else "",
        )
        steps.setdefault((step.action, step.place), step)
    return list(steps.values())


def cards(worst: Sequence[Finding]) -> list[dict[str, object]]:
    """Return the cards of the first findings; the macro `card` of the base template shows one."""
    return [_card(finding, number) for number, finding in enumerate(worst[:MAX_CARDS])]


def _card(finding: Finding, number: int) -> dict[str, object]:
    left = () if isinstance(finding.evidence, PathWitness) else finding.evidence.left[:_MAX_LEFT]
    return {
        "id": f"finding-{number}",
        "severity": finding.severity.word,
        "code": finding.code,
        "sure": finding.confidence is Confidence.MUST,
        "place": finding_place(finding),
        "who": ".".join(filter(None, (finding.component, finding.handler))),
        "seen": finding.seen,
        "message": finding.message,
        "items": left,
        "help": finding.help,
    }
