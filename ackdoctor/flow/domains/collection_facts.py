"""Collection facts: whether a collection has elements, and whether a key or an element is in it.

They hold only if no other code can change the collection: see `names_kept_elsewhere`.
"""

from ackdoctor.flow.domains.aliases import collections
from ackdoctor.flow.domains.invalidation import drop_facts
from ackdoctor.flow.domains.tuples import is_named
from ackdoctor.flow.expressions import is_slice, memoize, names_in, operands, subexpressions
from ackdoctor.flow.facts import subjects_of_tests
from ackdoctor.flow.pure_calls import makes_empty, nonempty_facts
from ackdoctor.flow.state import State
from ackdoctor.libraries.vocabulary import CONTAINER_BULK_STORES, CONTAINER_REMOVALS, CONTAINER_STORES
from ackdoctor.model.cfg import Attr, Bind, Build, Call, Compare, Expr, Function, Item, Name

_REMOVALS = frozenset({"discard", "removeIf", "retainAll", "removeAll"})  # beside `CONTAINER_REMOVALS`
_ADDS_ARGUMENT = frozenset({"add", "append", "appendleft"})


def record_assignment(function: Function, state: State, target: Expr, source: Expr) -> State:
    """The state that knows that a new collection is empty, and that one with an assigned item is not."""
    match target:
        case Name() | Attr() if makes_empty(function, source) and _has_one_name(function, target):
            return _record_size(function, state, target, nonempty=False)
        case Item(obj=whole, key=key) if is_slice(key):
            return _forget_contents(function, state, whole)
        case Item(obj=whole, key=key):
            return _record_element(function, _record_size(function, state, whole, nonempty=True), key, whole)
        case _:
            return state


def record_change(function: Function, state: State, call: Call) -> State:
    """The state that knows what a method of a collection adds; what it removes may have been the last element."""
    match call.func:
        case Attr(obj=whole, name=name) if name in CONTAINER_STORES - CONTAINER_BULK_STORES:
            state = _record_size(function, state, whole, nonempty=True)
            if name in _ADDS_ARGUMENT and len(call.args) == 1:
                return _record_element(function, state, call.args[0].value, whole)
            return state
        case Attr(obj=whole, name=name) if name in CONTAINER_BULK_STORES | CONTAINER_REMOVALS | _REMOVALS:
            return _forget_contents(function, state, whole)
        case _:
            return state


def _forget_contents(function: Function, state: State, whole: Expr) -> State:
    """The state that knows neither whether a collection has elements, nor what is in it."""
    sizes = nonempty_facts(function, whole)
    stale = (
        fact for fact in state.facts if isinstance(fact, Compare) and (fact.op, fact.right) == ("in", whole)
    )
    return drop_facts(state, [*stale, *(fact for fact in sizes if fact in state.facts)])


def _record_size(function: Function, state: State, whole: Expr, *, nonempty: bool) -> State:
    """The state that knows whether a collection has elements."""
    facts = nonempty_facts(function, whole)
    read = subjects_of_tests(function).keys() | collections(function) | state.asked
    known = {fact: nonempty for fact in facts if fact in read}
    return state.replace(facts={**state.facts, **known}) if known else state


def _record_element(function: Function, state: State, element: Expr, whole: Expr) -> State:
    """The state that knows that a collection which is searched later has this element or key."""
    if is_slice(element) or whole not in subjects_of_tests(function).keys() | state.asked:
        return state
    return state.replace(facts={**state.facts, Compare(element, "in", whole): True})


def _has_one_name(function: Function, target: Expr) -> bool:
    """Whether what is assigned is known by this name only; what a comprehension fills has no name yet."""
    if not isinstance(target, Name):
        return True
    return is_named(target.id) and target.id not in names_kept_elsewhere(function)


@memoize
def names_kept_elsewhere(function: Function) -> frozenset[str]:
    """The locals that the code puts into an object or a display, or that a closure or a bound method has: other code may change them."""
    kept: set[str] = set().union(*(inner.captures for inner in function.closures.values()))
    for step in function.cfg.steps:
        if isinstance(step.op, Bind) and not isinstance(step.op.target, Name):
            kept.update(names_in(step.op.value))
        values = [arg.value for arg in step.op.args] if isinstance(step.op, Call) else operands(step.op)
        for part in (part for expr in values for part in subexpressions(expr)):
            if isinstance(part, (Attr, Build)):  # a bound method, a display
                kept.update(names_in(part))
    return frozenset(kept)
