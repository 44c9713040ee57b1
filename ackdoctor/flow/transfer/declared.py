"""What the code declares and assigns: the types of locals and fields, and the classes of the objects in them."""

from collections.abc import Iterable, Iterator, Mapping

from ackdoctor.flow.context import Context
from ackdoctor.flow.expressions import calls_by_result, last_name, local_values, memoize
from ackdoctor.flow.state import State
from ackdoctor.flow.symbols import attribute_assignments
from ackdoctor.flow.values import FrameworkObject, Instance, Value
from ackdoctor.model.cfg import Attr, Call, ClassInfo, Expr, Function, Global, Literal, Name, Unit
from ackdoctor.model.dialect import Dialect, Role, VerbKind


def _handle_of(dialect: Dialect, names: tuple[str, ...]) -> FrameworkObject | None:
    """Return the framework object that one of these qualified class names denotes."""
    return next((FrameworkObject(dialect.objects[name]) for name in names if name in dialect.objects), None)


def framework_kind(context: Context, cls: ClassInfo) -> FrameworkObject | None:
    """Return the kind of framework object from which a class of the project derives."""
    return _handle_of(context.component.dialect, context.program.lineage(cls).foreign)


def declared_local(context: Context, function: Function, name: str) -> Value | None:
    """Return the framework object that a local or parameter is declared to be."""
    text = declared_type(function, name)
    return _handle(context, context.unit(function), text) if text else None


def declared_type(function: Function, name: str) -> str:
    """Return the declared type of a local or parameter as written, or ""."""
    return _texts(function).get(name, "")


@memoize
def _texts(function: Function) -> Mapping[str, str]:
    return {param.name: param.type for param in function.params if param.type} | dict(function.types)


def declared_field(context: Context, name: str) -> Value | None:
    """Return the framework object that a field of the component is declared to be."""
    found = context.component.declared(name)
    if found is None:
        return _inherited(context.component.role, name)
    cls, text = found
    return _handle(context, context.program.units[cls.path], text)


def _inherited(role: Role, name: str) -> FrameworkObject | None:
    return FrameworkObject(role.fields[name]) if name in role.fields else None


def declared_field_of(context: Context, cls: ClassInfo, name: str) -> tuple[ClassInfo, str] | None:
    """Return the declared type of a field of another class of the project, and the class that declares it."""
    for each in context.program.lineage(cls).order:
        if name in each.types:
            return each, each.types[name]
    return None


def instance_attribute(context: Context, instance: Instance, name: str) -> Value | None:
    """Return the abstract value of a field of another object of the project."""
    for field, value in instance.fields:
        if field == name:
            return value
    found = declared_field_of(context, instance.cls, name)
    if found is None:
        return None
    cls, text = found
    return _handle(context, context.program.units[cls.path], text)


def declared_result(context: Context, function: Function) -> FrameworkObject | None:
    """Return the collector that a method is declared to return, however it gets it."""
    found = _handle(context, context.unit(function), function.returns) if function.returns else None
    return found if found is not None and found.kind not in _DATA else None


_DATA = ("tuple", "window")  # the object itself is more precise than its type


def enclosing_class(context: Context, cls: ClassInfo) -> ClassInfo | None:
    """Return the class around an inner class."""
    outer = cls.qualname.rpartition(".")[0]
    return context.program.units[cls.path].classes.get(outer)


def _handle(context: Context, unit: Unit, text: str) -> FrameworkObject | None:
    key = (unit.path, text)
    if key not in context.declared_objects:
        found = context.program.type_of(unit, text)
        context.declared_objects[key] = (
            framework_kind(context, found)
            if isinstance(found, ClassInfo)
            else _handle_of(context.component.dialect, found)
        )
    return context.declared_objects[key]


def class_of(context: Context, function: Function, state: State, expr: Expr) -> ClassInfo | None:
    """Return the class of the project that an expression is declared to have."""
    match expr:
        case Name(id=name):
            value = state.env.get(name)
            if isinstance(value, Instance):
                return value.cls
            text, unit = declared_type(function, name), context.unit(function)
            if not text and name.startswith("%"):
                match local_values(function).get(name, ()):
                    case (Call(func=Global() as func), *_):
                        return class_named(context, unit, func)
                    case _:
                        return None
            return _project(context, unit, text)
        case Attr(obj=Name(id=own), name=name) if own == function.receiver:
            value = state.env.get(own)
            found = (
                declared_field_of(context, value.cls, name)
                if isinstance(value, Instance)
                else context.component.declared(name)
            )
            return _project(context, context.program.units[found[0].path], found[1]) if found else None
        case _:
            return None


def field_class(context: Context, name: str) -> ClassInfo | None:
    """Return the class of the project of the object in a field, or in a field of that object: "batcher.rows"."""
    if name not in context.field_classes:
        context.field_classes[name] = _field_class(context, name)
    return context.field_classes[name]


def _field_class(context: Context, name: str) -> ClassInfo | None:
    holder, _, last = name.rpartition(".")
    cls = field_class(context, holder) if holder else None
    if holder and cls is None:
        return None
    return _kept_class(context, cls, last, field_values(context, name))


def field_class_of(context: Context, cls: ClassInfo, name: str) -> ClassInfo | None:
    """Return the class of the project of the object in a field of another class."""
    return _kept_class(context, cls, name, _assigned_in(context.program.lineage(cls).order, name))


def _kept_class(
    context: Context, cls: ClassInfo | None, name: str, values: Iterable[tuple[Function, Expr | Call]]
) -> ClassInfo | None:
    made = {
        class_named(context, context.unit(where), value.func) if isinstance(value, Call) else None
        for where, value in values
    }
    if len(made) == 1 and None not in made:
        return made.pop()
    found = context.component.declared(name) if cls is None else declared_field_of(context, cls, name)
    return _project(context, context.program.units[found[0].path], found[1]) if found is not None else None


def field_values(context: Context, name: str) -> Iterator[tuple[Function, Expr | Call]]:
    """Yield what the code assigns to a field, or to a field of the object in it, with the function that does; None is left out."""
    holder, _, last = name.rpartition(".")
    cls = field_class(context, holder) if holder else None
    order = context.component.lineage if not holder else context.program.lineage(cls).order if cls else ()
    yield from _assigned_in(order, last)


def _assigned_in(classes: Iterable[ClassInfo], name: str) -> Iterator[tuple[Function, Expr | Call]]:
    for method in (method for each in classes for method in each.methods.values()):
        for assigned in attribute_assignments(method):
            if assigned.name == name and assigned.value != Literal(None):
                yield method, calls_by_result(method).get(assigned.value, assigned.value)


def own_field_values(
    context: Context, function: Function, name: str
) -> Iterator[tuple[Function, Expr | Call]]:
    """Yield what the code assigns to a field of a function's own object: the component, or another object of the project."""
    cls = _other_class(context, function)
    if cls is None:
        yield from field_values(context, name)
    else:
        yield from _assigned_in(context.program.lineage(cls).order, name)


def own_field_type(context: Context, function: Function, name: str) -> tuple[ClassInfo, str] | None:
    """Return the declared type of a field of a function's own object, and the class that declares it."""
    cls = _other_class(context, function)
    return context.component.declared(name) if cls is None else declared_field_of(context, cls, name)


def _other_class(context: Context, function: Function) -> ClassInfo | None:
    """Return the class of a method, or of the function around a closure; None if the component derives from it."""
    outermost = function.qualname.partition(".<locals>")[0]
    cls = context.unit(function).classes.get(outermost.rpartition(".")[0])
    return None if cls is None or cls in context.component.lineage else cls


def called_function(context: Context, function: Function, func: Expr) -> Function | None:
    """Return the function of the project that a call in a function runs: a method of its own object, or a global."""
    if isinstance(func, Attr) and isinstance(func.obj, Name) and func.obj.id == function.receiver:
        cls = _other_class(context, function)
        if cls is None:
            return context.component.method(func.name)
        return context.program.find_method(cls, func.name)
    symbols = context.program.resolve(context.unit(function), func)
    return next((symbol for symbol in symbols if isinstance(symbol, Function)), None)


def class_named(context: Context, unit: Unit, expr: Expr) -> ClassInfo | None:
    """Return the class of the project that a name denotes."""
    symbols = context.program.resolve(unit, expr)
    return next((symbol for symbol in symbols if isinstance(symbol, ClassInfo)), None)


def _project(context: Context, unit: Unit, text: str) -> ClassInfo | None:
    found = context.program.type_of(unit, text) if text else None
    return found if isinstance(found, ClassInfo) else None


# ---- framework calls of another class ----

_PROTOCOL = (VerbKind.ACK, VerbKind.FAIL, VerbKind.EMIT, VerbKind.EMIT_MANY)


def makes_framework_calls(context: Context, cls: ClassInfo) -> bool:
    """Whether a class of the project has calls that are named like those that complete or emit tuples."""
    names = {verb.name for verb in context.verbs() if verb.kind in _PROTOCOL}
    lineage = context.program.lineage(cls).order
    return any(
        not names.isdisjoint(_called_names(method)) for each in lineage for method in each.all_methods()
    )


@memoize
def _called_names(function: Function) -> frozenset[str]:
    return frozenset(last_name(step.op.func) for step in function.cfg.steps if isinstance(step.op, Call))
