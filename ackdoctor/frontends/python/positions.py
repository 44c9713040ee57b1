"""Source positions of the nodes of a libcst tree."""

import re
from bisect import bisect_right

import libcst as cst

from ackdoctor.frontends.python.measure import measure
from ackdoctor.frontends.python.python2 import Translation
from ackdoctor.model.source import Span

__all__ = ["Positions"]

_BLANKS = tuple(" \t\f\r\n\\")
_LINE_END = re.compile(r"\r\n|\r|\n")


class Positions:
    """Spans and source text of the nodes of one module; the module must outlive it.

    `text` is the parsed text.  Positions refer to the original text if `translation` produced `text` from it.
    """

    def __init__(self, module: cst.Module, text: str, translation: Translation | None = None) -> None:
        tape, length = measure(module)
        self._extents = tape.extents
        self._headers = tape.headers
        if length != len(text):
            self._move(*_aligned(module.code, text))
        if translation is not None:
            origins = [translation.origin(offset) for offset in range(len(text) + 1)]
            self._move(origins, origins)
        self._text = text if translation is None else translation.old
        self._lines = [0, *(end.end() for end in _LINE_END.finditer(self._text))]

    def _move(self, starts: list[int], ends: list[int]) -> None:
        """Map every offset to another text."""
        self._extents = {key: (starts[start], ends[end]) for key, (start, end) in self._extents.items()}
        self._headers = {key: ends[end] for key, end in self._headers.items()}

    def span(self, node: cst.CSTNode) -> Span:
        """The node without surrounding white space and parentheses; a comprehension's `for` ends before its `if`."""
        return self._between(*self._extents[id(node)])

    def whole(self) -> Span:
        """The whole file."""
        return self._between(0, len(self._text))

    def header(self, node: cst.CSTNode) -> Span:
        """A compound statement up to its colon, without the space before it."""
        return self._between(self._extents[id(node)][0], self._headers[id(node)])

    def through(self, node: cst.CSTNode, last: cst.CSTNode) -> Span:
        """From the start of one node to the end of another, including their parentheses."""
        first = node.lpar[0] if isinstance(node, cst.BaseExpression) and node.lpar else node
        last = last.rpar[-1] if isinstance(last, cst.BaseExpression) and last.rpar else last
        return self._between(self._extents[id(first)][0], self._extents[id(last)][1])

    def word(self, node: cst.CSTNode, length: int) -> Span:
        """The first characters of a node, usually its keyword."""
        start = self._extents[id(node)][0]
        return self._between(start, start + length)

    def text(self, node: cst.CSTNode) -> str:
        """The source text of a node."""
        start, end = self._extents[id(node)]
        return self._text[start:end]

    def repeated(self, node: cst.CSTNode) -> bool:
        """Whether the text of a node occurs more than once in the file."""
        return self._text.count(self.text(node)) > 1

    def start(self, node: cst.CSTNode) -> int:
        """The offset of a node in the file."""
        return self._extents[id(node)][0]

    def _between(self, start: int, end: int) -> Span:
        lines = self._lines
        first = bisect_right(lines, start)
        last = first if first == len(lines) or end < lines[first] else bisect_right(lines, end)
        return Span(first, start - lines[first - 1] + 1, last, end - lines[last - 1] + 1)


def _aligned(code: str, text: str) -> tuple[list[int], list[int]]:
    """Map the offsets of a tree's generated code to the parsed text, as starts and as ends.

    libcst loses some white space: a form feed at the start of a line, a continuation before a statement, the space
    before the colon of some headers.
    """
    starts, ends = [], [0]
    place = 0
    for char in code:
        found = place
        while not text.startswith(char, found) and text[found : found + 1] in _BLANKS:
            found += 1
        if text.startswith(char, found):
            place = found
            starts.append(place)
            place += 1
        else:  # the text does not have this character: its width is 0
            starts.append(place)
        ends.append(place)
    return [*starts, place], ends
