"""Source files: read one without waiting, replace one whole or not at all, decode it, and name places in it."""

import codecs
import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TextIO


class Span(NamedTuple):
    """A range of text: lines and columns count from 1, columns in characters, the end column is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


NOWHERE = Span(1, 1, 1, 1)


@dataclass(slots=True, unsafe_hash=True)
class Site:
    """A span in a named file; `path` is the path as the user will read it, with forward slashes."""

    path: str
    span: Span

    def __str__(self) -> str:
        return f"{self.path}:{self.span.line}:{self.span.column}"


@dataclass(slots=True, kw_only=True)
class Comment:
    """One line of a comment, with its comment mark; `first` to `last` are the lines of the code that it describes.

    `at_top` says that no code is before it, except what the language allows there (a docstring, imports).
    """

    line: int
    column: int
    text: str
    at_top: bool = False
    first: int = 0
    last: int = 0


_READ_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)


def read_file(path: str, limit: int) -> bytes:
    """Return the bytes of a regular file.  OSError for anything else, EFBIG for more than `limit` bytes."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, "not a file")
    handle = os.open(path, _READ_FLAGS)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a file")
        parts: list[bytes] = []
        left = limit + 1
        size = status.st_size + 1  # one byte more than the file has: the same call sees the end
        while left > 0 and (part := os.read(handle, min(left, size))):
            parts.append(part)
            left -= len(part)
            if len(part) < size:
                break
    finally:
        os.close(handle)
    if left <= 0:
        raise OSError(errno.EFBIG, f"larger than {limit:,} bytes")
    return parts[0] if len(parts) == 1 else b"".join(parts)


_WRITE_FLAGS = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Yield a stream that replaces the file at the end; after an error the old file stays.

    A pipe or a device is written directly.  OSError for a symbolic link to a file: it may lead out of the tree.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        status = None
    streams = any(path.absolute().is_relative_to(folder) for folder in ("/dev", "/proc"))
    if streams or (status is not None and not stat.S_ISREG(status.st_mode)):
        with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            yield stream
        return
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a symbolic link; name its target", str(path))
    if status is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    def place(beside: Path) -> None:
        if status is not None:
            beside.chmod(stat.S_IMODE(status.st_mode))
        beside.replace(path)

    with _written_beside(path, place) as beside_it:
        yield beside_it


@contextmanager
def creating(path: Path) -> Iterator[TextIO]:
    """Yield a stream that becomes a new file at the end.  FileExistsError if something has its name then."""
    with _written_beside(path, path.hardlink_to) as stream:
        yield stream


@contextmanager
def _written_beside(path: Path, place: Callable[[Path], None]) -> Iterator[TextIO]:
    """Yield a stream to a temporary file in the same directory, which `place` gives its name at the end."""
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.tmp")
    handle = os.open(beside, _WRITE_FLAGS, 0o666)
    try:
        with open(
            handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n"
        ) as stream:  # a descriptor
            yield stream
            stream.flush()
            os.fsync(handle)
        place(beside)
    finally:
        with suppress(OSError):
            beside.unlink()


_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"[ \t\f]*(?:#.*)?")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_LONGEST = 4_096  # bytes searched for a cookie
_NO_SOURCE = frozenset(("idna", "punycode", "undefined"))  # codecs for host names, or for nothing


class Cookie(NamedTuple):
    """The encoding that one of the first two lines declares, as written, and the number of that line."""

    name: str
    line: int


def cookie_of(data: bytes) -> Cookie | None:
    """Return the coding cookie of a Python file, if it has one."""
    start = data.removeprefix(codecs.BOM_UTF8)[:_LONGEST]
    for number, line in enumerate(_LINE_END.split(start, maxsplit=2)[:2], 1):
        match = _COOKIE.match(line)
        if match is not None:
            return Cookie(match[1].decode("ascii", "replace"), number)
        if not _BLANK.fullmatch(line):
            break
    return None


def codec_of(name: str) -> str | None:
    """Return the codec that Python reads a file with this cookie by; None if it accepts none.

    Python accepts a text encoding that spells the cookie itself as ASCII does: no rot13, no hex, no utf-16.
    """
    try:
        codec = codecs.lookup(name).name
        accepted = codec not in _NO_SOURCE and b"# coding: x\n".decode(codec) == "# coding: x\n"
    except (LookupError, ValueError):  # LookupError: a codec whose result is no text
        return None
    return codec if accepted else None


def decode_leniently(source: bytes, *, cookie: bool) -> str:
    """Return the text to show to a reader; bytes that cannot be decoded are replaced.

    `cookie` says whether the language has coding cookies.
    """
    if source.startswith(
        (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    ):  # Java's compiler reads that, Python does not
        return source.decode("utf-16", "replace")
    source = source.removeprefix(codecs.BOM_UTF8)
    found = cookie_of(source) if cookie else None
    try:
        return source.decode((found and codec_of(found.name)) or "utf-8", "replace")
    except ValueError:  # not every codec can replace
        return source.decode("utf-8", "replace")


def lines_of(text: str) -> list[str]:
    """Return the lines as Python counts them: ended by LF, CRLF or CR, and by nothing else."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
