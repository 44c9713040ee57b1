"""Conditions unfolded into edges, and the values that need a branch."""

from collections.abc import Callable

from ackdoctor.flow.build import Ends, Fork
from ackdoctor.frontends.branches import choice, choice_fork, fork_on, junction_fork, truth
from ackdoctor.frontends.java.expressions import binary
from ackdoctor.frontends.java.grammar import Node, by_kind, child, field, kind, parts
from ackdoctor.frontends.java.lowering import Lowering
from ackdoctor.frontends.java.patterns import match
from ackdoctor.frontends.java.typenames import type_of
from ackdoctor.model.cfg import Bind, Expr, IsType, Literal, Mix, Name

__all__ = ["FORKS", "PURE_BRANCHES", "VALUE_BRANCHES", "plain_fork"]

_LEFT, _OPERATOR, _RIGHT, _OPERAND = field("left"), field("operator"), field("right"), field("operand")
_NAME, _PATTERN = field("name"), field("pattern")
_CONDITION, _THEN, _ELSE = field("condition"), field("consequence"), field("alternative")
_BINARY = kind("binary_expression")
_WORDS = {"&&": "and", "||": "or"}


def plain_fork(fn: Lowering, node: Node) -> Fork:
    """A condition with nothing to unfold; a constant has one way on."""
    return fork_on(fn.builder, fn.value(node), fn.span(node))


def _bracket_fork(fn: Lowering, node: Node) -> Fork:
    return fn.fork(parts(node)[-1])


def _unary_fork(fn: Lowering, node: Node) -> Fork:
    if child(node, _OPERATOR).type != "!":
        return plain_fork(fn, node)
    return fn.fork(child(node, _OPERAND)).swapped()


def _binary_fork(fn: Lowering, node: Node) -> Fork:
    sign = child(node, _OPERATOR).type
    if sign not in _WORDS:
        return plain_fork(fn, node)
    return junction_fork(fn, _WORDS[sign], _operands(node, sign))


def _operands(node: Node, sign: str) -> list[Node]:
    """The operands of a run of the same operator."""
    operands: list[Node] = []
    while node.kind_id == _BINARY and child(node, _OPERATOR).type == sign:
        operands.append(child(node, _RIGHT))
        node = child(node, _LEFT)
    operands.append(node)
    operands.reverse()
    return operands


def _ternary_fork(fn: Lowering, node: Node) -> Fork:
    return choice_fork(fn, child(node, _CONDITION), child(node, _THEN), child(node, _ELSE))


def _instanceof_fork(fn: Lowering, node: Node) -> Fork:
    """`x instanceof T t` binds its variable where it is true."""
    subject = fn.value(child(node, _LEFT))
    pattern = node.child_by_field_id(_PATTERN)
    if pattern is not None:
        if not isinstance(subject, Name):
            subject = fn.store(subject, fn.span(child(node, _LEFT)))
        missed = match(fn, pattern, subject)
        return Fork(fn.builder.take(), missed)
    written = fn.type_name(child(node, _RIGHT))
    fork = fn.builder.test(IsType(subject, (type_of(written),)), fn.span(node))
    name = node.child_by_field_id(_NAME)
    if name is None:
        return fork
    fn.builder.resume(fork.true)
    fn.builder.add(Bind(fn.frame.declare(fn.text(name), written), subject), fn.span(name))
    return Fork(fn.builder.take(), fork.false)


# ---- as values ----


def _ternary(fn: Lowering, node: Node) -> Expr:
    return choice(fn, child(node, _CONDITION), child(node, _THEN), child(node, _ELSE))


def _binary(fn: Lowering, node: Node) -> Expr:
    sign = child(node, _OPERATOR).type
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
    if node.child_by_field_id(_NAME) is not None or node.child_by_field_id(_PATTERN) is not None:
        return truth(fn, node)
    return IsType(fn.value(child(node, _LEFT)), (type_of(fn.type_name(child(node, _RIGHT))),))


# ---- where no step may be made ----


def _pure_ternary(fn: Lowering, node: Node) -> Expr:
    return Mix("if", tuple(fn.value(child(node, each)) for each in (_CONDITION, _THEN, _ELSE)))


def _pure_binary(fn: Lowering, node: Node) -> Expr:
    sign = child(node, _OPERATOR).type
    if sign not in _WORDS:
        return binary(fn, node)
    return Mix(_WORDS[sign], tuple(map(fn.value, _operands(node, sign))))


def _pure_instanceof(fn: Lowering, node: Node) -> Expr:
    written = node.child_by_field_id(_RIGHT)
    types = () if written is None else (type_of(fn.type_name(written)),)
    return IsType(fn.value(child(node, _LEFT)), types)


FORKS: dict[int, Callable[[Lowering, Node], Fork]] = by_kind(
    {
        "parenthesized_expression": _bracket_fork,
        "unary_expression": _unary_fork,
        "binary_expression": _binary_fork,
        "ternary_expression": _ternary_fork,
        "instanceof_expression": _instanceof_fork,
    }
)

VALUE_BRANCHES: dict[int, Callable[[Lowering, Node], Expr]] = by_kind(
    {"ternary_expression": _ternary, "binary_expression": _binary, "instanceof_expression": _instanceof}
)

PURE_BRANCHES: dict[int, Callable[[Lowering, Node], Expr]] = by_kind(
    {
        "ternary_expression": _pure_ternary,
        "binary_expression": _pure_binary,
        "instanceof_expression": _pure_instanceof,
    }
)
