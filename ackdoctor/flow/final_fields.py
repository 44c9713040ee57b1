"""Final fields: fields that only the constructor and setters assign, so that a fact about one holds in every method.

`if (early) ack(tuple)` in the handler and `if (!early) ack(tuple)` in a helper or a callback are never both taken.  A
field counts as final here if several functions test it, no code assigns it while the component runs, and a test
decides whether a call that leads to a verb is made.

The facts about final fields, `State.final`, hold in helpers and callbacks as well.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ackdoctor.flow.context import Context
from ackdoctor.flow.expressions import assigned_targets, goes_on, last_name, memoize, names_in, subexpressions
from ackdoctor.flow.facts import normalise, subject_of
from ackdoctor.flow.pure_calls import inline_calls, is_field
from ackdoctor.flow.state import State
from ackdoctor.flow.values import SelfRef
from ackdoctor.libraries.vocabulary import CONSTRUCTORS
from ackdoctor.model.cfg import Attr, Call, EdgeKind, Expr, Function, Test
from ackdoctor.model.dialect import EntryKind

_MAX_FACTS = 4  # that a path remembers: each may double the number of paths
_SETTER = re.compile(r"(?:set|with)(?:_|[A-Z])")


def remember_final(context: Context, function: Function, state: State, fact: Expr, *, truth: bool) -> State:
    """The state that remembers a fact for other functions, if the fact is about final fields only."""
    if not _is_about_final(context, function, state, fact):
        return state
    if len(state.final) >= _MAX_FACTS or fact in state.final:
        return state
    return state.replace(final={**state.final, fact: truth})


def recall_final(context: Context, function: Function, state: State, fact: Expr) -> State:
    """The state with the remembered facts among its facts, if `fact` is about final fields only."""
    if not state.final or not _is_about_final(context, function, state, fact):
        return state
    return state.replace(facts={**state.final, **state.facts})


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
    entries = context.component.role.entries
    initialisers = CONSTRUCTORS | {entry.method for entry in entries if entry.kind is EntryKind.INIT}
    running = [(name, _field_uses(each)) for name, each in functions if name not in initialisers]
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
    cfg, steps = function.cfg, function.cfg.steps
    branches = [edge.target for edge in steps[index].edges if edge.kind in (EdgeKind.TRUE, EdgeKind.FALSE)]
    sides = [cfg.reached([branch], goes_on) for branch in branches]
    ops = (steps[each].op for each in (sides[0] ^ sides[-1] if sides else ()))
    return frozenset(last_name(op.func) for op in ops if isinstance(op, Call))
