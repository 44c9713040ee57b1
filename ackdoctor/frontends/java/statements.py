"""Statements: simple ones, branches, loops, `try` and `switch`."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from ackdoctor.flow.build import Ends, Fork, Handler
from ackdoctor.frontends.java.calls import call_statement, constructor_call
from ackdoctor.frontends.java.expressions import PATTERNS, bind, match, update_statement
from ackdoctor.frontends.java.grammar import Node, by_type, child, parts
from ackdoctor.frontends.java.lowering import Lowering, Statements, Values
from ackdoctor.model.cfg import Attr, Bind, Call, Compare, Expr, Global, Jump, Literal, Mix, Name, Update
from ackdoctor.model.source import Span

__all__ = ["PURE_SWITCHES", "STATEMENTS", "SWITCH_VALUES"]


_CALLS = frozenset({"method_invocation", "object_creation_expression"})
_BREAKABLE = frozenset(
    "while_statement do_statement for_statement enhanced_for_statement switch_expression".split()
)


def _keyword(fn: Lowering, node: Node) -> Span:
    """The position of a statement's first word."""
    return fn.span(node.children[0])


def _expression(fn: Lowering, node: Node) -> None:
    _expression_statement(fn, parts(node)[0])


def _expression_statement(fn: Lowering, node: Node) -> None:
    """An expression whose value is dropped."""
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
            fn.builder.store(value, fn.span(node))


def _local(fn: Lowering, node: Node) -> None:
    """`Tuple t = f(), u;`: a variable without a value makes no step."""
    written = fn.type_name(child(node, "type"))
    first: Node | None = node
    for declarator in node.children_by_field_name("declarator"):
        value = declarator.child_by_field_name("value")
        word = fn.text(child(declarator, "name"))
        if value is None:
            fn.frame.declare(word, None if written == "var" else written)
            continue
        result = fn.value(value)
        name = fn.frame.declare(word, _local_type(fn, written, value))
        fn.builder.add(Bind(name, result), fn.file.positions.through(first or declarator, declarator))
        first = None


def _local_type(fn: Lowering, written: str, value: Node) -> str | None:
    """The written type of a variable; for `var`, the type of the constructor or cast on the right."""
    if written != "var":
        return written
    if value.type in ("object_creation_expression", "cast_expression"):
        return fn.type_name(child(value, "type"))
    return None


def _block(fn: Lowering, node: Node) -> None:
    with fn.frame.block():
        fn.run(node.named_children)


def _if(fn: Lowering, node: Node) -> None:
    """A loop over the links of an `else if` chain, since chains may be long."""
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


# ---- jumps ----


def _one(node: Node) -> Node | None:
    inner = parts(node)
    return inner[0] if inner else None


def _return(fn: Lowering, node: Node) -> None:
    inner = _one(node)
    value = None if inner is None else fn.value(inner)
    fn.builder.leave(value, _through(fn, node, inner))


def _through(fn: Lowering, node: Node, last: Node | None) -> Span:
    return _keyword(fn, node) if last is None else fn.file.positions.through(node, last)


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
    declared = fn.file.tables.declare(fn.file, node, fn.frame)
    if declared is not None:
        fn.frame.classes[declared.name] = frozenset[str]().union(
            *(each.captures for each in declared.all_methods())
        )


def _no_step(_fn: Lowering, _node: Node) -> None:
    return


def _header(fn: Lowering, node: Node) -> Span:
    """`for (Tuple t : batch)`, without the body."""
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
    fn.builder.loop_until(_keyword(fn, node), condition, partial(fn.block, child(node, "body")), label=label)


def _for(fn: Lowering, node: Node) -> None:
    label = fn.take_label()
    condition = node.child_by_field_name("condition")
    updates = node.children_by_field_name("update")

    def ask() -> Fork:
        return Fork(fn.builder.take(), []) if condition is None else fn.fork(condition)

    def again() -> None:
        for update in updates:
            _expression_statement(fn, update)

    with fn.frame.block():
        for each in node.children_by_field_name("init"):
            if each.type == "local_variable_declaration":
                fn.statement(each)
            else:
                _expression_statement(fn, each)
        body = partial(fn.block, child(node, "body"))
        fn.builder.loop_while(_header(fn, node), ask, body, label=label, update=again if updates else None)


def _for_each(fn: Lowering, node: Node) -> None:
    label = fn.take_label()
    iterable = fn.value(child(node, "value"))
    written = fn.type_name(child(node, "type"))
    with fn.frame.block():
        variable = fn.frame.declare(fn.text(child(node, "name")), None if written == "var" else written)
        body = partial(fn.block, child(node, "body"))
        fn.builder.loop_for(_header(fn, node), variable, iterable, body, label=label)


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
    fn.builder.add(Jump("finally"), _keyword(fn, node))
    fn.statement(parts(node)[-1])


def _with_resources(fn: Lowering, resources: Sequence[Node], body: Callable[[], None]) -> None:
    """Close each resource after the code that follows it, however that code ends."""
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
    name: Name = fn.frame.declare(fn.text(child(node, "name")), _local_type(fn, written, value))
    fn.builder.add(Bind(name, result), fn.span(node))
    return name


def _close(fn: Lowering, node: Node, resource: Expr) -> None:
    """The implicit call of `close()`; quiet, since authors do not expect it to throw."""
    close = Call(fn.builder.temp(), Attr(resource, "close"), (), dropped=True)
    fn.builder.add(close, fn.span(node), no_raise=True)


class _Group(NamedTuple):
    """Labels with their statements."""

    labels: list[Node]
    body: list[Node]
    arrow: bool


def _groups(node: Node) -> Iterator[_Group]:
    for part in parts(child(node, "body")):
        inner = parts(part)
        labels = [each for each in inner if each.type == "switch_label"]
        yield _Group(labels, inner[len(labels) :], part.type == "switch_rule")


def _switch(fn: Lowering, node: Node) -> None:
    label = fn.take_label()
    fn.builder.region(partial(_lower, fn, node, None), label=label, unlabelled=True)


def _value(fn: Lowering, node: Node) -> Expr:
    """The value is a temporary, whose name is also the target label of `yield`."""
    result = fn.builder.temp()
    with fn.yielding(result):
        fn.builder.region(partial(_lower, fn, node, result), label=result.id, unlabelled=True)
    return result


def _lower(fn: Lowering, node: Node, result: Name | None) -> None:
    condition = child(node, "condition")
    subject = fn.value(condition)
    if not isinstance(subject, (Name, Global)):
        subject = fn.builder.store(subject, fn.span(parts(condition)[-1]))
    after: Ends = []
    with fn.frame.block():
        groups = list(_groups(node))
        entries, missed = _test_labels(fn, groups, subject)
        for group, entry in zip(groups, entries, strict=True):
            fn.builder.resume(entry)
            _body(fn, group, result)
            if group.arrow:
                after += fn.builder.take()
    if result is None and not _exhaustive(groups):
        fn.builder.resume(missed)
    fn.builder.resume(after)


def _exhaustive(groups: list[_Group]) -> bool:
    """Whether some label always matches: the compiler requires it if a label is a pattern or null (JLS 14.11.2)."""
    cases = (case for group in groups for label in group.labels for case in parts(label))
    return any(case.type in PATTERNS or case.type == "null_literal" for case in cases)


def _test_labels(fn: Lowering, groups: list[_Group], subject: Expr) -> tuple[list[Ends], Ends]:
    """The entry edges of each group, and the edges that no label matches."""
    entries: list[Ends] = []
    default: Ends | None = None
    for group in groups:
        entry: Ends = []
        for label in group.labels:
            is_default = _test_label(fn, label, subject, entry)
            if is_default:
                default = entry
        entries.append(entry)
    rest = fn.builder.take()
    if default is None:
        return entries, rest
    default.extend(rest)
    return entries, []


def _test_label(fn: Lowering, label: Node, subject: Expr, entry: Ends) -> bool:
    """Test one label; return whether it is, or contains, `default`."""
    cases = parts(label)
    if not cases:
        return True
    guard = next((case for case in cases if case.type == "guard"), None)
    is_default = False
    for case in cases:
        if case is guard:
            continue
        if case.type == "identifier" and fn.text(case) == "default":
            is_default = True
            continue
        missed = _test(fn, case, subject)
        if guard is not None:
            fork = fn.fork(parts(guard)[0])
            missed = missed + fork.false
            fn.builder.resume(fork.true)
        entry += fn.builder.take()
        fn.builder.resume(missed)
    return is_default


def _test(fn: Lowering, case: Node, subject: Expr) -> Ends:
    if case.type in PATTERNS:
        return match(fn, case, subject)
    if case.type == "identifier" and not fn.frame.is_variable(fn.text(case)):
        constant: Expr = Global(fn.text(case))  # a constant of the subject's enum
    else:
        constant = fn.value(case)
    operator = "is" if constant == Literal(None) else "=="
    fork = fn.builder.test(Compare(subject, operator, constant), fn.span(case))
    fn.builder.resume(fork.true)
    return fork.false


def _body(fn: Lowering, group: _Group, result: Name | None) -> None:
    if not group.arrow:
        fn.run(group.body)
        return
    (body,) = group.body
    if result is not None and body.type == "expression_statement":
        value = parts(body)[0]
        fn.builder.add(Bind(result, fn.value(value)), fn.span(value))
    else:
        fn.block(body)


def _yield(fn: Lowering, node: Node) -> None:
    value = parts(node)[0]
    if fn.result is None:
        _expression_statement(fn, value)
    else:
        span = fn.file.positions.through(node, value)
        fn.builder.add(Bind(fn.result, fn.value(value)), span)
        fn.builder.jump("yield", span, fn.result.id)


def _pure(fn: Lowering, node: Node) -> Expr:
    return Mix("switch", (fn.value(child(node, "condition")),))


STATEMENTS: Statements = by_type(
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
        "annotation_type_declaration": _no_step,
        "import_declaration package_declaration module_declaration": _no_step,
        ";": _no_step,
        "while_statement": _while,
        "do_statement": _do,
        "for_statement": _for,
        "enhanced_for_statement": _for_each,
        "try_statement": _try,
        "try_with_resources_statement": _try,
        "switch_expression": _switch,
        "yield_statement": _yield,
    }
)
SWITCH_VALUES: Values = {"switch_expression": _value}
PURE_SWITCHES: Values = {"switch_expression": _pure}
