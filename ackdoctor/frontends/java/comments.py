"""The comments and @SuppressWarnings of a Java file, and the statement that each of them describes.

A statement is a child of a block.  A statement with a block of its own consists of headers: `if (a) {` is one,
`} else {` has the next.  A comment describes the headers that have code before it on its line.  Alone on its line it
describes the header around it, else the next statement.  An annotation describes its declaration, body included.
"""

import re
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
    return [comment for node in file.comments for comment in file.read(node)], list(file.annotations())


class _Visit(NamedTuple):
    """A node on the way through the tree, with the innermost statement that it is or that holds it.

    `after` is the header that follows the statement in its block.
    """

    node: Node
    statement: Node
    headers: Sequence[_Header]
    after: _Header | None = None
    suppresses: bool = False


class _File:
    """One parsed file: its comments, the strings of its @SuppressWarnings, and the code on each line."""

    def __init__(self, source: bytes) -> None:
        self._positions = Positions(source)
        root = new_parser().parse(source).root_node
        tops = (each.start_byte for each in root.children if each.type not in COMMENTS | _ABOVE)
        self._top = next(tops, len(source))
        self._code: dict[int, list[tuple[int, _Header | None]]] = {}  # by row
        self._next: dict[int, _Header | None] = {}  # by comment: the header around it, else the next one
        self.comments: list[Node] = []
        self._strings: list[tuple[Node, Node]] = []  # with their statements
        waiting = [_Visit(root, root, ())]
        while waiting:
            visit = waiting.pop()
            node = visit.node
            if node.type in COMMENTS:
                self.comments.append(node)
            elif node.type == "string_literal" or not node.children:
                if visit.suppresses and node.type == "string_literal":
                    self._strings.append((node, visit.statement))
                self._add_code(node, visit.headers)
            elif node.type in _BLOCKS:
                waiting += self._visit_block(visit)
            else:
                waiting += self._visit_part(visit)

    def _visit_block(self, visit: _Visit) -> Iterator[_Visit]:
        """Yield the children of a block, the last one first."""
        block = visit.node
        following = visit.after if block.type == _GROUP else _continuation(block, visit.headers)
        for each in reversed(block.children):
            if each.type in COMMENTS:
                self._next[each.id] = following
                yield _Visit(each, block, ())
            elif each.is_named:
                headers = _headers(each)
                yield _Visit(each, each, headers, following)
                following = headers[0] if headers else following
            else:
                yield visit._replace(node=each)

    def _visit_part(self, visit: _Visit) -> Iterator[_Visit]:
        """Yield the children of a part of a statement, the last one first."""
        suppresses = visit.suppresses or _suppresses(visit.node)
        for each in reversed(visit.node.children):
            if each.type in COMMENTS:
                around = (header for header in visit.headers if header.end > each.start_byte)
                self._next[each.id] = next(around, None)
            yield visit._replace(node=each, suppresses=suppresses)

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
        found = self._next[comment.id]
        return (found.first, found.last) if found else (0, 0)

    def annotations(self) -> Iterator[Annotation]:
        """Yield the strings of @SuppressWarnings, with the lines of their declarations."""
        beside = {comment.start_point[0]: comment for comment in self.comments}  # the last one on each row
        for node, declaration in self._strings:
            comment = beside.get(node.start_point[0])
            after = comment is not None and comment.start_byte > node.start_byte
            yield Annotation(
                span=self._positions.span(node),
                text=self._positions.text(node).strip('"'),
                beside=self._positions.text(comment) if comment is not None and after else "",
                first=declaration.start_point[0] + 1,
                last=declaration.end_point[0] + 1,
            )


def _suppresses(node: Node) -> bool:
    name = node.child_by_field_name("name") if node.type == "annotation" else None
    return name is not None and (name.text or b"").endswith(b"SuppressWarnings")


def _continuation(block: Node, headers: Sequence[_Header]) -> _Header | None:
    """Return the `else`, `catch` or `finally` on the line where a block ends."""
    last = block.end_point[0] + 1
    return next((each for each in headers if each.start >= block.end_byte and each.first == last), None)


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
