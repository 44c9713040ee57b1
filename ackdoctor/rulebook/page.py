"""Reads a whole rule page: its head, its six sections, and the cases in two of them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ackdoctor.rulebook.cases import CASE_SECTIONS, read_cases
from ackdoctor.rulebook.head import FENCE, head_length, parse_head, trouble
from ackdoctor.rulebook.manual import Case, RulePage

__all__ = ["read_page"]

_SECTIONS = (
    "What it does",
    "Why is this bad",
    "Examples",
    "Stays silent",
    "Fix safety",
    "Known gaps",
)


class _Section(NamedTuple):
    """A `##` heading and the lines after it; `start` is the index of the first of them."""

    title: str
    start: int
    end: int


def read_page(path: Path) -> RulePage:
    """The page in that file."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise trouble(path, 1, f"cannot be read: {error.strerror}") from None
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise trouble(path, line, f"not UTF-8: {error.reason}") from None
    return parse_page(path, text.replace("\r\n", "\n"))


def parse_page(path: Path, text: str) -> RulePage:
    """The page that the text describes; the path must fit its title."""
    lines = text.removesuffix("\n").split("\n")
    rule = parse_head(path, lines)
    sections = list(_sections(path, lines, head_length(lines)))
    cases: list[Case] = []
    for section in sections:
        if section.title in CASE_SECTIONS:
            cases += read_cases(path, rule.code, section.title, lines, range(section.start, section.end))
    return RulePage(
        code=rule.code,
        name=rule.name,
        summary=rule.summary,
        severity=rule.severity,
        default=rule.default,
        evidence=rule.evidence,
        path=rule.path,
        sections={s.title: "\n".join(lines[s.start : s.end]).strip() for s in sections},
        text=text,
        cases=tuple(cases),
    )


def _sections(path: Path, lines: Sequence[str], start: int) -> Iterator[_Section]:
    headings = list(_headings(path, lines, start))
    stray = next((i for i in range(start, len(lines)) if lines[i].strip()), len(lines))
    if headings and stray < headings[0]:
        raise trouble(path, stray + 1, f"nothing may stand between the toml block and '## {_SECTIONS[0]}'")
    for number, wanted in enumerate(_SECTIONS):
        if number == len(headings):
            raise trouble(path, len(lines), f"section '## {wanted}' is missing")
        at = headings[number]
        title = lines[at].removeprefix("## ").strip()
        if title != wanted:
            raise trouble(path, at + 1, f"section '## {wanted}' must stand here, not '## {title}'")
        end = headings[number + 1] if number + 1 < len(headings) else len(lines)
        if not any(line.strip() for line in lines[at + 1 : end]):
            raise trouble(path, at + 1, f"section '## {title}' is empty")
        yield _Section(title, at + 1, end)
    if len(headings) > len(_SECTIONS):
        extra = headings[len(_SECTIONS)]
        raise trouble(path, extra + 1, f"no section may follow '## {_SECTIONS[-1]}'")


def _headings(path: Path, lines: Sequence[str], start: int) -> Iterator[int]:
    """The indices of `##` headings outside fences; on the way, every fence must close."""
    opened = -1
    for at in range(start, len(lines)):
        line = lines[at]
        if opened >= 0:
            if line.rstrip() == FENCE:
                opened = -1
        elif line.startswith(FENCE):
            opened = at
        elif line.startswith("## "):
            yield at
    if opened >= 0:
        raise trouble(path, opened + 1, "the block that opens here is not closed")
