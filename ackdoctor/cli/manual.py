"""The rulebook as the commands need it; a page that does not parse is left out here and named by `broken`."""

from collections.abc import Mapping, Sequence

from ackdoctor.config import nearest
from ackdoctor.model.errors import UsageError
from ackdoctor.reporters.context import Page
from ackdoctor.rulebook import Rule, find, survey

__all__ = ["broken", "names", "pages", "rule", "rules"]


def names() -> Mapping[str, str]:
    """Every rule's name by its code."""
    return {code: rule.name for code, rule in rules().items()}


def rules() -> Mapping[str, Rule]:
    """Every rule by its code."""
    return survey()[0]


def broken() -> Sequence[str]:
    """What is wrong with the pages that do not parse."""
    return [str(error) for error in survey()[1]]


def pages() -> Sequence[Page]:
    """Every rule's page in brief, by code."""
    return [_page(rule) for rule in rules().values()]


def rule(wanted: str) -> Rule:
    """A rule by code or name; UsageError for anything else."""
    found = find(rules(), wanted)
    if found is None:
        if broken():  # the page that was asked for may be one of these
            raise UsageError(f"no rule is called `{wanted}`, or its page is broken: {'; '.join(broken())}")
        known = [*rules(), *(one.name for one in rules().values())]
        raise UsageError(
            f"no rule is called `{wanted}`{nearest(wanted, known)}; `ackdoctor rules` lists them"
        )
    return found


def _page(rule: Rule) -> Page:
    from ackdoctor.rulebook.brief import brief

    return Page(
        code=rule.code,
        name=rule.name,
        summary=rule.summary,
        severity=rule.severity,
        markdown=brief(rule.path.read_text(encoding="utf-8")),
        default=rule.default,
        evidence=rule.evidence,
    )
