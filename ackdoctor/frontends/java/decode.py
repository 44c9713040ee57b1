"""Bytes to the UTF-8 that the parser reads."""

import codecs
import re

from ackdoctor.model.finding import Unreadable

__all__ = ["decode"]

_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_JUNK = re.compile(rb"[\x00-\x08\x0e-\x19\x1b-\x1f]")  # ^Z ends some files from Windows
_LINE_END = re.compile(rb"\r\n|\r|\n")


def decode(path: str, data: bytes) -> bytes | Unreadable:
    """The source as UTF-8 without a byte order mark, each line ended by a line feed.

    A Java file does not say in what encoding it is: what is no UTF-8 is taken for Latin-1, in which
    most old sources are.  Control characters make it no text.
    """
    if data.startswith(_WIDE):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeDecodeError as error:
            reason = f"cannot be decoded as utf-16: {error.reason}"
            return Unreadable(path=path, line=1, column=1, reason=reason)
    data = data.removeprefix(codecs.BOM_UTF8)
    junk = _JUNK.search(data)
    if junk is not None:
        ends = [end.end() for end in _LINE_END.finditer(data, 0, junk.start())]
        column = junk.start() - (ends[-1] if ends else 0) + 1
        reason = f"byte 0x{junk[0][0]:02x}: this is no source text"
        return Unreadable(path=path, line=len(ends) + 1, column=column, reason=reason)
    if b"\r" in data:  # an old Mac's line ends; columns stay what they are
        data = re.sub(rb"\r(?!\n)", b"\n", data)
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
    return data
