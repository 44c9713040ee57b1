"""A lenient tokenizer: it never fails, keeps every character, and reads Python 2 and 3 alike.

It serves only where the parser cannot be asked: to see whether a file is too deeply nested for it,
and to translate Python 2.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Token", "tokens"]

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
