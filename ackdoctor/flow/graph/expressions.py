"""What stands in a pure expression."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from ackdoctor.model.cfg import Attr, Build, Compare, Expr, IsType, Item, Mix, Name, Not, Star

__all__ = ["about", "apart_from", "mentions", "names_in", "subexpressions"]


_INSIDE: Mapping[
    type, Callable[[Any], tuple[Expr, ...]]
] = {  # what stands directly in an expression, by its class
    Attr: lambda expr: (expr.obj,),
    Star: lambda expr: (expr.value,),
    Not: lambda expr: (expr.value,),
    Item: lambda expr: (expr.obj, expr.key),
    Mix: lambda expr: expr.parts,
    Build: lambda expr: expr.items,
    Compare: lambda expr: (expr.left, expr.right),
    IsType: lambda expr: (expr.value, *expr.types),
}


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """An expression and everything in it."""
    stack = [expr]
    while stack:
        part = stack.pop()
        yield part
        inside = _INSIDE.get(part.__class__)
        if inside is not None:
            stack += inside(part)


def names_in(expr: Expr) -> Iterator[str]:
    """The locals that an expression reads; what a closure in it reads is not among them."""
    return (part.id for part in subexpressions(expr) if isinstance(part, Name))


def mentions(expr: Expr, target: Expr) -> bool:
    """Whether `target` occurs in `expr`."""
    wanted = target.__class__
    stack = [expr]
    while stack:
        part = stack.pop()
        if part.__class__ is wanted and part == target:
            return True
        inside = _INSIDE.get(part.__class__)
        if inside is not None:
            stack += inside(part)
    return False


def about(facts: Mapping[Expr, bool], target: Expr) -> list[Expr]:
    """What is decided about the target."""
    return [fact for fact in facts if mentions(fact, target)]


def apart_from(facts: Mapping[Expr, bool], stale: Collection[Expr]) -> Mapping[Expr, bool]:
    """What else is decided; the same mapping where nothing is stale."""
    return {fact: truth for fact, truth in facts.items() if fact not in stale} if stale else facts
