"""Whether the project asks for the variant of a role: in the class, or where it builds a component of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ackdoctor.model.cfg import Attr, Bind, Call, Expr, Literal, Name, Return
from ackdoctor.model.component import ClassInfo, Function, Unit
from ackdoctor.model.dialect import Role

if TYPE_CHECKING:
    from ackdoctor.flow.linking.program import Program

__all__ = ["asked_role"]


def asked_role(program: "Program", order: tuple[ClassInfo, ...], role: Role) -> Role:
    """The role of a class whose own lineage is `order`: the framework class's, or its variant where that is asked for."""
    variant = role.variant
    if variant is None:
        return role
    own = next((cls.methods[variant.predicate] for cls in order if variant.predicate in cls.methods), None)
    if own is not None:
        return variant.role if _is_true(own) else role
    asked = _asks_itself(order, variant.call) or _is_asked(program, order[0], variant.call)
    return variant.role if asked else role


def _is_true(predicate: Function) -> bool:
    values = [step.op.value for step in predicate.cfg.steps if isinstance(step.op, Return)]
    return bool(values) and all(isinstance(value, Literal) and value.value is True for value in values)


def _asks_itself(order: tuple[ClassInfo, ...], call: str) -> bool:
    """Whether a method of the class calls it on itself, in its constructor as a rule."""
    return any(
        isinstance(step.op, Call) and step.op.func == Attr(Name(method.params[0].name), call)
        for cls in order
        for method in cls.methods.values()
        if method.params
        for step in method.cfg.steps
    )


def _is_asked(program: "Program", cls: ClassInfo, call: str) -> bool:
    """Whether it is called on a new component of the class, at the end of a chain of such calls or of names."""
    for unit in program.units.values():
        for function in _functions(unit):
            built: set[Expr] = set()
            for step in function.cfg.steps:
                match step.op:
                    case Call(func=Attr(obj=obj, name=name), result=result) if obj in built:
                        if name == call:
                            return True
                        built.add(result)
                    case Call(func=func, result=result) if cls in program.resolve(unit, func):
                        built.add(result)
                    case Bind(target=Name() as target, value=value) if value in built:
                        built.add(target)
                    case _:
                        pass
    return False


def _functions(unit: Unit) -> Iterator[Function]:
    yield unit.body
    for cls in unit.classes.values():
        yield from cls.all_methods()
