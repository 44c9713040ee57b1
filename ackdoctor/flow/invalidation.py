"""What changes under a path: what it has decided that is to be asked anew, behind an assignment or a call.

Terms.  A local or a place may be given *another value*: then nothing of what was decided about it holds.  What is *in* an object may change:
then it is the same object as before, and as much of a `None`, but how much there is in it, and what, is open.  A list that is *ordered* anew
has as much as before, in other places.
"""

from collections.abc import Callable, Collection, Iterator, Mapping

from ackdoctor.flow.aliases import ALSO, collection_places, collections, counted_in, others
from ackdoctor.flow.expressions import about, apart_from, last_name, memoize, subexpressions
from ackdoctor.flow.library import CONTAINER_STORES, ORDERS
from ackdoctor.flow.predicates import (
    READERS,
    changing,
    handed,
    is_field,
    leaves_alone,
    questions,
    sizes,
    unchanging,
)
from ackdoctor.flow.state import State
from ackdoctor.model.cfg import Attr, Bind, Call, Compare, Expr, Instr, IsType, Item, Literal, Mix
from ackdoctor.model.component import Function

__all__ = ["changed", "elsewhere", "forget", "inside", "recount", "reopen", "reopened"]


def reopen(state: State, stale: Collection[Expr]) -> State:
    """The state in which these of its facts are to be asked anew; itself where there are none."""
    return state.but(facts=apart_from(state.facts, stale)) if stale else state


def forget(state: State, target: Expr) -> State:
    """The target is given another value: what was decided about it no longer holds."""
    return reopen(state, about(state.facts, target))


def changed(state: State, call: Call) -> State:
    """The state behind a method call that may change what is in its receiver."""
    if not isinstance(call.func, Attr) or leaves_alone(call):
        return state
    return inside(state, call.func.obj, call)


def inside(state: State, whole: Expr, op: Instr) -> State:
    """The state behind a step that may change what is in an object."""
    if isinstance(op, Call) and last_name(op.func) in ORDERS:
        return _ordered(state, whole)
    return reopen(
        state,
        [fact for fact in about(state.facts, whole) if not (_same_object(fact, whole) or _is_name(fact))],
    )


def _same_object(fact: Expr, whole: Expr) -> bool:
    """Whether it is decided which object something is, or of which type, whatever is in it."""
    match fact:
        case Compare(left=asked, op="is") | IsType(value=asked):
            return asked == whole
        case _:
            return False


def _is_name(fact: Expr) -> bool:
    return isinstance(fact, Compare) and fact.op == ALSO


def elsewhere(
    function: Function, index: int, before: State, after: State, fields: frozenset[str] | None = None
) -> State:
    """The state behind a step in which what it may have changed is to be asked anew by all other names that it had.

    Whether `rows` is true says how much there is in it only where it is a collection for all that the function does with it.
    """
    if not before.facts:
        return after
    all_names, rest = others(function, index, before, fields)
    rest = rest and frozenset(name for name in rest if not unchanging(function, name))
    if not rest:
        return after
    filled = not collection_places(function).isdisjoint(all_names)
    op = function.cfg.steps[index].op
    if isinstance(op, Call) and last_name(op.func) in ORDERS:
        return _without(after, lambda part: any(_looks_into(part, name, None) for name in rest))
    stale = [
        fact
        for fact, truth in after.facts.items()
        if (filled and fact in rest)
        or (not _is_name(fact) and any(_says_of(part, rest) for part in subexpressions(fact)))
        if not (truth and _adds(op) and (fact in rest or isinstance(fact, Mix)))  # that there is something
    ]
    return reopen(after, stale)


def _adds(op: Instr) -> bool:
    """Whether a step only puts something into a collection."""
    match op:
        case Call(func=Attr(name=name)):
            return name in CONTAINER_STORES
        case Bind(target=Item(key=key)):
            return not (isinstance(key, Mix) and key.op == "slice")
        case _:
            return False


def _says_of(part: Expr, wholes: frozenset[Expr]) -> bool:
    """Whether an expression says something of what is in one of these."""
    match part:
        case Attr(obj=whole) | Item(obj=whole) | Compare(op="in", right=whole):
            return whole in wholes
        case Mix(op="any" | "len", parts=(whole,)):
            return whole in wholes
        case _:
            return False


def recount(state: State, whole: Expr, key: Expr | None = None) -> State:
    """Something was put into a collection (under this key), or taken out: what is in it, and how much, is to be asked anew.

    Whether there is anything in it at all is left as it is.
    """
    return _without(state, lambda part: _sizes_up(part, whole) or _looks_into(part, whole, key))


def _ordered(state: State, whole: Expr) -> State:
    return _without(state, lambda part: _looks_into(part, whole, None))


def _without(state: State, stale: Callable[[Expr], bool]) -> State:
    return reopen(state, [fact for fact in state.facts if any(map(stale, subexpressions(fact)))])


def _sizes_up(part: Expr, whole: Expr) -> bool:
    """Whether an expression asks how much there is in a collection."""
    match part:
        case Mix(op="len", parts=(asked,)) | Mix(op="call", parts=(Attr(obj=asked, name="size"), *_)):
            return asked == whole
        case _:
            return False


def _looks_into(part: Expr, whole: Expr, key: Expr | None) -> bool:
    """Whether an expression asks whether something is in a collection, or what lies at a place that may be the key's."""
    match part:
        case Mix(op="call", parts=(Attr(obj=asked), _, *_)) | Compare(op="in", right=asked):
            return asked == whole
        case Item(obj=asked, key=place):
            other = isinstance(place, Literal) and isinstance(key, Literal) and place != key
            return asked == whole and not other
        case _:
            return False


# ---- behind any call ----


def reopened(function: Function, state: State, call: Call) -> State:
    """The state in which what a call may change, what it is made on or is given, is to be asked about anew."""
    if not state.facts:
        return state
    asked = _asked_of(function).get(call.result, frozenset())
    filled = _filled(function).get(call.result, frozenset())
    if not asked and not filled:
        return state
    if last_name(call.func) in ORDERS:
        for whole in asked | filled:
            state = _ordered(state, whole)
        return state
    dead = [
        fact
        for fact in state.facts
        if fact in filled
        or not filled.isdisjoint(counted_in(fact))
        or (_has_question(fact) and not asked.isdisjoint(subexpressions(fact)))
    ]
    return reopen(state, dead)


def _has_question(fact: Expr) -> bool:
    return any(isinstance(part, Mix) for part in subexpressions(fact))


@memoize
def _asked_of(function: Function) -> Mapping[Expr, frozenset[Expr]]:
    """What the questions of a function are put to that a call may change, by the call's result."""
    put = (*questions(function).values(), *sizes(function).values())
    asked = {part for question in put for part in subexpressions(question)}
    asked = {part for part in asked if is_field(part) or changing(function, part)}
    return {
        step.op.result: frozenset(
            part for expr in _touched(step.op) for part in subexpressions(expr) if part in asked
        )
        for step in (function.cfg.steps if asked else ())
        if isinstance(step.op, Call) and not leaves_alone(step.op)
    }


def _touched(call: Call) -> Iterator[Expr]:
    """What a call is made on, and what it is given and may change."""
    if isinstance(call.func, Attr):
        yield call.func.obj
    if last_name(call.func) not in READERS:
        yield from (arg.value for arg in call.args)


@memoize
def _filled(function: Function) -> Mapping[Expr, frozenset[Expr]]:
    """The collections that a call is given and may fill or empty, by the call's result."""
    known = collections(function)
    return {
        step.op.result: frozenset(part for arg in step.op.args for part in handed(arg.value) if part in known)
        for step in (function.cfg.steps if known else ())
        if isinstance(step.op, Call) and not leaves_alone(step.op) and last_name(step.op.func) not in READERS
    }
