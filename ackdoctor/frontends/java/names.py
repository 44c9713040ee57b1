"""Names, field accesses and the pieces that stand for types."""

from collections.abc import Callable

from ackdoctor.frontends.java.grammar import Node, by_type, child
from ackdoctor.frontends.java.lowering import Lowering
from ackdoctor.frontends.java.scope import is_constant, looks_like_type
from ackdoctor.frontends.java.typenames import TYPES, type_of
from ackdoctor.model.cfg import Attr, Expr, Global, Item

__all__ = ["NAMES"]

_DEEPEST = 60  # dots; more are no name that anyone wrote


def _name(fn: Lowering, node: Node) -> Expr:
    return fn.frame.resolve(fn.text(node))


def _this(fn: Lowering, _node: Node) -> Expr:
    owner = fn.frame.owner()
    own = "this" if owner is None else owner.own
    return fn.frame.this(own) or Global("this")


def _super(fn: Lowering, node: Node) -> Expr:
    return _this(fn, node)


def _field_access(fn: Lowering, node: Node) -> Expr:
    """`a.b.c`: of a variable, of a type, or of a type that is written with its package."""
    words: list[str] = []
    root = node
    while root.type == "field_access":
        last = child(root, "field")
        if last.type == "this":  # Outer.this
            break
        words.append(fn.text(last))
        root = child(root, "object")
    words.reverse()
    found = _root(fn, root, words)
    for word in words[-_DEEPEST:]:
        found = Attr(found, word)
    return found


def _root(fn: Lowering, root: Node, words: list[str]) -> Expr:
    kind = root.type
    if kind == "field_access":
        return fn.frame.this() or Global("this")
    if kind != "identifier":
        return fn.value(root)
    word = fn.text(root)
    if not words or fn.frame.known(word):
        return fn.frame.resolve(word)
    if is_constant(word):
        return Global(word) if is_constant(words[0]) else fn.frame.resolve(word)
    in_package = word.islower() and any(map(looks_like_type, words))
    return Global(word) if in_package else fn.frame.resolve(word)


def _array_access(fn: Lowering, node: Node) -> Expr:
    obj = fn.value(child(node, "array"))
    return Item(obj, fn.value(child(node, "index")))


def _type(fn: Lowering, node: Node) -> Expr:
    return type_of(fn.type_name(node))


def _class_literal(fn: Lowering, node: Node) -> Expr:
    return Attr(type_of(fn.type_name(node.named_children[0])), "class")


NAMES: dict[str, Callable[[Lowering, Node], Expr]] = {
    **by_type(
        {
            "identifier underscore_pattern": _name,
            "this": _this,
            "super": _super,
            "field_access": _field_access,
            "array_access": _array_access,
            "class_literal": _class_literal,
        }
    ),
    **dict.fromkeys(TYPES, _type),
}
