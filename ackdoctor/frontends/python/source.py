"""Source text before it is parsed: decoding, a lenient tokenizer, and the limit of nesting."""

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

from ackdoctor.model.encoding import codec_of, cookie_of
from ackdoctor.model.finding import Unreadable

__all__ = ["Token", "TooDeep", "decode", "tokens", "too_deep"]


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


_TOKEN = re.compile(
    r"""
      (?P<space>   [ \t\f]+ | \\(?:\r\n|\r|\n) )
    | (?P<string>  [A-Za-z]{0,2}
                   (?: '{3} (?:[^\\]|\\.)*? (?:'{3}|\Z)
                     | "{3} (?:[^\\]|\\.)*? (?:"{3}|\Z)
                     | '(?!'') (?:[^\\'\r\n]|\\(?:\r\n|.))* '?
                     | "(?!"") (?:[^\\"\r\n]|\\(?:\r\n|.))* "? ) )
    | (?P<comment> \#[^\r\n]* )
    | (?P<newline> \r\n | \r | \n )
    | (?P<number>  (?:\d|\.\d) (?:[eE][+-]\d|[\w.])* )
    | (?P<name>    \w+ )
    | (?P<open>    [(\[{] )
    | (?P<close>   [)\]}] )
    | (?P<op>      <> | >>=? | <<=? | \*\*=? | //=? | [-+*/%&|^@=!<>:]= | -> | . )
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """One token: 'space', 'string', 'comment', 'newline', 'number', 'name', 'open', 'close' or 'op'."""

    kind: str
    text: str
    start: int
    end: int


def tokens(text: str) -> Iterator[Token]:
    """All tokens of a text, white space included."""
    for match in _TOKEN.finditer(text):
        yield Token(match.lastgroup or "op", match[0], match.start(), match.end())


_MOST_BRACKETS = 100
_LONGEST_CHAIN = 500  # operators, through all brackets that are open
_LONG_LINE = 500  # characters
_LONG_STATEMENT = 150  # lines
_CHAINING = frozenset(("if", "else", "not", "and", "or", "lambda", "await", "in", "is", "for"))
_LINKS = frozenset(("op", "string"))
_NEW_CHAIN = frozenset((",", ";"))


class TooDeep(NamedTuple):
    """Where the nesting passes what can be read; both from 1."""

    line: int
    column: int


def too_deep(text: str) -> TooDeep | None:
    """Where a text is nested too deeply, if anywhere."""
    if not _suspicious(text):
        return None
    token = _offender(text)
    if token is None:
        return None
    before = text[: token.start]
    line = before.count("\n") + before.count("\r") - before.count("\r\n") + 1
    column = token.start - max(before.rfind("\n"), before.rfind("\r"))
    return TooDeep(line, column)


def _suspicious(text: str) -> bool:
    depth = lowest = inside = 0
    for line in text.splitlines():
        if len(line) > _LONG_LINE:
            return True
        count = line.count
        opened = count("(") + count("[") + count("{")
        closed = count(")") + count("]") + count("}")
        depth += opened - closed
        if opened > _MOST_BRACKETS or depth - lowest > _MOST_BRACKETS // 2:
            return True
        if depth <= lowest and not line.endswith("\\"):
            lowest, inside = depth, 0
        else:
            inside += 1
            if inside > _LONG_STATEMENT:
                return True
    return False


def _offender(text: str) -> Token | None:
    """The token that opens one bracket too many, or that makes a chain too long."""
    chains = [0]  # links since the last comma, per open bracket
    total = 0
    for token in tokens(text):
        kind, word = token.kind, token.text
        if kind == "open":
            chains.append(0)
        elif kind == "close":
            total += 1 - chains[-1]
            chains[-2:] = [sum(chains[-2:-1]) + 1]
        elif word in _NEW_CHAIN or (kind == "newline" and len(chains) == 1):
            total -= chains[-1]
            chains[-1] = 0
        elif (kind in _LINKS and word != ":") or word in _CHAINING:
            total += 1
            chains[-1] += 1
        if len(chains) > _MOST_BRACKETS or total > _LONGEST_CHAIN:
            return token
        if kind == "string" and _nested_braces(word):
            return token
    return None


def _nested_braces(text: str) -> bool:
    """Whether an f-string holds more nested brackets than can be read."""
    if "f" not in text[:2].lower():
        return False
    depth = deepest = 0
    for char in text:
        if char in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ")]}":
            depth = max(0, depth - 1)
    return deepest > _MOST_BRACKETS
