"""Invalidation: which facts of a path an assignment or a call makes stale.

Four kinds of change invalidate different facts about an object:

- a reassigned name: every fact that mentions it;
- changed contents: facts about what is in the object and how much, but not its identity, type or aliases;
- a changed size (an element added or removed): facts about its size and elements, but not whether it is empty;
- a new order: facts about its elements, but not about its size.
"""

from collections.abc import Callable, Collection, Iterator, Mapping

from ackdoctor.flow.domains.aliases import (
    changed_aliases,
    collection_paths,
    collections,
    measured_collections,
)
from ackdoctor.flow.expressions import (
    calls_by_result,
    facts_about,
    is_slice,
    last_name,
    memoize,
    subexpressions,
    without_facts,
)
from ackdoctor.flow.pure_calls import (
    PURE_FUNCTIONS,
    escaping_parts,
    is_field,
    is_immutable,
    is_mutable_local,
    is_read_only,
    pure_calls,
    size_calls,
    size_of,
)
from ackdoctor.flow.state import State
from ackdoctor.libraries.vocabulary import CONTAINER_STORES, REORDERING
from ackdoctor.model.cfg import Attr, Bind, Call, Compare, Expr, Function, Instr, IsType, Item, Literal, Mix


def drop_facts(state: State, stale: Collection[Expr]) -> State:
    """The state without these facts; the same state if there are none."""
    return state.replace(facts=without_facts(state.facts, stale)) if stale else state


# ---- by a method call ----


def invalidate_receiver(state: State, call: Call) -> State:
    """The state after a method call that may change the contents of its receiver."""
    if not isinstance(call.func, Attr) or is_read_only(call):
        return state
    return invalidate_contents(state, call.func.obj, call)


def invalidate_contents(state: State, whole: Expr, op: Instr) -> State:
    """The state after a step that may change the contents of an object."""
    if isinstance(op, Call) and last_name(op.func) in REORDERING:
        return _invalidate_order(state, whole)
    about = facts_about(state.facts, whole)
    return drop_facts(state, [fact for fact in about if not _is_identity_fact(fact, whole)])


def invalidate_size(state: State, whole: Expr, key: Expr | None = None) -> State:
    """The state after an element was added (under this key) or removed; whether the collection is empty is kept."""
    return _drop_facts_with(state, lambda part: size_of(part) == whole or _reads_element(part, whole, key))


def _invalidate_order(state: State, whole: Expr) -> State:
    return _drop_facts_with(state, lambda part: _reads_element(part, whole, None))


def _drop_facts_with(state: State, is_stale: Callable[[Expr], bool]) -> State:
    """The state without the facts that have such a part."""
    return drop_facts(state, [fact for fact in state.facts if any(map(is_stale, subexpressions(fact)))])


# ---- by a step, under the other names of an object ----


def invalidate_aliases(
    function: Function, index: int, before: State, after: State, fields: frozenset[str] | None = None
) -> State:
    """The state after a step, without stale facts about the objects' other names.

    A fact `rows` says that the collection is not empty only if the function uses `rows` as a collection.
    """
    if not before.facts:
        return after
    all_names, others = changed_aliases(function, index, before, fields)
    others = others and frozenset(name for name in others if not is_immutable(function, name))
    if not others:
        return after
    is_collection = not collection_paths(function).isdisjoint(all_names)
    op = function.cfg.steps[index].op
    if isinstance(op, Call) and last_name(op.func) in REORDERING:
        return _drop_facts_with(after, lambda part: any(_reads_element(part, name, None) for name in others))
    stale = [
        fact
        for fact, truth in after.facts.items()
        if (is_collection and fact in others)
        or any(_reads_contents(part, others) for part in subexpressions(fact))
        # an added element leaves a non-empty collection non-empty
        if not (truth and _only_adds(op) and (fact in others or isinstance(fact, Mix)))
    ]
    return drop_facts(after, stale)


def _only_adds(op: Instr) -> bool:
    """Whether a step only adds elements to a collection."""
    match op:
        case Call(func=Attr(name=name)):
            return name in CONTAINER_STORES
        case Bind(target=Item(key=key)):
            return not is_slice(key)
        case _:
            return False


# ---- by a call, on its receiver and its arguments ----


def invalidate_by_call(function: Function, state: State, call: Call) -> State:
    """The state after a call that may change its receiver and its arguments."""
    if not state.facts:
        return state
    tested = _tested_objects(function).get(call.result, frozenset())
    filled = _passed_collections(function).get(call.result, frozenset())
    if not tested and not filled:
        return state
    if last_name(call.func) in REORDERING:
        for whole in tested | filled:
            state = _invalidate_order(state, whole)
        return state
    stale = [
        fact
        for fact in state.facts
        if fact in filled
        or not filled.isdisjoint(measured_collections(fact))
        or (
            not tested.isdisjoint(subexpressions(fact))
            and any(isinstance(part, Mix) for part in subexpressions(fact))
        )
    ]
    return drop_facts(state, stale)


@memoize
def _tested_objects(function: Function) -> Mapping[Expr, frozenset[Expr]]:
    """The objects of inlined pure calls that each call may change, by the call's result."""
    inlined = (*pure_calls(function).values(), *size_calls(function).values())
    objects = {part for expr in inlined for part in subexpressions(expr)}
    objects = {part for part in objects if is_field(function, part) or is_mutable_local(function, part)}
    calls = calls_by_result(function) if objects else {}
    return {
        result: frozenset(part for expr in _touched(call) for part in subexpressions(expr) if part in objects)
        for result, call in calls.items()
        if not is_read_only(call)
    }


def _touched(call: Call) -> Iterator[Expr]:
    """The receiver of a call and the arguments that it may change."""
    if isinstance(call.func, Attr):
        yield call.func.obj
    if last_name(call.func) not in PURE_FUNCTIONS:
        yield from (arg.value for arg in call.args)


@memoize
def _passed_collections(function: Function) -> Mapping[Expr, frozenset[Expr]]:
    """The collections that each call receives and may fill or empty, by the call's result."""
    known = collections(function)
    calls = calls_by_result(function) if known else {}
    return {
        result: frozenset(part for arg in call.args for part in escaping_parts(arg.value) if part in known)
        for result, call in calls.items()
        if not is_read_only(call) and last_name(call.func) not in PURE_FUNCTIONS
    }


# ---- what a fact reads ----


def _is_identity_fact(fact: Expr, whole: Expr) -> bool:
    """Whether a fact is about the identity or type of an object, not about its contents."""
    match fact:
        case Compare(left=tested, op="is") | IsType(value=tested):
            return tested == whole
        case _:
            return False


def _reads_contents(part: Expr, wholes: frozenset[Expr]) -> bool:
    """Whether an expression reads the contents of one of these objects."""
    match part:
        case Attr(obj=whole) | Item(obj=whole) | Compare(op="in", right=whole):
            return whole in wholes
        case Mix(op="any" | "len", parts=(whole,)):
            return whole in wholes
        case _:
            return False


def _reads_element(part: Expr, whole: Expr, key: Expr | None) -> bool:
    """Whether an expression reads an element of a collection, or tests membership; an element under another key is excluded."""
    match part:
        case Mix(op="call", parts=(Attr(obj=read), _, *_)) | Compare(op="in", right=read):
            return read == whole
        case Item(obj=read, key=read_key):
            other_key = isinstance(read_key, Literal) and isinstance(key, Literal) and read_key != key
            return read == whole and not other_key
        case _:
            return False
