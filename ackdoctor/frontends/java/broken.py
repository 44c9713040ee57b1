"""What the parser could not read: said where it is, and left out so that nothing wrong is concluded."""

from collections.abc import Iterable

from ackdoctor.frontends.java.grammar import Node
from ackdoctor.frontends.java.lowering import SourceFile
from ackdoctor.model.cfg import Mix
from ackdoctor.model.finding import Unreadable

__all__ = ["TOO_DEEP", "UNREAD", "complain", "has_gap", "note", "sweep"]

UNREAD = Mix("unreadable", ())
"""Stands for code that nobody knows: as a function it may do anything, as a base class declare anything."""

TOO_DEEP = "nested too deeply"
_MOST = 20  # complaints for one file; one with more is no Java
_LONGEST = 30  # characters of the text that a complaint quotes


def note(file: SourceFile, node: Node, reason: str, left_out: str) -> None:
    """Says that for some reason at a node something is left out; one place has one reason."""
    span = file.positions.span(node)
    line, column = span.line, span.column
    for place, told in enumerate(file.broken):
        if told.line == line and told.column == column:
            if left_out not in told.reason.split("; "):
                whole = f"{told.reason}; {left_out}"
                file.broken[place] = Unreadable(path=file.path, line=line, column=column, reason=whole)
            return
    if len(file.broken) < _MOST:
        reason = f"{reason}; {left_out}"
        file.broken.append(Unreadable(path=file.path, line=line, column=column, reason=reason))


def complain(file: SourceFile, node: Node, left_out: str) -> None:
    """Says where the first syntax error in a node is, and what is left out for it."""
    file.unread.append((node.start_byte, node.end_byte))
    if len(file.broken) == _MOST:
        return
    culprit = _first(node)
    if culprit.is_missing:
        what = f"`{culprit.type}` is missing"
    else:
        words = file.positions.beginning(culprit, 4 * _LONGEST).split()
        quoted = " ".join(words)[:_LONGEST]
        what = f"at `{quoted}`" if quoted else "here"
    note(file, culprit, f"syntax error: {what}", left_out)


def sweep(file: SourceFile, root: Node) -> None:
    """Says where the errors are that nobody has complained about: it was possible to read around them."""
    waiting = [root]
    while waiting and len(file.broken) < _MOST:
        node = waiting.pop()
        if any(start <= node.start_byte and node.end_byte <= end for start, end in file.unread):
            continue
        if node.is_error or node.is_missing:
            complain(file, node, "this is left out")
        elif node.has_error:
            waiting.extend(reversed(node.children))


def has_gap(nodes: Iterable[Node]) -> bool:
    """Whether one of these nodes, which stand side by side, is an error."""
    return any(node.is_error or node.is_missing for node in nodes)


def _first(node: Node) -> Node:
    while True:
        inner = next((each for each in node.children if each.has_error or each.is_missing), None)
        if inner is None:
            return _last(node) if node.is_error and node.start_point.row < node.end_point.row else node
        node = inner


def _last(node: Node) -> Node:
    """An error of many lines is one because the parser could not go on after its last word."""
    while node.named_children:
        node = node.named_children[-1]
    return node
