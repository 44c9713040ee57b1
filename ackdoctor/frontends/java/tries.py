"""Try, catch, finally, and resources."""

from collections.abc import Callable, Sequence
from functools import partial

from ackdoctor.flow.graph.build import Handler
from ackdoctor.frontends.java.grammar import Node, by_type, child, parts
from ackdoctor.frontends.java.lowering import Lowering
from ackdoctor.frontends.java.statements import keyword, local_type
from ackdoctor.model.cfg import Attr, Bind, Call, Expr, Jump, Name

__all__ = ["TRIES"]

_EVERYTHING = frozenset({"Throwable", "java.lang.Throwable"})


def _try(fn: Lowering, node: Node) -> None:
    inner = parts(node)
    handlers = [_handler(fn, part) for part in inner if part.type == "catch_clause"]
    final = next((partial(_finally, fn, part) for part in inner if part.type == "finally_clause"), None)
    body: Callable[[], None] = partial(fn.statement, child(node, "body"))
    resources = node.child_by_field_name("resources")
    if resources is not None:
        body = partial(_with_resources, fn, parts(resources), body)
    if not handlers and final is None:
        body()
    else:
        fn.builder.attempt(body, handlers, None, final)


def _handler(fn: Lowering, node: Node) -> Handler:
    caught = parts(node)[0]
    written = next(part for part in caught.named_children if part.type == "catch_type")
    types = tuple(fn.type_name(part) for part in parts(written))
    bracket = next(part for part in node.children if part.type == ")")
    span = fn.file.positions.through(node, bracket)
    word = fn.text(child(caught, "name"))
    only = types[0] if len(types) == 1 else None
    with fn.frame.block():
        name = fn.frame.declare_caught(word, only)

    def body() -> None:
        with fn.frame.block():
            fn.frame.declare_caught(word, only)
            fn.statement(child(node, "body"))

    return Handler(types, name.id, span, body, not _EVERYTHING.isdisjoint(types))


def _finally(fn: Lowering, node: Node) -> None:
    fn.builder.add(Jump("finally"), keyword(fn, node))
    fn.statement(parts(node)[-1])


def _with_resources(fn: Lowering, resources: Sequence[Node], body: Callable[[], None]) -> None:
    """Each resource is closed after what comes behind it, however that ends."""
    if not resources:
        body()
        return
    node, *rest = resources
    with fn.frame.block():
        resource = _resource(fn, node)
        inner = partial(_with_resources, fn, rest, body)
        fn.builder.attempt(inner, final=partial(_close, fn, node, resource))


def _resource(fn: Lowering, node: Node) -> Expr:
    value = node.child_by_field_name("value")
    if value is None:
        return fn.value(parts(node)[0])
    result = fn.value(value)
    written = fn.type_name(child(node, "type"))
    name: Name = fn.frame.declare(fn.text(child(node, "name")), local_type(fn, written, value))
    fn.builder.add(Bind(name, result), fn.span(node))
    return name


def _close(fn: Lowering, node: Node, resource: Expr) -> None:
    """The call that nobody wrote; that it may throw as well is what nobody thinks of."""
    close = Call(fn.builder.temp(), Attr(resource, "close"), (), dropped=True)
    fn.builder.add(close, fn.span(node), quiet=True)


TRIES: dict[str, Callable[[Lowering, Node], None]] = by_type(
    {"try_statement": _try, "try_with_resources_statement": _try}
)
