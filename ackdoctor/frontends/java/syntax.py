"""Java source and its syntax tree: decoding, parsing, the positions and texts of nodes, and comments."""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import tree_sitter_java
from tree_sitter import Language, Node, Parser

from ackdoctor.frontends import UnknownSyntax, unreadable_after
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.source import Comment, Span

__all__ = [
    "ANNOTATIONS",
    "COMMENTS",
    "Annotation",
    "Node",
    "Positions",
    "by_type",
    "child",
    "comments_of",
    "decode",
    "parse",
    "parts",
]

_V = TypeVar("_V")
_LANGUAGE = Language(tree_sitter_java.language())
ANNOTATIONS = frozenset({"annotation", "marker_annotation"})
COMMENTS = frozenset({"line_comment", "block_comment"})

# ---- text ----

_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_JUNK = re.compile(rb"[\x00-\x08\x0e-\x19\x1b-\x1f]")  # ^Z ends some files from Windows


def decode(path: str, data: bytes) -> bytes | Unreadable:
    """The source as UTF-8 without a byte order mark, with a line feed at each line end.

    A Java file does not state its encoding: text that is not UTF-8 is read as Latin-1, as most old sources are.
    A file with control characters is not text.
    """
    if data.startswith(_WIDE):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeDecodeError as error:
            return unreadable_after("", path, f"cannot be decoded as utf-16: {error.reason}")
    data = data.removeprefix(codecs.BOM_UTF8)
    junk = _JUNK.search(data)
    if junk is not None:
        reason = f"byte 0x{junk[0][0]:02x}: not source text"
        return unreadable_after(data[: junk.start()], path, reason)
    data = re.sub(rb"\r(?!\n)", b"\n", data)  # an old Mac's line ends; columns stay what they are
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
    return data


# ---- nodes ----


def parse(source: bytes) -> Node:
    """The root of the syntax tree of decoded source."""
    return Parser(_LANGUAGE).parse(source).root_node


def parts(node: Node) -> list[Node]:
    """The named children without comments."""
    return [child for child in node.named_children if child.type not in COMMENTS]


def child(node: Node, field: str) -> Node:
    """The child in a field that the grammar requires."""
    found = node.child_by_field_name(field)
    if found is None:
        raise UnknownSyntax(f"{node.type} without a part")
    return found


def by_type(table: Mapping[str, _V]) -> dict[str, _V]:
    """A table whose keys are one or several node types, as a table by single node types."""
    return {name: value for names, value in table.items() for name in names.split()}


class Positions:
    """Positions and texts of the nodes of a file; `data` is its UTF-8."""

    __slots__ = ("_data", "_wide")

    def __init__(self, data: bytes) -> None:
        self._data = data
        lines = enumerate(() if data.isascii() else data.split(b"\n"))
        # the lines in which a character is more than one byte
        self._wide = {row: line for row, line in lines if not line.isascii()}

    def span(self, node: Node) -> Span:
        """The position of a node."""
        return self.through(node, node)

    def through(self, first: Node, last: Node) -> Span:
        """From the start of one node to the end of another."""
        row, column = first.start_point
        end_row, end_column = last.end_point
        if self._wide:
            column = self._column(row, column)
            end_column = self._column(end_row, end_column)
        return Span(row + 1, column + 1, end_row + 1, end_column + 1)

    def whole(self) -> Span:
        """The whole file."""
        *rest, last = self._data.split(b"\n")
        return Span(1, 1, len(rest) + 1, len(last.decode()) + 1)

    def text(self, node: Node) -> str:
        """The source text of a node."""
        return self._data[node.start_byte : node.end_byte].decode()

    def _column(self, row: int, column: int) -> int:
        line = self._wide.get(row)
        return column if line is None else len(line[:column].decode("utf-8", "replace"))


# ---- comments and @SuppressWarnings ----

# A statement is a child of a block.  A statement with a block of its own consists of headers: `if (a) {` is one,
# `} else {` has the next.  A comment describes the headers that have code before it on its line.  Alone on its line it
# describes the header around it, else the next statement.  An annotation describes its declaration, body included.

_GROUP = "switch_block_statement_group"
_BLOCKS = frozenset(
    "program ERROR block constructor_body class_body interface_body annotation_type_body enum_body enum_body_declarations "
    "switch_block switch_block_statement_group".split()
)
_HEADED = frozenset(  # their parts belong to the statement that holds them
    "if_statement for_statement enhanced_for_statement while_statement do_statement try_statement labeled_statement "
    "try_with_resources_statement synchronized_statement catch_clause finally_clause switch_label".split()
)


class Annotation(NamedTuple):
    """One string of a @SuppressWarnings; `first` to `last` are the lines of the declaration.

    `beside` is the comment after it on its line.
    """

    span: Span
    text: str
    beside: str
    first: int
    last: int


def comments_of(data: bytes) -> tuple[list[Comment], list[Annotation]]:
    """Return all comments and annotation strings, in order.  A comment after the last statement describes no line."""
    source = decode("", data)
    if isinstance(source, Unreadable):
        return [], []
    file = _CommentedFile(source)
    return [comment for node in file.comments for comment in file.read(node)], list(file.annotations())


class _Header(NamedTuple):
    """A statement, or its part up to a `{`: byte offsets, then lines."""

    start: int
    end: int
    first: int
    last: int


class _Visit(NamedTuple):
    """A node on the way through the tree, with the innermost statement that it is or that holds it.

    `after` is the header that follows the statement in its block.
    """

    node: Node
    statement: Node
    headers: Sequence[_Header]
    after: _Header | None = None
    suppresses: bool = False


class _CommentedFile:
    """One parsed file: its comments, the strings of its @SuppressWarnings, and the code on each line."""

    def __init__(self, source: bytes) -> None:
        self._positions = Positions(source)
        root = parse(source)
        above = COMMENTS | {"package_declaration", "import_declaration"}
        self._top = next((each.start_byte for each in root.children if each.type not in above), len(source))
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
                place = node.start_byte
                header = next((each for each in visit.headers if each.start <= place < each.end), None)
                for row in {node.start_point[0], node.end_point[0]}:
                    self._code.setdefault(row, []).append((place, header))
            else:
                waiting += self._visit_block(visit) if node.type in _BLOCKS else self._visit_part(visit)

    def _visit_block(self, visit: _Visit) -> Iterator[_Visit]:
        """Yield the children of a block, the last one first."""
        block = visit.node
        following = visit.after
        if block.type != _GROUP:  # the `else`, `catch` or `finally` on the line where the block ends
            line = block.end_point[0] + 1
            beside = (each for each in visit.headers if each.start >= block.end_byte and each.first == line)
            following = next(beside, None)
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
        name = visit.node.child_by_field_name("name") if visit.node.type == "annotation" else None
        named = name is not None and self._positions.text(name).endswith("SuppressWarnings")
        for each in reversed(visit.node.children):
            if each.type in COMMENTS:
                around = (header for header in visit.headers if header.end > each.start_byte)
                self._next[each.id] = next(around, None)
            yield visit._replace(node=each, suppresses=visit.suppresses or named)

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


def _headers(statement: Node) -> list[_Header]:
    """Return the headers of a statement; one without a block of its own is its only header."""
    spans: list[tuple[Node, Node]] = []
    if statement.type in _BLOCKS and statement.type != _GROUP and statement.children:
        spans = [(statement.children[0], statement.children[0])]
    else:
        first: Node | None = None
        last: Node | None = None
        for part in _parts(statement):
            first, last = first or part, part
            if part.type in _BLOCKS:
                spans.append((first, part.children[0] if part.children else part))
                first = None
        if first is not None and last is not None:
            spans.append((first, last))
    return [
        _Header(first.start_byte, last.end_byte, first.start_point[0] + 1, last.end_point[0] + 1)
        for first, last in spans
    ]


def _parts(node: Node) -> Iterator[Node]:
    """Yield the parts of a statement in order, those of the statements in it that are no block's included."""
    waiting = list(reversed(node.children)) or [node]
    while waiting:
        part = waiting.pop()
        if part.type in COMMENTS:
            continue
        if node.type == _GROUP and part.is_named and part.type != "switch_label":
            return  # a group of cases has its statements behind its labels
        if part.type in _HEADED:
            waiting += reversed(part.children)
        else:
            yield part
