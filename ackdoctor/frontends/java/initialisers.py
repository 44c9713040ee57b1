"""What runs when a class or an object of it is made: field initialisers, initialiser blocks, enum constants."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ackdoctor.frontends.java.broken import complain
from ackdoctor.frontends.java.grammar import Node, child, parts
from ackdoctor.frontends.java.lowering import Lowering, SourceFile
from ackdoctor.frontends.java.methods import modifiers
from ackdoctor.frontends.java.scope import Frame, Owner
from ackdoctor.model.cfg import Arg, Bind, Call, Global

__all__ = ["Starts", "run_starts", "starts_of"]

_FIELDS = frozenset("field_declaration constant_declaration".split())
_LITERALS = frozenset(
    """null_literal true false decimal_integer_literal hex_integer_literal octal_integer_literal
    binary_integer_literal decimal_floating_point_literal hex_floating_point_literal string_literal
    character_literal""".split()
)


class Starts(NamedTuple):
    """The members that run at the start of a class, and of an object, in the order of the source."""

    static: list[Node]
    instance: list[Node]


def starts_of(file: SourceFile, members: Iterable[Node]) -> Starts:
    """What runs first; a constant that is written as a literal needs no code."""
    starts = Starts([], [])
    for each in members:
        kind = each.type
        if kind in _FIELDS:
            static = kind == "constant_declaration" or modifiers(each).static
            found = [each] if _has_code(each, static=static) else []
        elif kind in ("block", "static_initializer", "enum_constant"):
            static = kind != "block"
            found = [each]
        else:
            continue
        if each.has_error:
            complain(file, each, "an initialiser is not read")
        else:
            (starts.static if static else starts.instance).extend(found)
    return starts


def _has_code(node: Node, *, static: bool) -> bool:
    values = [each.child_by_field_name("value") for each in node.children_by_field_name("declarator")]
    return any(value is not None and not (static and value.type in _LITERALS) for value in values)


def run_starts(fn: Lowering, owner: Owner, starts: Sequence[Node]) -> None:
    """Runs them at the start of a constructor, whose parameters they do not see."""
    if not starts:
        return
    around, bare = fn.frame, Frame(owner, fn.file.outside)
    if around.here(owner.own) is not None:
        bare.declare(owner.own, None)
    bare.types = around.types
    fn.frame = bare
    for each in starts:
        kind = each.type
        if kind in _FIELDS:
            _fields(fn, each)
        elif kind == "enum_constant":
            _enum_constant(fn, owner, each)
        else:
            fn.statement(each if kind == "block" else parts(each)[-1])
    fn.frame = around
    around.captures |= bare.captures


def _fields(fn: Lowering, node: Node) -> None:
    for declarator in node.children_by_field_name("declarator"):
        value = declarator.child_by_field_name("value")
        if value is not None:
            target = fn.frame.resolve(fn.text(child(declarator, "name")))
            fn.builder.add(Bind(target, fn.value(value)), fn.span(declarator))


def _enum_constant(fn: Lowering, owner: Owner, node: Node) -> None:
    arguments = node.child_by_field_name("arguments")
    args = tuple([Arg(fn.value(each)) for each in ([] if arguments is None else parts(arguments))])
    body = node.child_by_field_name("body")
    if body is not None:
        fn.file.tables.enum_body(fn.file, node, owner)
    result = fn.builder.temp()
    fn.builder.add(Call(result, Global(owner.name), args), fn.span(node))
    fn.builder.add(Bind(fn.frame.resolve(fn.text(child(node, "name"))), result), fn.span(node))
