"""What stands in a pure expression."""

from collections.abc import Iterator

from ackdoctor.model.cfg import Attr, Build, Compare, Expr, IsType, Item, Mix, Name, Not, Star

__all__ = ["mentions", "names_in", "subexpressions"]


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """An expression and everything in it."""
    stack = [expr]
    while stack:
        part = stack.pop()
        yield part
        match part:
            case Attr(obj=obj) | Star(value=obj) | Not(value=obj):
                stack.append(obj)
            case Item(obj=obj, key=key):
                stack += (obj, key)
            case Mix(parts=parts) | Build(items=parts):
                stack += parts
            case Compare(left=left, right=right):
                stack += (left, right)
            case IsType(value=value, types=types):
                stack += (value, *types)
            case _:
                pass


def names_in(expr: Expr) -> Iterator[str]:
    """The locals that an expression reads; what a closure in it reads is not among them."""
    return (part.id for part in subexpressions(expr) if isinstance(part, Name))


def mentions(expr: Expr, target: Expr) -> bool:
    """Whether `target` occurs in `expr`."""
    return target in subexpressions(expr)
