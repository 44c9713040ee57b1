"""Methods, constructors and initialisers."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ackdoctor.frontends.java.grammar import ANNOTATIONS, Node, child, parts
from ackdoctor.frontends.java.lowering import TOO_DEEP, UNREADABLE, Lowering, SourceFile, report, report_error
from ackdoctor.frontends.java.scope import Frame, Owner, type_name
from ackdoctor.frontends.lowering import UnknownSyntax
from ackdoctor.model.cfg import Arg, Bind, Call, Function, Global, Name, Param
from ackdoctor.model.source import Span

__all__ = [
    "Heading",
    "Initialisers",
    "Modifiers",
    "function",
    "initialisers_of",
    "method",
    "modifiers",
    "params_of",
    "run_initialisers",
    "start",
]


class Modifiers(NamedTuple):
    """The annotations of a declaration, whether it is static, and the node after its annotations."""

    annotations: Sequence[Node]
    static: bool
    start: Node


def modifiers(node: Node) -> Modifiers:
    """The modifiers of a declaration."""
    first = node.children[0]
    if first.type != "modifiers":
        return Modifiers((), static=False, start=first)
    words = first.children
    annotations = [word for word in words if word.type in ANNOTATIONS]
    rest = [*words, node.children[1]]
    while rest[0].type in ANNOTATIONS:
        rest.pop(0)
    return Modifiers(annotations, any(word.type == "static" for word in words), rest[0])


def start(file: SourceFile, node: Node) -> Span:
    """The position of a declaration without its annotations."""
    return file.positions.through(modifiers(node).start, node)


def params_of(file: SourceFile, frame: Frame, node: Node | None) -> list[Param]:
    """The parameters of a method or a typed lambda; declares them in its frame."""
    found: list[Param] = []
    for each in () if node is None else parts(node):
        kind = each.type
        if kind == "formal_parameter":
            written = type_name(file.positions, child(each, "type"))
            word = child(each, "name")
            many = "positional"
        elif kind == "spread_parameter":
            inner = parts(each)
            declarator = inner[-1]
            before = [part for part in inner[:-1] if part.type not in ("modifiers", *ANNOTATIONS)]
            written = type_name(file.positions, before[0])
            word = child(declarator, "name")
            many = "*"
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
    annotations: Sequence[Node] = ()
    returns: Node | None = None


def method(
    file: SourceFile,
    heading: Heading,
    owner: Owner,
    *,
    this: str | None,
    body: Callable[[Lowering], None] | None,
) -> Function:
    """Lower a method; `this` is the name of its instance, None for a static method."""
    frame = Frame(owner, file.imported)
    params = [] if this is None else [Param(frame.declare(this, None).id)]
    return function(file, heading, frame, params, body, binding="static" if this is None else "instance")


def function(
    file: SourceFile,
    heading: Heading,
    frame: Frame,
    params: list[Param],
    body: Callable[[Lowering], None] | None,
    *,
    binding: str,
) -> Function:
    """Lower a function; an unreadable body becomes a call of unknown code with all parameters.

    Without a `body` the function is abstract.
    """
    fn = Lowering(file, frame, heading.qualname, heading.span)
    params = [*params, *params_of(file, frame, heading.parameters)]
    if body is not None:
        fn = _lowered(fn, heading, params, body)
    return Function(
        name=heading.name,
        qualname=heading.qualname,
        path=file.path,
        params=tuple(params),
        cfg=fn.builder.finish(),
        span=heading.span,
        head=heading.head,
        binding=binding,
        decorators=tuple(fn.pure(each) for each in heading.annotations if not each.has_error),
        closures=fn.closures,
        captures=frozenset(frame.captures),
        docstring_only=body is None,
        types=frame.declared(),
        returns=_result_of(file, frame, heading.returns),
    )


def _result_of(file: SourceFile, frame: Frame, node: Node | None) -> str:
    written = type_name(file.positions, node) if node is not None else ""
    return "" if frame.is_type_parameter(written) else written


def _lowered(
    fn: Lowering, heading: Heading, params: Sequence[Param], body: Callable[[Lowering], None]
) -> Lowering:
    skipped = f"`{heading.name}` is not read"
    if heading.node.has_error:
        report_error(fn.file, heading.node, skipped)
    else:
        try:
            body(fn)
        except RecursionError:
            report(fn.file, heading.node, TOO_DEEP, skipped)
        except UnknownSyntax as unknown:
            report(fn.file, heading.node, f"syntax that is not yet supported: {unknown}", skipped)
        else:
            return fn
    return _unread(fn, heading, params)


def _unread(fn: Lowering, heading: Heading, params: Sequence[Param]) -> Lowering:
    replacement = Lowering(fn.file, fn.frame, heading.qualname, heading.span)
    args = tuple(Arg(Name(param.name)) for param in params)
    replacement.builder.add(Call(replacement.builder.temp(), UNREADABLE, args), heading.head)
    return replacement


_FIELDS = frozenset("field_declaration constant_declaration".split())
_LITERALS = frozenset(
    """null_literal true false decimal_integer_literal hex_integer_literal octal_integer_literal
    binary_integer_literal decimal_floating_point_literal hex_floating_point_literal string_literal
    character_literal""".split()
)


class Initialisers(NamedTuple):
    """The initialisers of a class and of its objects, in source order."""

    static: list[Node]
    instance: list[Node]


def initialisers_of(file: SourceFile, members: Iterable[Node]) -> Initialisers:
    """Collect the initialisers; a static field with a literal needs no code."""
    initialisers = Initialisers([], [])
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
            report_error(file, each, "an initialiser is not read")
        else:
            (initialisers.static if static else initialisers.instance).extend(found)
    return initialisers


def _has_code(node: Node, *, static: bool) -> bool:
    values = [each.child_by_field_name("value") for each in node.children_by_field_name("declarator")]
    return any(value is not None and not (static and value.type in _LITERALS) for value in values)


def run_initialisers(fn: Lowering, owner: Owner, initialisers: Sequence[Node]) -> None:
    """Lower initialisers at the start of a constructor, without its parameters in scope."""
    if not initialisers:
        return
    constructor, bare = fn.frame, Frame(owner, fn.file.imported)
    if constructor.local(owner.this) is not None:
        bare.declare(owner.this, None)
    bare.types = constructor.types
    fn.frame = bare
    for each in initialisers:
        kind = each.type
        if kind in _FIELDS:
            _fields(fn, each)
        elif kind == "enum_constant":
            _enum_constant(fn, owner, each)
        else:
            fn.statement(each if kind == "block" else parts(each)[-1])
    fn.frame = constructor
    constructor.captures |= bare.captures


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
