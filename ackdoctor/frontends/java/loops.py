"""Loops."""

from collections.abc import Callable
from functools import partial

from ackdoctor.flow.graph.build import Fork
from ackdoctor.frontends.java.grammar import Node, by_type, child
from ackdoctor.frontends.java.lowering import Lowering
from ackdoctor.frontends.java.statements import expression_statement, keyword
from ackdoctor.model.source import Span

__all__ = ["LOOPS"]


def _header(fn: Lowering, node: Node) -> Span:
    """`for (Tuple t : batch)`: up to the bracket before the body."""
    last = [each for each in node.children if each.type == ")"][-1]
    return fn.file.positions.through(node, last)


def _while(fn: Lowering, node: Node) -> None:
    label = fn.take_label()
    condition = child(node, "condition")
    span = fn.file.positions.through(node, condition)
    body = partial(fn.block, child(node, "body"))
    fn.builder.loop_while(span, partial(fn.fork, condition), body, label=label)


def _do(fn: Lowering, node: Node) -> None:
    label = fn.take_label()
    condition = partial(fn.fork, child(node, "condition"))
    fn.builder.loop_until(keyword(fn, node), condition, partial(fn.block, child(node, "body")), label=label)


def _for(fn: Lowering, node: Node) -> None:
    label = fn.take_label()
    condition = node.child_by_field_name("condition")
    updates = node.children_by_field_name("update")

    def ask() -> Fork:
        return Fork(fn.builder.take(), []) if condition is None else fn.fork(condition)

    def again() -> None:
        for update in updates:
            expression_statement(fn, update)

    with fn.frame.block():
        for each in node.children_by_field_name("init"):
            if each.type == "local_variable_declaration":
                fn.statement(each)
            else:
                expression_statement(fn, each)
        body = partial(fn.block, child(node, "body"))
        fn.builder.loop_while(_header(fn, node), ask, body, label=label, again=again if updates else None)


def _for_each(fn: Lowering, node: Node) -> None:
    label = fn.take_label()
    iterable = fn.value(child(node, "value"))
    written = fn.type_name(child(node, "type"))
    with fn.frame.block():
        variable = fn.frame.declare(fn.text(child(node, "name")), None if written == "var" else written)
        body = partial(fn.block, child(node, "body"))
        fn.builder.loop_for(_header(fn, node), variable, iterable, body, label=label)


LOOPS: dict[str, Callable[[Lowering, Node], None]] = by_type(
    {
        "while_statement": _while,
        "do_statement": _do,
        "for_statement": _for,
        "enhanced_for_statement": _for_each,
    }
)
