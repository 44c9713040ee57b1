"""What lowering shares between languages: tables by node type, a module's body, and conditions as edges."""

from collections.abc import Hashable, Sequence
from typing import NoReturn, Protocol, TypeVar

from ackdoctor.flow.build import CfgBuilder, Ends, Fork
from ackdoctor.model.cfg import Bind, Expr, Function, Literal, Not
from ackdoctor.model.source import Span

__all__ = [
    "Table",
    "UnknownSyntax",
    "condition_value",
    "conditional_fork",
    "conditional_value",
    "fork_on",
    "junction_fork",
    "module_body",
]

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")
_Node = TypeVar("_Node")
_Node_contra = TypeVar("_Node_contra", contravariant=True)


class UnknownSyntax(Exception):  # noqa: N818 - neither the file nor ackdoctor is wrong
    """The name of a node type that the parser knows and a table does not."""


class Table(dict[_Key, _Value]):
    """A table by node type; a missing type raises `UnknownSyntax`."""

    __slots__ = ()

    def __missing__(self, key: _Key) -> NoReturn:
        raise UnknownSyntax(key.__name__ if isinstance(key, type) else str(key))


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


# ---- conditions ----


class _Lowers(Protocol[_Node_contra]):
    """The lowering of one function, in any language."""

    builder: CfgBuilder

    def value(self, node: _Node_contra, /) -> Expr: ...
    def fork(self, node: _Node_contra, /) -> Fork: ...
    def span(self, node: _Node_contra, /) -> Span: ...


def fork_on(builder: CfgBuilder, value: Expr, span: Span) -> Fork:
    """Test a value; a constant leaves one of the two edges empty."""
    if isinstance(value, Not):
        return fork_on(builder, value.value, span).swapped()
    if isinstance(value, Literal) and isinstance(value.value, int):
        fork = Fork(builder.take(), [])
        return fork if value.value else fork.swapped()
    return builder.test(value, span)


def junction_fork(fn: _Lowers[_Node], operator: str, operands: Sequence[_Node]) -> Fork:
    """`and` or `or` over several operands: an operand that decides the result skips the rest."""
    decided: Ends = []
    for operand in operands[:-1]:
        fork = fn.fork(operand)
        undecided, decides = fork if operator == "and" else fork.swapped()
        decided += decides
        fn.builder.resume(undecided)
    last = fn.fork(operands[-1])
    if operator == "and":
        return Fork(last.true, last.false + decided)
    return Fork(last.true + decided, last.false)


def conditional_fork(fn: _Lowers[_Node], test: _Node, then: _Node, otherwise: _Node) -> Fork:
    """`then if test else otherwise` as a condition."""
    fork = fn.fork(test)
    fn.builder.resume(fork.true)
    first = fn.fork(then)
    fn.builder.resume(fork.false)
    second = fn.fork(otherwise)
    return Fork(first.true + second.true, first.false + second.false)


def conditional_value(fn: _Lowers[_Node], test: _Node, then: _Node, otherwise: _Node) -> Expr:
    """The value of `then if test else otherwise`."""
    result = fn.builder.temp()
    fork = fn.fork(test)
    after: Ends = []
    for ends, branch in ((fork.true, then), (fork.false, otherwise)):
        fn.builder.resume(ends)
        fn.builder.add(Bind(result, fn.value(branch)), fn.span(branch))
        after += fn.builder.take()
    fn.builder.resume(after)
    return result


def condition_value(fn: _Lowers[_Node], node: _Node) -> Expr:
    """The result of a condition as True or False."""
    result = fn.builder.temp()
    fork = fn.fork(node)
    after: Ends = []
    for ends, outcome in ((fork.true, True), (fork.false, False)):
        fn.builder.resume(ends)
        fn.builder.add(Bind(result, Literal(outcome)), fn.span(node))
        after += fn.builder.take()
    fn.builder.resume(after)
    return result
