"""Bytes to text, as Python reads a source file: byte order mark, coding cookie, UTF-8."""

import codecs
import re

from ackdoctor.model.encoding import codec_of, cookie_of
from ackdoctor.model.finding import Unreadable

__all__ = ["decode"]

_LINE_END = re.compile(rb"\r\n|\r|\n")


def decode(path: str, data: bytes) -> str | Unreadable:
    """The text of a source file without its byte order mark."""
    data = data.removeprefix(codecs.BOM_UTF8)
    cookie = cookie_of(data)
    encoding = "utf-8" if cookie is None else codec_of(cookie.name)
    if cookie is not None and encoding is None:
        reason = f"not an encoding that Python reads source files in: {cookie.name}"
        return Unreadable(path=path, line=cookie.line, column=1, reason=reason)
    zero = data.find(b"\0")
    if zero >= 0:
        line, column = _place(data, zero)
        return Unreadable(path=path, line=line, column=column, reason="a NUL byte: this is no source text")
    try:
        return data.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        line, column = _place(data, error.start)
        byte = data[error.start]
        reason = f"byte 0x{byte:02x} cannot be decoded as {encoding}: {error.reason}"
        return Unreadable(path=path, line=line, column=column, reason=reason)
    except ValueError as error:  # not every codec says where
        reason = f"cannot be decoded as {encoding}: {error}"
        return Unreadable(path=path, line=cookie.line if cookie else 0, column=1, reason=reason)


def _place(data: bytes, offset: int) -> tuple[int, int]:
    """Line and byte column of an offset, from 1."""
    ends = [end.end() for end in _LINE_END.finditer(data, 0, offset)]
    return len(ends) + 1, offset - (ends[-1] if ends else 0) + 1
