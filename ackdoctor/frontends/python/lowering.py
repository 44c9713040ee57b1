"""The state of lowering: one `SourceFile`, and in it one `Lowering` per function.

The functions that lower a node type are in the sibling modules, in tables by node type.  They call each other
through the tables, so that the modules do not import each other.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import libcst as cst

from ackdoctor.flow.build import CfgBuilder, Fork
from ackdoctor.frontends.python.positions import Positions
from ackdoctor.frontends.python.scope import Imports, Scope
from ackdoctor.model.cfg import ClassInfo, Expr, Function
from ackdoctor.model.source import Span

__all__ = ["Forks", "Lowering", "SourceFile", "Statements", "Tables", "Values"]

# The key of an entry is the type of its node argument.
Values: TypeAlias = Mapping[type, Callable[["Lowering", Any], Expr]]
Forks: TypeAlias = Mapping[type, Callable[["Lowering", Any], Fork]]
Statements: TypeAlias = Mapping[type, Callable[["Lowering", Any], None]]

_BRACKETED = frozenset({cst.Tuple, cst.GeneratorExp})


class Tables(NamedTuple):
    """How to lower a node: as a value, as a value without steps, as a condition, as a statement, as a target."""

    values: Values
    pure: Values
    forks: Forks
    plain_fork: Callable[["Lowering", Any], Fork]
    statements: Statements
    bind: Callable[["Lowering", cst.CSTNode, Expr, Span], None]


class SourceFile:
    """The state that all functions of a file share."""

    def __init__(
        self, *, path: str, module: str, positions: Positions, tables: Tables, imports: Imports, text: str
    ) -> None:
        self.path = path
        self.module = module
        self.positions = positions
        self.tables = tables
        self.has_yield = "yield" in text
        self.has_walrus = ":=" in text
        self.module_names: set[str] = set()  # bound at module level
        self.imports = imports
        self.classes: dict[str, ClassInfo] = {}
        self._counts: dict[str, int] = {}
        self._keys: dict[int, str] = {}

    def qualname(self, node: cst.CSTNode, name: str) -> str:
        """A unique name for a definition: the second `f` of a file is `f#2`."""
        key = self._keys.get(id(node))
        if key is None:
            count = self._counts[name] = self._counts.get(name, 0) + 1
            key = self._keys[id(node)] = name if count == 1 else f"{name}#{count}"
        return key


class Lowering:
    """The lowering of one function, method, lambda or module body."""

    __slots__ = ("builder", "closures", "file", "filters", "qualname", "scope", "values")

    def __init__(self, file: SourceFile, scope: Scope, qualname: str, span: Span) -> None:
        self.file = file
        self.scope = scope
        self.qualname = qualname
        self.builder = CfgBuilder(span)
        self.closures: dict[str, Function] = {}
        # the result of a comprehension's filter by batch, variable and test; False for a negation
        self.filters: dict[tuple[str, ...], tuple[Expr, bool]] = {}
        self.values = file.tables.values

    def value(self, node: cst.CSTNode) -> Expr:
        """The value of an expression; its calls become steps."""
        return self.values[type(node)](self, node)

    def pure(self, node: cst.CSTNode) -> Expr:
        """The value of an expression that does not run here: a call becomes a `Mix`, not a step."""
        before, self.values = self.values, self.file.tables.pure
        try:
            return self.values[type(node)](self, node)
        finally:
            self.values = before

    def fork(self, node: cst.CSTNode) -> Fork:
        """The edges of a condition; the builder's frontier is empty afterwards."""
        tables = self.file.tables
        return tables.forks.get(type(node), tables.plain_fork)(self, node)

    def bind(self, target: cst.CSTNode, value: Expr, span: Span) -> None:
        """`target = value` for a target of any type."""
        self.file.tables.bind(self, target, value, span)

    def suite(self, body: cst.BaseSuite) -> None:
        """Lower the statements of a block."""
        self.run(body.body)

    def run(self, statements: Sequence[cst.CSTNode]) -> None:
        """Lower statements in order; stop at the first unreachable one."""
        table = self.file.tables.statements
        for node in statements:
            if not self.builder.alive:
                return
            if type(node) is cst.SimpleStatementLine:
                for small in node.body:
                    table[type(small)](self, small)
            else:
                table[type(node)](self, node)

    def span(self, node: Any) -> Span:
        """The position of a node, including the parentheses of a tuple or generator."""
        if type(node) in _BRACKETED and node.lpar:
            return self.file.positions.through(node.lpar[-1], node.rpar[0])
        return self.file.positions.span(node)

    @contextmanager
    def inside(self, scope: Scope) -> Iterator[None]:
        """Resolve names in this scope."""
        before, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = before
