"""What a reporter may need besides the report: source lines, colours, glyphs, rule pages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ackdoctor.model.encoding import decode_leniently, lines_of
from ackdoctor.model.finding import Severity
from ackdoctor.model.reading import read_file

__all__ = [
    "ASCII",
    "COLOURED",
    "PLAIN",
    "UNICODE",
    "Context",
    "Glyphs",
    "Page",
    "Palette",
    "Sources",
    "inert",
    "printable",
]


class Glyphs(NamedTuple):
    """The characters of the path's gutter."""

    first: str
    middle: str
    last: str
    only: str
    through: str
    into: str
    fold: str
    dot: str


UNICODE = Glyphs(first="╭", middle="├", last="╰", only="╶", through="│", into="─", fold="⋮", dot="·")
_LARGEST_SOURCE = 32 << 20  # a finding may stand on a heap dump
ASCII = Glyphs(first=",", middle="|", last="`", only="-", through="|", into="-", fold=":", dot="-")


class Palette(NamedTuple):
    """Style names and the terminal codes that start them; no codes means no colours."""

    codes: Mapping[str, str]

    def paint(self, style: str, text: str) -> str:
        """The text in a style; spaces around it stay bare."""
        code = self.codes.get(style)
        bare = text.strip(" ")
        if not code or not bare:
            return text
        return text.replace(bare, f"\x1b[{code}m{bare}\x1b[0m", 1)


PLAIN = Palette({})
COLOURED = Palette(
    {
        "path": "1",
        "error": "1;31",
        "warning": "1;33",
        "info": "1;34",
        "code": "1",
        "number": "2",
        "gutter": "36",
        "note": "36",
        "state": "35",
        "caret": "1;31",
        "label": "1;32",
        "faint": "2",
    }
)


@dataclass(slots=True, kw_only=True)
class Sources:
    """Source lines by the path a finding carries; `given` are texts that stand in no file (standard input)."""

    root: Path
    given: Mapping[str, bytes] = field(default_factory=dict)
    _lines: dict[str, list[str]] = field(default_factory=dict)

    def content(self, path: str) -> bytes:
        """The bytes, or none where the file cannot be read any more, or is too large to be source."""
        if path in self.given:
            return self.given[path]
        try:
            return read_file(str(self.root / path), _LARGEST_SOURCE)
        except (OSError, ValueError):
            return b""

    def line(self, path: str, number: int) -> str:
        """One line as it stands, without its end; '' where there is none."""
        if path not in self._lines:
            self._lines[path] = lines_of(
                decode_leniently(self.content(path), cookie=not path.endswith(".java"))
            )
        lines = self._lines[path]
        return lines[number - 1] if 1 <= number <= len(lines) else ""


class Page(NamedTuple):
    """What a format that carries the manual needs of a rule's page."""

    code: str
    name: str
    summary: str
    severity: Severity
    markdown: str
    default: bool = True
    evidence: tuple[str, ...] = ("path",)


def _no_pages() -> Sequence[Page]:
    return ()


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Context:
    """All of it together; `pages` loads the rule pages, which most formats do not need.

    `workspace` is where GitHub's paths start, if that is known: a step may run in a folder below it.
    """

    sources: Sources
    workspace: str = ""
    palette: Palette = PLAIN
    glyphs: Glyphs = UNICODE
    pages: Callable[[], Sequence[Page]] = _no_pages


def printable(text: str) -> str:
    """The text on one line and without control characters: what a file holds must not steer a terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else " " if char.isspace() else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )


def inert(line: str, *, anywhere: bool = True) -> str:
    """A line that a GitHub runner takes for no workflow command: a file may be called `::stop-commands::x.py`.

    It takes `::` at a line's start and, `anywhere` in a line, `##[` (ActionCommand.cs of actions/runner).
    """
    if line.lstrip().startswith("::"):
        line = f"./{line.lstrip()}"
    return line.replace("##[", "## [") if anywhere else line
