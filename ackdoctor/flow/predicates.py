"""Questions that are put twice: `stream.equals("a")` is answered the second time as it was the first.

A call's result is a temporary of its own, so two calls of one method are two unknowns.  A call that only asks, of a local
or how much a field has, is spelled out here as an expression: then the same question is the same fact, until something is
called that may change the answer.  In a loop a question is put in order to be answered differently one day; there nothing is spelled out.

Whether there is anything in a collection is asked in many words: `rows.isEmpty()`, `rows.size() > 0`, `len(rows) == 0`,
`if rows`.  They are one fact, and a loop over `rows` puts the same question.
"""

import re
from collections.abc import Iterator, Mapping

from ackdoctor.flow.expressions import last_name, memoize, names_in, subexpressions
from ackdoctor.flow.library import (
    ASKING,
    CONTAINER_VIEWS,
    DISPLAYS,
    HARMLESS,
    LOGGING,
    SUMS,
    UNCHANGING,
    VIEWS,
)
from ackdoctor.model.cfg import Attr, Build, Call, Compare, Expr, Global, Literal, Mix, Name, Star
from ackdoctor.model.component import Function

__all__ = [
    "OWN",
    "READERS",
    "amounts",
    "changing",
    "handed",
    "has_any",
    "is_amount",
    "is_field",
    "iterators",
    "leaves_alone",
    "questions",
    "sizes",
    "spelled_out",
    "split_by",
    "unchanging",
    "wholes",
]


_NONE: Mapping[Expr, Expr] = {}
OWN = frozenset({"this", "self"})
_SIZES = ("isEmpty", "size", "length")
_LEAVES_ALONE = DISPLAYS | LOGGING | CONTAINER_VIEWS | {"get"}
READERS = HARMLESS | VIEWS | SUMS  # they leave what they are given as it was
_ANY = {("==", 0): False, ("<", 1): False, (">", 0): True}  # what is said of how many there are
_ASKS = re.compile(rf"(?:{'|'.join(sorted(ASKING))})(?=[A-Z])")
_WORDS = ASKING - {"is", "has", "get"}  # they ask without a word behind them


def spelled_out(function: Function, condition: Expr) -> Expr:
    """A condition with the question whose answer it looks at in place of the answer."""
    asked = questions(function)
    if not isinstance(condition, Compare):
        return asked.get(condition, condition)
    left, right = asked.get(condition.left, condition.left), _sized(function, condition.right)
    return (
        condition
        if (left, right) == (condition.left, condition.right)
        else Compare(left, condition.op, right)
    )


def _sized(function: Function, expr: Expr) -> Expr:
    """`rows.size() - 1`, where something is compared with it: how much there is in something may be asked in a loop, too."""
    match expr:
        case Name():
            return sizes(function).get(expr, expr)
        case Mix(op="+" | "-" as sign, parts=(first, Literal() as step)):
            return Mix(sign, (_sized(function, first), step))
        case _:
            return expr


@memoize
def sizes(function: Function) -> Mapping[Expr, Expr]:
    """How much there is in a local or a field, by the temporary that holds the answer."""
    return {
        step.op.result: Mix("call", (step.op.func,))
        for step in function.cfg.steps
        if isinstance(step.op, Call)
        and isinstance(step.op.func, Attr)
        and step.op.func.name in ("size", "length")
        and not step.op.args
        and (_local(step.op.func.obj) or is_field(step.op.func.obj))
        and not any(_local(step.op.func.obj) in inner.captures for inner in function.closures.values())
    }


def _local(expr: Expr) -> str:
    return expr.id if isinstance(expr, Name) and not expr.id.startswith("%") else ""


@memoize
def questions(function: Function) -> Mapping[Expr, Expr]:
    """What is asked by a call outside of all loops, by the temporary that holds the answer."""
    calls = [
        (index, step.op)
        for index, step in enumerate(function.cfg.steps)
        if isinstance(step.op, Call) and _only_asks(step.op)
    ]
    if not calls:
        return _NONE
    looped = {index for body in function.cfg.bodies.values() for index in body}
    captured = frozenset(name for inner in function.closures.values() for name in inner.captures)
    found: dict[Expr, Expr] = {}
    for index, call in calls:
        if not isinstance(call.func, Attr) or (index in looped and call.func.name != "hasNext"):
            continue
        parts = [found.get(part, part) for part in (call.func.obj, *(arg.value for arg in call.args))]
        # of what is static nobody knows who changes it
        about = {name for part in parts for name in names_in(part)}
        if about and (_field_size(call.func) or all(_stays(function, part, captured) for part in parts)):
            found[call.result] = Mix("call", (Attr(parts[0], call.func.name), *parts[1:]))
    return found


def changing(function: Function, part: Expr) -> bool:
    """Whether an expression is a local whose object may change."""
    return isinstance(part, Name) and part.id not in OWN and not unchanging(function, part)


def _field_size(asked: Attr) -> bool:
    """Whether it is asked how much a field of the component has."""
    return is_field(asked.obj) and asked.name in _SIZES


def is_field(expr: Expr) -> bool:
    """Whether an expression is a field of the component."""
    return isinstance(expr, Attr) and isinstance(expr.obj, Name) and expr.obj.id in OWN


def handed(expr: Expr) -> Iterator[Expr]:
    """What others get hold of when they are given this: itself, what it is a method of, what it is a list of."""
    yield expr
    match expr:
        case Attr(obj=obj) | Star(value=obj):
            yield from handed(obj)
        case Build(items=items):
            for item in items:
                yield from handed(item)
        case _:
            pass


def has_any(fact: Expr) -> tuple[Expr, bool]:
    """A question whether a collection has anything in it, in the one form of that question, and whether it asks the same."""
    match fact:
        case Mix(op="call", parts=(Attr(obj=obj, name="isEmpty"),)):
            return Mix("any", (obj,)), False
        case Compare(left=left, op=op, right=Literal(value=int() as number)) if (op, number) in _ANY:
            match left:
                case (
                    Mix(op="call", parts=(Attr(obj=obj, name="size" | "length"),))
                    | Attr(obj=obj, name="length")
                ):
                    return Mix("any", (obj,)), _ANY[op, number]
                case Mix(op="len", parts=(Name() | Attr() as obj,)):
                    return obj, _ANY[op, number]
                case _:
                    return fact, True
        case _:
            return fact, True


def amounts(bound: Expr) -> Iterator[Expr]:
    """The facts that say whether there is anything in what a number is compared with: `i < rows.size() - 1` asks that of `rows`."""
    for part in subexpressions(bound):
        if is_amount(part):
            yield has_any(Compare(part, ">", Literal(0)))[0]


def is_amount(expr: Expr) -> bool:
    """Whether it is how much there is in something: a whole number, and not less than nothing."""
    match expr:
        case Mix(op="len") | Mix(op="call", parts=(Attr(name="size" | "length"),)) | Attr(name="length"):
            return True
        case _:
            return False


def wholes(function: Function, iterable: Expr) -> tuple[Expr, ...]:
    """The facts that say whether a loop over this, or over a view of it, has a round; none where a closure may change it."""
    whole = iterable
    while whole in _views(function):
        whole = _views(function)[whole]
    if isinstance(whole, Name) and any(whole.id in inner.captures for inner in function.closures.values()):
        return ()
    return (whole, Mix("any", (whole,))) if isinstance(whole, (Name, Attr)) else ()


@memoize
def _views(function: Function) -> Mapping[Expr, Expr]:
    """What `rows.entrySet()` and `rows.items()` are views of, by their results."""
    return {
        step.op.result: step.op.func.obj
        for step in function.cfg.steps
        if isinstance(step.op, Call)
        and isinstance(step.op.func, Attr)
        and step.op.func.name in CONTAINER_VIEWS
        and not step.op.args
    }


@memoize
def iterators(function: Function) -> Mapping[Expr, tuple[Expr, ...]]:
    """The facts that say whether an iterator has a first element, by the result of the call that makes it: `rows.iterator()`."""
    made = {step.op.result for step in function.cfg.steps if isinstance(step.op, Call) and _iterates(step.op)}
    return {result: facts for result in made if (facts := wholes(function, result))}


def _iterates(call: Call) -> bool:
    return isinstance(call.func, Attr) and call.func.name in ("iterator", "listIterator") and not call.args


@memoize
def split_by(function: Function) -> frozenset[Expr]:
    """What comes of a `split(",")`: in Python, at least one part."""
    return frozenset(
        step.op.result
        for step in function.cfg.steps
        if isinstance(step.op, Call)
        and last_name(step.op.func) in ("split", "rsplit")
        and step.op.args
        and isinstance(step.op.args[0].value, Literal)
        and isinstance(step.op.args[0].value.value, str)
    )


def unchanging(function: Function, expr: Expr) -> bool:
    """Whether an expression is a local of a type whose objects never change: no method called on it changes an answer."""
    return isinstance(expr, Name) and _type(function, expr.id) in UNCHANGING


def _only_asks(call: Call) -> bool:
    """Whether a call's name says that it asks something, and changes nothing."""
    name = last_name(call.func)
    return name in _WORDS or _ASKS.match(name) is not None


def leaves_alone(call: Call) -> bool:
    """Whether a call's name says that what it is made on, or is given, is afterwards as it was."""
    return _only_asks(call) or last_name(call.func) in _LEAVES_ALONE


def _stays(function: Function, part: Expr, captured: frozenset[str]) -> bool:
    """Whether what a question is put about is only changed where the function says so."""
    if isinstance(part, Name) and part.id.startswith("%"):
        return False
    if not isinstance(part, (Name, Global, Literal, Attr, Mix)):
        return False
    names = list(names_in(part))
    if any(name in OWN for name in names):
        return False
    return all(_type(function, name) in UNCHANGING or name not in captured for name in names)


def _type(function: Function, name: str) -> str:
    written = function.types.get(name) or next((p.type for p in function.params if p.name == name), "")
    return (written or "").rpartition(".")[2]
