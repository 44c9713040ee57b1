"""The values of literals."""

import re
import textwrap

__all__ = ["float_of", "integer_of", "string_of"]

_ESCAPE = re.compile(r"\\(u+[0-9A-Fa-f]{4}|[0-3]?[0-7]{1,2}|\r?\n|.)", re.DOTALL)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "s": " ", "t": "\t"}


def string_of(text: str) -> str:
    """The value of a string, text block or character literal as written."""
    text = _block(text[3:-3]) if text.startswith('"""') else text[1:-1]
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _block(text: str) -> str:
    """A text block without the line of its opening quotes and without the indentation all its lines share."""
    lines = text.partition("\n")[2].replace("\r\n", "\n").split("\n")
    closing = lines[-1]
    guard = "" if closing.strip() else "\0"  # the closing quotes' own indentation counts
    shared = textwrap.dedent("\n".join([*lines[:-1], closing + guard]))
    stripped = "\n".join(line.rstrip() for line in shared.split("\n"))
    return stripped.removesuffix("\0")


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "u":
        return chr(int(code.lstrip("u"), 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return "" if code[-1] == "\n" else _LETTERS.get(code, code)


def integer_of(text: str) -> int:
    """The value of an integer literal."""
    text = text.replace("_", "").rstrip("lL")
    if text[0] == "0" and text.isdecimal():
        return int(text, 8)
    return int(text, 0)


def float_of(text: str) -> float:
    """The value of a floating-point literal."""
    text = text.replace("_", "")
    if text[:2] in ("0x", "0X"):
        return float.fromhex(text.rstrip("fFdD") if "p" in text.lower() else text)
    return float(text.rstrip("fFdD"))
