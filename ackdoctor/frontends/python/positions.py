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

    Where the parsed text was made from another one, `translation` leads back to that.
    """

    def __init__(self, module: cst.Module, translation: Translation | None = None) -> None:
        state = _Recording(module)
        module._codegen(state)  # noqa: SLF001 - the public way in builds a state of its own
        self._extents = state.extents
        self._offsets = [0, *accumulate(map(len, state.tokens))]
        self._text = "".join(state.tokens)
        if translation is not None:
            self._offsets = [translation.origin(offset) for offset in self._offsets]
            self._text = translation.old
        self._lines = [0, *(end.end() for end in _LINE_END.finditer(self._text))]

    def span(self, node: cst.CSTNode) -> Span:
        """The node without the white space and parentheses around it."""
        start, end = self._extents[id(node)]
        return self._between(self._offsets[start], self._offsets[end])

    def whole(self) -> Span:
        """All of the file."""
        return self._between(0, len(self._text))

    def until(self, node: cst.CSTNode, end: cst.CSTNode) -> Span:
        """From the start of one node to the start of another: a header, up to the white space before its colon."""
        return self._between(self._start(node), self._start(end))

    def through(self, node: cst.CSTNode, last: cst.CSTNode) -> Span:
        """From the start of one node to the end of another."""
        return self._between(self._start(node), self._offsets[self._extents[id(last)][1]])

    def word(self, node: cst.CSTNode, length: int) -> Span:
        """The first characters of a node: its keyword."""
        start = self._start(node)
        return self._between(start, start + length)

    def text(self, node: cst.CSTNode) -> str:
        """The node as written."""
        start, end = self._extents[id(node)]
        return self._text[self._offsets[start] : self._offsets[end]]

    def start(self, node: cst.CSTNode) -> int:
        """The offset of the node in the file: something to sort by."""
        return self._start(node)

    def _start(self, node: cst.CSTNode) -> int:
        return self._offsets[self._extents[id(node)][0]]

    def _between(self, start: int, end: int) -> Span:
        lines = self._lines
        first = bisect_right(lines, start)
        last = first if first == len(lines) or end < lines[first] else bisect_right(lines, end)
        return Span(first, start - lines[first - 1] + 1, last, end - lines[last - 1] + 1)
