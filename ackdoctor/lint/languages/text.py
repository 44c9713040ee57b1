"""Source bytes as text, for reading comments and showing lines."""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

from ackdoctor.model.encoding import codec_of, cookie_of

__all__ = ["decode", "lines_of"]


def decode(source: bytes, *, cookie: bool) -> str:
    """The text as its byte order mark or, where the language has one, its coding cookie says, else UTF-8.

    What cannot be decoded is replaced, never refused.
    """
    if source.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):  # Java's compiler reads that, Python does not
        return source.decode("utf-16", "replace")
    source = source.removeprefix(BOM_UTF8)
    found = cookie_of(source) if cookie else None
    try:
        return source.decode((found and codec_of(found.name)) or "utf-8", "replace")
    except ValueError:  # not every codec can replace
        return source.decode("utf-8", "replace")


def lines_of(text: str) -> list[str]:
    """The lines as Python counts them: ended by LF, CRLF or CR, and by nothing else."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
