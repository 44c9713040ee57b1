"""What a class's switches stand on: `auto_ack` and its like, wherever the project sets them.

The places in the order in which they win: from outside the class, in one of its methods (an initialiser as a
rule), a decorator of the class, the class itself and its bases.  Anything but one literal is unknown.
A `setattr` whose name only a run knows, or a `__dict__.update`, may mean the switch where no other place speaks of it.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.flow.graph.once import once
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Expr,
    Global,
    Literal,
    Mix,
    Name,
    Next,
    Unpack,
    Update,
)
from ackdoctor.model.component import ClassInfo, Function, Unit
from ackdoctor.model.dialect import Switch

if TYPE_CHECKING:
    from ackdoctor.flow.linking.program import Program

__all__ = ["changes", "setters", "setting"]

_UNKNOWN = Mix("unknown", ())


class _Set(NamedTuple):
    """`obj.name = value`, in whatever words; no name where only a run knows it."""

    obj: Expr
    name: str | None
    value: Expr


def setting(program: "Program", order: tuple[ClassInfo, ...], switch: Switch) -> bool | None:
    """What a switch stands on in the class whose own lineage is `order`; None where only a run can know."""
    attribute = switch.attribute
    if attribute is None:
        return switch.default
    values = list(_from_outside(program, order[0], attribute)) or list(_on_self(program, order, attribute))
    for cls in order:
        values = values or list(_in_class(program, cls, attribute))[:1]
    if not values:
        perhaps = (*_from_outside(program, order[0], None), *_on_self(program, order, None))
        return None if perhaps else switch.default
    truths = {value.value for value in values if isinstance(value, Literal)}
    if len(truths) != 1 or not all(isinstance(value, Literal) for value in values):
        return None
    return bool(truths.pop())


def changes(program: "Program", order: tuple[ClassInfo, ...], attribute: str) -> bool:
    """Whether any code gives an attribute, or may give it, another value than the one in the class: a method, or a function that is given the object."""
    own = any(True for name in (attribute, None) for _ in _on_self(program, order, name))
    return own or any(
        isinstance(obj, Name) or not set(order).isdisjoint(program.resolve(unit, obj))
        for unit, function in program.setters
        for obj, _ in _given(function, attribute)
    )


def setters(units: Iterable[Unit]) -> tuple[tuple[Unit, Function], ...]:
    """The functions, and the bodies of modules, that set any attribute: of most programs few."""
    return tuple(
        (unit, function)
        for unit in units
        for function in (unit.body, *unit.functions.values())
        if _sets(function)
    )


def _from_outside(program: "Program", cls: ClassInfo, attribute: str | None) -> Iterator[Expr]:
    for unit, function in program.setters:
        for obj, value in _given(function, attribute):
            if cls in program.resolve(unit, obj):
                yield value


def _on_self(program: "Program", order: tuple[ClassInfo, ...], attribute: str | None) -> Iterator[Expr]:
    """Where a method sets it on the object or on the class, itself or in a function inside."""
    for cls in order:
        unit = program.units[cls.path]
        for method in cls.methods.values():
            own = Name(method.params[0].name) if method.params else None
            for function in method.tree():
                for obj, value in _given(function, attribute):
                    if obj == own or (not isinstance(obj, Name) and cls in program.resolve(unit, obj)):
                        yield value


def _in_class(program: "Program", cls: ClassInfo, attribute: str) -> Iterator[Expr]:
    """A decorator's word comes after the body's; a property of the name gives what only a run can know."""
    unit = program.units[cls.path]
    for decorator in cls.decorators:
        named = decorator.parts[0] if isinstance(decorator, Mix) and decorator.op == "call" else decorator
        for symbol in program.resolve(unit, named):
            if isinstance(symbol, Function):
                yield from _by_decorator(symbol, attribute)
    if attribute in cls.attrs:
        yield cls.attrs[attribute]
    elif attribute in cls.methods:
        yield _UNKNOWN


def _by_decorator(function: Function, attribute: str) -> Iterator[Expr]:
    classes = {Name(param.name) for param in function.params}
    yield from (value for obj, value in _given(function, attribute) if obj in classes)
    for inner in function.closures.values():
        yield from _by_decorator(inner, attribute)


def _given(function: Function, attribute: str | None) -> Iterator[tuple[Expr, Expr]]:
    """The objects whose attribute a function sets, and to what; None for those of which only a run knows the name."""
    return ((each.obj, each.value) for each in _sets(function) if each.name == attribute)


@once
def _sets(function: Function) -> tuple[_Set, ...]:
    """Every attribute that a function sets; a new object, and the type of one, go by what they were made of."""
    made: dict[Expr, Expr] = {}
    found: list[_Set] = []
    spelt: dict[Expr, tuple[Expr, ...]] = {}
    for step in function.cfg.steps:
        match step.op:
            case Next(target=Name() as each, iterable=Build(items=items)):
                spelt[each] = items
            case Call(func=Global(id="setattr"), args=(obj, named, value)):
                for name in spelt.get(named.value, (named.value,)):
                    known = name.value if isinstance(name, Literal) and isinstance(name.value, str) else None
                    found.append(_Set(_origin(obj.value, made), known, value.value))
            case Call(func=Attr(obj=Attr(obj=obj, name="__dict__"), name="update")):
                found.append(_Set(_origin(obj, made), None, _UNKNOWN))
            case Call(func=func, result=result):
                made[result] = func
            case (
                Bind(target=Attr(obj=obj, name=name), value=value)
                | Update(target=Attr(obj=obj, name=name), value=value)
            ):
                found.append(_Set(_origin(obj, made), name, value))
            case Bind(target=Name() | Global() as new, value=value) if value in made:
                made[new] = made[value]
            case Unpack(targets=targets, value=value):
                parts = value.items if isinstance(value, Build) and len(value.items) == len(targets) else ()
                for target, part in zip(targets, parts or (_UNKNOWN,) * len(targets), strict=True):
                    if isinstance(target, Attr):
                        found.append(_Set(_origin(target.obj, made), target.name, part))
            case _:
                pass
    return tuple(found)


def _origin(obj: Expr, made: dict[Expr, Expr]) -> Expr:
    match obj:
        case Attr(obj=inner, name="__class__") | Mix(op="type", parts=(inner,)):
            return _origin(inner, made)
        case _:
            return made.get(obj, obj)
