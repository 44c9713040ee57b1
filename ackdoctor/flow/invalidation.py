"""Invalidation: which facts of a path an assignment or a call makes stale.

Four kinds of change invalidate different facts about an object:

- a reassigned name: every fact that mentions it;
- changed contents: facts about what is in the object and how much, but not its identity, type or aliases;
- a changed size (an element added or removed): facts about its size and elements, but not whether it is empty;
- a new order: facts about its elements, but not about its size.

Final fields: fields that only the constructor and setters assign, so that a fact about one holds in every method.

`if (early) ack(tuple)` in the handler and `if (!early) ack(tuple)` in a helper or a callback are never both taken.  A
field counts as final here if several functions test it, no code assigns it while the component runs, and a test
decides whether a call that leads to a verb is made.

The facts about final fields travel with `State.fields`, under a name of their own, into helpers and callbacks.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from ackdoctor.flow.aliases import ALIAS, changed_aliases, collection_paths, collections, measured_collections
from ackdoctor.flow.context import Context
from ackdoctor.flow.expressions import (
    assigned_targets,
    calls_by_result,
    facts_about,
    last_name,
    memoize,
    names_in,
    subexpressions,
    without_facts,
)
from ackdoctor.flow.facts import normalise, subject_of
from ackdoctor.flow.pure_calls import (
    PURE_FUNCTIONS,
    escaping_parts,
    inline_calls,
    is_field,
    is_immutable,
    is_mutable_local,
    is_read_only,
    pure_calls,
    size_calls,
    size_of,
)
from ackdoctor.flow.state import Const, SelfRef, State
from ackdoctor.libraries.vocabulary import CONTAINER_STORES, REORDERING
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Call,
    Compare,
    EdgeKind,
    Expr,
    Function,
    Instr,
    IsType,
    Item,
    Literal,
    Mix,
    Test,
)


def drop_facts(state: State, stale: Collection[Expr]) -> State:
    """The state without these facts; the same state if there are none."""
    return state.replace(facts=without_facts(state.facts, stale)) if stale else state


# ---- by an assignment or a method call ----


def invalidate_target(state: State, target: Expr) -> State:
    """The state after an assignment to the target: no fact about it holds any more."""
    return drop_facts(state, facts_about(state.facts, target))


def invalidate_receiver(state: State, call: Call) -> State:
    """The state after a method call that may change the contents of its receiver."""
    if not isinstance(call.func, Attr) or is_read_only(call):
        return state
    return invalidate_contents(state, call.func.obj, call)


def invalidate_contents(state: State, whole: Expr, op: Instr) -> State:
    """The state after a step that may change the contents of an object."""
    if isinstance(op, Call) and last_name(op.func) in REORDERING:
        return _invalidate_order(state, whole)
    return drop_facts(
        state,
        [
            fact
            for fact in facts_about(state.facts, whole)
            if not (_is_identity_fact(fact, whole) or _is_alias_fact(fact))
        ],
    )


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
        or (not _is_alias_fact(fact) and any(_reads_contents(part, others) for part in subexpressions(fact)))
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
            return not (isinstance(key, Mix) and key.op == "slice")
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


def _is_alias_fact(fact: Expr) -> bool:
    return isinstance(fact, Compare) and fact.op == ALIAS


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


_FINAL_FACTS = "%final"
_MAX_FACTS = 4  # that a path remembers: each may double the number of paths
_INITIALISER = re.compile(r"<init>|<clinit>|__init__|prepare|open|initialize")
_SETTER = re.compile(r"(?:set|with)(?:_|[A-Z])")


def remember_final(context: Context, function: Function, state: State, fact: Expr, *, truth: bool) -> State:
    """The state that remembers a fact for other functions, if the fact is about final fields only."""
    if not _is_about_final(context, function, state, fact):
        return state
    known = _final_facts(state)
    if len(known) >= _MAX_FACTS or fact in known:
        return state
    facts = Const(frozenset({*known.items(), (fact, truth)}))
    return state.replace(fields={**state.fields, _FINAL_FACTS: facts})


def recall_final(context: Context, function: Function, state: State, fact: Expr) -> State:
    """The state with the remembered facts among its facts, if `fact` is about final fields only."""
    known = _final_facts(state)
    if not known or not _is_about_final(context, function, state, fact):
        return state
    return state.replace(facts={**known, **state.facts})


def _final_facts(state: State) -> Mapping[Expr, bool]:
    found = state.fields.get(_FINAL_FACTS)
    return dict(found.value) if isinstance(found, Const) and isinstance(found.value, frozenset) else {}


def _is_about_final(context: Context, function: Function, state: State, fact: Expr) -> bool:
    """Whether a fact tests a final field and reads nothing else that may change."""
    if not is_field(function, subject_of(fact)):
        return False
    if not all(isinstance(state.env.get(name), SelfRef) for name in names_in(fact)):
        return False
    if context.final_fields is None:
        context.final_fields = frozenset(_find_final_fields(context))
    return set(_fields(function, fact)) <= context.final_fields


def _find_final_fields(context: Context) -> Iterator[str]:
    lineage = context.component.lineage
    methods = [method for cls in lineage for method in cls.all_methods()]
    # a function defined in an initialiser, such as a listener, runs later
    functions = [
        (method.name if each is method else "", each) for method in methods for each in method.tree()
    ]
    running = [(name, _field_uses(each)) for name, each in functions if not _INITIALISER.fullmatch(name)]
    relevant = _callers_of(context.verb_names, methods)
    tested = [field for _, uses in running for field, calls in uses.decides.items() if calls & relevant]
    repeated = {field for field in tested if tested.count(field) > 1}
    if not repeated:
        return
    called = frozenset[str]().union(*(uses.called for _, uses in running))
    changed = {
        field for name, uses in running if name in called or not _SETTER.match(name) for field in uses.changed
    }
    for path in {cls.path for cls in lineage}:
        for cls in context.program.units[path].classes.values():
            trees = (each for method in cls.all_methods() for each in method.tree())
            changed.update(field for each in trees for field in _field_uses(each).changed_elsewhere)
    yield from repeated - changed


def _callers_of(names: frozenset[str], methods: Sequence[Function]) -> frozenset[str]:
    """These names and those of the methods that reach one of them through calls."""
    calls = {method.name: frozenset[str]() for method in methods}
    for method in methods:
        calls[method.name] |= frozenset().union(*(_field_uses(each).called for each in method.tree()))
    while more := {name for name, called in calls.items() if called & names} - names:
        names |= more
    return names


class _FieldUses(NamedTuple):
    """How a function uses fields.

    `decides` maps each tested field to the calls that the test decides; `changed` are the component's fields that the
    function assigns or calls a method on, `changed_elsewhere` the assigned fields of other objects; `called` are the
    names of all calls.
    """

    decides: Mapping[str, frozenset[str]]
    changed: frozenset[str]
    changed_elsewhere: frozenset[str]
    called: frozenset[str]


@memoize
def _field_uses(function: Function) -> _FieldUses:
    decides: dict[str, frozenset[str]] = {}
    changed: set[str] = set()
    elsewhere: set[str] = set()
    called: set[str] = set()
    for index, step in enumerate(function.cfg.steps):
        match step.op:
            case Test(condition=condition):
                for field in _fields(function, subject_of(normalise(inline_calls(function, condition))[0])):
                    decides[field] = decides.get(field, frozenset()) | _decided_calls(function, index)
            case Call(func=func):
                changed.update(_fields(function, func.obj) if isinstance(func, Attr) else ())
                called.add(last_name(func))
            case _:
                pass
        for target in assigned_targets(step.op):
            changed.update(_fields(function, target))
            elsewhere.update(
                (target.name,) if isinstance(target, Attr) and not is_field(function, target) else ()
            )
    return _FieldUses(decides, *map(frozenset, (changed, elsewhere, called)))


def _fields(function: Function, expr: Expr) -> Iterator[str]:
    """The fields of the component in an expression."""
    parts = subexpressions(expr)
    return (part.name for part in parts if isinstance(part, Attr) and is_field(function, part))


def _decided_calls(function: Function, index: int) -> frozenset[str]:
    """The names of the calls that only one side of a test reaches, without back edges and exceptions."""
    steps = function.cfg.steps
    sides = []
    for kind, branch in steps[index].edges:
        if kind in (EdgeKind.TRUE, EdgeKind.FALSE):
            reached, todo = {branch}, [branch]
            while todo:
                edges = steps[todo.pop()].edges
                new = {to for kind, to in edges if kind not in (EdgeKind.BACK, EdgeKind.RAISE)} - reached
                reached |= new
                todo += new
            sides.append(reached)
    ops = (steps[each].op for each in (sides[0] ^ sides[-1] if sides else ()))
    return frozenset(last_name(op.func) for op in ops if isinstance(op, Call))
