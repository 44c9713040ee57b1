"""Conditions unfolded into edges, and the values that need a branch."""

from collections.abc import Callable

from ackdoctor.flow.graph.build import Ends, Fork
from ackdoctor.frontends.java.expressions import binary
from ackdoctor.frontends.java.grammar import Node, by_kind, child, field, kind, parts
from ackdoctor.frontends.java.lowering import Lowering
from ackdoctor.frontends.java.patterns import match
from ackdoctor.frontends.java.typenames import type_of
from ackdoctor.model.cfg import Bind, Expr, IsType, Literal, Mix, Name, Not

__all__ = ["FORKS", "PURE_BRANCHES", "VALUE_BRANCHES", "plain_fork"]

_LEFT, _OPERATOR, _RIGHT, _OPERAND = field("left"), field("operator"), field("right"), field("operand")
_NAME, _PATTERN = field("name"), field("pattern")
_CONDITION, _THEN, _ELSE = field("condition"), field("consequence"), field("alternative")
_BINARY = kind("binary_expression")
_WORDS = {"&&": "and", "||": "or"}


def plain_fork(fn: Lowering, node: Node) -> Fork:
    """A condition with nothing to unfold; a constant has one way on."""
    return _fork_on(fn, fn.value(node), node)


def _fork_on(fn: Lowering, value: Expr, node: Node) -> Fork:
    if isinstance(value, Not):
        return _fork_on(fn, value.value, node).swapped()
    if isinstance(value, Literal) and isinstance(value.value, bool):
        fork = Fork(fn.builder.take(), [])
        return fork if value.value else fork.swapped()
    return fn.builder.test(value, fn.span(node))


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
    operands, is_and = _operands(node, sign), sign == "&&"
    short: Ends = []
    for operand in operands[:-1]:
        fork = fn.fork(operand)
        go_on, stop = fork if is_and else fork.swapped()
        short += stop
        fn.builder.resume(go_on)
    last = fn.fork(operands[-1])
    return Fork(last.true, last.false + short) if is_and else Fork(last.true + short, last.false)


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
    choice = fn.fork(child(node, _CONDITION))
    fn.builder.resume(choice.true)
    first = fn.fork(child(node, _THEN))
    fn.builder.resume(choice.false)
    second = fn.fork(child(node, _ELSE))
    return Fork(first.true + second.true, first.false + second.false)


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
    result = fn.builder.temp()
    fork = fn.fork(child(node, _CONDITION))
    after: Ends = []
    for ends, side in ((fork.true, child(node, _THEN)), (fork.false, child(node, _ELSE))):
        fn.builder.resume(ends)
        fn.builder.add(Bind(result, fn.value(side)), fn.span(side))
        after += fn.builder.take()
    fn.builder.resume(after)
    return result


def _truth(fn: Lowering, node: Node) -> Expr:
    """A condition's outcome as a value."""
    result = fn.builder.temp()
    fork = fn.fork(node)
    after: Ends = []
    for ends, truth in ((fork.true, True), (fork.false, False)):
        fn.builder.resume(ends)
        fn.builder.add(Bind(result, Literal(truth)), fn.span(node))
        after += fn.builder.take()
    fn.builder.resume(after)
    return result


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
        return _truth(fn, node)
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
