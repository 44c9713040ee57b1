"""What the languages unfold alike: conditions joined by `and` and `or`, `a if c else b`, and the values of both.

A language has its own nodes; here nobody looks into one.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from ackdoctor.flow.build import CfgBuilder, Ends, Fork
from ackdoctor.model.cfg import Bind, Expr, Literal, Not
from ackdoctor.model.source import Span

__all__ = ["choice", "choice_fork", "fork_on", "junction_fork", "truth"]

_Node = TypeVar("_Node")
_Node_contra = TypeVar("_Node_contra", contravariant=True)


class _Lowers(Protocol[_Node_contra]):
    """A function that is being lowered."""

    builder: CfgBuilder

    def value(self, node: _Node_contra, /) -> Expr: ...
    def fork(self, node: _Node_contra, /) -> Fork: ...
    def span(self, node: _Node_contra, /) -> Span: ...


def fork_on(builder: CfgBuilder, value: Expr, span: Span) -> Fork:
    """A condition with nothing to unfold; a constant has one way on."""
    if isinstance(value, Not):
        return fork_on(builder, value.value, span).swapped()
    if isinstance(value, Literal) and isinstance(value.value, int):
        fork = Fork(builder.take(), [])
        return fork if value.value else fork.swapped()
    return builder.test(value, span)


def junction_fork(fn: _Lowers[_Node], word: str, operands: Sequence[_Node]) -> Fork:
    """Operands joined by the word "and" or "or": those behind the one that decides are not asked."""
    short: Ends = []
    for operand in operands[:-1]:
        fork = fn.fork(operand)
        go_on, stop = fork if word == "and" else fork.swapped()
        short += stop
        fn.builder.resume(go_on)
    last = fn.fork(operands[-1])
    return Fork(last.true, last.false + short) if word == "and" else Fork(last.true + short, last.false)


def choice_fork(fn: _Lowers[_Node], asked: _Node, then: _Node, otherwise: _Node) -> Fork:
    """`then if asked else otherwise` as a condition."""
    fork = fn.fork(asked)
    fn.builder.resume(fork.true)
    first = fn.fork(then)
    fn.builder.resume(fork.false)
    second = fn.fork(otherwise)
    return Fork(first.true + second.true, first.false + second.false)


def choice(fn: _Lowers[_Node], asked: _Node, then: _Node, otherwise: _Node) -> Expr:
    """The value of `then if asked else otherwise`."""
    result = fn.builder.temp()
    fork = fn.fork(asked)
    after: Ends = []
    for ends, side in ((fork.true, then), (fork.false, otherwise)):
        fn.builder.resume(ends)
        fn.builder.add(Bind(result, fn.value(side)), fn.span(side))
        after += fn.builder.take()
    fn.builder.resume(after)
    return result


def truth(fn: _Lowers[_Node], node: _Node) -> Expr:
    """A condition's outcome as a value."""
    result = fn.builder.temp()
    fork = fn.fork(node)
    after: Ends = []
    for ends, outcome in ((fork.true, True), (fork.false, False)):
        fn.builder.resume(ends)
        fn.builder.add(Bind(result, Literal(outcome)), fn.span(node))
        after += fn.builder.take()
    fn.builder.resume(after)
    return result
