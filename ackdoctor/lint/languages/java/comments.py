"""Where the comments of a Java source stand, what its annotations say, and which statement each speaks of.

A statement ends at `;`, and at the `{` that opens its block, so that what has a block is spoken of by its
header.  Braces inside an expression (a lambda's body, an anonymous class, an array) belong to the
statement around them, and the statements in them are their own.

A comment speaks of the statement it stands in or behind, or, alone on its line, of the next, `else` behind a closing
brace included.  At the top nothing but the package and imports stand before it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from ackdoctor.lint.languages.comment import Comment

__all__ = ["Annotation", "comments_of"]

_TOKEN = re.compile(
    r'''
    (?P<comment> //[^\r\n]* | /\*.*?(?:\*/|\Z) )
  | (?P<string> """ (?: [^"\\] | \\. | "(?!"") )* (?: """ | \Z )
              | " (?: [^"\\\r\n] | \\. )* "?
              | ' (?: [^'\\\r\n] | \\. )* '? )
  | (?P<word> [\w$]+ )
  | (?P<arrow> -> )
  | (?P<sign> [^\s\w$] )
    ''',
    re.VERBOSE | re.DOTALL,
)
_LINE_END = re.compile(r"\r\n|\r|\n")
_HEADS = frozenset("if for while do switch try catch finally synchronized else case default".split())
_ONWARDS = frozenset(("else", "catch", "finally"))  # what goes on behind the brace that ends a block
_ABOVE = frozenset(("package", "import"))
_ANNOTATION = "SuppressWarnings"


@dataclass(slots=True, kw_only=True)
class Annotation:
    """One string of a @SuppressWarnings; `first` to `last` are the lines of what it is written on, body included.

    `beside` is the comment that stands on the same line.
    """

    line: int
    column: int
    end_column: int
    text: str
    beside: str = ""
    first: int = 0
    last: int = 0


@dataclass(slots=True, kw_only=True)
class _Statement:
    """A statement or header: its lines, how it begins, and what it is still waiting for."""

    first: int
    last: int = 0
    words: list[str] = field(default_factory=list)  # the first, and any `new` or `switch`
    depth: int = 0  # of its parentheses and brackets
    before: str = ""  # the token before
    comments: list[Comment] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)


def comments_of(text: str) -> tuple[list[Comment], list[Annotation]]:
    """All comments and annotation strings, in order.  A comment after the last statement speaks of no line."""
    scan = _Scan(text)
    scan.run()
    return scan.comments, scan.annotations


class _Scan:
    """One way through a file."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]
        self._open: list[_Statement | None] = []  # what each open brace interrupts; None: a block
        self._bodies: list[list[Annotation]] = []  # the annotations of what each open brace belongs to
        self._now: _Statement | None = None
        self._line: list[_Statement] = []  # what has code on the line of the last token
        self._code = 0  # that line
        self._waiting: list[Comment] = []  # for the next statement
        self._left: list[Comment] = []  # the last in their block, for what goes on behind its brace
        self._top = True
        self._suppresses = -1  # depth at which the strings of a @SuppressWarnings stand
        self.comments: list[Comment] = []
        self.annotations: list[Annotation] = []

    def run(self) -> None:
        """Reads every token."""
        for token in _TOKEN.finditer(self._text):
            line = bisect_right(self._starts, token.start())
            if token.lastgroup == "comment":
                self._comment(token.start(), token.group(), line)
            else:
                last = bisect_right(self._starts, token.end() - 1)
                self._take(token.group(), token.lastgroup or "", token.start(), line, last)
        if self._now is not None:
            self._end(self._now)

    # ---- comments ----

    def _comment(self, start: int, text: str, line: int) -> None:
        pieces = list(self._pieces(start, text, line))
        for comment in pieces:
            self.comments.append(comment)
            if self._code == comment.line and self._line:
                comment.first = min(statement.first for statement in self._line)
                for statement in self._line:
                    statement.comments.append(comment)
                    comment.last = max(comment.last, statement.last, line)
            elif self._now is not None:
                comment.first = self._now.first
                self._now.comments.append(comment)
            elif self._code == comment.line:  # behind a brace that closes a block
                comment.first = comment.last = comment.line
            else:
                self._waiting.append(comment)
        for annotation in takewhile(lambda found: found.line == line, reversed(self.annotations)):
            annotation.beside = text

    def _pieces(self, start: int, text: str, line: int) -> Iterator[Comment]:
        """A comment line by line, without what closes it."""
        text = text.removesuffix("*/") if text.startswith("/*") else text
        for number, piece in enumerate(_LINE_END.split(text)):
            body = piece.strip()
            column = start - self._starts[line - 1] + 1 if number == 0 else piece.find(body) + 1
            mark = body if body[:1] in ("/", "*") else f"*{body}"
            column -= len(mark) - len(body)
            yield Comment(line=line + number, column=column, text=mark, at_top=self._top)

    # ---- code ----

    def _take(self, value: str, kind: str, start: int, line: int, last: int) -> None:
        now = self._now
        if value == "}" and self._open:
            self._close(line)
            return
        if now is None:
            onwards = self._left if value in _ONWARDS and self._code == line else []
            now = self._now = _Statement(first=line, comments=onwards + self._waiting)
            for comment in now.comments:
                comment.first = line
            self._left, self._waiting = [], []
            if value not in _ABOVE:
                self._top = False
        if self._code != line:
            self._line = []
        if not any(statement is now for statement in self._line):
            self._line.append(now)
        self._code = last
        if kind == "string" and self._suppresses >= 0:
            column = start - self._starts[line - 1] + 1
            end = column + len(value)
            found = Annotation(line=line, column=column, end_column=end, text=value.strip('"'))
            self.annotations.append(found)
            now.annotations.append(found)
        if kind == "word" and (not now.words or value in ("new", "switch")):
            now.words.append(value)
        self._sign(value, now, last)
        now.before = value

    def _sign(self, value: str, now: _Statement, line: int) -> None:
        match value:
            case "(" | "[":
                now.depth += 1
                if value == "(" and now.before == _ANNOTATION:
                    self._suppresses = now.depth
            case ")" | "]":
                now.depth -= now.depth > 0
                if now.depth < self._suppresses:
                    self._suppresses = -1
            case ":" if now.depth == 0 and now.words[:1] in (["case"], ["default"]):
                self._end(now)
            case ";" if now.depth == 0:
                now.last = line
                self._end(now)
            case "{":
                self._enter(now, line)

    def _enter(self, now: _Statement, line: int) -> None:
        if self._suppresses >= 0 or _inside(now):
            self._open.append(now)
            self._bodies.append([])
            if self._suppresses < 0:
                self._now = None
            return
        now.last = line
        self._open.append(None)
        self._bodies.append(now.annotations)
        self._end(now)

    def _close(self, line: int) -> None:
        outer = self._open.pop()
        if self._suppresses >= 0:
            self._bodies.pop()
            return
        if self._now is not None:
            self._end(self._now)
        for annotation in self._bodies.pop():
            annotation.last = line
        self._left, self._waiting = self._waiting, []
        if self._code != line:
            self._line = []
        self._code = line
        self._now = outer
        if outer is not None:
            outer.before = "}"
            self._line.append(outer)

    def _end(self, now: _Statement) -> None:
        now.last = now.last or self._code
        for comment in now.comments:
            comment.last = max(comment.last, now.last)
        for annotation in now.annotations:
            annotation.first = now.first
            annotation.last = max(annotation.last, now.last)
        self._now = None


def _inside(now: _Statement) -> bool:
    """Whether a brace that follows opens a part of an expression, and no block."""
    first = now.words[0] if now.words else ""
    if now.depth > 0:
        return True
    match now.before:
        case "->":
            return first not in ("case", "default")
        case "=" | "]" | ",":
            return True
        case ")" | ">":
            return first not in _HEADS and any(word in ("new", "switch") for word in now.words)
        case _:
            return False
