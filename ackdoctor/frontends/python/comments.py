"""The comments of a Python file, and the logical line that each of them describes.

The lenient tokenizer reads every version of the language, so Python 2 and unfinished files have comments too.
A comment describes the logical line that it is in.  Alone on its line it describes the next one, decorators included.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ackdoctor.frontends.python.source import tokens
from ackdoctor.model.source import Comment

__all__ = ["comments_of"]

_LINE_END = re.compile(r"\r\n|\r|\n")


def comments_of(text: str) -> list[Comment]:
    """Return all comments in order.  A comment after the last statement describes no line (0 to 0)."""
    found: list[Comment] = []
    waiting: list[Comment] = []  # comments whose logical line has not ended
    at_top = True
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
        above = [comment for comment in waiting if comment.line < logical.first]
        waiting = above if logical.code == "@" else []
        at_top = at_top and logical.code == "string"
    return found


@dataclass(slots=True, kw_only=True)
class _LogicalLine:
    """A logical line; `code` is "string", or the first character of its code, or "" without code."""

    first: int
    last: int
    code: str = ""
    comments: list[Comment] = field(default_factory=list)


def _logical_lines(text: str) -> Iterator[_LogicalLine]:
    """Yield the logical lines in order; a line without code is one of its own."""
    line, line_start, depth = 1, 0, 0
    current = _LogicalLine(first=1, last=1)
    for token in tokens(text):
        ends = list(_LINE_END.finditer(token.text))
        if token.kind == "comment":
            column = token.start - line_start + 1
            current.comments.append(Comment(line=line, column=column, text=token.text))
        elif token.kind not in ("space", "newline"):
            depth += (token.kind == "open") - (token.kind == "close" and depth > 0)
            if not current.code:
                current.code = "string" if token.kind == "string" else token.text[:1]
        if ends:
            line, line_start = line + len(ends), token.start + ends[-1].end()
        if token.kind == "newline" and (depth == 0 or not current.code):
            current.last = line - 1
            yield current
            current, depth = _LogicalLine(first=line, last=line), 0
    current.last = line
    yield current
