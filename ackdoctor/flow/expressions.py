"""Queries on expressions and functions: subexpressions, names, the call behind a temporary, source-like text."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Compare,
    Expr,
    Global,
    IsType,
    Item,
    Literal,
    Mix,
    Name,
    Not,
    Star,
)
from ackdoctor.model.component import Function

__all__ = [
    "about",
    "apart_from",
    "callee",
    "calls_by_result",
    "condition",
    "last_name",
    "memoize",
    "mentions",
    "names_in",
    "parts",
    "subexpressions",
]


_More = ParamSpec("_More")
_Result = TypeVar("_Result")


def memoize(
    work: Callable[Concatenate[Function, _More], _Result],
) -> Callable[Concatenate[Function, _More], _Result]:
    """`work`, done once for each function and the further arguments, which go by position."""

    @wraps(work)
    def kept(function: Function, /, *more: _More.args, **named: _More.kwargs) -> _Result:
        known = function.memo
        key: object = (work, more) if more else work
        if key not in known:
            known[key] = work(function, *more, **named)
        found: _Result = known[key]
        return found

    return kept


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


@memoize
def calls_by_result(function: Function) -> Mapping[Expr, Call]:
    """Every call of a function, by its result."""
    return {step.op.result: step.op for step in function.cfg.steps if isinstance(step.op, Call)}


_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
LONGEST = 44  # characters of a condition that are worth quoting


def callee(func: Expr) -> str:
    """A callee as a reader names it."""
    match func:
        case Attr(obj=Name(id=name) | Global(id=name), name=attr) if not name.startswith("%"):
            return f"`{name}.{attr}`"
        case Attr(name=attr):
            return f"`.{attr}`"
        case Name(id=name) | Global(id=name) if not name.startswith("%"):
            return f"`{name}`"
        case _:
            return "this call"


def last_name(func: Expr) -> str:
    """The last part of a dotted callee; "" where it has no name."""
    match func:
        case Attr(name=name) | Global(id=name) | Name(id=name):
            return name
        case _:
            return ""


def parts(name: str) -> list[str]:
    """The words of a name, small: `inFlight` and `in_flight` are "in" and "flight"."""
    return [part.lower() for part in _PART.findall(name)]


def condition(function: Function, expr: Expr) -> str:
    """A condition in back quotes, or "" where it would be too long or is no longer to be told."""
    text = _text(expr, _made(function))
    return f"`{text}`" if 0 < len(text) <= LONGEST and "%" not in text.replace(" % ", "") else ""


@memoize
def _made(function: Function) -> Mapping[str, Expr | Call]:
    """What each temporary stands for."""
    made: dict[str, Expr | Call] = {}
    for step in function.cfg.steps:
        match step.op:
            case Call(result=Name(id=name)) as call:
                made[name] = call
            case Bind(target=Name(id=name), value=value) if name.startswith("%"):
                made.setdefault(name, value)
            case _:
                pass
    return made


def _text(expr: Expr | Call, made: Mapping[str, Expr | Call], inside: tuple[str, ...] = ()) -> str:
    match expr:
        case Name(id=name) if name.startswith("%") and name.lstrip("%").isidentifier():
            return name.lstrip("%")  # of a comprehension
        case Name(id=name) if name.startswith("%"):
            return _text(made[name], made, (*inside, name)) if name in made and name not in inside else "%"
        case Name(id=name) | Global(id=name):
            return name
        case Attr(obj=obj, name=name):
            return f"{_text(obj, made, inside)}.{name}"
        case Item(obj=obj, key=key):
            return f"{_text(obj, made, inside)}[{_text(key, made, inside)}]"
        case Literal(value=value):
            return '"' + value + '"' if isinstance(value, str) and '"' not in value else repr(value)
        case Compare(left=left, op=op, right=right):
            return f"{_text(left, made, inside)} {op} {_text(right, made, inside)}"
        case Not(value=value):
            return f"not {_text(value, made, inside)}"
        case IsType(value=value, types=types):
            return f"isinstance({_text(value, made, inside)}, {', '.join(_text(t, made, inside) for t in types)})"
        case Mix() as mix:
            return _mixed(mix, made, inside)
        case Call(func=func, args=args):
            given = ", ".join(
                _text(arg.value, made, inside) for arg in args if arg.name is None and not arg.star
            )
            return f"{_text(func, made, inside)}({given})"
        case Build(items=()):
            return "[]"
        case Star() | Build():
            return "..."
        case _:
            return "%"


def _mixed(mix: Mix, made: Mapping[str, Expr | Call], inside: tuple[str, ...]) -> str:
    match mix.op, mix.parts:
        case ("len" | "bool" | "type" | "id" as op, (part,)):
            return f"{op}({_text(part, made, inside)})"
        case "call", (func, *args) if not any(isinstance(arg, Star) for arg in args):
            return f"{_text(func, made, inside)}({', '.join(_text(arg, made, inside) for arg in args)})"
        case ("+" | "-" | "*" | "/" | "//" | "%" | "&" | "|" as op, (left, right)):
            return f"{_text(left, made, inside)} {op} {_text(right, made, inside)}"
        case "match", (subject, Literal(value=int() as least), Literal(value=bool() as exact)):
            return f"len({_text(subject, made, inside)}) {'==' if exact else '>='} {least}"
        case "match", (subject, Literal(value=str()), *_) as parts:
            keys = ", ".join(_text(key, made, inside) for key in parts[1:])
            return f"{keys} in {_text(subject, made, inside)}"
        case _:
            return "..."
