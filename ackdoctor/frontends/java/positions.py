"""Where the nodes of a tree stand, in lines and characters."""

from ackdoctor.frontends.java.grammar import Node
from ackdoctor.model.source import Span

__all__ = ["Positions"]


class Positions:
    """Spans and texts of the nodes of one file; `data` is its UTF-8."""

    __slots__ = ("_data", "_wide", "_words")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._words: dict[bytes, str] = {}
        self._wide: dict[int, bytes] = {}  # the lines in which a character is more than one byte
        if not data.isascii():
            lines = enumerate(data.split(b"\n"))
            self._wide = {row: line for row, line in lines if not line.isascii()}

    def span(self, node: Node) -> Span:
        """The whole of a node."""
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
        """The first characters of a node: its keyword."""
        span = self.span(node)
        return Span(span.line, span.column, span.line, span.column + length)

    def whole(self) -> Span:
        """All of the file."""
        rows = self._data.count(b"\n")
        last = self._data[self._data.rfind(b"\n") + 1 :]
        return Span(1, 1, rows + 1, len(last.decode()) + 1)

    def text(self, node: Node) -> str:
        """The node as written."""
        data = self._data[node.start_byte : node.end_byte]
        word = self._words.get(data)
        if word is None:
            word = self._words[data] = data.decode()
        return word

    def beginning(self, node: Node, size: int) -> str:
        """At most that many bytes of the node as written; a character cut in two is left out."""
        end = min(node.end_byte, node.start_byte + size)
        return self._data[node.start_byte : end].decode("utf-8", "ignore")

    def _column(self, row: int, column: int) -> int:
        line = self._wide.get(row)
        return column if line is None else len(line[:column].decode("utf-8", "replace"))
