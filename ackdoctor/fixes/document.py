"""A source file to edit: its text, the offsets of spans, and a syntax tree whose node kinds are those of no language.

The text keeps its line ends and tabs; `with_edits` returns the file in its own encoding, with its byte order mark.

    kind         node
    class function lambda     definitions; a `parameter` of a function has its name
    field                     a field of a Java class
    block                     statements in a row
    expression                a statement that is one expression
    return break continue raise
    if loop try handler finally
    call                      `name` is what is called; the children are a `receiver` and each `argument`
    argument                  `name` is the keyword, or "*" for an unpacked value
    name bound                a variable that is read, one that is written
    attribute                 `name` is the last part; the child is the object
    list other
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ackdoctor.model.finding import Edit, Finding, Fix
from ackdoctor.model.source import Span

V = TypeVar("V")
SCOPES = ("function", "lambda", "class")
LEAVES = ("return", "raise", "break", "continue")
_LINE_END = re.compile(r"\r\n|\r|\n")


class NoFix(Exception):  # noqa: N818 -- it is no error
    """Raised where a fix turns out not to fit the code."""


def need(value: V | None) -> V:
    """Return a value that a fix cannot do without; raise NoFix for None."""
    if value is None:
        raise NoFix
    return value


def fits(*conditions: object) -> None:
    """Raise NoFix unless all conditions of a fix hold."""
    if not all(conditions):
        raise NoFix


def proposed(title: str, edits: Iterable[Edit], *, safe: bool = False) -> Fix:
    """Return a fix; raise NoFix without an edit."""
    edits = tuple(edits)
    fits(edits)
    return Fix(title=title, safe=safe, edits=edits)


@dataclass(slots=True, eq=False)
class Node:
    """A node of the tree; `start` and `end` are offsets in the text of the file."""

    kind: str
    start: int
    end: int
    name: str = ""
    parent: "Node | None" = None
    children: list["Node"] = field(default_factory=list)

    def add(self, kind: str, start: int, end: int, name: str = "") -> "Node":
        """Add and return a child."""
        node = Node(kind, start, end, name, self)
        self.children.append(node)
        return node

    def walk(self) -> Iterator["Node"]:
        """Yield the node and all nodes in it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)

    def around(self) -> Iterator["Node"]:
        """Yield the nodes that hold this one, the nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @property
    def block(self) -> "Node | None":
        """The first block of a statement or a definition."""
        return next((each for each in self.children if each.kind == "block"), None)

    @property
    def arguments(self) -> list["Node"]:
        """The arguments of a call."""
        return [each for each in self.children if each.kind == "argument"]

    def calls(self, *names: str) -> Iterator["Node"]:
        """Yield the calls in the node: those of these names, or all."""
        return (each for each in self.walk() if each.kind == "call" and (not names or each.name in names))

    def nearest(self, *kinds: str) -> "Node | None":
        """Return the nearest node of these kinds that holds this one."""
        return next((node for node in self.around() if node.kind in kinds), None)


class Document:
    """One file; `root` is the root of its tree, or None if this Python cannot parse it.

    `on_missing_path` is what the settings want on a path that leaves a tuple open: "ack", "fail", or "" to decide by the code.
    `place` is where the file is on disk; `refusal` says why the last fix that needs other files was refused.
    """

    def __init__(
        self,
        text: str,
        encoding: str,
        mark: bytes,
        root: Node | None,
        *,
        java: bool,
        on_missing_path: str = "",
        place: Path | None = None,
    ) -> None:
        self.text = text
        self.encoding = encoding
        self.mark = mark
        self.root = root
        self.java = java
        self.on_missing_path = on_missing_path
        self.place = place
        self.refusal = ""
        self._starts = line_starts(text)
        found = _LINE_END.search(text)
        self.newline = found[0] if found else "\n"

    # ---- places ----

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a place; lines and columns count from 1."""
        return self._starts[line - 1] + column - 1 if line <= len(self._starts) else len(self.text)

    def span(self, start: int, end: int) -> Span:
        """Return the span between two offsets."""
        return Span(*self._place(start), *self._place(end))

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line_start(self, offset: int) -> int:
        """Return where the line of an offset begins."""
        return self._starts[bisect_right(self._starts, offset) - 1]

    def line_end(self, offset: int) -> int:
        """Return where the line of an offset ends, before its line end."""
        found = _LINE_END.search(self.text, offset)
        return found.start() if found else len(self.text)

    def next_line(self, offset: int) -> int:
        """Return where the line after that of an offset begins."""
        found = _LINE_END.search(self.text, offset)
        return found.end() if found else len(self.text)

    def indent(self, node: Node) -> str | None:
        """Return the white space before a node that is the first on its line; None for another node."""
        before = self.text[self.line_start(node.start) : node.start]
        return before if not before.strip() else None

    def source(self, node: Node) -> str:
        """Return the text of a node."""
        return self.text[node.start : node.end]

    # ---- nodes ----

    def node_at(self, span: Span, *kinds: str) -> Node | None:
        """Return the innermost node of these kinds with exactly this span, apart from a `;` at its end."""
        start, end = self.offset(*span[:2]), self.offset(*span[2:])
        ends = (end, end + 1) if self.text[end : end + 1] == ";" else (end,)
        hits = (
            node
            for node in (self.root.walk() if self.root else ())
            if node.start == start and node.end in ends and node.kind in kinds
        )
        return max(hits, key=lambda node: sum(1 for _ in node.around()), default=None)

    def call_at(self, finding: Finding) -> Node:
        """Return the call at the place of a finding; raise NoFix for another place."""
        return need(self.node_at(finding.site.span, "call"))

    def holding(self, span: Span, *kinds: str) -> list[Node]:
        """Return the nodes of these kinds that hold the start of a span, the outermost first."""
        at = self.offset(*span[:2])
        nodes = self.root.walk() if self.root is not None else ()
        return [node for node in nodes if node.kind in kinds and node.start <= at < node.end]

    # ---- edits ----

    def edit(self, start: int, end: int, text: str) -> Edit:
        """Return an edit of the text between two offsets."""
        return Edit(self.span(start, end), text)

    def with_edits(self, edits: Sequence[Edit]) -> bytes | None:
        """Return the file with these edits; None if its encoding lacks a character."""
        pieces: list[str] = []
        at = 0
        for edit in sorted(edits):
            start, end = self.offset(*edit.span[:2]), self.offset(*edit.span[2:])
            pieces += (self.text[at:start], edit.text)
            at = end
        try:
            return self.mark + "".join((*pieces, self.text[at:])).encode(self.encoding)
        except UnicodeEncodeError:
            return None


def line_starts(text: str) -> list[int]:
    """Return the offset at which each line begins."""
    return [0, *(found.end() for found in _LINE_END.finditer(text))]
