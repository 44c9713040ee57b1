"""What declared types tell: which local or field is an object of the framework, and which of a class of the project.

`OutputCollector out` makes `out` a `Handle` wherever the class is known to the dialect; a project class that
derives from such a class is known by its own methods first.
"""

from collections.abc import Mapping

from ackdoctor.flow.context import Context
from ackdoctor.flow.expressions import memoize
from ackdoctor.flow.state import Handle, Instance, State, Value
from ackdoctor.model.cfg import Attr, Bind, Call, Expr, Global, Name
from ackdoctor.model.component import ClassInfo, Function, Unit
from ackdoctor.model.dialect import Dialect, Role

__all__ = [
    "attribute_of",
    "class_of",
    "declared_field",
    "declared_local",
    "declared_result",
    "enclosing",
    "field_of",
    "foreign_kind",
    "maker",
    "text_of",
]


def _handle_of(dialect: Dialect, names: tuple[str, ...]) -> Handle | None:
    """The framework's object that one of these qualified classes declares."""
    return next((Handle(dialect.objects[name]) for name in names if name in dialect.objects), None)


def foreign_kind(context: Context, cls: ClassInfo) -> Handle | None:
    """What a class of the project that derives from a framework's object is."""
    return _handle_of(context.component.dialect, context.program.lineage(cls).foreign)


def declared_local(context: Context, function: Function, name: str) -> Value | None:
    """The framework's object that a local or parameter is declared to be."""
    text = text_of(function, name)
    return _handle(context, context.unit(function), text) if text else None


def text_of(function: Function, name: str) -> str:
    """The declared type of a local or parameter as written, or ""."""
    return _texts(function).get(name, "")


@memoize
def _texts(function: Function) -> Mapping[str, str]:
    return {param.name: param.type for param in function.params if param.type} | dict(function.types)


def declared_field(context: Context, name: str) -> Value | None:
    """The framework's object that a field of the component is declared to be."""
    found = context.component.declared(name)
    if found is None:
        return _inherited(context.component.role, name)
    cls, text = found
    return _handle(context, context.program.units[cls.path], text)


def _inherited(role: Role, name: str) -> Handle | None:
    return Handle(role.fields[name]) if name in role.fields else None


def field_of(context: Context, cls: ClassInfo, name: str) -> tuple[ClassInfo, str] | None:
    """The declared type of a field of another class of the project, and the class that declares it."""
    for each in context.program.lineage(cls).order:
        if name in each.types:
            return each, each.types[name]
    return None


def attribute_of(context: Context, instance: Instance, name: str) -> Value | None:
    """What a field of another object of the project is."""
    for field, value in instance.given:
        if field == name:
            return value
    found = field_of(context, instance.cls, name)
    if found is None:
        return None
    cls, text = found
    return _handle(context, context.program.units[cls.path], text)


def declared_result(context: Context, function: Function) -> Handle | None:
    """The collector that a method is declared to give, however it comes by it."""
    found = _handle(context, context.unit(function), function.returns) if function.returns else None
    return found if found is not None and found.kind not in _DATA else None


_DATA = ("tuple", "window")  # which one it is tells more than what it is


def enclosing(context: Context, cls: ClassInfo) -> ClassInfo | None:
    """The class around an inner one."""
    outer = cls.qualname.rpartition(".")[0]
    return context.program.units[cls.path].classes.get(outer)


def _handle(context: Context, unit: Unit, text: str) -> Handle | None:
    found = context.program.type_of(unit, text)
    if isinstance(found, ClassInfo):
        return foreign_kind(context, found)
    return _handle_of(context.component.dialect, found)


def class_of(context: Context, function: Function, state: State, expr: Expr) -> ClassInfo | None:
    """The class of the project that an expression's value is declared to be of."""
    match expr:
        case Name(id=name):
            value = state.env.get(name)
            if isinstance(value, Instance):
                return value.cls
            text, unit = text_of(function, name), context.unit(function)
            if not text and name.startswith("%"):
                return _made(context, function, name)
            return _project(context, unit, text)
        case Attr(obj=Name(id=own), name=name) if own in _OWN:
            value = state.env.get(own)
            found = (
                field_of(context, value.cls, name)
                if isinstance(value, Instance)
                else context.component.declared(name)
            )
            return _project(context, context.program.units[found[0].path], found[1]) if found else None
        case _:
            return None


_OWN = ("this", "self")


def _project(context: Context, unit: Unit, text: str) -> ClassInfo | None:
    found = context.program.type_of(unit, text) if text else None
    return found if isinstance(found, ClassInfo) else None


def maker(function: Function, name: str) -> Call | Bind | None:
    """The step that made a temporary."""
    for step in function.cfg.steps:
        match step.op:
            case Call(result=Name(id=made)) | Bind(target=Name(id=made)) if made == name:
                return step.op
            case _:
                pass
    return None


def _made(context: Context, function: Function, name: str) -> ClassInfo | None:
    match maker(function, name):
        case Call(func=Global() as func):
            symbols = context.program.resolve(context.unit(function), func)
            return next((symbol for symbol in symbols if isinstance(symbol, ClassInfo)), None)
        case _:
            return None
