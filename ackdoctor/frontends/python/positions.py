"""Where the nodes of a libcst tree stand, from one pass over the tree.

libcst's own position providers compute a line and a column for every token and every node.  Here
the code generator runs with a state that appends tokens to a list and notes, per node, between
which two tokens it stands; lines and columns are worked out only for the nodes that are asked for.
"""

import re
from bisect import bisect_right
from itertools import accumulate
from types import TracebackType

import libcst as cst
from libcst._nodes.internal import CodegenState

from ackdoctor.frontends.python.python2 import Translation
from ackdoctor.model.source import Span

__all__ = ["Positions"]

_BLANKS = tuple(" \t\f\r\n\\")
_LINE_END = re.compile(r"\r\n|\r|\n")


class _Recorder:
    """Notes the extent of one node without the white space and parentheses around it."""

    __slots__ = ("_end_node", "_node", "_start", "_start_node", "_state")

    def __init__(
        self,
        state: "_Recording",
        node: cst.CSTNode,
        start_node: cst.CSTNode | None,
        end_node: cst.CSTNode | None,
    ) -> None:
        self._state = state
        self._node = node
        self._start_node = start_node
        self._end_node = end_node
        self._start = len(state.tokens)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        extents = self._state.extents
        start = self._start if self._start_node is None else extents[id(self._start_node)][0]
        end = len(self._state.tokens) if self._end_node is None else extents[id(self._end_node)][1]
        extents[id(self._node)] = (start, end)


class _Recording(CodegenState):
    """A code generator state that keeps, per node, the numbers of its first token and of the one after its last."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.extents: dict[int, tuple[int, int]] = {}
        self._starts: list[int] = []

    def before_codegen(self, node: cst.CSTNode) -> None:  # noqa: ARG002
        self._starts.append(len(self.tokens))

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self._starts.pop()
        key = id(node)
        if key not in self.extents:
            self.extents[key] = (start, len(self.tokens))

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Recorder:
        return _Recorder(self, node, start_node, end_node)


class Positions:
    """Spans and source text of the nodes of one module; the module must outlive it.

    `text` is what was parsed; where it was made from another one, `translation` leads back to that.
    """

    def __init__(self, module: cst.Module, text: str, translation: Translation | None = None) -> None:
        state = _Recording(module)
        module._codegen(state)  # noqa: SLF001 - the public way in builds a state of its own
        self._extents = state.extents
        if "".join(state.tokens) == text:
            self._starts = self._ends = [0, *accumulate(map(len, state.tokens))]
        else:
            self._starts, self._ends = _aligned(state.tokens, text)
        self._text = text
        if translation is not None:
            self._starts = [translation.origin(offset) for offset in self._starts]
            self._ends = [translation.origin(offset) for offset in self._ends]
            self._text = translation.old
        self._lines = [0, *(end.end() for end in _LINE_END.finditer(self._text))]

    def span(self, node: cst.CSTNode) -> Span:
        """The node without the white space and parentheses around it."""
        start, end = self._extents[id(node)]
        return self._between(self._starts[start], self._ends[end])

    def whole(self) -> Span:
        """All of the file."""
        return self._between(0, len(self._text))

    def until(self, node: cst.CSTNode, end: cst.CSTNode) -> Span:
        """From the start of one node to where another begins: a header, up to the space before its colon."""
        return self._between(self.start(node), self._ends[self._extents[id(end)][0]])

    def through(self, node: cst.CSTNode, last: cst.CSTNode) -> Span:
        """From the start of one node to the end of another, their own parentheses included."""
        first = node.lpar[0] if isinstance(node, cst.BaseExpression) and node.lpar else node
        return self._between(self.start(first), self._end(last))

    def after(self, space: cst.CSTNode, last: cst.CSTNode) -> Span:
        """From the end of white space to the end of another node, its own parentheses included."""
        return self._between(self._starts[self._extents[id(space)][1]], self._end(last))

    def word(self, node: cst.CSTNode, length: int) -> Span:
        """The first characters of a node: its keyword."""
        start = self.start(node)
        return self._between(start, start + length)

    def text(self, node: cst.CSTNode) -> str:
        """The node as written."""
        start, end = self._extents[id(node)]
        return self._text[self._starts[start] : self._ends[end]]

    def start(self, node: cst.CSTNode) -> int:
        """The offset of the node in the file: something to sort by."""
        return self._starts[self._extents[id(node)][0]]

    def _end(self, node: cst.CSTNode) -> int:
        last = node.rpar[-1] if isinstance(node, cst.BaseExpression) and node.rpar else node
        return self._ends[self._extents[id(last)][1]]

    def _between(self, start: int, end: int) -> Span:
        lines = self._lines
        first = bisect_right(lines, start)
        last = first if first == len(lines) or end < lines[first] else bisect_right(lines, end)
        return Span(first, start - lines[first - 1] + 1, last, end - lines[last - 1] + 1)


def _aligned(tokens: list[str], text: str) -> tuple[list[int], list[int]]:
    """Where each token starts and ends in a text of which libcst has lost some blanks.

    It keeps no form feed at the start of a line, no continuation before a statement, and no space
    before the colon of some headers.
    """
    starts, ends = [], [0]
    place = 0
    for token in tokens:
        found = place
        while not text.startswith(token, found) and text[found : found + 1] in _BLANKS:
            found += 1
        if text.startswith(token, found):
            place = found
            starts.append(place)
            place += len(token)
        else:  # a token that stands nowhere takes no room
            starts.append(place)
        ends.append(place)
    return [*starts, place], ends
