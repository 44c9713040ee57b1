"""Liveness: the locals and the facts that later steps of a function read, where its paths meet.

Two paths that differ only in dead locals and dead facts are merged.  `key = keyOf(tuple)` keeps them apart until the last
step that reads `key`, and the outcome of `if (key == null)` until the last test of `key`.

A *place* is a local, by its name, or the subject of facts: what a condition tests.  It is live before a step if some path
from there reads it before it is assigned.  A set of places is a bit mask.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from ackdoctor.flow.domains.aliases import new_aliases
from ackdoctor.flow.domains.heap_cells import private_objects
from ackdoctor.flow.expressions import RESULT, assigned_locals, memoize, names_in, operands, subexpressions
from ackdoctor.flow.facts import (
    bound_subjects,
    definitions,
    normalise,
    passed_subjects,
    result_subjects,
    tested_names,
)
from ackdoctor.flow.induction import body_counters, counted_loops, induction_variables
from ackdoctor.flow.pure_calls import inline_calls, iterator_facts, nonempty_facts, size_facts
from ackdoctor.flow.state import Live
from ackdoctor.libraries.vocabulary import CONTAINER_STORES
from ackdoctor.model.cfg import (
    ENTRY,
    Attr,
    Bind,
    Call,
    Catch,
    Closure,
    Compare,
    EdgeKind,
    Expr,
    Function,
    Instr,
    Item,
    Mark,
    Name,
    Next,
    Not,
    Return,
    Test,
    Update,
    Yield,
)

Place: TypeAlias = str | Expr

_YIELDED = "%yield"


@memoize
def live_at(function: Function) -> Mapping[int, Live]:
    """Return the live places at a function's entry and at the steps where paths meet."""
    numbers: dict[Place, int] = {}
    read = [_bit_mask(numbers, _read_places(function, step.op)) for step in function.cfg.steps]
    named = (name for pairs in new_aliases(function).values() for name, _ in pairs)
    own = _bit_mask(numbers, (function.receiver, *named))  # `super()` uses it without naming it
    live = _live(function, [places | own for places in read], _assigned_places(function, numbers))
    places = list(numbers)
    known: dict[int, Live] = {}
    for index in _meetings(function):
        if live[index] not in known:
            known[live[index]] = _live_places(function, places, live[index])
    return {index: known[live[index]] for index in _meetings(function)}


def _meetings(function: Function) -> list[int]:
    arrivals = [0] * len(function.cfg.steps)
    for step in function.cfg.steps:
        for edge in step.edges:
            arrivals[edge.target] += 1
    return [index for index, count in enumerate(arrivals) if count > 1 or index == ENTRY]


@memoize
def container_keys(function: Function) -> Mapping[Expr, frozenset[Expr]]:
    """Return the containers that the code indexes, with their keys: `self.pending` in `self.pending[key]`."""
    found: dict[Expr, frozenset[Expr]] = {}
    for step in function.cfg.steps:
        for part in (each for expr in operands(step.op) for each in subexpressions(expr)):
            if isinstance(part, Item):
                found[part.obj] = found.get(part.obj, frozenset()) | {part.key}
    return found


def indexed_containers(function: Function, name: str) -> Iterator[Expr]:
    """Yield the containers that the code indexes with a local."""
    return (
        obj for obj, keys in container_keys(function).items() if any(name in names_in(key) for key in keys)
    )


# ---- the analysis ----


def _live(function: Function, read: list[int], rewritten: list[int]) -> list[int]:
    """Return the live places before each step: those it reads, and those live after it that it does not assign."""
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


def _assigned_places(function: Function, numbers: Mapping[Place, int]) -> list[int]:
    """Return the places that each step assigns: a local and all facts about it."""
    about: dict[str, int] = {}
    for place, number in numbers.items():
        for name in (place,) if isinstance(place, str) else names_in(place):
            about[name] = about.get(name, 0) | 1 << number
    rewritten = []
    for step in function.cfg.steps:
        places = 0
        for name in assigned_locals(step.op):
            places |= about.get(name, 0)
        rewritten.append(places)
    return rewritten


def _bit_mask(numbers: dict[Place, int], places: Iterable[Place]) -> int:
    bits = 0
    for place in places:
        bits |= 1 << numbers.setdefault(place, len(numbers))
    return bits


def _live_places(function: Function, places: list[Place], bits: int) -> Live:
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
    read = {*names, *(name for subject in subjects for name in names_in(subject))}
    ended = (shared for name, shared in private_objects(function).items() if name not in read)
    return Live(frozenset(names), frozenset(subjects), frozenset(ended))


# ---- what an instruction reads and writes ----


def _writes(op: Instr, kind: EdgeKind) -> bool:
    """Whether an instruction assigns its targets on this edge."""
    return kind is EdgeKind.TRUE if isinstance(op, (Next, Catch)) else kind is not EdgeKind.RAISE


def _read_places(function: Function, op: Instr) -> Iterator[Place]:
    """Yield the places that an instruction reads."""
    for expr in operands(op):
        yield from _read_names(expr, function)
    match op:
        case Test(condition=condition):
            yield from _condition_subjects(condition)
            yield from _condition_subjects(inline_calls(function, condition))
            yield from _compared(function, inline_calls(function, condition))
            for name in names_in(condition):
                for meant in definitions(function).get(name, ()):
                    yield from _condition_subjects(meant)
                    yield from _compared(function, meant)
        case Update(target=Name(id=name)) | Bind(target=Name(id=name)) if name in induction_variables(
            function
        ):
            yield from _counter_places(function, name)  # its facts are derived again for the next number
            yield from (place for expr in operands(op) for place in size_facts(expr))
        case Bind(target=Name(id=name), value=value) if name in tested_names(function):
            yield value  # the facts about the value hold for the new name
            yield from _condition_subjects(value)
            yield from _compared(function, value)
        case Next(iterable=iterable, loop=loop):
            yield from nonempty_facts(function, iterable)
            for loops in (counted_loops(function), body_counters(function)):
                if loop in loops and (name := loops[loop].name) in induction_variables(function):
                    yield from _counter_places(function, name)
        case Return():
            yield from passed_subjects(function, op)  # the facts about it hold for the result
        case Call(func=func):
            yield from passed_subjects(function, op)
            if isinstance(func, Attr) and isinstance(func.obj, Name) and func.name in CONTAINER_STORES:
                yield func.obj  # which list it is
        case Bind(target=Name(), value=Name(id=name) as value) if name.startswith("%"):
            yield value  # the same
            yield from iterator_facts(function).get(value, ())
        case Yield() | Mark(word="EXIT"):
            yield from (RESULT, Name(RESULT), _YIELDED, *result_subjects(function))
        case _:
            pass


def _counter_places(function: Function, counter: str) -> Iterator[Place]:
    yield Name(counter)
    yield counter
    for bound in induction_variables(function)[counter]:
        yield from bound_subjects(function, bound)


def _compared(function: Function, condition: Expr) -> Iterator[Place]:
    """Return the operands of comparisons, since each may be an alias, and the emptiness of the containers among them."""
    return bound_subjects(function, condition) if isinstance(condition, Compare) else size_facts(condition)


def _condition_subjects(condition: Expr) -> Iterator[Expr]:
    """Yield the subjects whose facts decide a condition."""
    fact, _ = normalise(condition)
    match fact:
        case Compare(left=left):
            yield left
            yield from _condition_subjects(left)
        case Not(value=value):
            yield fact
            yield from _condition_subjects(value)
        case _:
            yield fact


def _read_names(expr: Expr, function: Function) -> Iterator[str]:
    """Yield the locals that an expression reads, and those that a closure in it captures."""
    for part in subexpressions(expr):
        if isinstance(part, Name):
            yield part.id
        elif isinstance(part, Closure) and part.key in function.closures:
            yield from function.closures[part.key].captures
