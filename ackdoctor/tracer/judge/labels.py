"""What the rulebook calls a rule; the pages are read once."""

from collections.abc import Mapping
from functools import cache

from ackdoctor.model.finding import Severity
from ackdoctor.rulebook import Rule, survey

__all__ = ["name_of", "severity_of"]


@cache
def _rules() -> Mapping[str, Rule]:
    return survey()[0]


def name_of(code: str) -> str:
    """The rule's name; '' for a page that does not parse."""
    return _rules()[code].name if code in _rules() else ""


def severity_of(code: str) -> Severity:
    """What the page says, before anybody knows what a mistake costs."""
    return _rules()[code].severity if code in _rules() else Severity.WARNING
