"""Whole rule pages: the sections that every page has, and the order in which `explain` shows them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

from ackdoctor.rulebook import RULE_URL, Rule, page_error, parse_catalogue, parse_head, read_page_text

SECTIONS = ("What it does", "Why is this bad", "Example", "How to fix", "Limits", "Messages")
_OPTIONS = "Options"  # an optional section before the messages
_EXPLAINED = ("How to fix", "Why is this bad", "Example", "Limits", _OPTIONS)
_EXPECTATION = re.compile(r"(#|//) expect(?:-[a-z]+)?: ")
_LINK = re.compile(r"\]\((ACK[0-9]{3})-([a-z0-9-]+)\.md\)")


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class RulePage(Rule):
    """A whole page: `sections` maps the headings, in order, to their text; `text` is the file."""

    sections: Mapping[str, str]
    text: str


class Section(NamedTuple):
    """A `##` section: its heading's line, and the lines of its text (from 1, end exclusive)."""

    title: str
    line: int
    end: int


def read_page(path: Path) -> RulePage:
    """Read the page in that file; raise RulebookError if a part is missing or broken."""
    text = read_page_text(path)
    lines = text.split("\n")
    rule = parse_head(path, lines)
    head, *sections = outline(path, text)
    _check_order(path, lines, head, sections)
    parse_catalogue(path, text)
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
    )


def outline(path: Path, text: str) -> list[Section]:
    """Split a page at its `##` headings; the first section has no title and holds what precedes them."""
    lines = text.split("\n")
    title, begun = "", 0
    sections: list[Section] = []
    for token in MarkdownIt("commonmark").parse(text):
        if token.map is None or token.level > 0:
            continue
        start, end = token.map
        if token.type == "heading_open" and token.tag == "h2":
            sections.append(Section(title, begun, start + 1))
            title, begun = lines[start].strip("# "), start + 1
        elif token.type == "fence" and (
            lines[end - 1].strip() != token.markup or end - start < 2 or "\n```" in token.content  # noqa: PLR2004
        ):
            raise page_error(path, start + 1, "this block is not closed")
    return [*sections, Section(title, begun, len(lines) + 1)]


def explanation(page: RulePage) -> str:
    """Return the page as Markdown for a reader who must repair a finding: the fix first, then the reasons."""
    parts = [f"# {page.name} ({page.code})", page.summary]
    for title in _EXPLAINED:
        if title in page.sections:
            parts += [f"## {title}", page.sections[title]]
    parts.append(f"<{page.url}>")
    text = _EXPECTATION.sub(r"\1 ", "\n\n".join(parts))
    return _LINK.sub(lambda link: f"]({RULE_URL.format(code=link[1], name=link[2])})", text) + "\n"


def _check_order(path: Path, lines: Sequence[str], head: Section, sections: Sequence[Section]) -> None:
    closing = next(at for at, line in enumerate(lines) if line.rstrip() == "```")
    stray = next((at for at in range(closing + 1, head.end - 1) if lines[at].strip()), None)
    if stray is not None:
        raise page_error(path, stray + 1, f"'## {SECTIONS[0]}' must follow the toml block")
    titles = list(SECTIONS)
    if any(section.title == _OPTIONS for section in sections):
        titles.insert(-1, _OPTIONS)
    for number, wanted in enumerate(titles):
        if number == len(sections):
            raise page_error(path, len(lines), f"section '## {wanted}' is missing")
        section = sections[number]
        if section.title != wanted:
            raise page_error(
                path, section.line, f"section '## {wanted}' belongs here, not '## {section.title}'"
            )
        if not any(line.strip() for line in lines[section.line : section.end - 1]):
            raise page_error(path, section.line, f"section '## {wanted}' is empty")
    if len(sections) > len(titles):
        raise page_error(path, sections[len(titles)].line, f"no section may follow '## {titles[-1]}'")
