"""Whole rule pages: the sections that every page has, and the order in which `explain` shows them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ackdoctor.rulebook.cases import Case, Section, outline, read_cases, read_page_text
from ackdoctor.rulebook.rule import RULE_URL, Rule, locate, page_error, parse_head, read_all

__all__ = ["SECTIONS", "RulePage", "explanation", "load_rules", "read_page"]

SECTIONS = ("What it does", "Why is this bad", "Example", "How to fix", "Limits")
_OPTIONS = "Options"  # an optional last section
_EXPLAINED = ("How to fix", "Why is this bad", "Example", "Limits", _OPTIONS)
_MARKER = re.compile(r"(#|//) expect(?:-[a-z]+)?: ")
_LINK = re.compile(r"\]\((ACK[0-9]{3})-([a-z0-9-]+)\.md\)")


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class RulePage(Rule):
    """A whole page: `sections` maps the headings, in order, to their text; `text` is the file."""

    sections: Mapping[str, str]
    text: str
    cases: tuple[Case, ...]


def load_rules(directory: Path | None = None) -> dict[str, RulePage]:
    """Return all pages by code, sorted; raise RulebookError for the first page that does not parse."""
    pages, errors = read_all(directory or locate(), read_page)
    if errors:
        raise errors[0]
    return pages


def read_page(path: Path) -> RulePage:
    """Read the page in that file."""
    text = read_page_text(path)
    lines = text.split("\n")
    rule = parse_head(path, lines)
    head, *sections = outline(path, text)
    _check_order(path, lines, head, sections)
    return RulePage(
        code=rule.code,
        name=rule.name,
        summary=rule.summary,
        severity=rule.severity,
        default=rule.default,
        evidence=rule.evidence,
        path=path,
        sections={each.title: "\n".join(lines[each.line : each.end - 1]).strip() for each in sections},
        text=text,
        cases=read_cases(path, rule.code, sections),
    )


def explanation(page: RulePage) -> str:
    """Return the page as Markdown for a reader who must repair a finding: the fix first, then the reasons."""
    parts = [f"# {page.name} ({page.code})", page.summary]
    for title in _EXPLAINED:
        if title in page.sections:
            parts += [f"## {title}", page.sections[title]]
    parts.append(f"<{page.url}>")
    text = _MARKER.sub(r"\1 ", "\n\n".join(parts))
    return _LINK.sub(lambda link: f"]({RULE_URL.format(code=link[1], name=link[2])})", text) + "\n"


def _check_order(path: Path, lines: Sequence[str], head: Section, sections: Sequence[Section]) -> None:
    closing = next(at for at, line in enumerate(lines) if line.rstrip() == "```")
    stray = next((at for at in range(closing + 1, head.end - 1) if lines[at].strip()), None)
    if stray is not None:
        raise page_error(path, stray + 1, f"'## {SECTIONS[0]}' must follow the toml block")
    for number, wanted in enumerate(SECTIONS):
        if number == len(sections):
            raise page_error(path, len(lines), f"section '## {wanted}' is missing")
        section = sections[number]
        if section.title != wanted:
            raise page_error(
                path, section.line, f"section '## {wanted}' belongs here, not '## {section.title}'"
            )
        if not any(line.strip() for line in lines[section.line : section.end - 1]):
            raise page_error(path, section.line, f"section '## {wanted}' is empty")
    for section in sections[len(SECTIONS) :]:
        if section.title != _OPTIONS or section is not sections[-1]:
            raise page_error(
                path, section.line, f"only one section '## {_OPTIONS}' may follow '## {SECTIONS[-1]}'"
            )
