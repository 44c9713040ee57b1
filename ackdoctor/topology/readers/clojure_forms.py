"""Clojure source text to forms with line numbers: lists, vectors, maps, sets and atoms.

The reader evaluates nothing.  Comments, `#_` and metadata are dropped; a form with another prefix (quote, deref, a tag)
is of the kind "other", since its value is not known.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

_MAX_BYTES = 1_000_000
_MAX_DEPTH = 200
_CLOSERS = {"(": ")", "[": "]", "{": "}", "#{": "}", "#(": ")"}
# how many forms follow a prefix
_PREFIXES = {
    "#_": 1,
    "^": 2,
    "#^": 2,
    "'": 1,
    "`": 1,
    "~": 1,
    "~@": 1,
    "@": 1,
    "#'": 1,
    "#": 2,
    "#?": 1,
    "#?@": 1,
}
_DROPPED, _METADATA = "#_", ("^", "#^")
_TOKEN = re.compile(
    r"""
    (?P<space> [\s,]+ | (?: ; | \#! ) [^\n]* )
  | (?P<string> " (?: \\. | [^"\\] )* " )
  | (?P<regex> \#" (?: \\. | [^"\\] )* " )
  | (?P<char> \\ (?: [^\s,;"()\[\]{}\\]+ | . ) )
  | (?P<opener> \#?\{ | \#?\( | \[ )
  | (?P<closer> [)\]}] )
  | (?P<prefix> \#\?@ | \#[_^'?] | ~@ | [\^'`~@] | \#(?=[A-Za-z]) )
  | (?P<atom> [^\s,;"()\[\]{}]+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?[MN]?")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_LITERALS = {"nil": None, "true": True, "false": False}


class FormError(ValueError):
    """The text is no sequence of forms; `line` is where reading stopped."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line


@dataclass(slots=True, frozen=True)
class Form:
    """One form.

    `kind` is a bracket ("(", "[", "{", "#{", "#("), "string", "keyword", "symbol", "number", "literal" or "other".
    `value` is the value of a string, number or literal, and the name of a keyword or symbol.  A map's `items` alternate
    keys and values.
    """

    kind: str
    line: int
    value: str | int | float | bool | None = None
    items: tuple["Form", ...] = ()

    @property
    def head(self) -> str:
        """The symbol that a list begins with, without its namespace; "" if there is none."""
        first = self.items[0] if self.kind == "(" and self.items else None
        return str(first.value).rpartition("/")[2] if first is not None and first.kind == "symbol" else ""

    def pairs(self) -> list[tuple["Form", "Form"]]:
        """The entries of a map."""
        return list(zip(self.items[::2], self.items[1::2], strict=False))


class _Frame(NamedTuple):
    """An open bracket or prefix; `takes` is how many forms complete a prefix, 0 for a bracket."""

    kind: str
    line: int
    takes: int
    items: list[Form]


def read_forms(text: str) -> tuple[Form, ...]:
    """The top-level forms of a file; raises `FormError`."""
    if len(text) > _MAX_BYTES:
        raise FormError(0, f"the file has more than {_MAX_BYTES:,} characters")
    stack = [_Frame("", 1, 0, [])]
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise FormError(line, "a string is not closed" if text[position] in '"#' else "syntax error")
        _take(stack, match, line)
        line += match[0].count("\n")
        position = match.end()
    if len(stack) > 1:
        raise FormError(stack[-1].line, f"`{stack[-1].kind}` is not closed")
    return tuple(stack[0].items)


def _take(stack: list[_Frame], match: re.Match[str], line: int) -> None:
    kind, token = match.lastgroup, match[0]
    if kind == "space":
        return
    if kind in {"opener", "prefix"}:
        if len(stack) > _MAX_DEPTH:
            raise FormError(line, f"forms are nested more than {_MAX_DEPTH} deep")
        stack.append(_Frame(token, line, _PREFIXES[token] if kind == "prefix" else 0, []))
    elif kind == "closer":
        frame = stack[-1]
        if _CLOSERS.get(frame.kind) != token:
            raise FormError(line, f"`{token}` closes nothing")
        stack.pop()
        if (
            frame.kind == "{"
            and len(frame.items) % 2
            and not any(each.kind == "other" for each in frame.items)
        ):
            raise FormError(frame.line, "a map has a key without a value")
        _add(stack, Form(frame.kind, frame.line, items=tuple(frame.items)))
    else:
        _add(stack, _atom(kind or "", token, line))


def _add(stack: list[_Frame], form: Form) -> None:
    """Add a complete form to the open one, and complete the prefixes that waited for it."""
    stack[-1].items.append(form)
    while stack[-1].takes and len(stack[-1].items) == stack[-1].takes:
        frame = stack.pop()
        if frame.kind == _DROPPED:
            return
        items = tuple(frame.items)
        form = items[1] if frame.kind in _METADATA else Form("other", frame.line, frame.kind, items)
        stack[-1].items.append(form)


def _atom(kind: str, token: str, line: int) -> Form:
    if kind == "string":
        return Form("string", line, _ESCAPE.sub(lambda each: _ESCAPES.get(each[1], each[1]), token[1:-1]))
    if kind != "atom":
        return Form("other", line, token)
    if token in _LITERALS:
        return Form("literal", line, _LITERALS[token])
    if token.startswith(":"):
        return Form("keyword", line, token[1:])
    number = _NUMBER.fullmatch(token)
    if number is None:
        return Form("symbol", line, token)
    digits = token.rstrip("MN")
    return Form("number", line, float(digits) if number[1] or number[2] else int(digits))
