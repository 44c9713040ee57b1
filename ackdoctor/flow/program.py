"""The linked program: its symbol table, its components with their switches and roles, and classes that look like components.

A component is a class whose lineage reaches a framework class.  Its switches (`auto_ack` and so on) may be set in several
places.  In order of precedence: from outside the class, in one of its methods (usually the constructor), by a class
decorator, in the class body or a base class.  The value is unknown unless all assignments at the winning place give the
same literal.  A `setattr` with a computed name or a `__dict__.update` makes a switch unknown if no other place sets it.
"""

from collections.abc import Iterator, Mapping, Sequence

from ackdoctor.flow.expressions import last_name
from ackdoctor.flow.symbols import UNKNOWN, SymbolTable, attribute_assignments
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Call,
    ClassInfo,
    Component,
    Expr,
    Function,
    Literal,
    Mix,
    Name,
    Return,
    Unit,
)
from ackdoctor.model.dialect import Dialect, EntryKind, Role, Switch

# ---- switches ----


def switch_value(symbols: SymbolTable, order: tuple[ClassInfo, ...], switch: Switch) -> bool | None:
    """The value of a switch in the class with this lineage; None if only a run can know it."""
    attribute = switch.attribute
    if attribute is None:
        return switch.default
    values = list(_set_outside(symbols, order[0], attribute)) or list(_set_on_self(symbols, order, attribute))
    for cls in order:
        values = values or list(_set_in_class(symbols, cls, attribute))[:1]
    if not values:
        computed = (*_set_outside(symbols, order[0], None), *_set_on_self(symbols, order, None))
        return None if computed else switch.default
    truths = {value.value for value in values if isinstance(value, Literal)}
    if len(truths) != 1 or not all(isinstance(value, Literal) for value in values):
        return None
    return bool(truths.pop())


def may_reassign(symbols: SymbolTable, order: tuple[ClassInfo, ...], attribute: str) -> bool:
    """Whether a method, or a function that receives the object, may change an attribute of a class with this lineage."""
    own = any(True for name in (attribute, None) for _ in _set_on_self(symbols, order, name))
    return own or any(
        isinstance(obj, Name) or not set(order).isdisjoint(symbols.resolve(unit, obj))
        for unit, function in symbols.setters
        for obj, _ in _assignments_to(function, attribute)
    )


def _set_outside(symbols: SymbolTable, cls: ClassInfo, attribute: str | None) -> Iterator[Expr]:
    for unit, function in symbols.setters:
        for obj, value in _assignments_to(function, attribute):
            if cls in symbols.resolve(unit, obj):
                yield value


def _set_on_self(symbols: SymbolTable, order: tuple[ClassInfo, ...], attribute: str | None) -> Iterator[Expr]:
    """The values that methods and their inner functions assign on the instance or the class."""
    for cls in order:
        unit = symbols.units[cls.path]
        for method in cls.methods.values():
            own = Name(method.params[0].name) if method.params else None
            for function in method.tree():
                for obj, value in _assignments_to(function, attribute):
                    if obj == own or (not isinstance(obj, Name) and cls in symbols.resolve(unit, obj)):
                        yield value


def _set_in_class(symbols: SymbolTable, cls: ClassInfo, attribute: str) -> Iterator[Expr]:
    """The values from decorators, then from the class body; a property of that name is unknown."""
    unit = symbols.units[cls.path]
    for decorator in cls.decorators:
        callee = decorator.parts[0] if isinstance(decorator, Mix) and decorator.op == "call" else decorator
        for symbol in symbols.resolve(unit, callee):
            if isinstance(symbol, Function):
                yield from _set_by_decorator(symbol, attribute)
    if attribute in cls.attrs:
        yield cls.attrs[attribute]
    elif attribute in cls.methods:
        yield UNKNOWN


def _set_by_decorator(function: Function, attribute: str) -> Iterator[Expr]:
    classes = {Name(param.name) for param in function.params}
    yield from (value for obj, value in _assignments_to(function, attribute) if obj in classes)
    for inner in function.closures.values():
        yield from _set_by_decorator(inner, attribute)


def _assignments_to(function: Function, attribute: str | None) -> Iterator[tuple[Expr, Expr]]:
    """The objects whose attribute a function sets, each with the value; None selects computed names."""
    return ((each.obj, each.value) for each in attribute_assignments(function) if each.name == attribute)


# ---- role variants ----


def resolve_role(symbols: SymbolTable, order: tuple[ClassInfo, ...], role: Role) -> Role:
    """The role of a class with this lineage: the framework class's role, or its variant if the project selects it.

    A class selects the variant by a predicate method that returns True, or by a call on itself or on a new instance.
    """
    variant = role.variant
    if variant is None:
        return role
    own = next((cls.methods[variant.predicate] for cls in order if variant.predicate in cls.methods), None)
    if own is not None:
        return variant.role if _returns_true(own) else role
    selected = _calls_on_self(order, variant.call) or _called_on_instance(symbols, order[0], variant.call)
    return variant.role if selected else role


def _returns_true(predicate: Function) -> bool:
    values = [step.op.value for step in predicate.cfg.steps if isinstance(step.op, Return)]
    return bool(values) and all(isinstance(value, Literal) and value.value is True for value in values)


def _calls_on_self(order: tuple[ClassInfo, ...], call: str) -> bool:
    """Whether a method of the class makes this call on itself, usually in the constructor."""
    return any(
        isinstance(step.op, Call) and step.op.func == Attr(Name(method.params[0].name), call)
        for cls in order
        for method in cls.methods.values()
        if method.params
        for step in method.cfg.steps
    )


def _called_on_instance(symbols: SymbolTable, cls: ClassInfo, call: str) -> bool:
    """Whether any code makes this call on a new instance of the class, directly or in a chain of calls."""
    for unit in symbols.units.values():
        for function in _all_functions(unit):
            instances: set[Expr] = set()
            for step in function.cfg.steps:
                match step.op:
                    case Call(func=Attr(obj=obj, name=name), result=result) if obj in instances:
                        if name == call:
                            return True
                        instances.add(result)
                    case Call(func=func, result=result) if cls in symbols.resolve(unit, func):
                        instances.add(result)
                    case Bind(target=Name() as target, value=value) if value in instances:
                        instances.add(target)
                    case _:
                        pass
    return False


def _all_functions(unit: Unit) -> Iterator[Function]:
    yield unit.body
    for cls in unit.classes.values():
        yield from cls.all_methods()


class Program(SymbolTable):
    """All lowered files of a run, linked, and the components among their classes.

    `skipped` are components with too many ancestors to analyse.  `enums` maps the name of a constant to its enums.
    """

    def __init__(
        self, units: Sequence[Unit], dialects: Sequence[Dialect], extra_bases: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(units, dialects, extra_bases)
        self.skipped: list[ClassInfo] = []
        self.components = tuple(self._components())
        self.enums: dict[str, list[ClassInfo]] = {}
        for cls in self.classes():
            for constant in cls.constants:
                self.enums.setdefault(constant, []).append(cls)

    def _components(self) -> Iterator[Component]:
        heirs: dict[int, list[ClassInfo]] = {}
        for cls in self.classes():
            for ancestor in self.lineage(cls).order[1:]:
                heirs.setdefault(id(ancestor), []).append(cls)
        for cls in self.classes():
            lineage = self.lineage(cls)
            framework = lineage.framework
            if framework is None or framework.role.abstract:
                continue
            if lineage.truncated:
                self.skipped.append(cls)
                continue
            before = lineage.before_framework
            role = resolve_role(self, before, framework.role)
            discipline = role.discipline
            yield Component(
                name=_display_name(lineage.order, role),
                cls=cls,
                lineage=lineage.order,
                ahead=before,
                dialect=framework.dialect,
                role=role,
                auto_ack=switch_value(self, before, discipline.auto_ack),
                auto_fail=switch_value(self, before, discipline.auto_fail),
                auto_anchor=switch_value(self, before, discipline.auto_anchor),
                exits=switch_value(self, before, discipline.exits),
                opaque=lineage.opaque,
                heirs=tuple(heirs.get(id(cls), ())),
            )


def _display_name(lineage: Sequence[ClassInfo], role: Role) -> str:
    """The component's name in messages; an anonymous class goes by its base class."""
    cls, *ancestors = lineage
    base = last_name(cls.bases[0]) if cls.name.startswith("$") and cls.bases else ""
    if not base:
        return cls.name
    handlers = {
        entry.method for entry in role.entries if entry.kind not in (EntryKind.INIT, EntryKind.LIFECYCLE)
    }
    return base if ancestors and handlers.isdisjoint(cls.methods) else f"an anonymous {base}"
