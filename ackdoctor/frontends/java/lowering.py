"""The state of lowering (a `SourceFile` per file, a `Lowering` per function), and reports of what cannot be read.

The functions that lower a node type are in the sibling modules, in tables by node type.  They call each other
through the tables, so that the modules do not import each other.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from ackdoctor.flow.build import CfgBuilder, Fork
from ackdoctor.frontends.java.grammar import COMMENTS, Node, Positions
from ackdoctor.frontends.java.scope import Frame, Imported, Owner, type_name
from ackdoctor.model.cfg import ClassInfo, Expr, Function, Mix, Name
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.source import Span

__all__ = [
    "TOO_DEEP",
    "UNREADABLE",
    "Lowering",
    "SourceFile",
    "Statements",
    "Tables",
    "Values",
    "has_error",
    "report",
    "report_error",
    "report_other_errors",
]


Values: TypeAlias = Mapping[str, Callable[["Lowering", Node], Expr]]
Forks: TypeAlias = Mapping[str, Callable[["Lowering", Node], Fork]]
Statements: TypeAlias = Mapping[str, Callable[["Lowering", Node], None]]


class Tables(NamedTuple):
    """How to lower a node: as a value, as a value without steps, as a condition, as a statement, as a class."""

    values: Values
    pure: Values
    forks: Forks
    plain_fork: Callable[["Lowering", Node], Fork]
    statements: Statements
    declare: Callable[["SourceFile", Node, Owner | Frame | None], ClassInfo | None]
    enum_body: Callable[["SourceFile", Node, Owner], None]


class SourceFile:
    """The state that all functions of a file share."""

    def __init__(self, *, path: str, module: str, positions: Positions, tables: Tables) -> None:
        self.path = path
        self.module = module
        self.positions = positions
        self.tables = tables
        self.imported = Imported()
        self.classes: dict[str, ClassInfo] = {}
        self.broken: list[Unreadable] = []
        self.unread: list[tuple[int, int]] = []  # byte ranges whose errors are reported
        self.quiet = False  # the current code was lowered before: add no classes
        self._counts: dict[str, int] = {}
        self._keys: dict[tuple[int, str], str] = {}

    def qualname(self, node: Node, name: str) -> str:
        """A unique name for a definition: the second `f` of a file is `f#2`."""
        key = self._keys.get((node.id, name))
        if key is None:
            count = self._counts[name] = self._counts.get(name, 0) + 1
            key = self._keys[node.id, name] = name if count == 1 else f"{name}#{count}"
        return key

    def anonymous_name(self, node: Node, within: str) -> str:
        """The name of an anonymous class: `$1`, `$2` in the order of the enclosing class."""
        key = self._keys.get((node.id, "$"))
        if key is None:
            count = self._counts[f"{within}.$"] = self._counts.get(f"{within}.$", 0) + 1
            key = self._keys[node.id, "$"] = f"${count}"
        return key


class Lowering:
    """The lowering of one function, method or lambda."""

    __slots__ = ("builder", "closures", "file", "frame", "label", "qualname", "result", "values")

    def __init__(self, file: SourceFile, frame: Frame, qualname: str, span: Span) -> None:
        self.file = file
        self.frame = frame
        self.qualname = qualname
        self.builder = CfgBuilder(span)
        self.closures: dict[str, Function] = {}
        self.values = file.tables.values
        self.label: str | None = None  # of the next statement
        self.result: Name | None = None  # of the enclosing switch expression

    def value(self, node: Node) -> Expr:
        """The value of an expression; its calls become steps."""
        return self.values[node.type](self, node)

    def pure(self, node: Node) -> Expr:
        """The value of an expression that does not run here: a call becomes a `Mix`, not a step."""
        before, self.values = self.values, self.file.tables.pure
        try:
            return self.values[node.type](self, node)
        finally:
            self.values = before

    def fork(self, node: Node) -> Fork:
        """The edges of a condition; the builder's frontier is empty afterwards."""
        tables = self.file.tables
        return tables.forks.get(node.type, tables.plain_fork)(self, node)

    def statement(self, node: Node) -> None:
        """Lower one statement."""
        self.file.tables.statements[node.type](self, node)

    def block(self, node: Node) -> None:
        """Lower a statement or a block in its own scope."""
        with self.frame.block():
            self.statement(node)

    def run(self, statements: Iterable[Node]) -> None:
        """Lower statements in order; stop at the first unreachable one."""
        table = self.file.tables.statements
        for node in statements:
            if not self.builder.alive:
                return
            kind = node.type
            if kind not in COMMENTS:
                table[kind](self, node)

    def take_label(self) -> str | None:
        """Take the label of the current statement."""
        label, self.label = self.label, None
        return label

    @contextmanager
    def yielding(self, result: Name) -> Iterator[None]:
        """`yield` assigns to this temporary."""
        before, self.result = self.result, result
        try:
            yield
        finally:
            self.result = before

    def span(self, node: Node) -> Span:
        """The position of a node."""
        return self.file.positions.span(node)

    def text(self, node: Node) -> str:
        """The source text of a node."""
        return self.file.positions.text(node)

    def type_name(self, node: Node) -> str:
        """A type as written, without its arguments and brackets."""
        return type_name(self.file.positions, node)


# ---- what cannot be read ----

UNREADABLE = Mix("unreadable", ())
"""Unknown code: as a function it may do anything, as a base class it may declare anything."""

TOO_DEEP = "nested too deeply"
_MOST = 20  # reports per file; a file with more is not Java
_LONGEST = 30  # quoted characters


def report(file: SourceFile, node: Node, reason: str, skipped: str) -> None:
    """Report a reason at a node and what it makes unreadable; reports at the same place are joined."""
    span = file.positions.span(node)
    line, column = span.line, span.column
    for place, earlier in enumerate(file.broken):
        if (earlier.line, earlier.column) == (line, column):
            if skipped not in earlier.reason.split("; "):
                joined = f"{earlier.reason}; {skipped}"
                file.broken[place] = Unreadable(path=file.path, line=line, column=column, reason=joined)
            return
    if len(file.broken) < _MOST:
        reason = f"{reason}; {skipped}"
        file.broken.append(Unreadable(path=file.path, line=line, column=column, reason=reason))


def report_error(file: SourceFile, node: Node, skipped: str) -> None:
    """Report the first syntax error in a node and what it makes unreadable."""
    file.unread.append((node.start_byte, node.end_byte))
    if len(file.broken) == _MOST:
        return
    error = _first_error(node)
    if error.is_missing:
        what = f"`{error.type}` is missing"
    else:
        words = file.positions.beginning(error, 4 * _LONGEST).split()
        quoted = " ".join(words)[:_LONGEST]
        what = f"at `{quoted}`" if quoted else "here"
    report(file, error, f"syntax error: {what}", skipped)


def report_other_errors(file: SourceFile, root: Node) -> None:
    """Report the errors outside the functions and classes already reported."""
    pending = [root]
    while pending and len(file.broken) < _MOST:
        node = pending.pop()
        if any(start <= node.start_byte and node.end_byte <= end for start, end in file.unread):
            continue
        if node.is_error or node.is_missing:
            report_error(file, node, "skipped")
        elif node.has_error:
            pending.extend(reversed(node.children))


def has_error(nodes: Iterable[Node]) -> bool:
    """Whether one of some sibling nodes is an error."""
    return any(node.is_error or node.is_missing for node in nodes)


def _first_error(node: Node) -> Node:
    while True:
        inner = next((each for each in node.children if each.has_error or each.is_missing), None)
        if inner is None:
            return _last(node) if node.is_error and node.start_point.row < node.end_point.row else node
        node = inner


def _last(node: Node) -> Node:
    """The last node in an error; the parser gives up after the last word of an error of many lines."""
    while node.named_children:
        node = node.named_children[-1]
    return node
