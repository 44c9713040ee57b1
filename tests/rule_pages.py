"""Executable cases: the example of a rule page, and the regression pages in `tests/rules/<CODE>/`.

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

Blocks of the dialect `topology` are the files of a project, in any language; the whole project is linted:

    ```yaml topology topology.yaml
    config:
      topology.ackers: 4  # expect: ACK505
    ```
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from markdown_it import MarkdownIt

from ackdoctor.model.finding import Severity
from ackdoctor.rulebook import Rule, locate, page_error, read_all, read_page_text, survey
from ackdoctor.rulebook.pages import RulePage, outline, read_page

CASE_PAGE_SECTIONS = ("Reports", "Stays silent")
_SILENT = ("Stays silent", "How to fix")  # sections where the rule's own finding is an error

_DEFAULT_NAMES = {"python": "case.py", "java": "Case.java", "acker": "case.acker"}
_PROSE = (
    "",
    "text",
    "toml",
    "diff",
    "console",
    "json",
    "yaml",
    "xml",
    "properties",
)  # blocks that are no case
WIRING = "topology"  # the language and the dialect of a case that is a whole project
_MARKER = re.compile(r"(?:#|//|;)\s*(todo|expect(?:-(error|warning|info))?)\b:?")
MARKER_IN_JSON = re.compile(r"\s*//\s*(?:todo|expect).*$", re.MULTILINE)  # JSON has no comments
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
    """A fenced block: its info words, its text, the page line of its first line, and the headings above it."""

    info: tuple[str, ...]
    text: str
    first_line: int
    section: str
    heading: str


class _Mark(NamedTuple):
    """One finding that a marker names."""

    word: str
    code: str
    severity: Severity | None


class _Draft(NamedTuple):
    """A case that later blocks may extend."""

    section: str
    heading: str
    language: str
    dialect: str
    files: list[CaseFile]
    expected: list[Expected]
    todo: list[Expected]
    severities: dict[Expected, Severity]


def load_metadata(directory: Path | None = None) -> dict[str, Rule]:
    """Return the metadata of all rules by code, sorted; raise RulebookError for the first broken page."""
    rules, errors = survey(directory)
    if errors:
        raise errors[0]
    return dict(rules)


def load_rules(directory: Path | None = None) -> dict[str, RulePage]:
    """Return all pages by code, sorted; raise RulebookError for the first page that does not parse."""
    pages, errors = read_all(directory or locate(), read_page)
    if errors:
        raise errors[0]
    return pages


def cases_of(page: RulePage) -> tuple[Case, ...]:
    """Return the cases of a rule page."""
    return _read_cases(page.path, page.code, page.text)


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
    return _read_cases(path, code, text)


def _blocks(text: str) -> Iterator[Block]:
    lines = text.split("\n")
    section = heading = ""
    for token in MarkdownIt("commonmark").parse(text):
        if token.map is None or token.level > 0:
            continue
        start = token.map[0]
        if token.type == "heading_open" and token.tag in ("h2", "h3"):
            heading = lines[start].strip("# ")
            section = heading if token.tag == "h2" else section
        elif token.type == "fence":
            yield Block(tuple(token.info.split()), token.content, start + 2, section, heading)


def _read_cases(path: Path, code: str, text: str) -> tuple[Case, ...]:
    drafts: list[_Draft] = []
    for block in _blocks(text):
        kind = block.info[0] if block.info else ""
        if kind in _DEFAULT_NAMES or block.info[1:2] == (WIRING,):
            _extend(path, drafts, block)
        elif kind not in _PROSE:
            known = ", ".join([*_DEFAULT_NAMES, *_PROSE[1:]])
            raise page_error(path, block.first_line - 1, f"unknown block {kind!r}: known are {known}")
    _check_silent(path, code, drafts)
    return tuple(_finished(path, code, drafts))


def _extend(path: Path, drafts: list[_Draft], block: Block) -> None:
    """Add the block to the last case, or begin the next one with it."""
    language, dialect, name = _info(path, block)
    last = drafts[-1] if drafts else None
    if (
        last is None
        or last[:4] != (block.section, block.heading, language, dialect)
        or name in (other.name for other in last.files)
    ):
        last = _Draft(block.section, block.heading, language, dialect, [], [], [], {})
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
    language = WIRING if block.info[1:2] == (WIRING,) else block.info[0]
    if language == WIRING and len(block.info) != 3:
        raise page_error(path, at, "a file of a project has a name: '```yaml topology topology.yaml'")
    if len(block.info) not in (2, 3):
        raise page_error(path, at, f"a case opens with '```{language} dialect' and perhaps a file name")
    dialect = block.info[1]
    if not (_VERSION if language == "acker" else _WORD).fullmatch(dialect):
        what = "an acker's version" if language == "acker" else "a dialect"
        raise page_error(path, at, f"{dialect!r} is not the name of {what}")
    name = block.info[2] if len(block.info) > 2 else _DEFAULT_NAMES[language]
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
            if draft.section in _SILENT and expected.code == code:
                at = first[expected.file] + expected.line - 1
                raise page_error(path, at, f"a case of this section must not expect {code}")


def _finished(path: Path, code: str, drafts: Sequence[_Draft]) -> Iterator[Case]:
    seen: Counter[tuple[str, str]] = Counter()
    for draft in drafts:
        plain = f"{re.sub(r'[^a-z0-9]+', '-', draft.heading.lower()).strip('-')}-{draft.dialect}"
        seen[draft.section, plain] += 1
        count = seen[draft.section, plain]
        yield Case(
            code=code,
            section=draft.section,
            name=plain if count == 1 else f"{plain}-{count}",
            language=draft.language,
            dialect=draft.dialect,
            files=tuple(draft.files),
            expected=tuple(sorted(draft.expected)),
            todo=tuple(sorted(draft.todo)),
            severities=draft.severities,
            page=path,
        )
