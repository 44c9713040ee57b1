"""The values of string and number literals."""

import re

import libcst as cst

__all__ = ["number_of", "string_of"]

_LITERAL = re.compile(r"([A-Za-z]*)('''|\"\"\"|'|\")(.*)\2", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(\r\n|[\r\n\\'\"abfnrtv]|[0-7]{1,3}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U000[0-9A-Fa-f]{5}|U0010[0-9A-Fa-f]{4})"
)
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def string_of(text: str) -> str | bytes:
    """The value of a string literal as written; escapes by name and wrong ones stay as they are."""
    if "\\" not in text and text[0] in "'\"":
        quotes = 3 if text.startswith(("'''", '"""')) else 1
        return text[quotes:-quotes]
    match = _LITERAL.fullmatch(text)
    if match is None:
        return text
    prefix, value = match[1].lower(), match[3]
    if "r" not in prefix and "\\" in value:
        value = _ESCAPE.sub(_unescape, value)
    return value.encode("utf-8", "surrogatepass") if "b" in prefix else value


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "\r\n":
        return ""
    if code[0] in "xuU":
        return chr(int(code[1:], 16))
    if code[0].isdigit():
        return chr(int(code, 8))
    return _LETTERS.get(code, code)


def number_of(node: cst.Integer | cst.Float) -> int | float:
    """The value of a number literal."""
    text = node.value
    if isinstance(node, cst.Float):
        return float(text)
    return int(text) if text.isdecimal() and text[0] != "0" else int(text, 0)
