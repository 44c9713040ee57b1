"""Annotations as pure expressions: `@Override` a name, `@Named("x")` what a call would be."""

from collections.abc import Callable

from ackdoctor.frontends.java.grammar import Node, by_kind, child, field, kind, parts
from ackdoctor.frontends.java.lowering import Lowering
from ackdoctor.frontends.java.typenames import dotted, type_of
from ackdoctor.model.cfg import Expr, Mix

__all__ = ["ANNOTATIONS"]

_NAME, _ARGUMENTS, _KEY, _VALUE = map(field, "name arguments key value".split())
_PAIR = kind("element_value_pair")


def _marker(fn: Lowering, node: Node) -> Expr:
    return type_of(dotted(fn.file.positions, child(node, _NAME)))


def _annotation(fn: Lowering, node: Node) -> Expr:
    args = [_argument(fn, each) for each in parts(child(node, _ARGUMENTS))]
    return Mix("call", (_marker(fn, node), *args))


def _argument(fn: Lowering, node: Node) -> Expr:
    if node.kind_id != _PAIR:
        return fn.value(node)
    return Mix(f"{fn.text(child(node, _KEY))}=", (fn.value(child(node, _VALUE)),))


ANNOTATIONS: dict[int, Callable[[Lowering, Node], Expr]] = by_kind(
    {"marker_annotation": _marker, "annotation": _annotation}
)
