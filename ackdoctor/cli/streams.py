"""What the terminal, or whatever stands at the other end, can show."""

import errno
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ackdoctor.model.errors import UsageError
from ackdoctor.model.files import replacing
from ackdoctor.reporters.context import (
    ASCII,
    COLOURED,
    PLAIN,
    UNICODE,
    Glyphs,
    Palette,
    escape_commands,
    printable,
)

__all__ = [
    "COLOURED",
    "chatter",
    "destination",
    "glyphs_for",
    "need_unread",
    "need_writable",
    "palette_for",
    "say",
    "shielded",
    "tolerant",
    "until_reader_leaves",
    "width_for",
]

_PIPE_WIDTH = 100


def palette_for(stream: TextIO) -> Palette:
    """Colours on a terminal; NO_COLOR and FORCE_COLOR decide before that."""
    if os.environ.get("NO_COLOR"):
        return PLAIN
    if os.environ.get("FORCE_COLOR", "0") not in {"", "0"}:
        return COLOURED
    return COLOURED if stream.isatty() and os.environ.get("TERM") != "dumb" else PLAIN


def glyphs_for(stream: TextIO) -> Glyphs:
    """Line-drawing characters where the encoding has them."""
    try:
        "╭├╰╶│─⋮·".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def width_for(stream: TextIO) -> int:
    """Columns: COLUMNS if somebody says so, those of the terminal, else enough for a pipe."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return int(said)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _PIPE_WIDTH
    except (OSError, ValueError):
        return _PIPE_WIDTH


def tolerant(stream: TextIO) -> TextIO:
    """The stream, made to escape what its encoding cannot carry: a file's name may hold any byte."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def say(line: str) -> None:
    """A line on standard error.  If that is closed or on a full disk, only the exit code is left."""
    try:
        sys.stderr.write(line)
        sys.stderr.flush()
    except OSError:
        # or the interpreter tries again at its end, and makes an exit code of its own
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def chatter(text: str, *, prefix: str = "ackdoctor: ") -> None:
    """One line for people on standard error."""
    line = f"{escape_commands(f'{prefix}{printable(text)}')}\n"
    tolerant(sys.stderr)
    say(line)


def shielded(text: str, form: str) -> str:
    """A report in which no line is a workflow command; inside GitHub Actions nothing in a line is one, either."""
    inside = os.environ.get("GITHUB_ACTIONS") == "true"
    if form == "github":
        return text
    if form.startswith(("json", "sarif")) or form.endswith("json"):
        return text.replace("##[", r"#\u0023[") if inside else text
    return "".join(escape_commands(line, anywhere=inside) for line in text.splitlines(keepends=True))


@contextmanager
def until_reader_leaves() -> Iterator[None]:
    """Writes to standard output until nobody reads it any more (`| head`); that is no error, a full disk is one."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # Python would complain once more while shutting down, so the rest goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise UsageError(f"standard output cannot be written: {error.strerror}") from error


def need_writable(file: Path | None) -> None:
    """UsageError, before any work is done, where `destination` could not write the file."""
    if file is None:
        return
    folder = file.parent
    try:
        obstacles = {
            errno.EISDIR: file.is_dir(),
            errno.ENOENT: not folder.exists(),
            errno.ENOTDIR: not folder.is_dir(),
            errno.EACCES: not all(os.access(place, os.W_OK) for place in _written(file)),
        }
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from error
    for number, stands in obstacles.items():
        if stands:
            raise UsageError(f"{file}: cannot be written: {os.strerror(number)}")


def _written(file: Path) -> tuple[Path, ...]:
    """A pipe or a device is written as it is; a file is replaced by another one in its folder."""
    if not file.exists():
        return (file.parent,)
    return (file, file.parent) if file.is_file() else (file,)


def need_unread(file: Path | None, read: Iterable[str | Path]) -> None:
    """UsageError where `destination` would overwrite one of the files that are read."""
    if file is None:
        return
    there = os.path.realpath(file)
    if there in map(os.path.realpath, read):
        raise UsageError(f"{file}: is read, and --output-file would overwrite it")


@contextmanager
def destination(file: Path | None) -> Iterator[TextIO]:
    """Standard output, or the file, which is replaced when all is written; UsageError where it cannot be."""
    if file is None:
        yield tolerant(sys.stdout)
        return
    try:
        with replacing(file) as stream:
            yield stream
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from error
