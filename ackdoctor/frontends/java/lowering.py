"""The state of lowering: one `SourceFile`, and in it one `Lowering` per function.

The functions that know a node type live in the sibling modules, one table per kind of node; they
reach each other only through the tables, so that none of those modules imports another.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from ackdoctor.flow.graph.build import CfgBuilder, Fork
from ackdoctor.frontends.java.grammar import COMMENTS, Node
from ackdoctor.frontends.java.positions import Positions
from ackdoctor.frontends.java.scope import Frame, Outside, Owner
from ackdoctor.frontends.java.typenames import type_name
from ackdoctor.model.cfg import Bind, Expr, Name
from ackdoctor.model.component import ClassInfo, Function
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.source import Span

__all__ = ["Lowering", "SourceFile", "Tables"]

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
