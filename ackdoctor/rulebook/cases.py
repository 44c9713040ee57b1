"""Reads the executable examples of a rule page.

A `###` heading holds cases: one for each run of code blocks of the same language and dialect with
different file names.  A block that names a file its case already has begins the next case.

    ```python streamparse bolts/count.py
    self.ack(tup)  # expect: ACK103
    ```

A marker names the findings of its line; `expect-info:` also asks for their severity, and `todo:` names
findings that are not made yet.  A case without markers must stay silent.

What a run shows is written as the messages that reach an acker of some version; a finding stands on
the last message of its root, or on the last window:

    ```acker storm-1.1.0
    init 66 1
    ack 66 1 by count
    ack 66 1 by count  # expect: ACK601
    ```
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ackdoctor.model.finding import Severity
from ackdoctor.rulebook.head import FENCE, trouble
from ackdoctor.rulebook.manual import Case, CaseFile, Expected

__all__ = ["CASE_SECTIONS", "read_cases"]

CASE_SECTIONS = ("Examples", "Stays silent")

_DEFAULT_NAMES = {"python": "case.py", "java": "Case.java", "acker": "case.acker"}
_PROSE = ("", "text", "toml", "console", "json", "yaml")  # blocks that are no case
_MARKER = re.compile(r"(?:#|//)\s*(todo|expect(?:-(error|warning|info))?)\b:?")
_CODES = re.compile(r"\s*(ACK[0-9]{3}(?:\s*,\s*ACK[0-9]{3})*)\s*")
_SEVERITIES = {severity.word: severity for severity in Severity}
_WORD = re.compile(r"[a-z][a-z0-9_]*")
_VERSION = re.compile(r"[a-z]+(-[a-z0-9.]+)*")


class _Block(NamedTuple):
    """A fenced block: its info words, its lines, the page line of the first, and the `###` heading above it."""

    info: tuple[str, ...]
    lines: tuple[str, ...]
    first_line: int
    heading: str


class _Mark(NamedTuple):
    """One finding that a marker names."""

    word: str
    code: str
    severity: Severity | None


class _Draft(NamedTuple):
    """A case that may still grow."""

    language: str
    dialect: str
    slug: str
    files: list[CaseFile]
    expected: list[Expected]
    todo: list[Expected]
    severities: dict[Expected, Severity]


def read_cases(path: Path, code: str, section: str, lines: Sequence[str], within: range) -> tuple[Case, ...]:
    """The cases among those lines of the page, in order."""
    drafts: list[_Draft] = []
    heading = ""
    for block in _blocks(lines, within):
        if block.info[:1] and block.info[0] in _DEFAULT_NAMES:
            _grow(path, drafts, block, same_heading=heading == block.heading)
            heading = block.heading
        elif "".join(block.info[:1]) not in _PROSE:
            known = ", ".join([*_DEFAULT_NAMES, *_PROSE[1:]])
            raise trouble(path, block.first_line - 1, f"unknown block {block.info[0]!r}: known are {known}")
    if section == CASE_SECTIONS[1]:
        _check_silent(path, code, drafts)
    return tuple(_finished(code, section, drafts))


def _blocks(lines: Sequence[str], within: range) -> Iterator[_Block]:
    heading, opened = "", -1
    for at in within:
        line = lines[at]
        if opened >= 0:
            if line.rstrip() == FENCE:
                info = tuple(lines[opened].removeprefix(FENCE).split())
                yield _Block(info, tuple(lines[opened + 1 : at]), opened + 2, heading)
                opened = -1
        elif line.startswith(FENCE):
            opened = at
        elif line.startswith("### "):
            heading = line.removeprefix("### ").strip()


def _grow(path: Path, drafts: list[_Draft], block: _Block, *, same_heading: bool) -> None:
    language, dialect, name = _info(path, block)
    file = CaseFile(name, "".join(f"{line}\n" for line in block.lines), block.first_line)
    last = drafts[-1] if drafts and same_heading else None
    fits = (
        last is not None
        and (last.language, last.dialect) == (language, dialect)
        and name not in (other.name for other in last.files)
    )
    if last is None or not fits:
        last = _Draft(language, dialect, _slug(block.heading), [], [], [], {})
        drafts.append(last)
    last.files.append(file)
    for number, line in enumerate(block.lines, start=1):
        for mark in _marks(path, block.first_line + number - 1, line):
            asked = Expected(name, number, mark.code)
            (last.todo if mark.word == "todo" else last.expected).append(asked)
            if mark.severity:
                last.severities[asked] = mark.severity


def _info(path: Path, block: _Block) -> tuple[str, str, str]:
    at = block.first_line - 1
    language = block.info[0]
    if len(block.info) not in (2, 3):
        raise trouble(path, at, f"a case opens with '{FENCE}{language} dialect' and perhaps a file name")
    if not block.heading:
        raise trouble(path, at, "a case needs a '###' heading above it")
    dialect = block.info[1]
    if not (_VERSION if language == "acker" else _WORD).fullmatch(dialect):
        what = "a version of an acker" if language == "acker" else "a dialect"
        raise trouble(path, at, f"{dialect!r} is no name of {what}")
    name = block.info[2] if len(block.info) > 2 else _DEFAULT_NAMES[language]  # noqa: PLR2004
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts or "\\" in name:
        raise trouble(path, at, f"the file name {name!r} leads out of the case")
    return language, dialect, name


def _marks(path: Path, at: int, line: str) -> Iterator[_Mark]:
    found = list(_MARKER.finditer(line))
    ends = [*(match.start() for match in found[1:]), len(line)]
    for match, end in zip(found, ends, strict=False):
        word, severity = match.groups()
        codes = _CODES.fullmatch(line, match.end(), end)
        if codes is None or not match.group().endswith(":"):
            raise trouble(path, at, f"a marker reads '{word}: ACK101' or '{word}: ACK101, ACK201'")
        for code in codes.group(1).split(","):
            yield _Mark(word, code.strip(), _SEVERITIES.get(severity))


def _check_silent(path: Path, code: str, drafts: Sequence[_Draft]) -> None:
    for draft in drafts:
        first = {file.name: file.first_line for file in draft.files}
        for expected in draft.expected:
            if expected.code == code:
                at = first[expected.file] + expected.line - 1
                raise trouble(path, at, f"{code} is expected in a case that must stay silent")


def _finished(code: str, section: str, drafts: Sequence[_Draft]) -> Iterator[Case]:
    seen: dict[str, int] = {}
    for draft in drafts:
        plain = f"{draft.slug}-{draft.dialect}"
        seen[plain] = seen.get(plain, 0) + 1
        yield Case(
            code=code,
            section=section,
            slug=draft.slug,
            name=plain if seen[plain] == 1 else f"{plain}-{seen[plain]}",
            language=draft.language,
            dialect=draft.dialect,
            files=tuple(draft.files),
            expected=tuple(sorted(draft.expected)),
            todo=tuple(sorted(draft.todo)),
            severities=draft.severities,
        )


def _slug(heading: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")
