"""Calls of methods and constructors, and method references."""

from ackdoctor.flow.build import Ends
from ackdoctor.frontends.java.expressions import equality
from ackdoctor.frontends.java.grammar import COMMENTS, Node, child, parts
from ackdoctor.frontends.java.lowering import TOO_DEEP, Lowering, Values
from ackdoctor.frontends.java.scope import type_of
from ackdoctor.model.cfg import Arg, Attr, Call, Expr, Global, Item, Literal, Mix, Name

__all__ = ["CALLS", "PURE_CALLS", "call_statement", "constructor_call"]

_USUAL_PARTS = 3  # receiver, name and arguments
_SEVERAL = frozenset({"formal_parameters", "inferred_parameters"})
_EQUALS = frozenset({"equals", "equalsIgnoreCase"})
_FOR_EACH = frozenset({"forEach", "forEachOrdered", "forEachRemaining"})
_LONGEST = 5000  # calls in a row; each one is the receiver of the next
_IF_PRESENT = {"ifPresent": 1, "ifPresentOrElse": 2}  # methods of Optional, with their number of callbacks


def call_statement(fn: Lowering, node: Node) -> None:
    """A call whose result is dropped."""
    if node.type == "method_invocation":
        _call(fn, node, dropped=True)
    elif node.type == "object_creation_expression" and _class_body(node) is None:
        _new_step(fn, node, dropped=True)
    else:
        fn.value(node)


def _call(fn: Lowering, node: Node, *, dropped: bool = False) -> Expr:
    """A call, after the calls that it is chained to; a loop, since chains may be long."""
    chain = [node]
    while True:
        receiver = chain[-1].child_by_field_name("object")
        if receiver is None or receiver.type != "method_invocation":
            break
        chain.append(receiver)
        if len(chain) > _LONGEST:
            raise RecursionError(TOO_DEEP)
    obj = None if receiver is None else _receiver(fn, chain[-1], receiver)
    for link in reversed(chain):
        name = fn.text(child(link, "name"))
        arguments = child(link, "arguments")
        same = None if obj is None else _equality(fn, obj, name, arguments)
        if same is not None:
            obj = same
            continue
        func = fn.frame.method(name) if obj is None else Attr(obj, name)
        if dropped and link is node and obj is not None and _run_callbacks(fn, node, obj, name, arguments):
            return obj
        args = tuple([Arg(fn.value(each)) for each in parts(arguments)])
        result = fn.builder.temp()
        fn.builder.add(Call(result, func, args, dropped=dropped and link is node), fn.span(link))
        obj = result
    assert obj is not None
    return obj


def _run_callbacks(fn: Lowering, node: Node, obj: Expr, name: str, arguments: Node) -> bool:
    """Lower a call that runs its callbacks at once, as a loop or a branch; return whether it is one."""
    return _for_each(fn, node, obj, name, arguments) or _if_present(fn, node, obj, name, arguments)


def _for_each(fn: Lowering, node: Node, iterable: Expr, name: str, arguments: Node) -> bool:
    """Lower `items.forEach(item -> ...)` as a loop; a map's `forEach`, whose callback has two parameters, stays a call."""
    callbacks = parts(arguments)
    if name not in _FOR_EACH or len(callbacks) != 1 or not _takes_one(callbacks[0]):
        return False
    element = fn.builder.temp()
    function = fn.value(callbacks[0])
    head = fn.file.positions.through(node, child(node, "name"))

    def body() -> None:
        fn.builder.add(
            Call(fn.builder.temp(), function, (Arg(element),), dropped=True), fn.span(callbacks[0])
        )

    fn.builder.loop_for(head, element, iterable, body)
    return True


def _if_present(fn: Lowering, node: Node, optional: Expr, name: str, arguments: Node) -> bool:
    """Lower `answer.ifPresent(text -> ...)` as a branch."""
    callbacks = parts(arguments)
    if _IF_PRESENT.get(name) != len(callbacks):
        return False
    first, *second = [(fn.value(each), fn.span(each)) for each in callbacks]
    head = fn.file.positions.through(node, child(node, "name"))
    present = fn.builder.temp()
    fn.builder.add(Call(present, Attr(optional, "isPresent"), ()), head, no_raise=True)
    fork = fn.builder.test(present, head)
    after: Ends = []
    branches = ((fork.true, [first], (Arg(Item(optional, Literal(0))),)), (fork.false, second, ()))
    for ends, functions, args in branches:
        fn.builder.resume(ends)
        for function, span in functions:
            fn.builder.add(Call(fn.builder.temp(), function, args, dropped=True), span)
        after += fn.builder.take()
    fn.builder.resume(after)
    return True


def _takes_one(callback: Node) -> bool:
    """Whether a callback is a method reference, or a lambda with one parameter."""
    if callback.type != "lambda_expression":
        return callback.type == "method_reference"
    written = child(callback, "parameters")
    return written.type not in _SEVERAL or len(parts(written)) == 1


def _receiver(fn: Lowering, node: Node, receiver: Node) -> Expr:
    """The receiver of a call; `super` and `Outer.super` become calls of `super()`."""
    qualifiers = node.named_children[1:] if node.named_child_count > _USUAL_PARTS else ()
    if receiver.type == "super" or any(part.type == "super" for part in qualifiers):
        result = fn.builder.temp()
        fn.builder.add(Call(result, Global("super"), ()), fn.span(receiver))
        return result
    return fn.value(receiver)


def _equality(fn: Lowering, obj: Expr, name: str, arguments: Node) -> Expr | None:
    """`a.equals(b)` and `Objects.equals(a, b)` as comparisons."""
    if name not in _EQUALS:
        return None
    operands = parts(arguments)
    if len(operands) == 1:
        return equality(obj, "==", fn.value(operands[0]))
    if len(operands) == 2 and obj == Global("Objects"):  # noqa: PLR2004
        left = fn.value(operands[0])
        return equality(left, "==", fn.value(operands[1]))
    return None


# ---- constructors ----


def _new(fn: Lowering, node: Node) -> Expr:
    body = _class_body(node)
    if body is not None:
        return fn.values[body.type](fn, node)
    return _new_step(fn, node)


def _class_body(node: Node) -> Node | None:
    last = node.named_children[-1]
    return last if last.type == "class_body" else None


def _new_step(fn: Lowering, node: Node, *, dropped: bool = False) -> Expr:
    first = parts(node)[0]
    created = child(node, "type")
    if first.start_byte == node.start_byte:  # outer.new Inner()
        fn.value(first)
    func = type_of(fn.type_name(created))
    args = [Arg(fn.value(each)) for each in parts(child(node, "arguments"))]
    args += [Arg(Name(word), name=word) for word in sorted(fn.frame.class_captures(fn.type_name(created)))]
    result = fn.builder.temp()
    fn.builder.add(Call(result, func, tuple(args), dropped=dropped), fn.span(node))
    return result


def constructor_call(fn: Lowering, node: Node) -> None:
    """`super(...)` or `this(...)` at the start of a constructor."""
    if child(node, "constructor").type == "super":
        obj: Expr = fn.builder.temp()
        assert not isinstance(obj, Global)
        fn.builder.add(Call(obj, Global("super"), ()), fn.span(child(node, "constructor")))  # type: ignore[arg-type]
    else:
        obj = fn.frame.this() or Global("this")
    args = tuple([Arg(fn.value(each)) for each in parts(child(node, "arguments"))])
    result = fn.builder.temp()
    span = fn.file.positions.through(node, child(node, "arguments"))
    fn.builder.add(Call(result, Attr(obj, "<init>"), args, dropped=True), span)


# ---- method references ----


def _reference(fn: Lowering, node: Node) -> Expr:
    named = [part for part in node.children if part.type not in COMMENTS]
    first, last = named[0], named[-1]
    if last.type == "new":
        return Mix("new", ()) if first.type == "array_type" else type_of(fn.type_name(first))
    obj = _receiver(fn, node, first) if first.type == "super" else fn.value(first)
    return Attr(obj, fn.text(last))


# ---- values without steps ----


def _pure_call(fn: Lowering, node: Node) -> Expr:
    receiver = node.child_by_field_name("object")
    name = fn.text(child(node, "name"))
    func = fn.frame.method(name) if receiver is None else Attr(fn.value(receiver), name)
    return Mix("call", (func, *map(fn.value, parts(child(node, "arguments")))))


def _pure_new(fn: Lowering, node: Node) -> Expr:
    func = type_of(fn.type_name(child(node, "type")))
    return Mix("call", (func, *map(fn.value, parts(child(node, "arguments")))))


def _pure_reference(fn: Lowering, node: Node) -> Expr:
    first = node.children[0]
    return Mix("method", (fn.value(first),))


CALLS: Values = {
    "method_invocation": _call,
    "object_creation_expression": _new,
    "method_reference": _reference,
}
PURE_CALLS: Values = {
    "method_invocation": _pure_call,
    "object_creation_expression": _pure_new,
    "method_reference": _pure_reference,
}
