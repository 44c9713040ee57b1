"""Simple statements, local variables and branches."""

from collections.abc import Callable
from functools import partial

from ackdoctor.flow.graph.build import Ends
from ackdoctor.frontends.java.calls import call_statement, constructor_call
from ackdoctor.frontends.java.expressions import bind, update_statement
from ackdoctor.frontends.java.grammar import Node, by_type, child, parts
from ackdoctor.frontends.java.lowering import Lowering
from ackdoctor.model.cfg import Bind, Global, Jump, Literal, Name, Update
from ackdoctor.model.source import Span

__all__ = ["STATEMENTS", "keyword", "local_type"]

_CALLS = frozenset({"method_invocation", "object_creation_expression"})
_BREAKABLE = frozenset(
    "while_statement do_statement for_statement enhanced_for_statement switch_expression".split()
)


def keyword(fn: Lowering, node: Node) -> Span:
    """A statement's first word."""
    return fn.span(node.children[0])


def _expression(fn: Lowering, node: Node) -> None:
    expression_statement(fn, parts(node)[0])


def expression_statement(fn: Lowering, node: Node) -> None:
    """An expression nobody looks at the value of."""
    kind = node.type
    if kind in _CALLS:
        call_statement(fn, node)
    elif kind == "assignment_expression":
        bind(fn, node)
    elif kind == "update_expression":
        place, sign, _ = update_statement(fn, node)
        fn.builder.add(Update(place, sign, Literal(1)), fn.span(node))
    else:
        value = fn.value(node)
        if not isinstance(value, (Name, Global, Literal)):
            fn.store(value, fn.span(node))


def _local(fn: Lowering, node: Node) -> None:
    """`Tuple t = f(), u;`: a variable without a value is declared and nothing happens."""
    written = fn.type_name(child(node, "type"))
    first: Node | None = node
    for declarator in node.children_by_field_name("declarator"):
        value = declarator.child_by_field_name("value")
        word = fn.text(child(declarator, "name"))
        if value is None:
            fn.frame.declare(word, None if written == "var" else written)
            continue
        result = fn.value(value)
        name = fn.frame.declare(word, local_type(fn, written, value))
        fn.builder.add(Bind(name, result), fn.file.positions.through(first or declarator, declarator))
        first = None


def local_type(fn: Lowering, written: str, value: Node) -> str | None:
    """A variable's type as written; for `var`, that of the constructor or cast on the right."""
    if written != "var":
        return written
    if value.type in ("object_creation_expression", "cast_expression"):
        return fn.type_name(child(value, "type"))
    return None


def _block(fn: Lowering, node: Node) -> None:
    with fn.frame.block():
        fn.run(node.named_children)


def _if(fn: Lowering, node: Node) -> None:
    """A chain of `else if` is as long as its author likes, so it is a loop here."""
    after: Ends = []
    link: Node | None = node
    while link is not None and link.type == "if_statement":
        fork = fn.fork(child(link, "condition"))
        fn.builder.resume(fork.true)
        fn.block(child(link, "consequence"))
        after += fn.builder.take()
        fn.builder.resume(fork.false)
        link = link.child_by_field_name("alternative")
    if link is not None:
        fn.block(link)
    fn.builder.resume(after)


def _labelled(fn: Lowering, node: Node) -> None:
    name, *_, statement = parts(node)
    label = fn.text(name)
    if statement.type in _BREAKABLE:
        fn.label = label
        fn.statement(statement)
    else:
        fn.builder.region(partial(fn.block, statement), label=label)


# ---- leaving ----


def _one(node: Node) -> Node | None:
    inner = parts(node)
    return inner[0] if inner else None


def _return(fn: Lowering, node: Node) -> None:
    inner = _one(node)
    value = None if inner is None else fn.value(inner)
    fn.builder.leave(value, _through(fn, node, inner))


def _through(fn: Lowering, node: Node, last: Node | None) -> Span:
    return keyword(fn, node) if last is None else fn.file.positions.through(node, last)


def _throw(fn: Lowering, node: Node) -> None:
    inner = parts(node)[0]
    value = fn.value(inner)
    fn.builder.throw(value, fn.file.positions.through(node, inner))


def _assert(fn: Lowering, node: Node) -> None:
    condition, *message = parts(node)
    fork = fn.fork(condition)
    fn.builder.resume(fork.false)
    for each in message:
        fn.value(each)
    last = message[-1] if message else condition
    fn.builder.throw(Global("AssertionError"), fn.file.positions.through(node, last))
    fn.builder.resume(fork.true)


def _jump(word: str) -> Callable[[Lowering, Node], None]:
    def lower(fn: Lowering, node: Node) -> None:
        label = _one(node)
        fn.builder.jump(word, _through(fn, node, label), None if label is None else fn.text(label))

    return lower


def _synchronized(fn: Lowering, node: Node) -> None:
    lock, body = parts(node)
    fn.value(lock)
    fn.builder.add(Jump("synchronized"), fn.file.positions.through(node, lock))
    fn.statement(body)


def _class(fn: Lowering, node: Node) -> None:
    made = fn.file.tables.declare(fn.file, node, fn.frame)
    if made is not None:
        fn.frame.classes[made.name] = frozenset[str]().union(*(each.captures for each in made.all_methods()))


def _nothing(_fn: Lowering, _node: Node) -> None:
    return


STATEMENTS: dict[str, Callable[[Lowering, Node], None]] = by_type(
    {
        "expression_statement": _expression,
        "local_variable_declaration": _local,
        "block constructor_body": _block,
        "if_statement": _if,
        "labeled_statement": _labelled,
        "return_statement": _return,
        "throw_statement": _throw,
        "assert_statement": _assert,
        "break_statement": _jump("break"),
        "continue_statement": _jump("continue"),
        "synchronized_statement": _synchronized,
        "explicit_constructor_invocation": constructor_call,
        "class_declaration interface_declaration enum_declaration record_declaration": _class,
        "annotation_type_declaration": _nothing,
        "import_declaration package_declaration module_declaration": _nothing,
        ";": _nothing,
    }
)
