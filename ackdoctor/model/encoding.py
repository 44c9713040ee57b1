"""How the bytes of a source file are encoded: by its byte order mark, in Python by its coding cookie, else as UTF-8."""

import codecs
import re
from typing import NamedTuple

__all__ = ["Cookie", "codec_of", "cookie_of", "decode_leniently", "lines_of"]

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
