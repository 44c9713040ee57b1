"""What is settled before the component runs: what a path has decided about a setting holds wherever it leads.

A *setting* is a field that only its making and its setters fill, and that several functions ask: `if (early) ack(tuple)` in the
handler and `if (!early) ack(tuple)` in its helper, or in a callback of it, are never both taken.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ackdoctor.flow.context import Context
from ackdoctor.flow.expressions import last_name, memoize, names_in, subexpressions
from ackdoctor.flow.facts import normalised
from ackdoctor.flow.induction import targets_of
from ackdoctor.flow.predicates import is_field, spelled_out
from ackdoctor.flow.state import Const, SelfRef, State
from ackdoctor.model.cfg import Attr, Call, Compare, EdgeKind, Expr, Test
from ackdoctor.model.component import Function

__all__ = ["settle", "with_settled"]


_SETTLED = "%settled"
_MOST = 4  # that a path remembers: each may double the paths from there on
_MAKING = re.compile(r"<init>|<clinit>|__init__|prepare|open|initialize")
_SETTER = re.compile(r"(?:set|with)(?:_|[A-Z])")


class _Uses(NamedTuple):
    """What a function calls where a field says so, by the field; the fields it fills or calls, those of other objects that it fills, all it calls."""

    asked: Mapping[str, frozenset[str]]
    touched: frozenset[str]
    elsewhere: frozenset[str]
    called: frozenset[str]


def settle(context: Context, state: State, fact: Expr, *, truth: bool) -> State:
    """The state in which a fact is known for good, if it is about settings."""
    if not _about_settings(context, state, fact):
        return state
    known = _known(state)
    if len(known) >= _MOST or fact in known:
        return state
    return state.but(fields={**state.fields, _SETTLED: Const(frozenset({*known.items(), (fact, truth)}))})


def with_settled(context: Context, state: State, fact: Expr) -> State:
    """The state in which what is settled stands among the facts, where a fact is about settings."""
    known = _known(state)
    if not known or not _about_settings(context, state, fact):
        return state
    return state.but(facts={**known, **state.facts})


def _known(state: State) -> Mapping[Expr, bool]:
    found = state.fields.get(_SETTLED)
    return dict(found.value) if isinstance(found, Const) and isinstance(found.value, frozenset) else {}


def _about_settings(context: Context, state: State, fact: Expr) -> bool:
    """Whether a fact asks settings of the component, and nothing else that may change."""
    left = fact.left if isinstance(fact, Compare) else fact
    if not is_field(left):
        return False
    if not all(isinstance(state.env.get(name), SelfRef) for name in names_in(fact)):
        return False
    fields = {part.name for part in subexpressions(fact) if is_field(part) and isinstance(part, Attr)}
    return fields <= _settings(context)


def _settings(context: Context) -> frozenset[str]:
    if context.settings is None:
        context.settings = frozenset(_found(context))
    return context.settings


def _found(context: Context) -> Iterator[str]:
    lineage = context.component.lineage
    methods = [method for cls in lineage for method in cls.all_methods()]
    # what is defined while the component is made, a listener for example, runs later
    functions = [
        (method.name if each is method else "", each) for method in methods for each in method.tree()
    ]
    running = [(name, _uses(each)) for name, each in functions if not _MAKING.fullmatch(name)]
    matters = _leading(context.verb_names, methods)
    asked = [field for _, uses in running for field, calls in uses.asked.items() if calls & matters]
    several = {field for field in asked if asked.count(field) > 1}
    if not several:
        return
    called = frozenset[str]().union(*(uses.called for _, uses in running))
    touched = {
        field for name, uses in running if name in called or not _SETTER.match(name) for field in uses.touched
    }
    for path in {cls.path for cls in lineage}:
        for cls in context.program.units[path].classes.values():
            trees = (each for method in cls.all_methods() for each in method.tree())
            touched.update(field for each in trees for field in _uses(each).elsewhere)
    yield from several - touched


def _leading(names: frozenset[str], methods: Sequence[Function]) -> frozenset[str]:
    """These names, and those of the methods that lead to one of them."""
    calls = {method.name: frozenset[str]() for method in methods}
    for method in methods:
        calls[method.name] |= frozenset().union(*(_uses(each).called for each in method.tree()))
    while more := {name for name, called in calls.items() if called & names} - names:
        names |= more
    return names


@memoize
def _uses(function: Function) -> _Uses:
    asked: dict[str, frozenset[str]] = {}
    touched: set[str] = set()
    elsewhere: set[str] = set()
    called: set[str] = set()
    for index, step in enumerate(function.cfg.steps):
        match step.op:
            case Test(condition=condition):
                fact = normalised(spelled_out(function, condition))[0]
                for field in _fields(fact.left if isinstance(fact, Compare) else fact):
                    asked[field] = asked.get(field, frozenset()) | _decides(function, index)
            case Call(func=func):
                touched.update(_fields(func.obj) if isinstance(func, Attr) else ())
                called.add(last_name(func))
            case _:
                pass
        for target in targets_of(step.op):
            touched.update(_fields(target))
            elsewhere.update((target.name,) if isinstance(target, Attr) and not is_field(target) else ())
    return _Uses(asked, *map(frozenset, (touched, elsewhere, called)))


def _decides(function: Function, index: int) -> frozenset[str]:
    """What is called on one side of a test and not on the other."""
    ahead, steps = _ahead(function), function.cfg.steps
    sides = [
        ahead[target] if 0 <= target < len(steps) else 0
        for kind, target in steps[index].edges
        if kind in (EdgeKind.TRUE, EdgeKind.FALSE)
    ]
    apart = sides[0] ^ sides[-1] if sides else 0
    return frozenset(name for step, name in _calls(function) if apart >> step & 1) if apart else frozenset()


@memoize
def _calls(function: Function) -> tuple[tuple[int, str], ...]:
    """The number of each call among the calls, and the method's name."""
    ops = (step.op for step in function.cfg.steps)
    return tuple(enumerate(last_name(op.func) for op in ops if isinstance(op, Call)))


@memoize
def _ahead(function: Function) -> tuple[int, ...]:
    """For each step, a bit set of the calls that it can reach without a loop's back edge or an exception."""
    steps = function.cfg.steps
    count = 0
    found = []
    for step in steps:
        found.append(1 << count if isinstance(step.op, Call) else 0)
        count += isinstance(step.op, Call)
    changed = True
    while changed:
        changed = False
        for index in reversed(range(len(steps))):
            reached = found[index]
            for kind, target in steps[index].edges:
                if kind not in (EdgeKind.BACK, EdgeKind.RAISE) and 0 <= target < len(steps):
                    reached |= found[target]
            changed = changed or reached != found[index]
            found[index] = reached
    return tuple(found)


def _fields(expr: Expr) -> Iterator[str]:
    """The fields of the component in an expression."""
    return (part.name for part in subexpressions(expr) if isinstance(part, Attr) and is_field(part))
