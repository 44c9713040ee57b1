"""Questions that are put twice: `stream.equals("a")` is answered the second time as it was the first.

A call's result is a temporary of its own, so two calls of one method are two unknowns.  A call that only asks, of a local
that nothing in the function changes, is spelled out here as an expression: then the same question is the same fact.
In a loop a question is put in order to be answered differently one day; there nothing is spelled out.
"""

from collections.abc import Iterator, Mapping

from ackdoctor.flow.expressions import names_in
from ackdoctor.flow.known import ASKING, DISPLAYS, LOGGING, UNCHANGING
from ackdoctor.flow.once import once
from ackdoctor.flow.wording import last_name
from ackdoctor.model.cfg import Attr, Call, Compare, Expr, Global, Literal, Mix, Name
from ackdoctor.model.component import Function

__all__ = ["only_asks", "questions", "spelled_out", "unchanging"]

_NONE: Mapping[Expr, Expr] = {}
_WORDS = ASKING - {"is", "has", "get"}  # they ask without a word behind them


def spelled_out(function: Function, condition: Expr) -> Expr:
    """A condition with the question whose answer it looks at in place of the answer."""
    asked = questions(function)
    if isinstance(condition, Compare) and condition.left in asked:
        return Compare(asked[condition.left], condition.op, condition.right)
    return asked.get(condition, condition)


@once
def questions(function: Function) -> Mapping[Expr, Expr]:
    """What is asked by a call outside of all loops, by the temporary that holds the answer."""
    calls = [
        (index, step.op)
        for index, step in enumerate(function.cfg.steps)
        if isinstance(step.op, Call) and only_asks(step.op)
    ]
    if len(calls) < 2:  # noqa: PLR2004
        return _NONE
    looped = {index for body in function.cfg.bodies.values() for index in body}
    changing = frozenset(_changing(function))
    found: dict[Expr, Expr] = {}
    for index, call in calls:
        if index in looped or not isinstance(call.func, Attr):
            continue
        parts = [found.get(part, part) for part in (call.func.obj, *(arg.value for arg in call.args))]
        # of what is static nobody knows who changes it
        about = {name for part in parts for name in names_in(part)}
        if about and all(_stays(function, part, changing) for part in parts):
            found[call.result] = Mix("call", (Attr(parts[0], call.func.name), *parts[1:]))
    return found


def unchanging(function: Function, expr: Expr) -> bool:
    """Whether an expression is a local of a type whose objects never change: no method called on it changes an answer."""
    return isinstance(expr, Name) and _type(function, expr.id) in UNCHANGING


def only_asks(call: Call) -> bool:
    """Whether a call's name says that it asks something, and changes nothing."""
    name = last_name(call.func)
    return (
        any(name.startswith(word) and name[len(word) : len(word) + 1].isupper() for word in ASKING)
        or name in _WORDS
    )


def _stays(function: Function, part: Expr, changing: frozenset[str]) -> bool:
    """Whether nothing in the function changes what a question is put about."""
    if isinstance(part, Name) and part.id.startswith("%"):
        return False
    if not isinstance(part, (Name, Global, Literal, Attr, Mix)):
        return False
    names = list(names_in(part))
    if any(name in ("this", "self") for name in names):
        return False
    return all(_type(function, name) in UNCHANGING or name not in changing for name in names)


def _type(function: Function, name: str) -> str:
    written = function.types.get(name) or next((p.type for p in function.params if p.name == name), "")
    return (written or "").rpartition(".")[2]


def _changing(function: Function) -> Iterator[str]:
    """The locals that some call may change: it is made on them, or is given them."""
    for step in function.cfg.steps:
        match step.op:
            case Call(func=func, args=args) as call if not only_asks(call):
                given = () if last_name(func) in DISPLAYS | LOGGING else (arg.value for arg in args)
                for expr in (*((func.obj,) if isinstance(func, Attr) else ()), *given):
                    yield from names_in(expr)
            case _:
                pass
    for inner in function.closures.values():
        yield from inner.captures
