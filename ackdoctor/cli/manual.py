"""The rulebook for the commands: broken pages are left out here and listed by `broken`."""

from collections.abc import Mapping, Sequence

from ackdoctor.config import nearest
from ackdoctor.model.errors import UsageError
from ackdoctor.reporters.context import Page
from ackdoctor.rulebook import Rule, find, survey

__all__ = ["broken", "names", "pages", "rule", "rules"]


def names() -> Mapping[str, str]:
    """Return every rule's name by its code."""
    return {code: rule.name for code, rule in rules().items()}


def rules() -> Mapping[str, Rule]:
    """Return every rule by its code."""
    return survey()[0]


def broken() -> Sequence[str]:
    """Return the errors of the pages that do not parse."""
    return [str(error) for error in survey()[1]]


def pages() -> Sequence[Page]:
    """Return what reporters show of every rule's page, by code."""
    return [_page(rule) for rule in rules().values()]


def rule(wanted: str) -> Rule:
    """Return a rule by code or name; raise UsageError for anything else."""
    found = find(rules(), wanted)
    if found is None:
        if broken():  # perhaps the wanted page
            raise UsageError(f"no rule is called `{wanted}`, or its page is broken: {'; '.join(broken())}")
        known = [*rules(), *(one.name for one in rules().values())]
        raise UsageError(
            f"no rule is called `{wanted}`{nearest(wanted, known)}; `ackdoctor rules` lists them"
        )
    return found


def _page(rule: Rule) -> Page:
    from ackdoctor.rulebook.page import explanation, read_page  # imports a Markdown parser

    return Page(
        code=rule.code,
        name=rule.name,
        summary=rule.summary,
        severity=rule.severity,
        markdown=explanation(read_page(rule.path)),
        default=rule.default,
        evidence=rule.evidence,
    )
