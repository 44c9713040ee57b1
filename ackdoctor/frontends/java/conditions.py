"""Conditions unfolded into edges, and the values that need a branch."""

from collections.abc import Callable

from ackdoctor.flow.graph.build import Ends, Fork
from ackdoctor.frontends.java.expressions import binary
from ackdoctor.frontends.java.grammar import Node, by_type, child, parts
from ackdoctor.frontends.java.lowering import Lowering
from ackdoctor.frontends.java.patterns import match
from ackdoctor.frontends.java.typenames import type_of
from ackdoctor.frontends.lowering import (
    condition_value,
    conditional_fork,
    conditional_value,
    fork_on,
    junction_fork,
)
from ackdoctor.model.cfg import Bind, Expr, IsType, Literal, Mix, Name

__all__ = ["FORKS", "PURE_BRANCHES", "VALUE_BRANCHES", "plain_fork"]

_WORDS = {"&&": "and", "||": "or"}


def plain_fork(fn: Lowering, node: Node) -> Fork:
    """A condition with nothing to unfold; a constant has one way on."""
    return fork_on(fn.builder, fn.value(node), fn.span(node))


def _bracket_fork(fn: Lowering, node: Node) -> Fork:
    return fn.fork(parts(node)[-1])


def _unary_fork(fn: Lowering, node: Node) -> Fork:
    if child(node, "operator").type != "!":
        return plain_fork(fn, node)
    return fn.fork(child(node, "operand")).swapped()


def _binary_fork(fn: Lowering, node: Node) -> Fork:
    sign = child(node, "operator").type
    if sign not in _WORDS:
        return plain_fork(fn, node)
    return junction_fork(fn, _WORDS[sign], _operands(node, sign))


def _operands(node: Node, sign: str) -> list[Node]:
    """The operands of a run of the same operator."""
    operands: list[Node] = []
    while node.type == "binary_expression" and child(node, "operator").type == sign:
        operands.append(child(node, "right"))
        node = child(node, "left")
    operands.append(node)
    operands.reverse()
    return operands


def _ternary_fork(fn: Lowering, node: Node) -> Fork:
    return conditional_fork(
        fn, child(node, "condition"), child(node, "consequence"), child(node, "alternative")
    )


def _instanceof_fork(fn: Lowering, node: Node) -> Fork:
    """`x instanceof T t` binds its variable where it is true."""
    subject = fn.value(child(node, "left"))
    pattern = node.child_by_field_name("pattern")
    if pattern is not None:
        if not isinstance(subject, Name):
            subject = fn.store(subject, fn.span(child(node, "left")))
        missed = match(fn, pattern, subject)
        return Fork(fn.builder.take(), missed)
    written = fn.type_name(child(node, "right"))
    fork = fn.builder.test(IsType(subject, (type_of(written),)), fn.span(node))
    name = node.child_by_field_name("name")
    if name is None:
        return fork
    fn.builder.resume(fork.true)
    fn.builder.add(Bind(fn.frame.declare(fn.text(name), written), subject), fn.span(name))
    return Fork(fn.builder.take(), fork.false)


# ---- as values ----


def _ternary(fn: Lowering, node: Node) -> Expr:
    return conditional_value(
        fn, child(node, "condition"), child(node, "consequence"), child(node, "alternative")
    )


def _binary(fn: Lowering, node: Node) -> Expr:
    sign = child(node, "operator").type
    if sign not in _WORDS:
        return binary(fn, node)
    result = fn.builder.temp()
    after: Ends = []
    operands = _operands(node, sign)
    for operand in operands[:-1]:
        fork = fn.fork(operand)
        go_on, stop = fork if sign == "&&" else fork.swapped()
        fn.builder.resume(stop)
        fn.builder.add(Bind(result, Literal(sign == "||")), fn.span(operand))
        after += fn.builder.take()
        fn.builder.resume(go_on)
    fn.builder.add(Bind(result, fn.value(operands[-1])), fn.span(operands[-1]))
    fn.builder.resume(after)
    return result


def _instanceof(fn: Lowering, node: Node) -> Expr:
    if node.child_by_field_name("name") is not None or node.child_by_field_name("pattern") is not None:
        return condition_value(fn, node)
    return IsType(fn.value(child(node, "left")), (type_of(fn.type_name(child(node, "right"))),))


# ---- where no step may be made ----


def _pure_ternary(fn: Lowering, node: Node) -> Expr:
    return Mix(
        "if", tuple(fn.value(child(node, each)) for each in ("condition", "consequence", "alternative"))
    )


def _pure_binary(fn: Lowering, node: Node) -> Expr:
    sign = child(node, "operator").type
    if sign not in _WORDS:
        return binary(fn, node)
    return Mix(_WORDS[sign], tuple(map(fn.value, _operands(node, sign))))


def _pure_instanceof(fn: Lowering, node: Node) -> Expr:
    written = node.child_by_field_name("right")
    types = () if written is None else (type_of(fn.type_name(written)),)
    return IsType(fn.value(child(node, "left")), types)


FORKS: dict[str, Callable[[Lowering, Node], Fork]] = by_type(
    {
        "parenthesized_expression": _bracket_fork,
        "unary_expression": _unary_fork,
        "binary_expression": _binary_fork,
        "ternary_expression": _ternary_fork,
        "instanceof_expression": _instanceof_fork,
    }
)

VALUE_BRANCHES: dict[str, Callable[[Lowering, Node], Expr]] = by_type(
    {"ternary_expression": _ternary, "binary_expression": _binary, "instanceof_expression": _instanceof}
)

PURE_BRANCHES: dict[str, Callable[[Lowering, Node], Expr]] = by_type(
    {
        "ternary_expression": _pure_ternary,
        "binary_expression": _pure_binary,
        "instanceof_expression": _pure_instanceof,
    }
)
