"""Types as written, as text and as expressions; type arguments, annotations and brackets are dropped."""

from ackdoctor.frontends.java.grammar import Node, parts
from ackdoctor.frontends.java.positions import Positions
from ackdoctor.model.cfg import Attr, Expr, Global

__all__ = ["TYPES", "dotted", "type_name", "type_of"]

_ANNOTATIONS = frozenset({"annotation", "marker_annotation"})

TYPES = frozenset(
    """void_type integral_type floating_point_type boolean_type type_identifier
    scoped_type_identifier generic_type array_type annotated_type""".split()
)


def type_name(positions: Positions, node: Node) -> str:
    """`Map.Entry` for `java.util.Map.Entry<K, V>[]` written as `Map.Entry<K, V>[]`."""
    while True:
        kind = node.type
        if kind in ("generic_type", "array_type"):
            node = node.named_children[0]
        elif kind == "annotated_type":
            node = node.named_children[-1]
        elif kind == "scoped_type_identifier":
            inner = [part for part in parts(node) if part.type not in _ANNOTATIONS]
            return ".".join(type_name(positions, part) for part in inner)
        else:
            return positions.text(node)


def dotted(positions: Positions, node: Node) -> str:
    """The text of a name in a package or import declaration, without white space."""
    if node.type == "scoped_identifier":
        return "".join(positions.text(node).split())
    return positions.text(node)


def type_of(name: str) -> Expr:
    """The expression for a type's dotted name."""
    first, *rest = name.split(".")
    found: Expr = Global(first)
    for word in rest:
        found = Attr(found, word)
    return found
