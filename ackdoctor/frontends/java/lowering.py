"""The state of lowering (a `SourceFile` per file, a `Lowering` per function), and reports of what cannot be read.

The functions that lower a node type are in the sibling modules, in tables by node type.  They call each other
through the tables, so that the modules do not import each other.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from ackdoctor.flow.build import CfgBuilder, Fork
from ackdoctor.frontends.java.grammar import COMMENTS, Node
from ackdoctor.frontends.java.scope import Frame, Outside, Owner, type_name
from ackdoctor.frontends.java.source import Positions
from ackdoctor.model.cfg import Bind, Expr, Mix, Name
from ackdoctor.model.component import ClassInfo, Function
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.source import Span

__all__ = ["TOO_DEEP", "UNREAD", "Lowering", "SourceFile", "Tables", "complain", "has_gap", "note", "sweep"]


Values: TypeAlias = Mapping[str, Callable[["Lowering", Node], Expr]]
Forks: TypeAlias = Mapping[str, Callable[["Lowering", Node], Fork]]
Statements: TypeAlias = Mapping[str, Callable[["Lowering", Node], None]]


class Tables(NamedTuple):
    """Who lowers which node: values in code, values where no step may be made, conditions, statements, classes."""

    values: Values
    pure: Values
    forks: Forks
    plain_fork: Callable[["Lowering", Node], Fork]
    statements: Statements
    declare: Callable[["SourceFile", Node, Owner | Frame | None], ClassInfo | None]
    enum_body: Callable[["SourceFile", Node, Owner], None]


class SourceFile:
    """What all functions of one file share while it is lowered."""

    __slots__ = (
        "_counts",
        "_keys",
        "broken",
        "classes",
        "module",
        "outside",
        "path",
        "positions",
        "quiet",
        "tables",
        "unread",
    )

    def __init__(self, *, path: str, module: str, positions: Positions, tables: Tables) -> None:
        self.path = path
        self.module = module
        self.positions = positions
        self.tables = tables
        self.outside = Outside()
        self.classes: dict[str, ClassInfo] = {}
        self.broken: list[Unreadable] = []
        self.unread: list[tuple[int, int]] = []  # stretches of bytes whose errors are told
        self.quiet = False  # classes found now are known already
        self._counts: dict[str, int] = {}
        self._keys: dict[tuple[int, str], str] = {}

    def qualname(self, node: Node, wanted: str) -> str:
        """A name unique in the file for a definition: the second `f` is `f#2`; a node always gets the same one."""
        key = self._keys.get((node.id, wanted))
        if key is None:
            count = self._counts[wanted] = self._counts.get(wanted, 0) + 1
            key = self._keys[node.id, wanted] = wanted if count == 1 else f"{wanted}#{count}"
        return key

    def number(self, node: Node, within: str) -> str:
        """The name of an anonymous class: `$1`, `$2` by order in the class around."""
        key = self._keys.get((node.id, "$"))
        if key is None:
            count = self._counts[f"{within}.$"] = self._counts.get(f"{within}.$", 0) + 1
            key = self._keys[node.id, "$"] = f"${count}"
        return key


class Lowering:
    """One function, method or lambda being lowered."""

    __slots__ = ("builder", "closures", "file", "frame", "label", "qualname", "result", "values")

    def __init__(self, file: SourceFile, frame: Frame, qualname: str, span: Span) -> None:
        self.file = file
        self.frame = frame
        self.qualname = qualname
        self.builder = CfgBuilder(span)
        self.closures: dict[str, Function] = {}
        self.values = file.tables.values
        self.label: str | None = None  # of the statement that comes now
        self.result: Name | None = None  # of the switch expression around

    def value(self, node: Node) -> Expr:
        """The value of an expression; the calls in it become steps."""
        return self.values[node.type](self, node)

    def pure(self, node: Node) -> Expr:
        """The value of an expression that is not executed here: no step is made, a call is a `Mix`."""
        before, self.values = self.values, self.file.tables.pure
        try:
            return self.values[node.type](self, node)
        finally:
            self.values = before

    def fork(self, node: Node) -> Fork:
        """A condition; the builder's frontier is empty afterwards."""
        tables = self.file.tables
        return tables.forks.get(node.type, tables.plain_fork)(self, node)

    def store(self, value: Expr, span: Span) -> Expr:
        """The value in a temporary of its own."""
        result = self.builder.temp()
        self.builder.add(Bind(result, value), span)
        return result

    def statement(self, node: Node) -> None:
        """One statement."""
        self.file.tables.statements[node.type](self, node)

    def block(self, node: Node) -> None:
        """A statement with a block of its own, or the statements of a block."""
        with self.frame.block():
            self.statement(node)

    def run(self, statements: Iterable[Node]) -> None:
        """Statements in order, as far as they can be reached."""
        table = self.file.tables.statements
        for node in statements:
            if not self.builder.alive:
                return
            kind = node.type
            if kind not in COMMENTS:
                table[kind](self, node)

    def take_label(self) -> str | None:
        """The label in front of the statement that is lowered now."""
        label, self.label = self.label, None
        return label

    @contextmanager
    def yielding(self, result: Name) -> Iterator[None]:
        """`yield` hands its value to this temporary."""
        before, self.result = self.result, result
        try:
            yield
        finally:
            self.result = before

    def span(self, node: Node) -> Span:
        """Where a node stands."""
        return self.file.positions.span(node)

    def text(self, node: Node) -> str:
        """The node as written."""
        return self.file.positions.text(node)

    def type_name(self, node: Node) -> str:
        """A type as written, without its arguments and brackets."""
        return type_name(self.file.positions, node)


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
