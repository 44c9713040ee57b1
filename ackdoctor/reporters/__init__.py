"""Reports as text: a format is a function (Report, stream, Context) -> None.

The output depends on the report and the sources only: it is sorted, and holds neither times nor absolute paths.  Only
an HTML page says when it was made.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeAlias

from ackdoctor.model.finding import Report
from ackdoctor.model.source import decode_leniently, lines_of, read_file

if TYPE_CHECKING:
    from ackdoctor.rulebook import Rule

__all__ = [
    "ASCII",
    "COLOURED",
    "PLAIN",
    "UNICODE",
    "Context",
    "Glyphs",
    "Palette",
    "Reporter",
    "Sources",
    "columns",
    "escape_commands",
    "glyphs_for",
    "printable",
    "reporter",
    "wrapped",
]


_FUNCTIONS: Mapping[str, str] = {
    "full": "terminal:full",
    "concise": "terminal:concise",
    "json": "machine:document",
    "json-lines": "machine:lines",
    "sarif": "machine:sarif",
    "github": "machine:github",
    "gitlab": "ci:gitlab",
    "junit": "ci:junit",
    "step-summary": "ci:step_summary",
    "statistics": "terminal:statistics",
    "statistics-json": "machine:statistics",
    "files": "terminal:files",
    "summary": "terminal:summary",
}
_CODES = re.compile(r"\x1b\[[0-9;]*m")
_WORDS = re.compile(r" *[^ ]+")
_MAX_SOURCE_BYTES = 32 << 20  # a finding may name a heap dump


class Glyphs(NamedTuple):
    """The characters that draw the path beside the source."""

    first: str
    middle: str
    last: str
    only: str
    through: str
    into: str
    fold: str
    dot: str


UNICODE = Glyphs(first="╭", middle="├", last="╰", only="╶", through="│", into="─", fold="⋮", dot="·")
ASCII = Glyphs(first=",", middle="|", last="`", only="-", through="|", into="-", fold=":", dot="-")


def glyphs_for(encoding: str | None) -> Glyphs:
    """Return line-drawing characters if the encoding of a stream has them; None is ASCII."""
    try:
        "".join(UNICODE).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


class Palette(NamedTuple):
    """The terminal code of each style; without codes there are no colours."""

    codes: Mapping[str, str]

    def paint(self, style: str, text: str) -> str:
        """Return the text in a style; spaces around it are not painted."""
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
    """Source lines by path; `in_memory` holds texts that are in no file, such as standard input."""

    root: Path
    in_memory: Mapping[str, bytes] = field(default_factory=dict)
    _lines: dict[str, list[str]] = field(default_factory=dict)

    def content(self, path: str) -> bytes:
        """Return the bytes of a file; none for a file that cannot be read or is too large to be source."""
        if path in self.in_memory:
            return self.in_memory[path]
        try:
            return read_file(str(self.root / path), _MAX_SOURCE_BYTES)
        except (OSError, ValueError):
            return b""

    def line(self, path: str, number: int) -> str:
        """Return a line without its end; '' if there is no such line."""
        lines = self._lines_of(path)
        return lines[number - 1] if 1 <= number <= len(lines) else ""

    def fault(self, path: str, number: int) -> str:
        """Return why a line cannot be shown: a trace may come from another folder or an older source; '' if it can."""
        lines = self._lines_of(path)
        if not any(lines):
            return "no source here"
        return "" if number <= len(lines) else f"has no line {number} here"

    def _lines_of(self, path: str) -> list[str]:
        if path not in self._lines:
            self._lines[path] = lines_of(
                decode_leniently(self.content(path), cookie=not path.endswith(".java"))
            )
        return self._lines[path]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Context:
    """Sources and style of a report; `pages` loads each rule with its explanation in Markdown, which few formats need.

    `width` are the columns of a screen; `wraps`: lines of words are broken there too, not only tables.
    `workspace` is the checkout on GitHub or GitLab, '' elsewhere: a step may run in a subdirectory of it.
    """

    sources: Sources
    workspace: str = ""
    palette: Palette = PLAIN
    glyphs: Glyphs = UNICODE
    width: int = 100
    wraps: bool = False
    pages: Callable[[], Sequence[tuple["Rule", str]]] = tuple

    def wrap(self, line: str, hang: str | None = None) -> list[str]:
        """Return the line wrapped, if the screen wraps lines."""
        return wrapped(line, self.width, hang) if self.wraps else [line]

    def fitted(self, text: str) -> str:
        """Return the text with each line wrapped, if the screen wraps lines."""
        return "".join(f"{part}\n" for line in text.splitlines() for part in self.wrap(line))


Reporter: TypeAlias = Callable[[Report, TextIO, Context], None]


def reporter(name: str) -> Reporter:
    """Import and return the reporter of a format."""
    module, _, function = _FUNCTIONS[name].partition(":")
    found: Reporter = getattr(import_module(f"ackdoctor.reporters.{module}"), function)
    return found


def printable(text: str) -> str:
    """Return the text on one line without control characters, so that no input can steer a terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else " " if char.isspace() else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )


def columns(text: str) -> int:
    """Return how many columns of a terminal the text takes, without its codes for colours."""
    if "\x1b" in text:
        text = _CODES.sub("", text)
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # most texts are ASCII

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def wrapped(line: str, width: int, hang: str | None = None) -> list[str]:
    """Return the line in parts of at most `width` columns, broken between words; a longer word stays whole.

    Further parts are indented with `hang`, by default two columns more than the first.
    """
    if columns(line) <= width:
        return [line]
    if hang is None:
        hang = " " * (len(line) - len(line.lstrip(" ")) + 2)
    parts = [""]
    for word in _WORDS.findall(line):
        if parts[-1].strip() and columns(parts[-1] + word) > width:
            parts.append(hang + word.lstrip(" "))
        else:
            parts[-1] += word
    return parts


def escape_commands(line: str, *, anywhere: bool = True) -> str:
    """Return the line so that a GitHub runner does not read it as a workflow command.

    A runner reads `::` at a line's start and, if `anywhere`, `##[` in a line (ActionCommand.cs of actions/runner).
    A file may be called `::stop-commands::x.py`.
    """
    if line.lstrip().startswith("::"):
        line = f"./{line.lstrip()}"
    return line.replace("##[", "## [") if anywhere else line
