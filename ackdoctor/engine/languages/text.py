"""Source bytes as text, for reading comments and showing lines."""

import io
import tokenize
from codecs import BOM_UTF16_BE, BOM_UTF16_LE

__all__ = ["decode", "lines_of"]


def decode(source: bytes) -> str:
    """The text as its BOM or coding cookie says, else UTF-8; what cannot be read is replaced, never refused."""
    if source.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):  # Java's compiler reads that, Python does not
        return source.decode("utf-16", "replace")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    except SyntaxError:  # an unknown cookie, or bytes that are not UTF-8
        encoding = "utf-8"
    return source.decode(encoding, "replace")


def lines_of(text: str) -> list[str]:
    """The lines as Python counts them: ended by LF, CRLF or CR, and by nothing else."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
