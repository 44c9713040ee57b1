"""In what encoding a Python source is: byte order mark, coding cookie, else UTF-8."""

import codecs
import re
from typing import NamedTuple

__all__ = ["Cookie", "codec_of", "cookie_of"]

_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"[ \t\f]*(?:#.*)?")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_LONGEST = 4_096  # bytes in which a cookie is looked for
_NO_SOURCE = frozenset(("idna", "punycode", "undefined"))  # they decode host names, or nothing


class Cookie(NamedTuple):
    """The encoding that one of the first two lines declares, as it is written there, and the number of that line."""

    name: str
    line: int


def cookie_of(data: bytes) -> Cookie | None:
    """The coding cookie of a source file, if it has one."""
    start = data.removeprefix(codecs.BOM_UTF8)[:_LONGEST]
    for number, line in enumerate(_LINE_END.split(start, maxsplit=2)[:2], 1):
        match = _COOKIE.match(line)
        if match is not None:
            return Cookie(match[1].decode("ascii", "replace"), number)
        if not _BLANK.fullmatch(line):
            break
    return None


def codec_of(name: str) -> str | None:
    """The codec that Python would read a source with this cookie by; None for what it does not accept.

    That is a text encoding in which the cookie itself is spelled as in ASCII: no rot13, no hex, no utf-16.
    """
    try:
        codec = codecs.lookup(name).name
        accepted = codec not in _NO_SOURCE and b"# coding: x\n".decode(codec) == "# coding: x\n"
    except (LookupError, ValueError):  # bytes.decode raises LookupError for a codec that gives no text
        return None
    return codec if accepted else None
