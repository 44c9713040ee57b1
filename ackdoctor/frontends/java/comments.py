"""The comments and @SuppressWarnings of a Java file, and the statement that each of them describes.

A statement is a child of a block.  A statement with a block of its own consists of headers: `if (a) {` is one,
`} else {` has the next.  A comment describes the headers that have code before it on its line.  Alone on its line it
describes the header around it, else the next statement.  An annotation describes its declaration, body included.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ackdoctor.frontends.java.grammar import COMMENTS, Node, Positions, decode, new_parser
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.source import Comment, Span

__all__ = ["Annotation", "comments_of"]

_BLOCKS = frozenset(
    "program ERROR block constructor_body class_body interface_body annotation_type_body enum_body enum_body_declarations "
    "switch_block switch_block_statement_group".split()
)
_HEADED = frozenset(  # their parts belong to the statement that holds them
    "if_statement for_statement enhanced_for_statement while_statement do_statement try_statement labeled_statement "
    "try_with_resources_statement synchronized_statement catch_clause finally_clause switch_label".split()
)
_ABOVE = frozenset(("package_declaration", "import_declaration"))
_GROUP = "switch_block_statement_group"


class Annotation(NamedTuple):
    """One string of a @SuppressWarnings; `first` to `last` are the lines of the declaration.

    `beside` is the comment after it on its line.
    """

    span: Span
    text: str
    beside: str
    first: int
    last: int


class _Header(NamedTuple):
    """A statement, or its part up to a `{`: byte offsets, then lines."""

    start: int
    end: int
    first: int
    last: int


def comments_of(data: bytes) -> tuple[list[Comment], list[Annotation]]:
    """Return all comments and annotation strings, in order.  A comment after the last statement describes no line."""
    source = decode("", data)
    if isinstance(source, Unreadable):
        return [], []
    file = _File(source)
    found = [comment for node in file.comments for comment in file.read(node)]
    return found, [file.annotation(node) for node in file.strings]


class _File:
    """One parsed file: its comments, the strings of its @SuppressWarnings, and the code on each line."""

    def __init__(self, source: bytes) -> None:
        self._positions = Positions(source)
        self._root = new_parser().parse(source).root_node
        self._code: dict[int, list[tuple[int, _Header | None]]] = {}  # by row
        self.comments: list[Node] = []
        self.strings: list[Node] = []
        tops = [each for each in self._root.children if each.type not in COMMENTS]
        self._top = next((each.start_byte for each in tops if each.type not in _ABOVE), len(source))
        waiting: list[tuple[Node, Sequence[_Header], bool]] = [(self._root, (), False)]
        while waiting:
            node, headers, suppresses = waiting.pop()
            if node.type in COMMENTS:
                self.comments.append(node)
                continue
            if suppresses and node.type == "string_literal":
                self.strings.append(node)
            suppresses = suppresses or _suppresses(node)
            if not node.children or node.type == "string_literal":
                self._add_code(node, headers)
                continue
            for each in reversed(node.children):
                own = _headers(each) if node.type in _BLOCKS and each.is_named else headers
                waiting.append((each, own, suppresses))

    def _add_code(self, token: Node, headers: Sequence[_Header]) -> None:
        place = token.start_byte
        header = next((each for each in headers if each.start <= place < each.end), None)
        for row in {token.start_point[0], token.end_point[0]}:
            self._code.setdefault(row, []).append((place, header))

    def read(self, node: Node) -> Iterator[Comment]:
        """Yield a comment line by line, without the sign that closes it."""
        span = self._positions.span(node)
        text = self._positions.text(node)
        text = text.removesuffix("*/") if text.startswith("/*") else text
        for number, piece in enumerate(re.split(r"\r?\n", text)):
            body = piece.strip()
            line = span.line + number
            column = span.column if number == 0 else piece.find(body) + 1
            mark = body if body[:1] in ("/", "*") else f"*{body}"
            first, last = self._lines(node, line - 1)
            yield Comment(
                line=line,
                column=column - len(mark) + len(body),
                text=mark,
                at_top=node.start_byte < self._top,
                first=first,
                last=last,
            )

    def _lines(self, comment: Node, row: int) -> tuple[int, int]:
        """Return the first and last line of the code that a comment on that row describes."""
        code = [header for place, header in self._code.get(row, ()) if place < comment.start_byte]
        headers = [header for header in code if header is not None]
        if headers:
            return min(each.first for each in headers), max(row + 1, *(each.last for each in headers))
        if code:  # a brace that closes a block
            return row + 1, row + 1
        found = _header_of(comment)
        return (found.first, found.last) if found else (0, 0)

    def annotation(self, node: Node) -> Annotation:
        """Return a string of a @SuppressWarnings with the lines of its declaration."""
        row = node.start_point[0]
        owner = node
        while owner.parent is not None and owner.parent.type not in _BLOCKS:
            owner = owner.parent
        at = bisect_right(self.comments, node.start_byte, key=lambda comment: comment.start_byte)
        beside = [each for each in self.comments[at:] if each.start_point[0] == row]
        return Annotation(
            span=self._positions.span(node),
            text=self._positions.text(node).strip('"'),
            beside=self._positions.text(beside[-1]) if beside else "",
            first=owner.start_point[0] + 1,
            last=owner.end_point[0] + 1,
        )


def _suppresses(node: Node) -> bool:
    name = node.child_by_field_name("name") if node.type == "annotation" else None
    return name is not None and (name.text or b"").endswith(b"SuppressWarnings")


def _header_of(comment: Node) -> _Header | None:
    """Return the header around a comment that is alone on its line, else the next one."""
    node = comment
    while node.parent is not None and node.parent.type not in _BLOCKS:
        node = node.parent
    if node != comment:  # inside a statement
        return next((each for each in _headers(node) if each.end > comment.start_byte), None)
    block = comment.parent
    while block is not None:
        after = (each for each in block.named_children if each.start_byte > comment.start_byte)
        statement = next((each for each in after if each.type not in COMMENTS), None)
        if statement is not None:
            return next(iter(_headers(statement)), None)
        if block.type != _GROUP:
            return _continuation(block)
        block = block.parent
    return None


def _continuation(block: Node) -> _Header | None:
    """Return the `else`, `catch` or `finally` on the line where a block ends."""
    node = block
    while node.parent is not None and node.parent.type not in _BLOCKS:
        node = node.parent
    last = block.end_point[0] + 1
    return next(
        (each for each in _headers(node) if each.start >= block.end_byte and each.first == last), None
    )


def _headers(statement: Node) -> list[_Header]:
    """Return the headers of a statement; one without a block of its own is its only header."""
    if statement.type in _BLOCKS and statement.type != _GROUP and statement.children:
        return [_header(statement.children[0], statement.children[0])]
    found: list[_Header] = []
    first: Node | None = None
    last: Node | None = None
    for part in _parts(statement):
        if part.type in COMMENTS:
            continue
        first = first or part
        last = part
        if part.type in _BLOCKS:
            found.append(_header(first, part.children[0] if part.children else part))
            first = None
    if first is not None and last is not None:
        found.append(_header(first, last))
    return found


def _header(first: Node, last: Node) -> _Header:
    return _Header(first.start_byte, last.end_byte, first.start_point[0] + 1, last.end_point[0] + 1)


def _parts(node: Node) -> Iterator[Node]:
    """Yield the parts of a statement in order, those of the statements in it that are no block's included."""
    if not node.children:
        yield node
        return
    waiting = list(reversed(node.children))
    while waiting:
        part = waiting.pop()
        if (
            node.type == _GROUP
            and part.is_named
            and part.type != "switch_label"
            and part.type not in COMMENTS
        ):
            return  # a group of cases has its statements behind its labels
        if part.type in _HEADED:
            waiting += reversed(part.children)
        else:
            yield part
