"""What the parser could not read: said where it is, and left out so that nothing wrong is concluded."""

from ackdoctor.frontends.java.grammar import ERROR, Node
from ackdoctor.frontends.java.lowering import SourceFile
from ackdoctor.model.cfg import Mix
from ackdoctor.model.finding import Unreadable

__all__ = ["MOST", "TOO_DEEP", "UNREAD", "complain", "note"]

UNREAD = Mix("unreadable", ())
"""Stands for code that nobody knows: as a function it may do anything, as a base class declare anything."""

TOO_DEEP = "nested too deeply"
MOST = 20
"""Complaints for one file; after so many the file is no Java."""

_LONGEST = 30  # characters of the text that a complaint quotes


def note(file: SourceFile, node: Node, reason: str) -> None:
    """Says that something at a node is left out."""
    span = file.positions.span(node)
    told = Unreadable(path=file.path, line=span.line, column=span.column, reason=reason)
    if told not in file.broken and len(file.broken) < MOST:
        file.broken.append(told)


def complain(file: SourceFile, node: Node, left_out: str) -> None:
    """Says where the first syntax error in a node is, and what is left out for it."""
    culprit = _first(node)
    if culprit.is_missing:
        what = f"`{culprit.type}` is missing"
    else:
        words = file.positions.text(culprit).split()
        quoted = " ".join(words)[:_LONGEST]
        what = f"at `{quoted}`" if quoted else "here"
    note(file, culprit, f"syntax error: {what}; {left_out}")


def _first(node: Node) -> Node:
    while True:
        inner = next((each for each in node.children if each.has_error or each.is_missing), None)
        if inner is None or node.kind_id == ERROR:
            return node
        node = inner
