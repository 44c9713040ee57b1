"""Lambdas, and anonymous classes as the objects they make."""

from collections.abc import Callable

from ackdoctor.frontends.java.broken import has_gap
from ackdoctor.frontends.java.classes import Shape, define_class, members, method_of, scan
from ackdoctor.frontends.java.grammar import Node, by_type, child, parts
from ackdoctor.frontends.java.initialisers import run_starts, starts_of
from ackdoctor.frontends.java.lowering import Lowering, SourceFile
from ackdoctor.frontends.java.methods import Heading, function
from ackdoctor.frontends.java.scope import Frame, Owner
from ackdoctor.frontends.java.typenames import type_of
from ackdoctor.model.cfg import Arg, Bind, Build, Call, Closure, Expr, Mix
from ackdoctor.model.component import Param

__all__ = ["CLOSURES", "PURE_CLOSURES"]

_NO_COMPONENTS = frozenset("Runnable Callable Thread TimerTask Comparator Iterator Iterable".split())


def _lambda(fn: Lowering, node: Node) -> Expr:
    file = fn.file
    qualname = file.qualname(node, f"{fn.qualname}.<locals>.<lambda>")
    frame = Frame(fn.frame, file.outside)
    written = child(node, "parameters")
    formal = written if written.type == "formal_parameters" else None
    params: list[Param] = []
    if formal is None:
        words = parts(written) if written.type == "inferred_parameters" else [written]
        params = [Param(frame.declare(fn.text(word), None).id) for word in words]
    body = child(node, "body")

    def lower(inner: Lowering) -> None:
        if body.type == "block":
            inner.statement(body)
        else:
            inner.builder.leave(inner.value(body), inner.span(body))

    span = fn.span(node)
    heading = Heading("<lambda>", qualname, span, span, node, formal)
    fn.closures[qualname] = function(file, heading, frame, params, lower, binding="none")
    return Closure(qualname)


def _anonymous(fn: Lowering, node: Node) -> Expr:
    """`new Base(args) {...}`: a class, since its base may be a component, and an object made of closures."""
    file = fn.file
    body = node.named_children[-1]
    made = fn.type_name(child(node, "type"))
    args = tuple([fn.value(each) for each in parts(child(node, "arguments"))])
    outer = fn.frame.owner()
    within = "" if outer is None else outer.qualname
    word = file.number(body, within)
    qualname = f"{within}.{word}" if within else word
    shape = Shape(
        word,
        qualname,
        node,
        fn.span(child(node, "type")),
        tuple(members(body.named_children)),
        (type_of(made),),
    )
    quiet = file.quiet
    if (
        not quiet
        and made not in _NO_COMPONENTS
        and any(each.type == "method_declaration" for each in shape.members)
    ):
        define_class(file, shape, fn.frame)
        file.quiet = True
    try:
        return _object(fn, shape, made, args)
    finally:
        file.quiet = quiet


def _object(fn: Lowering, shape: Shape, made: str, args: tuple[Expr, ...]) -> Expr:
    file = fn.file
    own = fn.frame.declare(shape.name, made)
    owner = Owner(made, shape.qualname, fn.frame, extends=False, own=own.id)
    scan(file, owner, shape)
    prefix = f"{fn.qualname}.<locals>.{shape.name}"
    made_of: list[Expr] = []
    captured: set[str] = set()
    for each in shape.members:
        found = method_of(file, owner, each, prefix)
        if found is not None:
            fn.closures[found.qualname] = found
            captured |= found.captures
            made_of.append(Closure(found.qualname))
    value = Build("object", (*made_of, *args)) if made_of else _plain(fn, shape, args)
    starts = starts_of(file, shape.members).instance
    if not starts and own.id not in captured:
        fn.frame.types.pop(own.id)
        return value
    fn.builder.add(Bind(own, value), fn.span(shape.node))
    if starts:
        span = fn.span(shape.node)
        heading = Heading("<init>", f"{prefix}.<init>", span, shape.head, shape.node)
        frame = Frame(owner, file.outside)
        owner.inherits = True
        first = function(
            file, heading, frame, [], lambda inner: run_starts(inner, owner, starts), binding="none"
        )
        fn.closures[first.qualname] = first
        fn.builder.add(Call(fn.builder.temp(), Closure(first.qualname), (), dropped=True), span)
    return own


def _plain(fn: Lowering, shape: Shape, args: tuple[Expr, ...]) -> Expr:
    """An object of a class without methods of its own is one of the base class."""
    result = fn.builder.temp()
    fn.builder.add(Call(result, shape.bases[0], tuple(map(Arg, args))), fn.span(shape.node))
    return result


def enum_body(file: SourceFile, node: Node, owner: Owner) -> None:
    """The class of an enum constant that has a body of its own."""
    if file.quiet:
        return
    body = child(node, "body")
    word = file.number(body, owner.qualname)
    head = file.positions.span(child(node, "name"))
    base = type_of(owner.name)
    shape = Shape(word, f"{owner.qualname}.{word}", node, head, tuple(members(body.named_children)), (base,))
    define_class(file, shape._replace(whole=not has_gap(body.children)), owner)


def _pure(word: str) -> Callable[[Lowering, Node], Expr]:
    return lambda _fn, _node: Mix(word, ())


CLOSURES: dict[str, Callable[[Lowering, Node], Expr]] = by_type(
    {"lambda_expression": _lambda, "class_body": _anonymous}
)

PURE_CLOSURES: dict[str, Callable[[Lowering, Node], Expr]] = by_type({"lambda_expression": _pure("lambda")})
