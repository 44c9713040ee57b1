"""Source text before it is parsed: decoding, a lenient tokenizer, and the limit of nesting."""

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

from ackdoctor.model.finding import Unreadable
from ackdoctor.model.source import codec_of, cookie_of

__all__ = ["Token", "TooDeep", "decode", "tokens", "too_deep"]

# ---- decoding ----

_LINE_END = re.compile(rb"\r\n|\r|\n")


def decode(path: str, data: bytes) -> str | Unreadable:
    """The text of a source file without its byte order mark, decoded as Python does."""
    data = data.removeprefix(codecs.BOM_UTF8)
    cookie = cookie_of(data)
    encoding = "utf-8" if cookie is None else codec_of(cookie.name)
    if cookie is not None and encoding is None:
        reason = f"Python reads no source files in this encoding: {cookie.name}"
        return Unreadable(path=path, line=cookie.line, column=1, reason=reason)
    zero = data.find(b"\0")
    if zero >= 0:
        line, column = _place(data, zero)
        return Unreadable(path=path, line=line, column=column, reason="a NUL byte: not source text")
    try:
        return data.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        line, column = _place(data, error.start)
        byte = data[error.start]
        reason = f"byte 0x{byte:02x} cannot be decoded as {encoding}: {error.reason}"
        return Unreadable(path=path, line=line, column=column, reason=reason)
    except ValueError as error:  # some codecs do not report the position
        reason = f"cannot be decoded as {encoding}: {error}"
        return Unreadable(path=path, line=cookie.line if cookie else 0, column=1, reason=reason)


def _place(data: bytes, offset: int) -> tuple[int, int]:
    """Line and byte column of an offset, from 1."""
    ends = [end.end() for end in _LINE_END.finditer(data, 0, offset)]
    return len(ends) + 1, offset - (ends[-1] if ends else 0) + 1


# ---- tokens ----

# The tokenizer never fails, keeps every character, and reads Python 2 and 3.  Only the nesting check and the
# translation of Python 2 use it.
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
    """All tokens of a text, including white space."""
    for match in _TOKEN.finditer(text):
        yield Token(match.lastgroup or "op", match[0], match.start(), match.end())


# ---- nesting ----

# libcst's parser is recursive: some thousand nested brackets overflow the stack and end the process, and a chain of
# some thousand operators takes many seconds.  A cheap count of brackets per line selects the texts to tokenize.
_MOST_BRACKETS = 100
_LONGEST_CHAIN = 500  # operators in all open brackets
_LONG_LINE = 500  # characters
_LONG_STATEMENT = 150  # lines
_CHAINING = frozenset(("if", "else", "not", "and", "or", "lambda", "await", "in", "is", "for"))
_LINKS = frozenset(("op", "string"))
_NEW_CHAIN = frozenset((",", ";"))


class TooDeep(NamedTuple):
    """Where the nesting exceeds the limit; both numbers start at 1."""

    line: int
    column: int


def too_deep(text: str) -> TooDeep | None:
    """The first place where a text is nested too deeply."""
    if not _suspicious(text):
        return None
    token = _first_too_deep(text)
    if token is None:
        return None
    before = text[: token.start]
    line = before.count("\n") + before.count("\r") - before.count("\r\n") + 1
    column = token.start - max(before.rfind("\n"), before.rfind("\r"))
    return TooDeep(line, column)


def _suspicious(text: str) -> bool:
    """Whether a text may exceed the limits; brackets in strings count too."""
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


def _first_too_deep(text: str) -> Token | None:
    """The first token that exceeds the limit of brackets or of operators."""
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
    """Whether the brackets in an f-string exceed the limit."""
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
