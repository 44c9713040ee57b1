"""Queries on expressions and instructions: subexpressions, names, assigned targets, the text in a message."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeGuard, TypeVar

from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Catch,
    Compare,
    Drop,
    Edge,
    EdgeKind,
    Expr,
    Function,
    Global,
    Instr,
    IsType,
    Item,
    Literal,
    Mix,
    Name,
    Next,
    Not,
    Notation,
    Return,
    Star,
    Test,
    Throw,
    Unpack,
    Update,
    Yield,
)

RESULT = "%return"  # the local that holds what a function returns

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")


def memoize(
    compute: Callable[Concatenate[Function, _Args], _Result],
) -> Callable[Concatenate[Function, _Args], _Result]:
    """Cache the results of `compute` on the `Function` itself; further arguments must be positional."""

    @wraps(compute)
    def cached(function: Function, /, *args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        key: object = (compute, args) if args else compute
        if key not in function.memo:
            function.memo[key] = compute(function, *args, **kwargs)
        found: _Result = function.memo[key]
        return found

    return cached


# ---- parts of an expression ----

# the direct parts of an expression, by its class
_PARTS: Mapping[type, Callable[[Any], tuple[Expr, ...]]] = {
    Attr: lambda expr: (expr.obj,),
    Star: lambda expr: (expr.value,),
    Not: lambda expr: (expr.value,),
    Item: lambda expr: (expr.obj, expr.key),
    Mix: lambda expr: expr.parts,
    Build: lambda expr: expr.items,
    Compare: lambda expr: (expr.left, expr.right),
    IsType: lambda expr: (expr.value, *expr.types),
}


def parts_of(expr: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression."""
    parts = _PARTS.get(expr.__class__)
    return parts(expr) if parts is not None else ()


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """An expression and all expressions inside it."""
    stack = [expr]
    while stack:
        part = stack.pop()
        yield part
        parts = _PARTS.get(part.__class__)
        if parts is not None:
            stack += parts(part)


def names_in(expr: Expr) -> Iterator[str]:
    """The locals that an expression reads, without those that a closure in it reads."""
    return (part.id for part in subexpressions(expr) if isinstance(part, Name))


def mentions(expr: Expr, target: Expr) -> bool:
    """Whether `target` occurs in `expr`."""
    wanted = target.__class__
    stack = [expr]
    while stack:
        part = stack.pop()
        if part.__class__ is wanted and part == target:
            return True
        parts = _PARTS.get(part.__class__)
        if parts is not None:
            stack += parts(part)
    return False


def renamed(expr: Expr, names: Mapping[str, str]) -> Expr:
    """An expression with other names for its locals; those that a closure in it captures are as before."""

    def inner(part: Expr) -> Expr:
        return renamed(part, names)

    match expr:
        case Name(id=name):
            return Name(names.get(name, name))
        case Attr(obj=obj):
            return replace(expr, obj=inner(obj))
        case Item(obj=obj, key=key):
            return replace(expr, obj=inner(obj), key=inner(key))
        case Not(value=value) | Star(value=value) | IsType(value=value):
            return replace(expr, value=inner(value))
        case Build(items=items):
            return replace(expr, items=tuple(map(inner, items)))
        case Mix(parts=parts):
            return replace(expr, parts=tuple(map(inner, parts)))
        case Compare(left=left, right=right):
            return replace(expr, left=inner(left), right=inner(right))
        case _:
            return expr


def facts_about(facts: Mapping[Expr, bool], target: Expr) -> list[Expr]:
    """The facts that mention the target."""
    return [fact for fact in facts if mentions(fact, target)]


def without_facts(facts: Mapping[Expr, bool], stale: Collection[Expr]) -> Mapping[Expr, bool]:
    """The facts without the stale ones; the same mapping if there are none."""
    return {fact: truth for fact, truth in facts.items() if fact not in stale} if stale else facts


@memoize
def calls_by_result(function: Function) -> Mapping[Expr, Call]:
    """Every call of a function, by the local (usually a temporary) that holds its result."""
    return {step.op.result: step.op for step in function.cfg.steps if isinstance(step.op, Call)}


@memoize
def local_values(function: Function) -> Mapping[str, tuple[Expr | Call, ...]]:
    """What a function assigns to each local: expressions, and calls by their results; a temporary has one value."""
    found: dict[str, list[Expr | Call]] = {}
    for step in function.cfg.steps:
        match step.op:
            case Call(result=Name(id=name)) as value:
                found.setdefault(name, []).append(value)
            case Bind(target=Name(id=name), value=value):
                found.setdefault(name, []).append(value)
            case _:
                pass
    return {name: tuple(values) for name, values in found.items()}


def assigned_targets(op: Instr) -> Iterator[Expr]:
    """The locals, fields and items that an instruction assigns or deletes."""
    match op:
        case Bind(target=target) | Update(target=target) | Drop(target=target):
            yield target
        case Next(target=target) if target is not None:
            yield target
        case Call(result=result) | Yield(result=result):
            yield result
        case Unpack(targets=targets):
            yield from (
                each.value if isinstance(each, Star) else each for each in targets if each is not None
            )
        case Catch(name=str() as name):
            yield Name(name)
        case _:
            pass


def assigned_locals(op: Instr) -> Iterator[str]:
    """The locals that an instruction assigns."""
    for target in assigned_targets(op):
        if isinstance(target, Name):
            yield target.id
    if isinstance(op, Return):
        yield RESULT


def operands(op: Instr) -> tuple[Expr, ...]:
    """The expressions that an instruction evaluates; a local that is only assigned is not among them."""
    match op:
        case Call(func=func, args=args):
            return (func, *(arg.value for arg in args))
        case Test(condition=value):
            return (value,)
        case Bind(target=target, value=value) | Next(target=target, iterable=value):
            return (value, *_target_operands(target))
        case Unpack(targets=targets, value=value):
            return (value, *(expr for target in targets for expr in _target_operands(target)))
        case Update(target=target, value=value):
            return (target, value)
        case Drop(target=value):
            return (value,)
        case Return(value=value) | Throw(value=value) | Yield(value=value) if value is not None:
            return (value,)
        case _:
            return ()


def _target_operands(target: Expr | None) -> tuple[Expr, ...]:
    return () if target is None or isinstance(target, Name) else (target,)


def goes_on(_: int, edge: Edge) -> bool:
    """Whether an edge leads to a later step of the code: it is neither a back edge nor an exception."""
    return edge.kind not in (EdgeKind.BACK, EdgeKind.RAISE)


# ---- the text of an expression in a message, close to the source ----

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_MAX_CONDITION = 44  # characters of a condition that a message quotes


def is_slice(key: Expr | None) -> TypeGuard[Mix]:
    """Whether the key of an item is a slice, such as `rows[:n]`."""
    return isinstance(key, Mix) and key.op == "slice"


def callee_text(func: Expr) -> str:
    """A callee in back quotes, or "this call" if it has no name."""
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
    """The last part of a dotted callee; "" if it has no name."""
    match func:
        case Attr(name=name) | Global(id=name) | Name(id=name):
            return name
        case _:
            return ""


def name_words(name: str) -> list[str]:
    """The words of a name in lower case: `inFlight` and `in_flight` give "in" and "flight"."""
    return [part.lower() for part in _WORD.findall(name)]


def condition_text(function: Function, expr: Expr, notation: Notation) -> str:
    """A condition in back quotes, or "" if it is too long or reads a temporary with no text."""
    text = expression_text(function, expr, notation)
    return f"`{text}`" if 0 < len(text) <= _MAX_CONDITION and "%" not in text.replace(" % ", "") else ""


def expression_text(function: Function, expr: Expr | Call, notation: Notation) -> str:
    """The text of an expression; "%" in it replaces a part without text."""
    return _Printer(local_values(function), notation).text(expr)


@dataclass(slots=True, eq=False)
class _Printer:
    """Prints expressions of one function in the notation of its language."""

    temps: Mapping[str, tuple[Expr | Call, ...]]
    notation: Notation
    inside: tuple[str, ...] = ()  # the temporaries that are being printed

    def text(self, expr: Expr | Call) -> str:
        """The text of an expression; "%" in it replaces a part without text."""
        text, notation = self.text, self.notation
        match expr:
            case Name(id=name) if name.startswith("%"):
                return self._temporary(name)
            case Name(id=name) | Global(id=name):
                return name
            case Attr(obj=obj, name=name):
                return f"{text(obj)}.{name}"
            case Item(obj=obj, key=key):
                return f"{text(obj)}[{text(key)}]"
            case Literal(value=value):
                return self._literal(value)
            case Compare(left=left, op="==", right=Literal(value=str()) as right):
                return notation.text_equals.format(text(left), text(right))
            case Compare(left=left, op=op, right=right):
                form = notation.comparisons.get(op, f"{{0}} {op} {{1}}")
                return form.format(self._operand(left), self._operand(right))
            case Not(value=value):
                return notation.negation.format(text(value))
            case IsType(value=value, types=types):
                return notation.is_type.format(text(value), ", ".join(map(text, types)))
            case Mix() as mix:
                return self._mixed(mix)
            case Call(func=func, args=args):
                return self._call(func, [arg.value for arg in args if arg.name is None and not arg.star])
            case Build(items=()) if not notation.creation:
                return "[]"
            case Star() | Build():
                return "..."
            case _:
                return "%"

    def _temporary(self, name: str) -> str:
        if name.lstrip("%").isidentifier():
            return name.lstrip("%")  # a variable of a comprehension
        if name not in self.temps or name in self.inside:
            return "%"
        return replace(self, inside=(*self.inside, name)).text(self.temps[name][0])

    def _literal(self, value: object) -> str:
        if isinstance(value, str):
            return json.dumps(value, ensure_ascii=False)
        if value is None or isinstance(value, bool):
            return self.notation.constants.get(value, repr(value))
        return repr(value)

    def _operand(self, expr: Expr) -> str:
        """The text of a side of a comparison, in parentheses if it binds less tightly."""
        text = self.text(expr)
        return f"({text})" if isinstance(expr, Mix) and expr.op in ("&", "|") else text

    def _call(self, func: Expr, args: Iterable[Expr]) -> str:
        is_class = isinstance(func, Global) and func.id[:1].isupper()
        return f"{self.notation.creation if is_class else ''}{self.text(func)}({', '.join(map(self.text, args))})"

    def _mixed(self, mix: Mix) -> str:
        text = self.text
        match mix.op, mix.parts:
            case ("len" | "bool" | "type" | "id" as op, (part,)):
                return f"{op}({text(part)})"
            case "call", (func, *args) if not any(isinstance(arg, Star) for arg in args):
                return self._call(func, args)
            case ("+" | "-" | "*" | "/" | "//" | "%" | "&" | "|" as op, (left, right)):
                return f"{text(left)} {op} {text(right)}"
            case "match", (subject, Literal(value=int() as least), Literal(value=bool() as exact)):
                return f"len({text(subject)}) {'==' if exact else '>='} {least}"
            case "match", (subject, Literal(value=str()), *_) as parts:
                return f"{', '.join(map(text, parts[1:]))} in {text(subject)}"
            case _:
                return "..."
