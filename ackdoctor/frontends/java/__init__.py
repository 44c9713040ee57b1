"""Java source to a `Unit`: files, classes with their initialisers, anonymous classes and lambdas."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ackdoctor.flow.build import CfgBuilder
from ackdoctor.frontends import UnknownSyntax, module_body, reason_of
from ackdoctor.frontends.java.expressions import arguments_of
from ackdoctor.frontends.java.lowering import (
    TABLES,
    UNREADABLE,
    Frame,
    Lowering,
    Owner,
    SourceFile,
    dotted,
    has_error,
    type_name,
    type_of,
)
from ackdoctor.frontends.java.statements import (
    Body,
    Heading,
    function,
    is_static,
    method,
    params_of,
    split_modifiers,
    start,
    type_parameters,
)
from ackdoctor.frontends.java.syntax import Node, Positions, child, decode, parse, parts
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
    Global,
    Mix,
    Name,
    Param,
    Unit,
)
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.source import Span

__all__ = ["Lowered", "lower_source"]


class Lowered(NamedTuple):
    """The unit of a file, and the places that could not be read."""

    unit: Unit
    broken: tuple[Unreadable, ...]


def lower_source(*, path: str, data: bytes) -> Lowered | Unreadable:
    """Lower one file; never raises for bad input.

    A file with syntax errors is read in part: `Lowered.broken` lists the places and what they make unreadable.  Without
    any class the file is unreadable.
    """
    source = decode(path, data)
    if isinstance(source, Unreadable):
        return source
    root, positions = parse(source), Positions(source)
    tops = parts(root)
    package = next((each for each in tops if each.type == "package_declaration"), None)
    module = "" if package is None or package.has_error else dotted(positions, parts(package)[-1])
    file = SourceFile(path, module, positions)
    imports, stars = _imports(file, tops)
    functions: dict[str, Function] = {}
    for each in [root] if root.type == "ERROR" else tops:
        _declare_top(file, each, functions)
    if root.has_error:
        if functions or root.is_error or has_error(root.children):
            for info in file.classes.values():  # members may be missing
                if UNREADABLE not in info.bases:
                    info.bases = (*info.bases, UNREADABLE)
        file.report_other_errors(root)
    broken = tuple(sorted(file.broken, key=lambda place: (place.line, place.column)))
    if broken and not file.classes:
        return broken[0]
    unit = Unit(
        path=path,
        module=module,
        imports=imports,
        stars=tuple(dict.fromkeys([module, *stars])),
        classes=file.classes,
        functions=functions,
        values={},
        body=module_body(path, CfgBuilder(positions.whole())),
    )
    return Lowered(unit, broken)


def _imports(file: SourceFile, tops: list[Node]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """What each imported name may refer to, and the star imports."""
    imports: dict[str, dict[str, None]] = {}
    stars: list[str] = []
    for node in tops:
        if node.type != "import_declaration" or node.has_error:
            continue
        inner = parts(node)
        name = dotted(file.positions, inner[0])
        if inner[-1].type == "asterisk":
            stars.append(name)
            file.imported.any_static |= any(each.type == "static" for each in node.children)
            continue
        word = name.rpartition(".")[2]
        imports.setdefault(word, {})[name] = None
        static = any(each.type == "static" for each in node.children)
        (file.imported.statics if static else file.imported.types).add(word)
    return {word: tuple(names) for word, names in imports.items()}, stars


def _declare_top(file: SourceFile, node: Node, functions: dict[str, Function]) -> None:
    """Declare the classes and functions of a node outside all classes."""
    kind = node.type
    try:
        if kind == "ERROR":
            shapes = list(_classes_in_error(file, node))
            for shape in shapes:
                _define_class(file, shape, None)
            if not shapes:
                file.report_error(node, "skipped")
                for inner in parts(node):
                    _declare_top(file, inner, functions)
        elif kind in _CLASSES:
            _declare(file, node, None)
        elif kind == "method_declaration":
            heading = _heading(file, "", node)
            found = function(file, heading, Frame(None, file.imported), [], _body(node))
            functions.setdefault(found.name, found)
    except (RecursionError, UnknownSyntax) as error:
        file.report(node, reason_of(error), "this class is not read")


# ---- classes ----

_CLASSES = frozenset(
    "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration".split()
)
_FIELDS = frozenset({"field_declaration", "constant_declaration"})
_METHODS = frozenset({"method_declaration", "annotation_type_element_declaration"})
_CONSTRUCTORS = frozenset({"constructor_declaration", "compact_constructor_declaration"})
_BASES = frozenset({"superclass", "super_interfaces", "extends_interfaces"})
_MOST_HEADERS = 200  # in one error; text with more is not Java
_MOST_INITIALISERS = 2000  # in all constructors of a class; generated classes may have many of both


class _Shape(NamedTuple):
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


def _members(body: Iterable[Node]) -> Iterator[Node]:
    """The declarations in a class body, including those inside syntax errors."""
    for each in body:
        if each.type in ("enum_body_declarations", "ERROR"):
            yield from _members(each.named_children)
        else:
            yield each


def _bases(file: SourceFile, nodes: Iterable[Node]) -> Iterator[Expr]:
    """The types that a class extends and implements."""
    for node in nodes:
        if node.type in _BASES:
            for listed in parts(node):
                types = parts(listed) if listed.type == "type_list" else [listed]
                yield from (type_of(type_name(file.positions, part)) for part in types)


def _classes_in_error(file: SourceFile, error: Node) -> Iterator[_Shape]:
    """The classes whose headers are in a syntax error; each one is taken for a member of the one before.

    If a brace is missing, tree-sitter may drop the enclosing class and put its header and members into one error.
    """
    children = error.children
    heads = [
        place
        for place, (word, name) in enumerate(pairwise(children))
        if word.type == "class" and name.type == "identifier"
    ]
    if len(heads) > _MOST_HEADERS:
        return
    readable = _CLASSES | _CONSTRUCTORS | _FIELDS | {"method_declaration"}
    qualname = ""
    for head, end in pairwise([*heads, len(children)]):
        name, own = children[head + 1], children[head + 2 : end]
        word = file.positions.text(name)
        qualname = f"{qualname}.{word}" if qualname else word
        yield _Shape(
            word,
            file.qualname(name, qualname),
            error,
            file.positions.span(name),
            [each for each in _members(own) if each.type in readable],
            tuple(_bases(file, own)),
            any(each.type == "superclass" for each in own),
            whole=False,
        )


def _declare(file: SourceFile, node: Node, parent: Owner | Frame | None) -> ClassInfo | None:
    """Lower a class declaration with its members, and add it to the file's classes."""
    if file.quiet:
        return None
    word, body = child(node, "name"), child(node, "body")
    name = file.positions.text(word)
    outer = parent.owner() if isinstance(parent, Frame) else parent
    shape = _Shape(
        name,
        file.qualname(node, name if outer is None else f"{outer.qualname}.{name}"),
        node,
        file.positions.span(word),
        tuple(_members(body.named_children)),
        tuple(_bases(file, node.named_children)),
        node.child_by_field_name("superclass") is not None,
        split_modifiers(node)[0],
        node.child_by_field_name("parameters") if node.type == "record_declaration" else None,
        not (node.has_error and has_error([*node.children, *body.children])),
    )
    return _define_class(file, shape, parent)


def _local_class(fn: Lowering, node: Node) -> None:
    declared = _declare(fn.file, node, fn.frame)
    if declared is not None:
        captures = (each.captures for each in declared.all_methods())
        fn.frame.classes[declared.name] = frozenset[str]().union(*captures)


def _define_class(file: SourceFile, shape: _Shape, parent: Owner | Frame | None) -> ClassInfo:
    """Lower a class of any kind."""
    owner = Owner(shape.name, shape.qualname, parent, inherits=shape.extends)
    owner.type_parameters = type_parameters(file, shape.node)
    types = _scan(file, owner, shape)
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
        constants=frozenset(
            file.positions.text(child(each, "name")) for each in shape.members if each.type == "enum_constant"
        ),
    )
    file.classes[shape.qualname] = info
    if not shape.whole:
        file.report_error(shape.node, f"`{shape.name}` is read only in part")
        info.bases = (*info.bases, UNREADABLE)
    overloads: dict[str, list[Function]] = {}
    for found in _functions(file, owner, shape, info, constants):
        overloads.setdefault(found.name, []).append(found)
    info.methods.update((name, several[0]) for name, several in overloads.items())
    info.overloads = {name: tuple(several) for name, several in overloads.items() if len(several) > 1}
    return info


def _scan(file: SourceFile, owner: Owner, shape: _Shape) -> dict[str, str]:
    """Add the fields, methods and types of a class to its owner; return the declared types of the fields."""
    text, types = file.positions.text, {}
    for each in shape.members:
        kind = each.type
        if kind in _FIELDS:
            written = type_name(file.positions, child(each, "type"))
            for declarator in each.children_by_field_name("declarator"):
                word = text(child(declarator, "name"))
                owner.fields[word] = is_static(each)
                types[word] = written
        elif kind in _METHODS:
            word = text(child(each, "name"))
            owner.methods[word] = owner.methods.get(word, True) and is_static(each)
        elif kind == "enum_constant":
            word = text(child(each, "name"))
            owner.fields[word] = True
            types[word] = shape.name
        elif kind in _CLASSES:
            owner.types.add(text(child(each, "name")))
    for param in params_of(file, Frame(None, file.imported), shape.components):
        owner.fields[param.name] = False
        owner.methods.setdefault(param.name, False)
        types[param.name] = param.type or ""
    return types


def _functions(
    file: SourceFile, owner: Owner, shape: _Shape, info: ClassInfo, constants: Lowering
) -> Iterator[Function]:
    """Lower the members of a class; yield its methods, constructors and initialisers."""
    static, instance = _initialisers_of(file, shape.members)
    most = max(1, _MOST_INITIALISERS // (len(instance) or 1))
    constructors = 0
    for each in shape.members:
        kind = each.type
        if kind in _CLASSES:
            _declare(file, each, owner)
        elif kind in _FIELDS and not each.has_error:
            for declarator, value in _values_of(each):
                word = constants.name(declarator)
                info.attrs[word] = constants.pure(value)
                info.attr_spans[word] = constants.span(declarator)
        elif kind in _METHODS:
            heading = _heading(file, f"{owner.qualname}.", each)
            yield method(file, heading, owner, _body(each), static=is_static(each))
        elif kind in _CONSTRUCTORS:
            some = instance if constructors < most else []
            yield _constructor(file, owner, shape, some, each)
            constructors += 1
    if static:
        heading = _implicit(shape, "<clinit>")
        yield method(file, heading, owner, lambda fn: _run_initialisers(fn, owner, static), static=True)
    if shape.components is not None:
        yield from _record_members(file, owner, shape, instance)
    elif instance and not constructors:
        yield _constructor(file, owner, shape, instance)


# ---- methods and constructors ----


def _heading(file: SourceFile, prefix: str, node: Node, name: str | None = None) -> Heading:
    word = child(node, "name")
    name = name or file.positions.text(word)
    return Heading(
        name,
        file.qualname(node, f"{prefix}{name}"),
        start(file, node),
        file.positions.span(word),
        node,
        node.child_by_field_name("parameters"),
        node.child_by_field_name("type"),
    )


def _implicit(shape: _Shape, name: str) -> Heading:
    """The heading of a function that the class has without declaring it."""
    return Heading(name, f"{shape.qualname}.{name}", shape.head, shape.head, shape.node)


def _body(node: Node) -> Body | None:
    body = node.child_by_field_name("body")
    return None if body is None else lambda fn: fn.statement(body)


def _constructor(
    file: SourceFile, owner: Owner, shape: _Shape, initialisers: Sequence[Node], node: Node | None = None
) -> Function:
    """Lower the constructor declared at a node, or the implicit one."""
    body = None if node is None else child(node, "body")
    first = None if body is None else next(iter(parts(body)), None)
    explicit = first if first is not None and first.type == "explicit_constructor_invocation" else None
    delegates = explicit is not None and any(each.type == "this" for each in explicit.named_children)
    heading = (
        _implicit(shape, "<init>") if node is None else _heading(file, f"{owner.qualname}.", node, "<init>")
    )
    # a record's implicit or compact constructor assigns its components at the end
    assigns = shape.components is not None and (
        node is None or node.type == "compact_constructor_declaration"
    )
    if assigns:
        heading = heading._replace(parameters=shape.components)

    def lower(fn: Lowering) -> None:
        if not delegates:
            _run_initialisers(fn, owner, initialisers)
        if body is not None:
            fn.statement(body)
        for param in params_of(file, Frame(None, file.imported), shape.components) if assigns else ():
            fn.builder.add(Bind(Attr(Name("this"), param.name), Name(param.name)), shape.head)

    return method(file, heading, owner, lower)


def _record_members(
    file: SourceFile, owner: Owner, shape: _Shape, initialisers: Sequence[Node]
) -> Iterator[Function]:
    """The implicit constructor and accessors of a record."""
    params = params_of(file, Frame(None, file.imported), shape.components)
    canonical = (
        each.type == "compact_constructor_declaration"
        or (each.type == "constructor_declaration" and len(parts(child(each, "parameters"))) == len(params))
        for each in shape.members
    )
    if not any(canonical):
        yield _constructor(file, owner, shape, initialisers)
    text = file.positions.text
    declared = {text(child(each, "name")) for each in shape.members if each.type == "method_declaration"}
    for param in params:
        if param.name not in declared:
            yield method(file, _implicit(shape, param.name), owner, _accessor(shape, param.name))


def _accessor(shape: _Shape, name: str) -> Body:
    return lambda fn: fn.builder.leave(Attr(Name("this"), name), shape.head)


# ---- initialisers ----

_LITERALS = frozenset(
    """null_literal true false decimal_integer_literal hex_integer_literal octal_integer_literal
    binary_integer_literal decimal_floating_point_literal hex_floating_point_literal string_literal
    character_literal""".split()
)


def _values_of(field: Node) -> Iterator[tuple[Node, Node]]:
    """The declarators of a field that have values, and the values."""
    for declarator in field.children_by_field_name("declarator"):
        value = declarator.child_by_field_name("value")
        if value is not None:
            yield declarator, value


def _initialisers_of(file: SourceFile, members: Iterable[Node]) -> tuple[list[Node], list[Node]]:
    """The initialisers of a class and of its objects; a static field with a literal needs no code."""
    statics: list[Node] = []
    instance: list[Node] = []
    for each in members:
        if each.type in _FIELDS:
            static = is_static(each)
            values = [value.type for _, value in _values_of(each)]
            has_code = bool(values) and not (static and _LITERALS.issuperset(values))
        elif each.type in ("block", "static_initializer", "enum_constant"):
            static, has_code = each.type != "block", True
        else:
            continue
        if each.has_error:
            file.report_error(each, "an initialiser is not read")
        elif has_code:
            (statics if static else instance).append(each)
    return statics, instance


def _run_initialisers(fn: Lowering, owner: Owner, initialisers: Sequence[Node]) -> None:
    """Lower initialisers at the start of a constructor, without its parameters in scope."""
    if not initialisers:
        return
    constructor, bare = fn.frame, Frame(owner, fn.file.imported)
    if constructor.local(owner.this) is not None:
        bare.declare(owner.this, None)
    bare.types = constructor.types
    fn.frame = bare
    for each in initialisers:
        if each.type in _FIELDS:
            for declarator, value in _values_of(each):
                target = fn.frame.resolve(fn.name(declarator))
                fn.builder.add(Bind(target, fn.value(value)), fn.span(declarator))
        elif each.type == "enum_constant":
            _enum_constant(fn, owner, each)
        else:
            fn.statement(each if each.type == "block" else parts(each)[-1])
    fn.frame = constructor
    constructor.captures |= bare.captures


def _enum_constant(fn: Lowering, owner: Owner, node: Node) -> None:
    """A constant of an enum, with a class of its own if it has a body."""
    args = arguments_of(fn, node) if node.child_by_field_name("arguments") else ()
    body = node.child_by_field_name("body")
    if body is not None and not fn.file.quiet:
        shape = _nested_shape(fn, node, body, child(node, "name"), owner.name)
        shape = shape._replace(whole=not has_error(body.children))
        _define_class(fn.file, shape, owner)
    result = fn.builder.temp()
    fn.builder.add(Call(result, Global(owner.name), args), fn.span(node))
    fn.builder.add(Bind(fn.frame.resolve(fn.name(node)), result), fn.span(node))


# ---- lambdas and anonymous classes ----


def _nested_shape(fn: Lowering, node: Node, body: Node, head: Node, base: str) -> _Shape:
    """The shape of a class without a name."""
    outer = fn.frame.owner()
    within = "" if outer is None else outer.qualname
    name = fn.file.anonymous_name(body, within)
    qualname = f"{within}.{name}" if within else name
    members = tuple(_members(body.named_children))
    return _Shape(name, qualname, node, fn.span(head), members, (type_of(base),))


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
    fn.closures[qualname] = function(file, heading, frame, params, lower)
    return Closure(qualname)


def _anonymous(fn: Lowering, node: Node) -> Expr:
    """`new Base(args) {...}`: a class, since its base may be a component, and an object of closures."""
    file = fn.file
    body = node.named_children[-1]
    base = fn.type_name(child(node, "type"))
    args = arguments_of(fn, node)
    shape = _nested_shape(fn, node, body, child(node, "type"), base)
    quiet = file.quiet
    has_methods = any(each.type == "method_declaration" for each in shape.members)
    if not quiet and base not in _NO_COMPONENTS and has_methods:
        _define_class(file, shape, fn.frame)
        file.quiet = True
    try:
        return _object(fn, shape, base, args)
    finally:
        file.quiet = quiet


def _object(fn: Lowering, shape: _Shape, base: str, args: tuple[Arg, ...]) -> Expr:
    """The object of an anonymous class: its methods are closures that capture it as a local."""
    file, span = fn.file, fn.span(shape.node)
    this = fn.frame.declare(shape.name, base)
    owner = Owner(base, shape.qualname, fn.frame, inherits=False, this=this.id)
    _scan(file, owner, shape)
    prefix = f"{fn.qualname}.<locals>.{shape.name}"
    captured: set[str] = set()
    closures: list[Expr] = []
    for each in shape.members:
        if each.type == "method_declaration":
            heading = _heading(file, f"{prefix}.", each)
            found = function(file, heading, Frame(owner, file.imported), [], _body(each))
            fn.closures[found.qualname] = found
            captured |= found.captures
            closures.append(Closure(found.qualname))
    if closures:
        value: Expr = Build("object", (*closures, *(arg.value for arg in args)))
    else:  # an object of the base class
        value = fn.builder.temp()
        fn.builder.add(Call(value, shape.bases[0], args), span)
    _, initialisers = _initialisers_of(file, shape.members)
    if not initialisers and this.id not in captured:
        fn.frame.types.pop(this.id)
        return value
    fn.builder.add(Bind(this, value), span)
    if initialisers:
        owner.inherits = True
        heading = Heading("<init>", f"{prefix}.<init>", span, shape.head, shape.node)
        frame = Frame(owner, file.imported)
        first = function(
            file, heading, frame, [], lambda inner: _run_initialisers(inner, owner, initialisers)
        )
        fn.closures[first.qualname] = first
        fn.builder.add(Call(fn.builder.temp(), Closure(first.qualname), (), dropped=True), span)
    return this


TABLES.values.update({"lambda_expression": _lambda, "class_body": _anonymous})
TABLES.pure["lambda_expression"] = lambda _fn, _node: Mix("lambda", ())
TABLES.statements.update(dict.fromkeys(_CLASSES - {"annotation_type_declaration"}, _local_class))
