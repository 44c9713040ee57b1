"""Pure calls as expressions: two equal calls are one fact, until a statement may change the answer.

The result of a call is a new temporary, so two calls of `stream.equals("a")` would be two unknown values.  A pure call on
a local, or a size of a field, is therefore inlined as an expression: the same call is the same fact until a statement
may change its answer.  Calls in loops are not inlined: a loop usually repeats a call because its answer changes.

"Is the collection empty?" has many spellings: `rows.isEmpty()`, `rows.size() > 0`, `len(rows) == 0`, `if rows`.
`normalise_emptiness` maps them to one fact, which a loop over `rows` decides too.
"""

import re
from collections.abc import Iterator, Mapping

from ackdoctor.flow.expressions import calls_by_result, last_name, memoize, names_in, subexpressions
from ackdoctor.libraries.vocabulary import (
    AGGREGATES,
    ARRAY_SIZES,
    COLLECTION_LITERALS,
    COLLECTION_WRAPPERS,
    CONTAINER_VIEWS,
    EMPTINESS,
    HAS_NEXT,
    IMMUTABLE_TYPES,
    ITERATORS,
    LOGGING,
    PURE_CALLS,
    PURE_PREFIXES,
    RANGES,
    SIZES,
)
from ackdoctor.model.cfg import Attr, Build, Call, Compare, Expr, Function, Global, Literal, Mix, Name, Star

PURE_FUNCTIONS = PURE_CALLS | COLLECTION_WRAPPERS | AGGREGATES  # do not change their arguments
_READ_ONLY = COLLECTION_LITERALS | LOGGING | CONTAINER_VIEWS | {"get"}
_NONEMPTY_IF = {("==", 0): False, ("<", 1): False, (">", 0): True}  # by the comparison with the size
_PURE_NAME = re.compile(rf"(?:{'|'.join(sorted(PURE_PREFIXES))})(?=[A-Z])")
_PURE_WORDS = PURE_PREFIXES - {"is", "has", "get"}  # pure as a whole name, too
_NONE: Mapping[Expr, Expr] = {}


# ---- pure calls ----


def inline_calls(function: Function, condition: Expr) -> Expr:
    """A condition with pure calls in place of the temporaries that hold their results."""
    calls = pure_calls(function)
    if not isinstance(condition, Compare):
        return calls.get(condition, condition)
    left, right = calls.get(condition.left, condition.left), _inline_size(function, condition.right)
    if (left, right) == (condition.left, condition.right):
        return condition
    return Compare(left, condition.op, right)


def _inline_size(function: Function, expr: Expr) -> Expr:
    """The right side of a comparison with sizes inlined, `rows.size() - 1`; here also in loops."""
    match expr:
        case Name():
            return size_calls(function).get(expr, expr)
        case Mix(op="+" | "-" as sign, parts=(first, Literal() as offset)):
            return Mix(sign, (_inline_size(function, first), offset))
        case _:
            return expr


@memoize
def size_calls(function: Function) -> Mapping[Expr, Expr]:
    """The sizes of locals and fields, by the temporary that holds the result of the call."""
    captured = frozenset(name for inner in function.closures.values() for name in inner.captures)
    return {
        result: Mix("call", (call.func,))
        for result, call in calls_by_result(function).items()
        if isinstance(call.func, Attr)
        and call.func.name in SIZES
        and not call.args
        and (_local_name(call.func.obj) or is_field(function, call.func.obj))
        and _local_name(call.func.obj) not in captured
    }


def _local_name(expr: Expr) -> str:
    return expr.id if isinstance(expr, Name) and not expr.id.startswith("%") else ""


@memoize
def pure_calls(function: Function) -> Mapping[Expr, Expr]:
    """The pure calls outside of loops, by the temporary that holds the result; `hasNext` also in loops."""
    calls = [
        (index, step.op)
        for index, step in enumerate(function.cfg.steps)
        if isinstance(step.op, Call) and _has_pure_name(step.op)
    ]
    if not calls:
        return _NONE
    looped = {index for body in function.cfg.bodies.values() for index in body}
    captured = frozenset(name for inner in function.closures.values() for name in inner.captures)
    found: dict[Expr, Expr] = {}
    for index, call in calls:
        if not isinstance(call.func, Attr) or (index in looped and call.func.name != HAS_NEXT):
            continue
        parts = [found.get(part, part) for part in (call.func.obj, *(arg.value for arg in call.args))]
        names = {
            name for part in parts for name in names_in(part)
        }  # none: static state, which any code may change
        stable = _is_field_size(function, call.func) or all(
            _is_stable(function, part, captured) for part in parts
        )
        if names and stable:
            found[call.result] = Mix("call", (Attr(parts[0], call.func.name), *parts[1:]))
    return found


def is_read_only(call: Call) -> bool:
    """Whether a call, by its name, changes neither its receiver nor its arguments."""
    return _has_pure_name(call) or last_name(call.func) in _READ_ONLY


def _has_pure_name(call: Call) -> bool:
    name = last_name(call.func)
    return name in _PURE_WORDS or _PURE_NAME.match(name) is not None


def _is_field_size(function: Function, func: Attr) -> bool:
    return is_field(function, func.obj) and func.name in SIZES | EMPTINESS


def _is_stable(function: Function, part: Expr, captured: frozenset[str]) -> bool:
    """Whether only statements of this function can change the object behind an expression."""
    if isinstance(part, Name) and part.id.startswith("%"):
        return False
    if not isinstance(part, (Name, Global, Literal, Attr, Mix)):
        return False
    names = list(names_in(part))
    if function.receiver in names:
        return False
    return all(_type(function, name) in IMMUTABLE_TYPES or name not in captured for name in names)


def is_mutable_local(function: Function, part: Expr) -> bool:
    """Whether an expression is a local whose object may change."""
    return isinstance(part, Name) and part.id != function.receiver and not is_immutable(function, part)


def is_immutable(function: Function, expr: Expr) -> bool:
    """Whether an expression is a local of an immutable type."""
    return isinstance(expr, Name) and _type(function, expr.id) in IMMUTABLE_TYPES


def _type(function: Function, name: str) -> str:
    written = function.types.get(name) or next((p.type for p in function.params if p.name == name), "")
    return (written or "").rpartition(".")[2]


def is_field(function: Function, expr: Expr) -> bool:
    """Whether an expression is a field of the function's own object."""
    return isinstance(expr, Attr) and isinstance(expr.obj, Name) and expr.obj.id == function.receiver


def escaping_parts(expr: Expr) -> Iterator[Expr]:
    """The objects that escape with an argument: itself, the receiver of a bound method, the elements of a display."""
    yield expr
    match expr:
        case Attr(obj=obj) | Star(value=obj):
            yield from escaping_parts(obj)
        case Build(items=items):
            for item in items:
                yield from escaping_parts(item)
        case _:
            pass


# ---- sizes and emptiness ----


def normalise_emptiness(fact: Expr) -> tuple[Expr, bool]:
    """The normal form of a test whether a collection has elements, and whether it has the same truth as the test.

    Any other expression is returned unchanged.
    """
    match fact:
        case Mix(op="call", parts=(Attr(obj=obj, name=name),)) if name in EMPTINESS:
            return Mix("any", (obj,)), False
        case Compare(left=Mix(op="len", parts=(whole,)), op=op, right=Literal(value=int() as number)) if (
            op,
            number,
        ) in _NONEMPTY_IF:
            is_place = isinstance(whole, (Name, Attr))
            return (whole, _NONEMPTY_IF[op, number]) if is_place else (fact, True)
        case Compare(left=left, op=op, right=Literal(value=int() as number)) if (op, number) in _NONEMPTY_IF:
            counted = size_of(left)
            return (fact, True) if counted is None else (Mix("any", (counted,)), _NONEMPTY_IF[op, number])
        case _:
            return fact, True


def size_of(expr: Expr) -> Expr | None:
    """The object whose size an expression is; None if it is no size."""
    match expr:
        case Mix(op="len", parts=(whole,)):
            return whole
        case Mix(op="call", parts=(Attr(obj=whole, name=name),)) if name in SIZES:
            return whole
        case Attr(obj=whole, name=name) if name in ARRAY_SIZES:
            return whole
        case _:
            return None


def is_size(expr: Expr) -> bool:
    """Whether an expression is the size of something: an integer, not negative."""
    return size_of(expr) is not None


def size_facts(bound: Expr) -> Iterator[Expr]:
    """The emptiness facts about the sizes in a bound: for `rows.size() - 1`, whether `rows` has elements."""
    for part in subexpressions(bound):
        if is_size(part):
            yield normalise_emptiness(Compare(part, ">", Literal(0)))[0]


def nonempty_facts(function: Function, iterable: Expr) -> tuple[Expr, ...]:
    """The facts that decide whether a loop over this has an iteration; none if a closure may change it."""
    whole = iterable
    while whole in _views(function):
        whole = _views(function)[whole]
    if isinstance(whole, Name) and any(whole.id in inner.captures for inner in function.closures.values()):
        return ()
    return (whole, Mix("any", (whole,))) if isinstance(whole, (Name, Attr)) else ()


@memoize
def _views(function: Function) -> Mapping[Expr, Expr]:
    """The collections behind `rows.entrySet()`, `rows.items()` and so on, by the results of those calls."""
    return {
        result: call.func.obj
        for result, call in calls_by_result(function).items()
        if isinstance(call.func, Attr) and call.func.name in CONTAINER_VIEWS and not call.args
    }


@memoize
def iterator_facts(function: Function) -> Mapping[Expr, tuple[Expr, ...]]:
    """The facts that decide whether an iterator has a first element, by the result of `rows.iterator()`."""
    return {
        result: facts
        for result, call in calls_by_result(function).items()
        if isinstance(call.func, Attr) and call.func.name in ITERATORS and not call.args
        if (facts := nonempty_facts(function, result))
    }


@memoize
def nonempty_results(function: Function, names: frozenset[str]) -> frozenset[Expr]:
    """The results of calls of these names with a separator, `split(",")`, and of `range(3)`: they have an element."""
    found: set[Expr] = set()
    for result, call in calls_by_result(function).items():
        match call.args:
            case ((Literal(value=str()), _, _), *_) if last_name(call.func) in names:
                found.add(result)
            case ((Literal(value=int() as count), None, ""),) if last_name(call.func) in RANGES and count > 0:
                found.add(result)
            case _:
                pass
    return frozenset(found)
