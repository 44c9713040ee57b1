"""What a function still asks for: the locals and the facts that are live where its paths meet.

Two paths that differ only in what nobody asks again are one from there on.  `key = keyOf(tuple)` keeps them apart
until the last step that reads `key`, and what `if (key == null)` has decided until the last test of `key`.

Terms.  A *place* is a local, by its name, or the subject of facts: what a condition asks about.  It is live before a
step if some way on from there reads it before it is given a new value.  A set of places is the bits of an integer.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from ackdoctor.flow.aliases import new_aliases
from ackdoctor.flow.expressions import assigned_targets, memoize, names_in, subexpressions
from ackdoctor.flow.facts import definitions, normalise, subject_of, tested_names
from ackdoctor.flow.induction import body_counters, counted_loops, induction_variables
from ackdoctor.flow.library import CONTAINER_STORES
from ackdoctor.flow.pure_calls import inline_calls, is_field, iterator_facts, nonempty_facts, size_facts
from ackdoctor.flow.state import State
from ackdoctor.model.cfg import (
    ENTRY,
    Attr,
    Bind,
    Call,
    Catch,
    Closure,
    Compare,
    Drop,
    EdgeKind,
    Expr,
    Instr,
    Item,
    Mark,
    Name,
    Next,
    Not,
    Return,
    Test,
    Throw,
    Unpack,
    Update,
    Yield,
)
from ackdoctor.model.component import Function

__all__ = ["Needed", "looked_up", "needed", "read", "written"]

Place: TypeAlias = str | Expr

_RESULT, _YIELDED, _OWN = "%return", "%yield", "this"


class Needed(NamedTuple):
    """What is live at a step: locals by name, and subjects of facts."""

    names: frozenset[str]
    subjects: frozenset[Expr]

    def of(self, state: State) -> State:
        """A state without what is not live."""
        env, facts = state.env, state.facts
        if not env.keys() <= self.names:
            env = {name: value for name, value in env.items() if name in self.names}
        if facts and not all(subject_of(fact) in self.subjects for fact in facts):
            facts = {fact: truth for fact, truth in facts.items() if subject_of(fact) in self.subjects}
        return state if env is state.env and facts is state.facts else state.replace(env=env, facts=facts)


@memoize
def needed(function: Function) -> Mapping[int, Needed]:
    """What is live where a function begins, and at those of its steps where paths meet."""
    numbers: dict[Place, int] = {}
    read = [_bits(numbers, _asked(function, step.op)) for step in function.cfg.steps]
    named = (fact.left for facts in new_aliases(function).values() for fact in facts)
    own = _bits(numbers, (_OWN, *named))  # a call on `super()` means `this` without naming it
    live = _live(function, [places | own for places in read], _rewritten(function, numbers))
    places = list(numbers)
    known: dict[int, Needed] = {}
    for index in _meetings(function):
        if live[index] not in known:
            known[live[index]] = _sorted(places, live[index])
    return {index: known[live[index]] for index in _meetings(function)}


def _meetings(function: Function) -> list[int]:
    arrivals = [0] * len(function.cfg.steps)
    for step in function.cfg.steps:
        for edge in step.edges:
            arrivals[edge.target] += 1
    return [index for index, count in enumerate(arrivals) if count > 1 or index == ENTRY]


@memoize
def looked_up(function: Function) -> Mapping[str, tuple[Expr, ...]]:
    """What is looked into at the places that a local gives: `self.pending` in `self.pending[key]`."""
    found: dict[str, tuple[Expr, ...]] = {}
    for step in function.cfg.steps:
        for part in (each for expr in read(step.op) for each in subexpressions(expr)):
            if isinstance(part, Item):
                for name in names_in(part.key):
                    found[name] = (*found.get(name, ()), part.obj)
    return found


# ---- the analysis ----


def _live(function: Function, read: list[int], rewritten: list[int]) -> list[int]:
    """The places live before each step: what it reads, and what is live behind it and not given a new value by it."""
    steps, live = function.cfg.steps, read
    grew = True
    while grew:
        grew = False
        for index in range(len(steps) - 1, -1, -1):
            step, found = steps[index], live[index]
            for kind, target in step.edges:
                found |= live[target] & ~rewritten[index] if _writes(step.op, kind) else live[target]
            grew = grew or found != live[index]
            live[index] = found
    return live


def _rewritten(function: Function, numbers: Mapping[Place, int]) -> list[int]:
    """What each step gives a new value: a local, and with it all that is asked about it."""
    about: dict[str, int] = {}
    for place, number in numbers.items():
        for name in (place,) if isinstance(place, str) else names_in(place):
            about[name] = about.get(name, 0) | 1 << number
    rewritten = []
    for step in function.cfg.steps:
        places = 0
        for name in written(step.op):
            places |= about.get(name, 0)
        rewritten.append(places)
    return rewritten


def _bits(numbers: dict[Place, int], places: Iterable[Place]) -> int:
    bits = 0
    for place in places:
        bits |= 1 << numbers.setdefault(place, len(numbers))
    return bits


def _sorted(places: list[Place], bits: int) -> Needed:
    names: list[str] = []
    subjects: list[Expr] = []
    while bits:
        lowest = bits & -bits
        place = places[lowest.bit_length() - 1]
        if isinstance(place, str):
            names.append(place)
        else:
            subjects.append(place)
        bits ^= lowest
    return Needed(frozenset(names), frozenset(subjects))


# ---- what an instruction reads and writes ----


def _writes(op: Instr, kind: EdgeKind) -> bool:
    """Whether what an instruction assigns is assigned on this way out."""
    return kind is EdgeKind.TRUE if isinstance(op, (Next, Catch)) else kind is not EdgeKind.RAISE


def written(op: Instr) -> Iterator[str]:
    """The locals that an instruction assigns."""
    for target in assigned_targets(op):
        if isinstance(target, Name):
            yield target.id
    if isinstance(op, Return):
        yield _RESULT


def _asked(function: Function, op: Instr) -> Iterator[Place]:
    """The places that an instruction reads."""
    for expr in read(op):
        yield from _names(expr, function)
    match op:
        case Test(condition=condition):
            yield from _subjects(condition)
            yield from _subjects(inline_calls(function, condition))
            yield from _compared(inline_calls(function, condition))
            for name in names_in(condition):
                for meant in definitions(function).get(name, ()):
                    yield from _subjects(meant)
                    yield from _compared(meant)
        case Update(target=Name(id=name)) | Bind(target=Name(id=name)) if name in induction_variables(
            function
        ):
            yield from _known_of(function, name)  # it is said anew of the next number
            yield from (place for expr in read(op) for place in size_facts(expr))
        case Bind(target=Name(id=name), value=value) if name in tested_names(function):
            yield value  # what is known of the value is known of the new name
            yield from _subjects(value)
            yield from _compared(value)
        case Next(iterable=iterable, loop=loop):
            yield from nonempty_facts(function, iterable)
            for loops in (counted_loops(function), body_counters(function)):
                if loop in loops and (name := loops[loop].name) in induction_variables(function):
                    yield from _known_of(function, name)
        case Call(func=Attr(obj=Name() as obj, name=name)) if name in CONTAINER_STORES:
            yield obj  # which list it is
        case Bind(target=Name(), value=Name(id=name) as value) if name.startswith("%"):
            yield value  # the same
            yield from iterator_facts(function).get(value, ())
        case Yield():
            yield _YIELDED
        case Mark(word="EXIT"):
            yield from (_RESULT, _YIELDED)
        case _:
            pass


def _known_of(function: Function, counter: str) -> Iterator[Place]:
    yield Name(counter)
    yield counter
    for bound in induction_variables(function)[counter]:
        yield from (part for part in subexpressions(bound) if isinstance(part, Name) or is_field(part))
        yield from size_facts(bound)


def _compared(condition: Expr) -> Iterator[Place]:
    """The locals that are compared: each may stand for something else; and whether there is anything in what they are compared with."""
    if isinstance(condition, Compare):
        yield from (part for part in subexpressions(condition) if isinstance(part, Name) or is_field(part))
    yield from size_facts(condition)


def read(op: Instr) -> tuple[Expr, ...]:
    """The expressions that an instruction evaluates; a local that is only assigned is none."""
    match op:
        case Call(func=func, args=args):
            return (func, *(arg.value for arg in args))
        case Test(condition=value):
            return (value,)
        case Bind(target=target, value=value) | Next(target=target, iterable=value):
            return (value, *_around(target))
        case Unpack(targets=targets, value=value):
            return (value, *(expr for target in targets for expr in _around(target)))
        case Update(target=target, value=value):
            return (target, value)
        case Drop(target=value):
            return (value,)
        case Return(value=value) | Throw(value=value) | Yield(value=value) if value is not None:
            return (value,)
        case _:
            return ()


def _around(target: Expr | None) -> tuple[Expr, ...]:
    return () if target is None or isinstance(target, Name) else (target,)


def _subjects(condition: Expr) -> Iterator[Expr]:
    """What is asked of the facts where a condition is decided."""
    fact, _ = normalise(condition)
    match fact:
        case Compare(left=left):
            yield left
            yield from _subjects(left)
        case Not(value=value):
            yield fact
            yield from _subjects(value)
        case _:
            yield fact


def _names(expr: Expr, function: Function) -> Iterator[str]:
    """The locals that an expression reads, and those that a closure in it takes along."""
    for part in subexpressions(expr):
        if isinstance(part, Name):
            yield part.id
        elif isinstance(part, Closure) and part.key in function.closures:
            yield from function.closures[part.key].captures
