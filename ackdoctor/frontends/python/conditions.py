"""Conditions unfolded into edges, and the values that need a branch."""

from collections.abc import Callable
from typing import Any

import libcst as cst

from ackdoctor.flow.graph.build import Ends, Fork
from ackdoctor.frontends.lowering import (
    condition_value,
    conditional_fork,
    conditional_value,
    fork_on,
    junction_fork,
)
from ackdoctor.frontends.python.expressions import comparison_sign
from ackdoctor.frontends.python.lowering import Lowering
from ackdoctor.model.cfg import Bind, Compare, Expr, Mix

__all__ = ["FORKS", "PURE_BRANCHES", "VALUE_BRANCHES", "plain_fork"]


def plain_fork(fn: Lowering, node: cst.CSTNode) -> Fork:
    """A condition with nothing to unfold; a constant has one way on."""
    return fork_on(fn.builder, fn.value(node), fn.span(node))


def _not_fork(fn: Lowering, node: cst.UnaryOperation) -> Fork:
    if type(node.operator) is not cst.Not:
        return plain_fork(fn, node)
    return fn.fork(node.expression).swapped()


def _boolean_fork(fn: Lowering, node: cst.BooleanOperation) -> Fork:
    operands, word = _operands(node)
    return junction_fork(fn, word, operands)


def _operands(node: cst.BooleanOperation) -> tuple[list[cst.BaseExpression], str]:
    """The operands of a run of the same operator, and its word."""
    kind = type(node.operator)
    operands: list[cst.BaseExpression] = []
    left: cst.BaseExpression = node
    while isinstance(left, cst.BooleanOperation) and type(left.operator) is kind:
        operands.append(left.right)
        left = left.left
    operands.append(left)
    operands.reverse()
    return operands, "and" if kind is cst.And else "or"


def _comparison_fork(fn: Lowering, node: cst.Comparison) -> Fork:
    left = fn.value(node.left)
    short: Ends = []
    last = len(node.comparisons) - 1
    for place, target in enumerate(node.comparisons):
        right = fn.value(target.comparator)
        start = node if place == 0 else node.comparisons[place - 1].comparator
        span = fn.file.positions.through(start, target.comparator)
        fork = fn.builder.test(Compare(left, comparison_sign(target.operator), right), span)
        if place == last:
            return Fork(fork.true, fork.false + short)
        short += fork.false
        fn.builder.resume(fork.true)
        left = right
    raise AssertionError("a comparison has at least one target")


def _ternary_fork(fn: Lowering, node: cst.IfExp) -> Fork:
    return conditional_fork(fn, node.test, node.body, node.orelse)


# ---- as values ----


def _ternary(fn: Lowering, node: cst.IfExp) -> Expr:
    return conditional_value(fn, node.test, node.body, node.orelse)


def _boolean(fn: Lowering, node: cst.BooleanOperation) -> Expr:
    operands, word = _operands(node)
    result = fn.builder.temp()
    after: Ends = []
    for operand in operands[:-1]:
        span = fn.span(operand)
        value = fn.value(operand)
        fork = fork_on(fn.builder, value, span)
        go_on, stop = fork if word == "and" else fork.swapped()
        fn.builder.resume(stop)
        fn.builder.add(Bind(result, value), span)
        after += fn.builder.take()
        fn.builder.resume(go_on)
    fn.builder.add(Bind(result, fn.value(operands[-1])), fn.span(operands[-1]))
    fn.builder.resume(after)
    return result


def _comparison(fn: Lowering, node: cst.Comparison) -> Expr:
    if len(node.comparisons) == 1:
        target = node.comparisons[0]
        left = fn.value(node.left)
        return Compare(left, comparison_sign(target.operator), fn.value(target.comparator))
    return condition_value(fn, node)


# ---- where no step may be made ----


def _pure_ternary(fn: Lowering, node: cst.IfExp) -> Expr:
    return Mix("if", (fn.value(node.test), fn.value(node.body), fn.value(node.orelse)))


def _pure_boolean(fn: Lowering, node: cst.BooleanOperation) -> Expr:
    operands, word = _operands(node)
    return Mix(word, tuple(map(fn.value, operands)))


def _pure_comparison(fn: Lowering, node: cst.Comparison) -> Expr:
    links: list[Expr] = []
    left = fn.value(node.left)
    for target in node.comparisons:
        right = fn.value(target.comparator)
        links.append(Compare(left, comparison_sign(target.operator), right))
        left = right
    return links[0] if len(links) == 1 else Mix("and", tuple(links))


FORKS: dict[type, Callable[[Lowering, Any], Fork]] = {
    cst.UnaryOperation: _not_fork,
    cst.BooleanOperation: _boolean_fork,
    cst.Comparison: _comparison_fork,
    cst.IfExp: _ternary_fork,
}

VALUE_BRANCHES: dict[type, Callable[[Lowering, Any], Expr]] = {
    cst.IfExp: _ternary,
    cst.BooleanOperation: _boolean,
    cst.Comparison: _comparison,
}

PURE_BRANCHES: dict[type, Callable[[Lowering, Any], Expr]] = {
    cst.IfExp: _pure_ternary,
    cst.BooleanOperation: _pure_boolean,
    cst.Comparison: _pure_comparison,
}
