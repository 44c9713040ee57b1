"""Whole pages and executable cases: the examples of a rule page, and the regression pages in `tests/rules/<CODE>/`.

A heading holds cases: one for each run of code blocks of the same language and dialect with different file names.
A block that repeats a file name of its case begins the next case.

    ```python streamparse bolts/count.py
    self.ack(tup)  # expect: ACK103
    ```

A marker names the findings of its line.  `expect-info:` also asks for their severity.  `todo:` names findings that
the tool does not make yet.  A case without markers must have no finding.

A case of an acker lists the messages that reach an acker of some version.  Its finding is reported on the last
message of its root, or on the last window:

    ```acker storm-1.1.0
    init 66 1
    ack 66 1 by count
    ack 66 1 by count  # expect: ACK601
    ```
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from markdown_it import MarkdownIt

from ackdoctor.model.finding import Severity
from ackdoctor.rulebook import (
    RULE_URL,
    Rule,
    locate,
    page_error,
    parse_catalogue,
    parse_head,
    read_all,
    read_page_text,
)

CASE_PAGE_SECTIONS = ("Reports", "Stays silent")
_SILENT = ("Stays silent", "How to fix")  # sections where the rule's own finding is an error

_DEFAULT_NAMES = {"python": "case.py", "java": "Case.java", "acker": "case.acker"}
_PROSE = ("", "text", "toml", "console", "json", "yaml", "xml", "properties")  # blocks that are no case
_MARKER = re.compile(r"(?:#|//)\s*(todo|expect(?:-(error|warning|info))?)\b:?")
_CODES = re.compile(r"\s*(ACK[0-9]{3}(?:\s*,\s*ACK[0-9]{3})*)\s*")
_SEVERITIES = {severity.word: severity for severity in Severity}
_WORD = re.compile(r"[a-z][a-z0-9_]*")
_VERSION = re.compile(r"[a-z]+(-[a-z0-9.]+)*")


class CaseFile(NamedTuple):
    """One file of a case; `text` keeps the markers, `first_line` is the page's line of its line 1."""

    name: str
    text: str
    first_line: int


class Expected(NamedTuple):
    """A finding that a marker asks for, at this line of this file."""

    file: str
    line: int
    code: str


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Case:
    """Some files of one dialect, and all findings in them.

    `todo` are findings that are right but not made yet; `severities` holds those that a marker asks for.
    """

    code: str  # of the page's rule
    section: str
    name: str  # unique in the page: heading, dialect, and a number if they are not unique
    language: str
    dialect: str
    files: tuple[CaseFile, ...]
    expected: tuple[Expected, ...]
    todo: tuple[Expected, ...] = ()
    severities: Mapping[Expected, Severity] = field(default_factory=dict)
    page: Path = Path()


class Block(NamedTuple):
    """A fenced block: its info words, its text, the page line of its first line, and the heading above it."""

    info: tuple[str, ...]
    text: str
    first_line: int
    heading: str


class Section(NamedTuple):
    """A `##` section: its heading's line, the lines of its text (from 1, end exclusive), and its blocks."""

    title: str
    line: int
    end: int
    blocks: tuple[Block, ...]


class _Mark(NamedTuple):
    """One finding that a marker names."""

    word: str
    code: str
    severity: Severity | None


class _Draft(NamedTuple):
    """A case that later blocks may extend."""

    language: str
    dialect: str
    heading: str
    files: list[CaseFile]
    expected: list[Expected]
    todo: list[Expected]
    severities: dict[Expected, Severity]


def outline(path: Path, text: str) -> list[Section]:
    """Split a page at its `##` headings; the first section has no title and holds what precedes them."""
    lines = text.split("\n")
    title, begun, blocks, heading = "", 0, list[Block](), ""
    sections: list[Section] = []
    for token in MarkdownIt("commonmark").parse(text):
        if token.map is None or token.level > 0:
            continue
        start, end = token.map
        if token.type == "heading_open" and token.tag == "h2":
            sections.append(Section(title, begun, start + 1, tuple(blocks)))
            title, begun, blocks = _heading(lines[start]), start + 1, []
            heading = title
        elif token.type == "heading_open" and token.tag == "h3":
            heading = _heading(lines[start])
        elif token.type == "fence":
            if lines[end - 1].strip() != token.markup or end - start < 2 or "\n```" in token.content:  # noqa: PLR2004
                raise page_error(path, start + 1, "this block is not closed")
            blocks.append(Block(tuple(token.info.split()), token.content, start + 2, heading))
    sections.append(Section(title, begun, len(lines) + 1, tuple(blocks)))
    return sections


def read_case_page(path: Path) -> tuple[Case, ...]:
    """Read a regression page; its directory is named after the rule."""
    code = path.parent.name
    text = read_page_text(path)
    head, *sections = outline(path, text)
    if not text.startswith(f"# {code}: "):
        raise page_error(path, 1, f"the title must read '# {code}: topic'")
    if len([line for line in text.split("\n")[1 : head.end - 1] if line]) != 1:
        raise page_error(path, 2, "one line of text must follow the title")
    for section in sections:
        if section.title not in CASE_PAGE_SECTIONS:
            raise page_error(
                path,
                section.line,
                f"a section is '## {CASE_PAGE_SECTIONS[0]}' or '## {CASE_PAGE_SECTIONS[1]}'",
            )
    return read_cases(path, code, sections)


def read_cases(path: Path, code: str, sections: Sequence[Section]) -> tuple[Case, ...]:
    """Return the cases of these sections, in order."""
    cases: list[Case] = []
    for section in sections:
        drafts: list[_Draft] = []
        for block in section.blocks:
            if block.info[:1] and block.info[0] in _DEFAULT_NAMES:
                _extend(path, drafts, block)
            elif "".join(block.info[:1]) not in _PROSE:
                known = ", ".join([*_DEFAULT_NAMES, *_PROSE[1:]])
                raise page_error(
                    path, block.first_line - 1, f"unknown block {block.info[0]!r}: known are {known}"
                )
        if section.title in _SILENT:
            _check_silent(path, code, drafts)
        cases += _finished(path, code, section.title, drafts)
    return tuple(cases)


def _heading(line: str) -> str:
    return line.strip("# ")


def _extend(path: Path, drafts: list[_Draft], block: Block) -> None:
    """Add the block to the last case, or begin the next one with it."""
    language, dialect, name = _info(path, block)
    last = drafts[-1] if drafts else None
    if (
        last is None
        or (last.language, last.dialect, last.heading) != (language, dialect, block.heading)
        or name in (other.name for other in last.files)
    ):
        last = _Draft(language, dialect, block.heading, [], [], [], {})
        drafts.append(last)
    last.files.append(CaseFile(name, block.text, block.first_line))
    for number, line in enumerate(block.text.split("\n"), start=1):
        for mark in _marks(path, block.first_line + number - 1, line):
            asked = Expected(name, number, mark.code)
            (last.todo if mark.word == "todo" else last.expected).append(asked)
            if mark.severity:
                last.severities[asked] = mark.severity


def _info(path: Path, block: Block) -> tuple[str, str, str]:
    at = block.first_line - 1
    language = block.info[0]
    if len(block.info) not in (2, 3):
        raise page_error(path, at, f"a case opens with '```{language} dialect' and perhaps a file name")
    dialect = block.info[1]
    if not (_VERSION if language == "acker" else _WORD).fullmatch(dialect):
        what = "an acker's version" if language == "acker" else "a dialect"
        raise page_error(path, at, f"{dialect!r} is not the name of {what}")
    name = block.info[2] if len(block.info) > 2 else _DEFAULT_NAMES[language]  # noqa: PLR2004
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts or "\\" in name:
        raise page_error(path, at, f"the file name {name!r} leads out of the case")
    return language, dialect, name


def _marks(path: Path, at: int, line: str) -> Iterator[_Mark]:
    found = list(_MARKER.finditer(line))
    ends = [*(match.start() for match in found[1:]), len(line)]
    for match, end in zip(found, ends, strict=False):
        word, severity = match.groups()
        codes = _CODES.fullmatch(line, match.end(), end)
        if codes is None or not match.group().endswith(":"):
            raise page_error(path, at, f"a marker reads '{word}: ACK101' or '{word}: ACK101, ACK201'")
        for code in codes.group(1).split(","):
            yield _Mark(word, code.strip(), _SEVERITIES.get(severity))


def _check_silent(path: Path, code: str, drafts: Sequence[_Draft]) -> None:
    for draft in drafts:
        first = {file.name: file.first_line for file in draft.files}
        for expected in draft.expected:
            if expected.code == code:
                at = first[expected.file] + expected.line - 1
                raise page_error(path, at, f"a case of this section must not expect {code}")


def _finished(path: Path, code: str, section: str, drafts: Sequence[_Draft]) -> Iterator[Case]:
    seen: dict[str, int] = {}
    for draft in drafts:
        plain = f"{re.sub(r'[^a-z0-9]+', '-', draft.heading.lower()).strip('-')}-{draft.dialect}"
        seen[plain] = seen.get(plain, 0) + 1
        yield Case(
            code=code,
            section=section,
            name=plain if seen[plain] == 1 else f"{plain}-{seen[plain]}",
            language=draft.language,
            dialect=draft.dialect,
            files=tuple(draft.files),
            expected=tuple(sorted(draft.expected)),
            todo=tuple(sorted(draft.todo)),
            severities=draft.severities,
            page=path,
        )


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
        cases=read_cases(path, rule.code, sections),
    )


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
