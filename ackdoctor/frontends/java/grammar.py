"""Java source and its syntax tree: decoding, the parser, and the nodes with their positions and texts."""

import codecs
import re
from collections.abc import Mapping
from typing import TypeVar

import tree_sitter_java
from tree_sitter import Language, Node, Parser

from ackdoctor.frontends.lowering import Table, UnknownSyntax
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.source import Span

__all__ = [
    "ANNOTATIONS",
    "COMMENTS",
    "Node",
    "Positions",
    "by_type",
    "child",
    "decode",
    "new_parser",
    "parts",
]


_LANGUAGE = Language(tree_sitter_java.language())
_V = TypeVar("_V")

ANNOTATIONS = frozenset({"annotation", "marker_annotation"})
COMMENTS = frozenset({"line_comment", "block_comment"})


def by_type(table: Mapping[str, _V]) -> Table[str, _V]:
    """A table whose keys are one or several node types, as a table by single node types."""
    return Table({name: value for names, value in table.items() for name in names.split()})


def new_parser() -> Parser:
    """A parser of Java."""
    return Parser(_LANGUAGE)


def parts(node: Node) -> list[Node]:
    """The named children without comments."""
    return [child for child in node.named_children if child.type not in COMMENTS]


def child(node: Node, field: str) -> Node:
    """The child in a field that the grammar requires."""
    found = node.child_by_field_name(field)
    if found is None:
        raise UnknownSyntax(f"{node.type} without a part")
    return found


_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_JUNK = re.compile(rb"[\x00-\x08\x0e-\x19\x1b-\x1f]")  # ^Z ends some files from Windows
_LINE_END = re.compile(rb"\r\n|\r|\n")


def decode(path: str, data: bytes) -> bytes | Unreadable:
    """The source as UTF-8 without a byte order mark, with a line feed at each line end.

    A Java file does not state its encoding: text that is not UTF-8 is read as Latin-1, as most old sources are.
    A file with control characters is not text.
    """
    if data.startswith(_WIDE):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeDecodeError as error:
            reason = f"cannot be decoded as utf-16: {error.reason}"
            return Unreadable(path=path, line=1, column=1, reason=reason)
    data = data.removeprefix(codecs.BOM_UTF8)
    junk = _JUNK.search(data)
    if junk is not None:
        ends = [end.end() for end in _LINE_END.finditer(data, 0, junk.start())]
        column = junk.start() - (ends[-1] if ends else 0) + 1
        reason = f"byte 0x{junk[0][0]:02x}: not source text"
        return Unreadable(path=path, line=len(ends) + 1, column=column, reason=reason)
    if b"\r" in data:  # an old Mac's line ends; columns stay what they are
        data = re.sub(rb"\r(?!\n)", b"\n", data)
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
    return data


class Positions:
    """Positions and texts of the nodes of a file; `data` is its UTF-8."""

    __slots__ = ("_data", "_wide", "_words")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._words: dict[bytes, str] = {}
        self._wide: dict[int, bytes] = {}  # the lines in which a character is more than one byte
        if not data.isascii():
            lines = enumerate(data.split(b"\n"))
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

    def word(self, node: Node, length: int) -> Span:
        """The first characters of a node, usually its keyword."""
        span = self.span(node)
        return Span(span.line, span.column, span.line, span.column + length)

    def whole(self) -> Span:
        """The whole file."""
        rows = self._data.count(b"\n")
        last = self._data[self._data.rfind(b"\n") + 1 :]
        return Span(1, 1, rows + 1, len(last.decode()) + 1)

    def text(self, node: Node) -> str:
        """The source text of a node."""
        data = self._data[node.start_byte : node.end_byte]
        word = self._words.get(data)
        if word is None:
            word = self._words[data] = data.decode()
        return word

    def beginning(self, node: Node, size: int) -> str:
        """At most `size` bytes of the text of a node, without a partial character at the end."""
        end = min(node.end_byte, node.start_byte + size)
        return self._data[node.start_byte : end].decode("utf-8", "ignore")

    def _column(self, row: int, column: int) -> int:
        line = self._wide.get(row)
        return column if line is None else len(line[:column].decode("utf-8", "replace"))
