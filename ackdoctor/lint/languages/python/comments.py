"""Where the comments of a Python source stand, and which logical line each belongs to.

One lexer of strings, comments, brackets and line ends serves every version of the language, Python 2
included; the standard tokenizer refuses the other version's sources, and differs between releases.

A comment speaks of the logical line it stands in, or, alone between two, of the next one with the decorators before it.
At the top nothing but a docstring stands before it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ackdoctor.lint.languages.comment import Comment

__all__ = ["comments_of"]

_TOKEN = re.compile(
    r'''
    (?P<comment> \#[^\r\n]* )
  | (?P<string> """ [^"\\]* (?: (?: \\. | "(?!"") ) [^"\\]* )* (?: """ | \Z )
              | \'\'\' [^'\\]* (?: (?: \\. | '(?!'') ) [^'\\]* )* (?: \'\'\' | \Z )
              | " (?: [^"\\\r\n] | \\(?:\r\n|.) )* "?
              | ' (?: [^'\\\r\n] | \\(?:\r\n|.) )* '? )
  | (?P<open> [(\[{] )
  | (?P<close> [)\]}] )
  | (?P<joined> \\ (?: \r\n | \r | \n ) )
  | (?P<newline> \r\n | \r | \n )
  | (?P<blank> [ \t\f]+ )
  | (?P<code> [^\s\#'"()\[\]{}\\]+ | . )
    ''',
    re.VERBOSE | re.DOTALL,
)
_LINE_END = re.compile(r"\r\n|\r|\n")


def comments_of(text: str) -> list[Comment]:
    """All comments, in order.  A comment after the last statement speaks of no line (0 to 0)."""
    found: list[Comment] = []
    waiting: list[Comment] = []  # for the end of the logical line they speak of
    at_top = True
    begins: list[Comment] = []
    for logical in _logical_lines(text):
        for comment in logical.comments:
            comment.at_top = at_top and not logical.code
        found += logical.comments
        waiting += logical.comments
        if not logical.code:
            continue
        for comment in waiting:
            comment.first = comment.first or logical.first
            comment.last = logical.last
        begins = [comment for comment in waiting if comment.line < logical.first]
        waiting = begins if logical.code == "@" else []
        at_top = at_top and logical.code == "string"
    return found


@dataclass(slots=True, kw_only=True)
class _Logical:
    """A logical line: its lines, its comments, and what it begins with ('' for none but comments)."""

    first: int
    last: int
    code: str
    comments: list[Comment]


def _logical_lines(text: str) -> Iterator[_Logical]:
    """Logical lines in order; a comment alone on its line is a logical line without code."""
    line, line_start, depth = 1, 0, 0
    current = _Logical(first=1, last=1, code="", comments=[])
    for token in _TOKEN.finditer(text):
        kind, value = token.lastgroup, token.group()
        if kind == "comment":
            column = token.start() - line_start + 1
            current.comments.append(Comment(line=line, column=column, text=value, at_top=False))
        elif kind in {"newline", "joined"}:
            line, line_start = line + 1, token.end()
            if kind == "newline" and (depth == 0 or not current.code):
                current.last = line - 1
                yield current
                current, depth = _Logical(first=line, last=line, code="", comments=[]), 0
        elif kind != "blank":
            depth += (kind == "open") - (kind == "close" and depth > 0)
            if not current.code:
                current.code = "string" if kind == "string" else value[:1]
            if kind == "string" and (ends := list(_LINE_END.finditer(value))):
                line, line_start = line + len(ends), token.start() + ends[-1].end()
    current.last = line
    yield current
