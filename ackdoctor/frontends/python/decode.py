"""Bytes to text, as Python reads a source file: byte order mark, coding cookie, UTF-8."""

import codecs
import re

from ackdoctor.model.finding import Unreadable

__all__ = ["decode"]

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_LINE_END = re.compile(rb"\r\n|\r|\n")


def decode(path: str, data: bytes) -> str | Unreadable:
    """The text of a source file without its byte order mark."""
    data = data.removeprefix(codecs.BOM_UTF8)
    name, name_line = _cookie(data)
    encoding = "utf-8" if name is None else _encoding(name)
    if encoding is None:
        return Unreadable(path=path, line=name_line, column=1, reason=f"unknown encoding: {name}")
    zero = data.find(b"\0")
    if zero >= 0 and not encoding.startswith(("utf-16", "utf-32")):
        line, column = _place(data, zero)
        return Unreadable(path=path, line=line, column=column, reason="a NUL byte: this is no source text")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line, column = _place(data, error.start)
        byte = data[error.start]
        return Unreadable(
            path=path,
            line=line,
            column=column,
            reason=f"byte 0x{byte:02x} cannot be decoded as {encoding}: {error.reason}",
        )


def _cookie(data: bytes) -> tuple[str | None, int]:
    """The encoding that one of the first two lines declares, and the number of that line."""
    for number, line in enumerate(_LINE_END.split(data[:4096], maxsplit=2)[:2], 1):
        match = _COOKIE.match(line)
        if match is not None:
            return match[1].decode("ascii", "replace"), number
        if not _BLANK.match(line):
            break
    return None, 1


def _encoding(name: str) -> str | None:
    """The codec's own name; None for what is unknown or no text encoding."""
    try:
        return codecs.lookup(name).name if isinstance(codecs.decode(b"", name), str) else None
    except (LookupError, ValueError, TypeError):
        return None


def _place(data: bytes, offset: int) -> tuple[int, int]:
    """Line and byte column of an offset, from 1."""
    ends = [end.end() for end in _LINE_END.finditer(data, 0, offset)]
    return len(ends) + 1, offset - (ends[-1] if ends else 0) + 1
