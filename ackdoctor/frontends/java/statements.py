"""Functions and their statements."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from ackdoctor.flow.build import Ends, Fork, Handler
from ackdoctor.frontends import UnknownSyntax, reason_of
from ackdoctor.frontends.java.expressions import PATTERNS, constructor_call, expression_statement, match
from ackdoctor.frontends.java.loops import IndexLoop, IteratorLoop, index_loop, iterator_loop
from ackdoctor.frontends.java.lowering import (
    TABLES,
    UNREADABLE,
    Frame,
    Lowering,
    Owner,
    SourceFile,
    type_name,
)
from ackdoctor.frontends.java.syntax import ANNOTATIONS, Node, by_type, child, parts
from ackdoctor.model.cfg import (
    Arg,
    Attr,
    Bind,
    Call,
    Compare,
    Expr,
    Function,
    Global,
    Jump,
    Literal,
    Mix,
    Name,
    Param,
)
from ackdoctor.model.source import Span

# ---- functions ----


def split_modifiers(node: Node) -> tuple[list[Node], list[Node]]:
    """The annotations of a declaration, and its other modifiers with the node that follows."""
    first = node.children[0]
    words = [*first.children, node.children[1]] if first.type == "modifiers" else [first]
    annotations = [word for word in words if word.type in ANNOTATIONS]
    return annotations, words


def is_static(node: Node) -> bool:
    """Whether a declaration is static, as a constant of an interface is."""
    static = any(word.type == "static" for word in split_modifiers(node)[1])
    return static or node.type == "constant_declaration"


def start(file: SourceFile, node: Node) -> Span:
    """The position of a declaration without its annotations."""
    first = next(word for word in split_modifiers(node)[1] if word.type not in ANNOTATIONS)
    return file.positions.through(first, node)


def type_parameters(file: SourceFile, node: Node) -> frozenset[str]:
    """The type parameters of a class or method: `S` and `T` of `Base<S, @Nonnull T extends Event>`."""
    generic = node.child_by_field_name("type_parameters")
    each_word = (
        next((part for part in parts(each) if part.type not in ANNOTATIONS), None)
        for each in (parts(generic) if generic is not None else ())
    )
    return frozenset(file.positions.text(word) for word in each_word if word is not None)


def params_of(file: SourceFile, frame: Frame, node: Node | None) -> list[Param]:
    """The parameters of a method or a typed lambda; declares them in its frame."""
    found: list[Param] = []
    for each in () if node is None else parts(node):
        if each.type == "formal_parameter":
            written = type_name(file.positions, child(each, "type"))
            word, many = child(each, "name"), "positional"
        elif each.type == "spread_parameter":
            *before, declarator = parts(each)
            first = next(part for part in before if part.type not in ("modifiers", *ANNOTATIONS))
            written = type_name(file.positions, first)
            word, many = child(declarator, "name"), "*"
        else:
            continue
        declared = None if written == "var" or frame.is_type_parameter(written) else written
        name = frame.declare(file.positions.text(word), declared)
        found.append(Param(name.id, many, None, declared))
    return found


class Heading(NamedTuple):
    """The name, position and declaration of a function."""

    name: str
    qualname: str
    span: Span
    head: Span
    node: Node  # for reports
    parameters: Node | None = None
    returns: Node | None = None


Body: TypeAlias = Callable[[Lowering], None]


def method(
    file: SourceFile, heading: Heading, owner: Owner, body: Body | None, *, static: bool = False
) -> Function:
    """Lower a method."""
    frame = Frame(owner, file.imported)
    params = [] if static else [Param(frame.declare("this", None).id)]
    return function(file, heading, frame, params, body, binding="static" if static else "instance")


def function(
    file: SourceFile,
    heading: Heading,
    frame: Frame,
    params: Sequence[Param],
    body: Body | None,
    *,
    binding: str = "none",
) -> Function:
    """Lower a function; an unreadable body becomes a call of unknown code with all parameters.

    Without a `body` the function is abstract.
    """
    frame.type_parameters = type_parameters(file, heading.node)
    fn = Lowering(file, frame, heading.qualname, heading.span)
    params = [*params, *params_of(file, frame, heading.parameters)]
    if body is not None and not _lower_body(fn, heading, body):
        fn = Lowering(file, frame, heading.qualname, heading.span)
        args = tuple(Arg(Name(param.name)) for param in params)
        fn.builder.add(Call(fn.builder.temp(), UNREADABLE, args), heading.head)
    returns = "" if heading.returns is None else type_name(file.positions, heading.returns)
    return Function(
        name=heading.name,
        qualname=heading.qualname,
        path=file.path,
        params=tuple(params),
        cfg=fn.builder.finish(),
        span=heading.span,
        head=heading.head,
        binding=binding,
        closures=fn.closures,
        captures=frozenset(frame.captures),
        receiver="this" if "this" in frame.captures or any(each.name == "this" for each in params) else "",
        docstring_only=body is None,
        types={name: written for name, written in frame.types.items() if written},
        returns="" if frame.is_type_parameter(returns) else returns,
    )


def _lower_body(fn: Lowering, heading: Heading, body: Body) -> bool:
    """Lower the body, or report why it cannot be read."""
    skipped = f"`{heading.name}` is not read"
    if heading.node.has_error:
        fn.file.report_error(heading.node, skipped)
        return False
    try:
        body(fn)
    except (RecursionError, UnknownSyntax) as error:
        fn.file.report(heading.node, reason_of(error), skipped)
        return False
    return True


# ---- simple statements ----


def _local(fn: Lowering, node: Node) -> None:
    """`Tuple t = f(), u;`: a variable without a value makes no step."""
    written = fn.type_name(child(node, "type"))
    first: Node | None = node
    for declarator in node.children_by_field_name("declarator"):
        value = declarator.child_by_field_name("value")
        if value is None:
            fn.frame.declare(fn.name(declarator), written)
        else:
            _bind_local(fn, declarator, written, value, fn.through(first or declarator, declarator))
            first = None


def _bind_local(fn: Lowering, node: Node, written: str, value: Node, span: Span) -> Name:
    """Declare a variable with a value; the type of `var` is that of the constructor or cast on the right."""
    result = fn.value(value)
    if written == "var" and value.type in ("object_creation_expression", "cast_expression"):
        written = fn.type_name(child(value, "type"))
    name = fn.frame.declare(fn.name(node), written)
    fn.builder.add(Bind(name, result), span)
    return name


def _return(fn: Lowering, node: Node) -> None:
    inner = next(iter(parts(node)), None)
    value = None if inner is None else fn.value(inner)
    fn.builder.leave(value, fn.through(node, inner or node.children[0]))


def _throw(fn: Lowering, node: Node) -> None:
    inner = parts(node)[0]
    fn.builder.throw(fn.value(inner), fn.through(node, inner))


def _assert(fn: Lowering, node: Node) -> None:
    inner = parts(node)
    fn.assertion(inner[0], inner[1:], fn.through(node, inner[-1]))


def _jump(fn: Lowering, node: Node) -> None:
    """`break` and `continue`, with or without a label."""
    word = node.children[0]
    label = next(iter(parts(node)), None)
    target = None if label is None else fn.text(label)
    fn.builder.jump(word.type, fn.through(node, label or word), target)


def _yield(fn: Lowering, node: Node) -> None:
    value = parts(node)[0]
    if fn.result is None:
        expression_statement(fn, value)
    else:
        span = fn.through(node, value)
        fn.builder.add(Bind(fn.result, fn.value(value)), span)
        fn.builder.jump("yield", span, fn.result.id)


# ---- blocks, branches and loops ----


def _block(fn: Lowering, node: Node) -> None:
    with fn.frame.block():
        fn.run(node.named_children)


def _labelled(fn: Lowering, node: Node) -> None:
    name, *_, statement = parts(node)
    label = fn.text(name)
    if statement.type in _BREAKABLE:
        _BREAKABLE[statement.type](fn, statement, label)
    else:
        fn.builder.region(partial(fn.block, statement), label=label)


def _synchronized(fn: Lowering, node: Node) -> None:
    lock, body = parts(node)
    fn.value(lock)
    fn.builder.add(Jump("synchronized"), fn.through(node, lock))
    fn.statement(body)


def _if(fn: Lowering, node: Node) -> None:
    links: list[tuple[Node, Callable[[], None]]] = []
    link: Node | None = node
    while link is not None and link.type == "if_statement":
        links.append((child(link, "condition"), partial(fn.block, child(link, "consequence"))))
        link = link.child_by_field_name("alternative")
    fn.if_chain(links, None if link is None else partial(fn.block, link))


def _header(fn: Lowering, node: Node) -> Span:
    """`for (Tuple t : batch)` or `catch (E e)`, without the body."""
    return fn.through(node, [each for each in node.children if each.type == ")"][-1])


def _while(fn: Lowering, node: Node, label: str | None = None) -> None:
    condition = child(node, "condition")
    by_hand = iterator_loop(fn, condition, child(node, "body"))
    body = partial(fn.block, child(node, "body"))
    if by_hand is not None:
        _for_iterator(fn, fn.through(node, condition), by_hand, body, label)
        return
    fn.builder.loop_while(fn.through(node, condition), partial(fn.fork, condition), body, label=label)


def _do(fn: Lowering, node: Node, label: str | None = None) -> None:
    condition = partial(fn.fork, child(node, "condition"))
    body = partial(fn.block, child(node, "body"))
    fn.builder.loop_until(fn.span(node.children[0]), condition, body, label=label)


def _for(fn: Lowering, node: Node, label: str | None = None) -> None:
    condition = node.child_by_field_name("condition")
    updates = node.children_by_field_name("update")

    def ask() -> Fork:
        return Fork(fn.builder.take(), []) if condition is None else fn.fork(condition)

    def again() -> None:
        for update in updates:
            expression_statement(fn, update)

    with fn.frame.block():
        for each in node.children_by_field_name("init"):
            if each.type == "local_variable_declaration":
                fn.statement(each)
            else:
                expression_statement(fn, each)
        by_iterator = None if updates else iterator_loop(fn, condition, child(node, "body"))
        by_index = index_loop(fn, node)
        body = partial(fn.block, child(node, "body"))
        if by_iterator is not None:
            _for_iterator(fn, _header(fn, node), by_iterator, body, label)
        elif by_index is not None:
            _for_index(fn, node, by_index, again, label)
        else:
            fn.builder.loop_while(
                _header(fn, node), ask, body, label=label, update=again if updates else None
            )


def _for_iterator(
    fn: Lowering, header: Span, loop: IteratorLoop, body: Callable[[], None], label: str | None
) -> None:
    """A loop over an iterator, as one over its collection."""
    iterator = fn.value(loop.iterator)
    with fn.frame.block():
        element = fn.replaced[loop.read.id] = fn.frame.declare("next()", None)
        fn.builder.loop_for(header, element, iterator, body, label=label)


def _for_index(
    fn: Lowering, node: Node, loop: IndexLoop, again: Callable[[], None], label: str | None
) -> None:
    """A loop over the indices of a list, as one over its elements; the index counts beside it."""
    collection = fn.value(loop.collection)
    with fn.frame.block():
        element = fn.frame.declare(f"get({loop.word})", None)
        fn.replaced.update((read.id, element) for read in loop.reads)
        body = partial(fn.block, child(node, "body"))
        fn.builder.loop_for(_header(fn, node), element, collection, body, label=label, update=again)


def _for_each(fn: Lowering, node: Node, label: str | None = None) -> None:
    iterable = fn.value(child(node, "value"))
    written = fn.type_name(child(node, "type"))
    with fn.frame.block():
        variable = fn.frame.declare(fn.name(node), written)
        body = partial(fn.block, child(node, "body"))
        fn.builder.loop_for(_header(fn, node), variable, iterable, body, label=label)


# ---- try ----


def _try(fn: Lowering, node: Node) -> None:
    inner = parts(node)
    handlers = [_handler(fn, part) for part in inner if part.type == "catch_clause"]
    final = next((partial(_finally, fn, part) for part in inner if part.type == "finally_clause"), None)
    body: Callable[[], None] = partial(fn.statement, child(node, "body"))
    resources = node.child_by_field_name("resources")
    if resources is not None:
        body = partial(_with_resources, fn, parts(resources), body)
    fn.builder.attempt(body, handlers, None, final)


def _handler(fn: Lowering, node: Node) -> Handler:
    caught = parts(node)[0]
    written = next(part for part in caught.named_children if part.type == "catch_type")
    types = tuple(fn.type_name(part) for part in parts(written))
    word = fn.name(caught)
    only = types[0] if len(types) == 1 else None
    with fn.frame.block():
        name = fn.frame.declare_caught(word, only)

    def body() -> None:
        with fn.frame.block():
            fn.frame.declare_caught(word, only)
            fn.statement(child(node, "body"))

    everything = not {"Throwable", "java.lang.Throwable"}.isdisjoint(types)
    return Handler(types, name.id, _header(fn, node), body, everything)


def _finally(fn: Lowering, node: Node) -> None:
    fn.builder.add(Jump("finally"), fn.span(node.children[0]))
    fn.statement(parts(node)[-1])


def _with_resources(fn: Lowering, resources: Sequence[Node], body: Callable[[], None]) -> None:
    """Close each resource after the code that follows it, however that code ends."""
    if not resources:
        body()
        return
    node, *rest = resources
    with fn.frame.block():
        resource = _resource(fn, node)

        def close() -> None:
            """The implicit call of `close()`; quiet, since authors do not expect it to throw."""
            call = Call(fn.builder.temp(), Attr(resource, "close"), (), dropped=True)
            fn.builder.add(call, fn.span(node), no_raise=True)

        fn.builder.attempt(partial(_with_resources, fn, rest, body), final=close)


def _resource(fn: Lowering, node: Node) -> Expr:
    value = node.child_by_field_name("value")
    if value is None:
        return fn.value(parts(node)[0])
    return _bind_local(fn, node, fn.type_name(child(node, "type")), value, fn.span(node))


# ---- switch ----


def _switch(fn: Lowering, node: Node, label: str | None = None) -> None:
    fn.builder.region(partial(_switch_body, fn, node, None), label=label, unlabelled=True)


def _switch_value(fn: Lowering, node: Node) -> Expr:
    """The value is a temporary, whose name is also the target label of `yield`."""
    result = fn.builder.temp()
    outer, fn.result = fn.result, result
    fn.builder.region(partial(_switch_body, fn, node, result), label=result.id, unlabelled=True)
    fn.result = outer
    return result


def _switch_body(fn: Lowering, node: Node, result: Name | None) -> None:
    condition = child(node, "condition")
    subject = fn.stored(fn.value(condition), parts(condition)[-1])
    groups: list[tuple[Node, list[Node], list[Node]]] = []  # with labels and statements
    for group in parts(child(node, "body")):
        inner = parts(group)
        labels = [each for each in inner if each.type == "switch_label"]
        groups.append((group, labels, inner[len(labels) :]))
    after: Ends = []
    with fn.frame.block():
        entries, missed = _test_labels(fn, [labels for _, labels, _ in groups], subject)
        for (group, _, body), entry in zip(groups, entries, strict=True):
            fn.builder.resume(entry)
            if group.type != "switch_rule":
                fn.run(body)
                continue
            if result is not None and body[0].type == "expression_statement":
                value = parts(body[0])[0]
                fn.builder.add(Bind(result, fn.value(value)), fn.span(value))
            else:
                fn.block(body[0])
            after += fn.builder.take()
    cases = [case for _, labels, _ in groups for label in labels for case in parts(label)]
    # the compiler requires that some label always matches if a label is a pattern or null (JLS 14.11.2)
    exhaustive = any(case.type in PATTERNS or case.type == "null_literal" for case in cases)
    if result is None and not exhaustive:
        fn.builder.resume(missed)
    fn.builder.resume(after)


def _test_labels(fn: Lowering, groups: Iterable[Sequence[Node]], subject: Expr) -> tuple[list[Ends], Ends]:
    """The entry edges of each group of labels, and the edges that no label matches."""
    entries: list[Ends] = []
    default: Ends | None = None
    for labels in groups:
        entry: Ends = []
        for label in labels:
            if _test_label(fn, label, subject, entry):
                default = entry
        entries.append(entry)
    missed = fn.builder.take()
    if default is not None:
        default += missed
        missed = []
    return entries, missed


def _test_label(fn: Lowering, label: Node, subject: Expr, entry: Ends) -> bool:
    """Test one label; return whether it is, or contains, `default`."""
    cases = parts(label)
    guard = next((case for case in cases if case.type == "guard"), None)
    is_default = not cases
    for case in cases:
        if case is guard:
            continue
        if case.type == "identifier" and fn.text(case) == "default":
            is_default = True
            continue
        missed = fn.guarded(_test_case(fn, case, subject), guard and parts(guard)[0])
        entry += fn.builder.take()
        fn.builder.resume(missed)
    return is_default


def _test_case(fn: Lowering, case: Node, subject: Expr) -> Ends:
    if case.type in PATTERNS:
        return match(fn, case, subject)
    if case.type == "identifier" and not fn.frame.is_variable(fn.text(case)):
        constant: Expr = Global(fn.text(case))  # a constant of the subject's enum
    else:
        constant = fn.value(case)
    operator = "is" if constant == Literal(None) else "=="
    return fn.expect(Compare(subject, operator, constant), case)


_BREAKABLE: Mapping[str, Callable[..., None]] = {
    "while_statement": _while,
    "do_statement": _do,
    "for_statement": _for,
    "enhanced_for_statement": _for_each,
    "switch_expression": _switch,
}
_STATEMENTS: Mapping[str, Callable[[Lowering, Node], None]] = by_type(
    {
        "expression_statement": lambda fn, node: expression_statement(fn, parts(node)[0]),
        "local_variable_declaration": _local,
        "return_statement": _return,
        "throw_statement": _throw,
        "assert_statement": _assert,
        "break_statement continue_statement": _jump,
        "yield_statement": _yield,
        "explicit_constructor_invocation": constructor_call,
        "block constructor_body": _block,
        "labeled_statement": _labelled,
        "synchronized_statement": _synchronized,
        "if_statement": _if,
        "try_statement try_with_resources_statement": _try,
        "annotation_type_declaration ;": lambda _fn, _node: None,
        "import_declaration package_declaration module_declaration": lambda _fn, _node: None,
    }
)
TABLES.statements.update({**_BREAKABLE, **_STATEMENTS})
TABLES.values["switch_expression"] = _switch_value
TABLES.pure["switch_expression"] = lambda fn, node: Mix("switch", (fn.value(child(node, "condition")),))
