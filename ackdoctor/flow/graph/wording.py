"""Expressions in a reader's words, as close to the source as the neutral code allows."""

import re
from collections.abc import Mapping

from ackdoctor.flow.graph.once import once
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

__all__ = ["callee", "condition", "last_name", "parts"]

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


@once
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
