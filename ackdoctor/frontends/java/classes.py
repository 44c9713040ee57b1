"""Classes, anonymous classes and lambdas."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ackdoctor.frontends.java.grammar import ANNOTATIONS, Node, by_type, child, parts
from ackdoctor.frontends.java.lowering import (
    UNREADABLE,
    Lowering,
    SourceFile,
    Values,
    has_error,
    report_error,
)
from ackdoctor.frontends.java.methods import (
    Heading,
    Initialisers,
    function,
    initialisers_of,
    method,
    modifiers,
    params_of,
    run_initialisers,
    start,
)
from ackdoctor.frontends.java.scope import Frame, Owner, type_name, type_of
from ackdoctor.model.cfg import (
    Arg,
    Attr,
    Bind,
    Build,
    Call,
    ClassInfo,
    Closure,
    Expr,
    Function,
    Mix,
    Name,
    Param,
)
from ackdoctor.model.source import Span

__all__ = [
    "CLASSES",
    "CLOSURES",
    "PURE_CLOSURES",
    "Shape",
    "bases",
    "declare",
    "define_class",
    "members",
    "method_of",
    "scan",
    "top_level_function",
]


_FIELDS = frozenset("field_declaration constant_declaration".split())
_BASES = frozenset("superclass super_interfaces extends_interfaces".split())
_NO_INITIALISERS = Initialisers([], [])
_MOST_INITIALISERS = 2000  # in all constructors of a class; generated classes may have many of both
CLASSES = frozenset(
    "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration".split()
)


class Shape(NamedTuple):
    """The parts of a class declaration of any kind."""

    name: str
    qualname: str
    node: Node
    head: Span
    members: Sequence[Node]
    bases: tuple[Expr, ...] = ()
    extends: bool = True
    annotations: Sequence[Node] = ()
    components: Node | None = None  # of a record
    whole: bool = True  # no error between its members


def members(body: Iterable[Node]) -> Iterator[Node]:
    """The declarations in a class body, including those inside syntax errors."""
    for each in body:
        kind = each.type
        if kind in ("enum_body_declarations", "ERROR"):
            yield from members(each.named_children)
        else:
            yield each


def declare(file: SourceFile, node: Node, parent: Owner | Frame | None) -> ClassInfo | None:
    """Lower a class declaration with its members, and add it to the file's classes."""
    if file.quiet:
        return None
    name = file.positions.text(child(node, "name"))
    outer = parent.owner() if isinstance(parent, Frame) else parent
    qualname = name if outer is None else f"{outer.qualname}.{name}"
    body = child(node, "body")
    shape = Shape(
        name,
        file.qualname(node, qualname),
        node,
        file.positions.span(child(node, "name")),
        tuple(members(body.named_children)),
        tuple(bases(file, node.named_children)),
        node.child_by_field_name("superclass") is not None,
        modifiers(node).annotations,
        node.child_by_field_name("parameters") if node.type == "record_declaration" else None,
        not (node.has_error and has_error([*node.children, *body.children])),
    )
    return define_class(file, shape, parent)


def bases(file: SourceFile, nodes: Iterable[Node]) -> Iterator[Expr]:
    """The types that a class extends and implements."""
    for node in nodes:
        if node.type in _BASES:
            for listed in parts(node):
                types = parts(listed) if listed.type == "type_list" else [listed]
                yield from (type_of(type_name(file.positions, part)) for part in types)


def define_class(file: SourceFile, shape: Shape, parent: Owner | Frame | None) -> ClassInfo:
    """Lower a class of any kind."""
    owner = Owner(shape.name, shape.qualname, parent, extends=shape.extends)
    owner.type_parameters = frozenset(_type_parameters(file, shape.node))
    types = scan(file, owner, shape)
    constants = Lowering(file, Frame(owner, file.imported), shape.qualname, shape.head)
    info = ClassInfo(
        name=shape.name,
        qualname=shape.qualname,
        path=file.path,
        module=file.module,
        span=start(file, shape.node),
        head=shape.head,
        bases=shape.bases,
        methods={},
        attrs={},
        attr_spans={},
        decorators=tuple(constants.pure(each) for each in shape.annotations if not each.has_error),
        types=types,
    )
    file.classes[shape.qualname] = info
    if not shape.whole:
        report_error(file, shape.node, f"`{shape.name}` is read only in part")
        info.bases = (*info.bases, UNREADABLE)
    found = _members(file, owner, shape, info, constants)
    overloads: dict[str, list[Function]] = {}
    for each in found:
        overloads.setdefault(each.name, []).append(each)
    info.methods.update((name, several[0]) for name, several in overloads.items())
    info.overloads = {name: tuple(several) for name, several in overloads.items() if len(several) > 1}
    return info


def _type_parameters(file: SourceFile, node: Node) -> Iterator[str]:
    """`S` and `T` of `class Base<S, @Nonnull T extends Event>`."""
    written = node.child_by_field_name("type_parameters")
    for each in () if written is None else parts(written):
        yield file.positions.text(next(part for part in parts(each) if part.type not in ANNOTATIONS))


def _members(
    file: SourceFile, owner: Owner, shape: Shape, info: ClassInfo, constants: Lowering
) -> Iterator[Function]:
    initialisers = initialisers_of(file, shape.members)
    most = max(1, _MOST_INITIALISERS // (len(initialisers.instance) or 1))
    constructors = 0
    for each in shape.members:
        kind = each.type
        if kind in CLASSES:
            declare(file, each, owner)
        elif kind in _FIELDS:
            _attributes(constants, each, info)
        elif kind in _METHODS:
            found = _METHODS[kind](
                file, owner, shape, each, initialisers if constructors < most else _NO_INITIALISERS
            )
            constructors += found.name == "<init>"
            yield found
    if initialisers.static:
        yield _initialiser(file, owner, shape, "<clinit>", None, initialisers.static)
    if shape.components is not None:
        yield from _record_members(file, owner, shape, initialisers)
    elif initialisers.instance and not constructors:
        yield _initialiser(file, owner, shape, "<init>", "this", initialisers.instance)


# ---- declarations ----


def scan(file: SourceFile, owner: Owner, shape: Shape) -> dict[str, str]:
    """Add the fields, methods and types of a class to its owner; return the declared types of the fields."""
    text, types = file.positions.text, {}
    for each in shape.members:
        kind = each.type
        if kind in _FIELDS:
            static = kind == "constant_declaration" or modifiers(each).static
            written = type_name(file.positions, child(each, "type"))
            for declarator in each.children_by_field_name("declarator"):
                word = text(child(declarator, "name"))
                owner.fields[word] = static
                types[word] = written
        elif kind in ("method_declaration", "annotation_type_element_declaration"):
            word = text(child(each, "name"))
            owner.methods[word] = owner.methods.get(word, True) and modifiers(each).static
        elif kind == "enum_constant":
            word = text(child(each, "name"))
            owner.fields[word] = True
            types[word] = shape.name
        elif kind in CLASSES:
            owner.types.add(text(child(each, "name")))
    if shape.components is not None:
        for param in params_of(file, Frame(None, file.imported), shape.components):
            owner.fields[param.name] = False
            owner.methods.setdefault(param.name, False)
            types[param.name] = param.type or ""
    return types


def _attributes(constants: Lowering, node: Node, info: ClassInfo) -> None:
    if node.has_error:
        return
    for declarator in node.children_by_field_name("declarator"):
        value = declarator.child_by_field_name("value")
        if value is not None:
            word = constants.text(child(declarator, "name"))
            info.attrs[word] = constants.pure(value)
            info.attr_spans[word] = constants.span(declarator)


# ---- methods ----


def _heading(file: SourceFile, prefix: str, node: Node, name: str | None = None) -> Heading:
    word = child(node, "name")
    name = name or file.positions.text(word)
    return Heading(
        name,
        file.qualname(node, f"{prefix}.{name}"),
        start(file, node),
        file.positions.span(word),
        node,
        node.child_by_field_name("parameters"),
        modifiers(node).annotations,
        node.child_by_field_name("type"),
    )


def _body(node: Node) -> Callable[[Lowering], None] | None:
    body = node.child_by_field_name("body")
    return None if body is None else lambda fn: fn.statement(body)


def _method(
    file: SourceFile, owner: Owner, _shape: Shape, node: Node, _initialisers: Initialisers
) -> Function:
    this = None if modifiers(node).static else "this"
    return method(file, _heading(file, owner.qualname, node), owner, this=this, body=_body(node))


def method_of(file: SourceFile, owner: Owner, node: Node, prefix: str) -> Function | None:
    """A method of an anonymous class as a closure; its object is a captured local."""
    if node.type != "method_declaration":
        return None
    frame = Frame(owner, file.imported)
    return function(file, _heading(file, prefix, node), frame, [], _body(node), binding="none")


def top_level_function(file: SourceFile, node: Node) -> Function:
    """A method outside all classes."""
    heading = _heading(file, "", node)._replace(
        qualname=file.qualname(node, file.positions.text(child(node, "name")))
    )
    return function(file, heading, Frame(None, file.imported), [], _body(node), binding="none")


def _constructor(
    file: SourceFile, owner: Owner, _shape: Shape, node: Node, initialisers: Initialisers
) -> Function:
    body = child(node, "body")
    first = next(iter(parts(body)), None)
    explicit = first if first is not None and first.type == "explicit_constructor_invocation" else None
    delegates = explicit is not None and any(each.type == "this" for each in explicit.named_children)

    def lower(fn: Lowering) -> None:
        if not delegates:
            run_initialisers(fn, owner, initialisers.instance)
        fn.statement(body)

    return method(file, _heading(file, owner.qualname, node, "<init>"), owner, this="this", body=lower)


def _compact(
    file: SourceFile, owner: Owner, shape: Shape, node: Node, initialisers: Initialisers
) -> Function:
    heading = _heading(file, owner.qualname, node, "<init>")._replace(parameters=shape.components)
    body = child(node, "body")

    def lower(fn: Lowering) -> None:
        run_initialisers(fn, owner, initialisers.instance)
        fn.statement(body)
        _bind_components(fn, shape)

    return method(file, heading, owner, this="this", body=lower)


def _initialiser(
    file: SourceFile, owner: Owner, shape: Shape, name: str, this: str | None, initialisers: Sequence[Node]
) -> Function:
    heading = Heading(name, f"{owner.qualname}.{name}", shape.head, shape.head, shape.node)
    return method(file, heading, owner, this=this, body=lambda fn: run_initialisers(fn, owner, initialisers))


def _bind_components(fn: Lowering, shape: Shape) -> None:
    for param in params_of(fn.file, Frame(None, fn.file.imported), shape.components):
        fn.builder.add(Bind(Attr(Name("this"), param.name), Name(param.name)), shape.head)


def _record_members(
    file: SourceFile, owner: Owner, shape: Shape, initialisers: Initialisers
) -> Iterator[Function]:
    """The implicit constructor and accessors of a record."""
    params = params_of(file, Frame(None, file.imported), shape.components)
    if not any(_is_canonical(each, len(params)) for each in shape.members):
        heading = Heading("<init>", f"{owner.qualname}.<init>", shape.head, shape.head, shape.node)

        def lower(fn: Lowering) -> None:
            run_initialisers(fn, owner, initialisers.instance)
            _bind_components(fn, shape)

        yield method(file, heading._replace(parameters=shape.components), owner, this="this", body=lower)
    text = file.positions.text
    declared = {text(child(each, "name")) for each in shape.members if each.type == "method_declaration"}
    for param in params:
        if param.name not in declared:
            yield _accessor(file, owner, shape, param)


def _is_canonical(node: Node, components: int) -> bool:
    if node.type == "constructor_declaration":
        return len(parts(child(node, "parameters"))) == components
    return node.type == "compact_constructor_declaration"


def _accessor(file: SourceFile, owner: Owner, shape: Shape, param: Param) -> Function:
    name = f"{owner.qualname}.{param.name}"
    heading = Heading(param.name, name, shape.head, shape.head, shape.node)
    value = Attr(Name("this"), param.name)
    return method(file, heading, owner, this="this", body=lambda fn: fn.builder.leave(value, shape.head))


_Lower = Callable[[SourceFile, Owner, Shape, Node, Initialisers], Function]
_METHODS: Mapping[str, _Lower] = by_type(
    {
        "method_declaration annotation_type_element_declaration": _method,
        "constructor_declaration": _constructor,
        "compact_constructor_declaration": _compact,
    }
)


# ---- lambdas and anonymous classes ----

_NO_COMPONENTS = frozenset("Runnable Callable Thread TimerTask Comparator Iterator Iterable".split())


def _lambda(fn: Lowering, node: Node) -> Expr:
    file = fn.file
    qualname = file.qualname(node, f"{fn.qualname}.<locals>.<lambda>")
    frame = Frame(fn.frame, file.imported)
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
    """`new Base(args) {...}`: a class, since its base may be a component, and an object of closures."""
    file = fn.file
    body = node.named_children[-1]
    base = fn.type_name(child(node, "type"))
    args = tuple([fn.value(each) for each in parts(child(node, "arguments"))])
    outer = fn.frame.owner()
    within = "" if outer is None else outer.qualname
    word = file.anonymous_name(body, within)
    qualname = f"{within}.{word}" if within else word
    shape = Shape(
        word,
        qualname,
        node,
        fn.span(child(node, "type")),
        tuple(members(body.named_children)),
        (type_of(base),),
    )
    quiet = file.quiet
    if (
        not quiet
        and base not in _NO_COMPONENTS
        and any(each.type == "method_declaration" for each in shape.members)
    ):
        define_class(file, shape, fn.frame)
        file.quiet = True
    try:
        return _object(fn, shape, base, args)
    finally:
        file.quiet = quiet


def _object(fn: Lowering, shape: Shape, base: str, args: tuple[Expr, ...]) -> Expr:
    file = fn.file
    this = fn.frame.declare(shape.name, base)
    owner = Owner(base, shape.qualname, fn.frame, extends=False, this=this.id)
    scan(file, owner, shape)
    prefix = f"{fn.qualname}.<locals>.{shape.name}"
    closures: list[Expr] = []
    captured: set[str] = set()
    for each in shape.members:
        found = method_of(file, owner, each, prefix)
        if found is not None:
            fn.closures[found.qualname] = found
            captured |= found.captures
            closures.append(Closure(found.qualname))
    value = Build("object", (*closures, *args)) if closures else _plain(fn, shape, args)
    initialisers = initialisers_of(file, shape.members).instance
    if not initialisers and this.id not in captured:
        fn.frame.types.pop(this.id)
        return value
    fn.builder.add(Bind(this, value), fn.span(shape.node))
    if initialisers:
        span = fn.span(shape.node)
        heading = Heading("<init>", f"{prefix}.<init>", span, shape.head, shape.node)
        frame = Frame(owner, file.imported)
        owner.inherits = True
        first = function(
            file,
            heading,
            frame,
            [],
            lambda inner: run_initialisers(inner, owner, initialisers),
            binding="none",
        )
        fn.closures[first.qualname] = first
        fn.builder.add(Call(fn.builder.temp(), Closure(first.qualname), (), dropped=True), span)
    return this


def _plain(fn: Lowering, shape: Shape, args: tuple[Expr, ...]) -> Expr:
    """An object without methods of its own, as an object of the base class."""
    result = fn.builder.temp()
    fn.builder.add(Call(result, shape.bases[0], tuple(map(Arg, args))), fn.span(shape.node))
    return result


def enum_body(file: SourceFile, node: Node, owner: Owner) -> None:
    """The class of an enum constant with a body."""
    if file.quiet:
        return
    body = child(node, "body")
    word = file.anonymous_name(body, owner.qualname)
    head = file.positions.span(child(node, "name"))
    base = type_of(owner.name)
    shape = Shape(word, f"{owner.qualname}.{word}", node, head, tuple(members(body.named_children)), (base,))
    define_class(file, shape._replace(whole=not has_error(body.children)), owner)


def _pure_lambda(_fn: Lowering, _node: Node) -> Expr:
    return Mix("lambda", ())


CLOSURES: Values = {"lambda_expression": _lambda, "class_body": _anonymous}
PURE_CLOSURES: Values = {"lambda_expression": _pure_lambda}
