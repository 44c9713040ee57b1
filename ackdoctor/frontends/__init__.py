"""Source text to `Unit`: one package per language, each with `lower_source`.  This module is what they share."""

from collections.abc import Callable, Hashable, Iterable, MutableMapping, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple, NoReturn, TypeVar

from ackdoctor.flow.build import CfgBuilder, Ends, Fork
from ackdoctor.model.cfg import Bind, ClassInfo, Expr, Function, Global, Literal, Name, Not
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.source import Span, lines_of

__all__ = [
    "TOO_DEEP",
    "Lowering",
    "SourceFile",
    "Table",
    "Tables",
    "UnknownSyntax",
    "module_body",
    "reason_of",
    "unreadable_after",
]

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")
_Node = TypeVar("_Node")

# ---- what cannot be read ----

TOO_DEEP = "nested too deeply"


class UnknownSyntax(Exception):  # noqa: N818 - neither the file nor ackdoctor is wrong
    """A node type that the parser knows and a table does not."""

    def __init__(self, syntax: str) -> None:
        super().__init__(f"syntax that is not yet supported: {syntax}")


def reason_of(error: RecursionError | UnknownSyntax) -> str:
    """Why lowering gave up."""
    return TOO_DEEP if isinstance(error, RecursionError) else str(error)


def unreadable_after(before: str | bytes, path: str, reason: str) -> Unreadable:
    """A report at the place that follows a part of a file."""
    lines = lines_of(before if isinstance(before, str) else before.decode("latin-1"))
    return Unreadable(path=path, line=len(lines), column=len(lines[-1]) + 1, reason=reason)


# ---- lowering ----


class SourceFile:
    """The state that all functions of a file share."""

    def __init__(self, path: str, module: str) -> None:
        self.path = path
        self.module = module
        self.classes: dict[str, ClassInfo] = {}
        self._counts: dict[str, int] = {}
        self._keys: dict[tuple[Hashable, str], str] = {}

    def qualname(self, node: Hashable, name: str) -> str:
        """A unique name for the definition at a node: the second `f` of a file is `f#2`."""
        key = self._keys.get((node, name))
        if key is None:
            count = self._counts[name] = self._counts.get(name, 0) + 1
            key = self._keys[node, name] = name if count == 1 else f"{name}#{count}"
        return key


class Table(dict[_Key, _Value]):
    """A table by node type; a missing type raises `UnknownSyntax`."""

    __slots__ = ()

    def __missing__(self, key: _Key) -> NoReturn:
        raise UnknownSyntax(key.__name__ if isinstance(key, type) else str(key))


class Tables(NamedTuple):
    """How to lower a node, by its type: as a value, as a value without steps, as a condition, as a statement.

    The modules of a language fill its tables and call each other through them.
    """

    values: MutableMapping[Any, Callable[[Any, Any], Expr]]
    pure: MutableMapping[Any, Callable[[Any, Any], Expr]]
    forks: MutableMapping[Any, Callable[[Any, Any], Fork]]
    statements: MutableMapping[Any, Callable[[Any, Any], object]]


class Lowering(Generic[_Node]):
    """The lowering of one function, method, lambda or module body."""

    __slots__ = ("builder", "closures", "qualname", "tables", "values")

    safe_operators: ClassVar[frozenset[str]] = frozenset()  # they do not raise in this language

    def __init__(self, tables: Tables, qualname: str, span: Span) -> None:
        self.tables = tables
        self.values = tables.values
        self.qualname = qualname
        self.builder = CfgBuilder(span, self.safe_operators)
        self.closures: dict[str, Function] = {}

    def kind(self, node: _Node) -> Any:
        """The type of a node, by which the tables are sorted."""
        raise NotImplementedError

    def span(self, node: _Node) -> Span:
        """The position of a node."""
        raise NotImplementedError

    def value(self, node: _Node) -> Expr:
        """The value of an expression; its calls become steps."""
        return self.values[self.kind(node)](self, node)

    def pure(self, node: _Node) -> Expr:
        """The value of an expression that does not run here: a call becomes a `Mix`, not a step."""
        before, self.values = self.values, self.tables.pure
        try:
            return self.value(node)
        finally:
            self.values = before

    def fork(self, node: _Node) -> Fork:
        """The edges of a condition; the builder's frontier is empty afterwards."""
        lower = self.tables.forks.get(self.kind(node))
        return self.plain_fork(node) if lower is None else lower(self, node)

    def plain_fork(self, node: _Node) -> Fork:
        """Test the value of an expression that has no branches of its own."""
        return self.test(self.value(node), self.span(node))

    def test(self, value: Expr, span: Span) -> Fork:
        """The edges of a value; a constant leaves one of the two empty."""
        if isinstance(value, Not):
            return self.test(value.value, span).swapped()
        if isinstance(value, Literal) and isinstance(value.value, int):
            fork = Fork(self.builder.take(), [])
            return fork if value.value else fork.swapped()
        return self.builder.test(value, span)

    def stored(self, value: Expr, node: _Node) -> Expr:
        """The value, or a temporary if reading it again would compute it again."""
        return value if isinstance(value, (Name, Global)) else self.builder.store(value, self.span(node))

    def expect(self, value: Expr, node: _Node) -> Ends:
        """Continue where the value is true; return the edges where it is not."""
        fork = self.builder.test(value, self.span(node))
        self.builder.resume(fork.true)
        return fork.false

    def guarded(self, missed: Ends, guard: _Node | None) -> Ends:
        """Continue where the guard of a matching case is true; return all edges that miss the case."""
        if guard is None:
            return missed
        fork = self.fork(guard)
        self.builder.resume(fork.true)
        return missed + fork.false

    def if_chain(
        self, links: Iterable[tuple[_Node, Callable[[], None]]], otherwise: Callable[[], None] | None
    ) -> None:
        """`if`, `else if`, `else`; a loop over the conditions and their blocks, since chains may be long."""
        after: Ends = []
        for condition, block in links:
            fork = self.fork(condition)
            self.builder.resume(fork.true)
            block()
            after += self.builder.take()
            self.builder.resume(fork.false)
        if otherwise is not None:
            otherwise()
        self.builder.resume(after)

    def assertion(self, condition: _Node, message: Iterable[_Node], span: Span) -> None:
        """`assert condition, message`."""
        fork = self.fork(condition)
        self.builder.resume(fork.false)
        for each in message:
            self.value(each)
        self.builder.throw(Global("AssertionError"), span)
        self.builder.resume(fork.true)

    def junction_fork(self, operator: str, operands: Sequence[_Node]) -> Fork:
        """`and` or `or` over several operands: an operand that decides the result skips the rest."""
        decided: Ends = []
        for operand in operands[:-1]:
            fork = self.fork(operand)
            undecided, decides = fork if operator == "and" else fork.swapped()
            decided += decides
            self.builder.resume(undecided)
        last = self.fork(operands[-1])
        if operator == "and":
            return Fork(last.true, last.false + decided)
        return Fork(last.true + decided, last.false)

    def junction_value(
        self, operator: str, operands: Sequence[_Node], decide: Callable[[_Node], tuple[Fork, Expr]]
    ) -> Name:
        """The value of `and` or `or`; `decide` gives the edges of an operand, and its value if it decides."""
        result = self.builder.temp()
        after: Ends = []
        for operand in operands[:-1]:
            fork, value = decide(operand)
            undecided, decided = fork if operator == "and" else fork.swapped()
            self.builder.resume(decided)
            self.builder.add(Bind(result, value), self.span(operand))
            after += self.builder.take()
            self.builder.resume(undecided)
        self.builder.add(Bind(result, self.value(operands[-1])), self.span(operands[-1]))
        self.builder.resume(after)
        return result

    def conditional_fork(self, test: _Node, then: _Node, otherwise: _Node) -> Fork:
        """`then if test else otherwise` as a condition."""
        fork = self.fork(test)
        self.builder.resume(fork.true)
        first = self.fork(then)
        self.builder.resume(fork.false)
        second = self.fork(otherwise)
        return Fork(first.true + second.true, first.false + second.false)

    def conditional_value(self, test: _Node, then: _Node, otherwise: _Node) -> Expr:
        """The value of `then if test else otherwise`."""
        result = self.builder.temp()

        def store(branch: _Node) -> None:
            self.builder.add(Bind(result, self.value(branch)), self.span(branch))

        self.builder.branch(self.fork(test), partial(store, then), partial(store, otherwise))
        return result

    def condition_value(self, node: _Node) -> Name:
        """The result of a condition as True or False."""
        result = self.builder.temp()

        def store(outcome: bool) -> None:  # noqa: FBT001
            self.builder.add(Bind(result, Literal(outcome)), self.span(node))

        self.builder.branch(self.fork(node), partial(store, True), partial(store, False))
        return result


def module_body(path: str, builder: CfgBuilder, closures: dict[str, Function] | None = None) -> Function:
    """The code of a module outside its functions and classes."""
    cfg = builder.finish()
    span = cfg.steps[0].span
    return Function(
        name="<module>",
        qualname="<module>",
        path=path,
        params=(),
        cfg=cfg,
        span=span,
        head=span,
        binding="none",
        closures=closures or {},
    )
