"""The nouns of a whole rule page: the page, and the executable cases on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ackdoctor.model.finding import Severity
from ackdoctor.rulebook.rule import Rule

__all__ = ["Case", "CaseFile", "Expected", "RulePage"]


class CaseFile(NamedTuple):
    """One file of a case; `text` keeps the markers, `first_line` is the page's line of its line 1."""

    name: str
    text: str
    first_line: int


class Expected(NamedTuple):
    """A finding that a marker asks for: at this line of this file."""

    file: str
    line: int
    code: str


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Case:
    """One example: some files of one dialect and the findings in them, and no others.

    `todo` are findings that are right but not made yet; `severities` holds those that a marker insists on.
    """

    code: str  # of the page's rule
    section: str
    slug: str  # of the heading
    name: str  # unique in the page: slug, dialect, and a number if they are not unique
    language: str
    dialect: str
    files: tuple[CaseFile, ...]
    expected: tuple[Expected, ...]
    todo: tuple[Expected, ...] = ()
    severities: Mapping[Expected, Severity] = field(default_factory=dict)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class RulePage(Rule):
    """A whole page: `sections` maps the headings, in order, to their text; `text` is the file."""

    sections: Mapping[str, str]
    text: str
    cases: tuple[Case, ...]
