"""Annotations as pure expressions: `@Override` a name, `@Named("x")` what a call would be."""

from collections.abc import Callable

from ackdoctor.frontends.java.grammar import Node, by_type, child, parts
from ackdoctor.frontends.java.lowering import Lowering
from ackdoctor.frontends.java.typenames import dotted, type_of
from ackdoctor.model.cfg import Expr, Mix

__all__ = ["ANNOTATIONS"]


def _marker(fn: Lowering, node: Node) -> Expr:
    return type_of(dotted(fn.file.positions, child(node, "name")))


def _annotation(fn: Lowering, node: Node) -> Expr:
    args = [_argument(fn, each) for each in parts(child(node, "arguments"))]
    return Mix("call", (_marker(fn, node), *args))


def _argument(fn: Lowering, node: Node) -> Expr:
    if node.type != "element_value_pair":
        return fn.value(node)
    return Mix(f"{fn.text(child(node, 'key'))}=", (fn.value(child(node, "value")),))


ANNOTATIONS: dict[str, Callable[[Lowering, Node], Expr]] = by_type(
    {"marker_annotation": _marker, "annotation": _annotation}
)
