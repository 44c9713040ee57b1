"""Second names: one object that a path knows by several, so that what is done under one of them is done to all.

`batch = self.rows` is followed by `self.rows.clear()`: how much there is in `batch` is to be asked anew.  Only names by which
a function asks about something are followed, on each path from the assignment on, until one of them is given another value.

Terms.  A *place* is what an object is found under: `rows`, `order.rows`; what lies under a key, is got by one or was given to an object is
under the place `*` of that.  A call is *narrow* if it changes no more than the collection that it is made on, as `add` does; any other may
change all that is found from its receiver and its arguments.  An answer with arguments, as `client.find(key)`, is taken to be nobody else's.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ackdoctor.flow.expressions import calls_by_result, last_name, memoize, mentions, subexpressions
from ackdoctor.flow.facts import tested_subjects
from ackdoctor.flow.library import (
    CONTAINER_QUIET,
    CONTAINER_READS,
    CONTAINER_STORES,
    CONTAINER_TAKES,
    DISPLAYS,
    LIVE_VIEWS,
    NO_RAISE,
    ORDERS,
    VIEWS,
)
from ackdoctor.flow.predicates import OWN, READERS, handed, is_field, leaves_alone, unchanging, wholes
from ackdoctor.flow.state import Field, State, Value
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Closure,
    Compare,
    Drop,
    Expr,
    Global,
    Instr,
    Item,
    Literal,
    Mix,
    Name,
    Next,
    Test,
    Unpack,
    Update,
)
from ackdoctor.model.component import Function

__all__ = [
    "ALSO",
    "also",
    "closures",
    "collection_places",
    "collections",
    "counted_in",
    "got_field",
    "others",
    "place",
    "second_names",
]


ALSO = "also"
_UNDER = "*"
_GETTER, _SETTER = re.compile(r"get(?![a-z])"), re.compile(r"set(?=[A-Z_])")
_NARROW = CONTAINER_STORES | CONTAINER_READS | CONTAINER_QUIET | ORDERS
_LEAVES = (CONTAINER_READS - CONTAINER_TAKES - CONTAINER_STORES) | {
    "next"
}  # what they are made on stays as it was
_COMPONENT = frozenset(map(Name, OWN))
_NOTHING: frozenset[Expr] = frozenset()
_FILLS = CONTAINER_STORES | CONTAINER_TAKES | {"clear"}
_COPIES = VIEWS | NO_RAISE - DISPLAYS


class _Change(NamedTuple):
    """The places in which a step may change something, those of them that it names, and the one whose parts it may change as well."""

    places: frozenset[Expr]
    named: frozenset[Expr]
    whole: Expr | None = None
    narrow: bool = False


@memoize
def second_names(function: Function) -> Mapping[int, tuple[Compare, ...]]:
    """What each step gives a second name that matters, as facts, by the number of the step."""
    pairs = {index: tuple(_pairs(function, step.op)) for index, step in enumerate(function.cfg.steps)}
    every = [pair for some in pairs.values() for pair in some]
    if not every:
        return {}
    asked = _linked(every, _asked_about(function))
    linked = asked & _linked(every, collection_places(function) | _asked_inside(function))
    often = Counter(each for pair in every for each in pair)
    return {
        index: facts
        for index, some in pairs.items()
        if (
            facts := tuple(
                Compare(one, ALSO, other)
                for one, other in some
                if one in linked and (often[other] > 1 or not _passing(other) or _own(function, other))
            )
        )
    }


def also(function: Function, index: int, state: State) -> State:
    """The state behind a step that gives something a second name."""
    if not (named := second_names(function).get(index)):
        return state
    known: Mapping[Expr, bool] = dict.fromkeys(named, True)
    return state.but(facts={**state.facts, **known})


def got_field(function: Function, state: State, call: Call, value: Value | None) -> State:
    """The state behind a helper that has given a field of the component."""
    at = place(function, call.result)
    if not isinstance(value, Field) or at is None or not _own(function, call.result):
        return state
    if not any(at in (fact.left, fact.right) for facts in second_names(function).values() for fact in facts):
        return state
    field = Attr(call.func.obj, value.name)  # type: ignore[union-attr]  # a method of the component's own
    return state.but(facts={**state.facts, Compare(at, ALSO, field): True})


def others(
    function: Function, index: int, state: State, fields: frozenset[str] | None = None
) -> tuple[frozenset[Expr], frozenset[Expr]]:
    """All names of what a step may change something in, as far as the path knows them, and those that the step does not use itself.

    `fields` are those of the component that a method of its own may change, if that is known.
    """
    change = _changes(function).get(index)
    if change is None:
        return _NOTHING, _NOTHING
    known = [fact for fact in state.facts if isinstance(fact, Compare) and fact.op == ALSO]
    parts = _parts(change, fields)
    reached = set(change.places)
    grew = bool(known)
    while grew:
        found = {
            each
            for fact in known
            if any(side in reached or _part(side, parts, change) for side in (fact.left, fact.right))
            for each in (fact.left, fact.right)
        }
        grew = not found <= reached
        reached |= found
    return frozenset(reached), frozenset(reached - change.named)


def _parts(change: _Change, fields: frozenset[str] | None) -> tuple[Expr, ...]:
    """The places of which a step may change the parts."""
    if change.whole is None:
        return ()
    if fields is None or change.whole not in _COMPONENT:
        return (change.whole,)
    return tuple(Attr(change.whole, field) for field in sorted(fields))


def _part(at: Expr, wholes: tuple[Expr, ...], change: _Change) -> bool:
    """Whether a place is, or is a part of, what may be changed with its parts; to put something into a map changes nothing under its keys."""
    if at == change.whole or not any(mentions(at, whole) for whole in wholes):
        return False
    return not (change.narrow and isinstance(at, Attr) and not at.name[:1].isalpha())


# ---- what may change ----


@memoize
def _changes(function: Function) -> Mapping[int, _Change]:
    """What each step may change something in."""
    return {
        index: change
        for index, step in enumerate(function.cfg.steps)
        if (change := _change(function, step.op)) is not None
    }


def _change(function: Function, op: Instr) -> _Change | None:
    match op:
        case Update(target=Item(obj=whole)) | Bind(target=Item(obj=whole)) | Drop(target=Item(obj=whole)):
            return _Change(_places(function, (whole,)), frozenset({whole}))
        case Update(target=Name() as whole):
            return _Change(_places(function, (whole,)), frozenset({whole}))
        case Call(func=func) if isinstance(func, Name) or not leaves_alone(op):
            return _behind(function, op, func)
        case _:
            return None


def _behind(function: Function, call: Call, func: Expr) -> _Change | None:
    name = last_name(func)
    receiver = func.obj if isinstance(func, Attr) else None
    if name in READERS | _LEAVES and not isinstance(func, Name):
        return None
    narrow = name in _NARROW and not isinstance(receiver, Global)
    given = () if narrow else tuple(each for arg in call.args for each in handed(arg.value))
    known = tuple(Name(local) for each in (func, *given) for local in _captured(function, each))
    named = frozenset(arg.value for arg in call.args)
    if receiver is None or _SETTER.match(name):
        return _Change(_places(function, (*given, *known)), named)
    places = _places(function, (receiver, *given, *known))
    return _Change(places, named | {receiver}, place(function, receiver), narrow)


def _captured(function: Function, code: Expr) -> frozenset[str]:
    """The locals that a closure knows, which may stand there by its name; not the component."""
    code = closures(function).get(code, code)
    inner = function.closures.get(code.key) if isinstance(code, Closure) else None
    return inner.captures - OWN if inner is not None else frozenset()


@memoize
def closures(function: Function) -> Mapping[Expr, Expr]:
    """The closures that have a name, by that."""
    return {
        step.op.target: step.op.value
        for step in function.cfg.steps
        if isinstance(step.op, Bind) and isinstance(step.op.value, Closure)
    }


def _places(function: Function, exprs: Iterable[Expr]) -> frozenset[Expr]:
    return frozenset(at for expr in exprs if (at := place(function, expr)) is not None)


@memoize
def _asked_about(function: Function) -> frozenset[Expr]:
    """The places about which a path remembers something."""
    asked = {part for fact in tested_subjects(function) for part in subexpressions(fact)}
    return frozenset(
        part for part in asked - _COMPONENT if isinstance(part, (Name, Attr, Item)) and not _passing(part)
    )


def _asked_inside(function: Function) -> frozenset[Expr]:
    """The places of which it is asked how much there is in them."""
    found: set[Expr] = set()
    for asked in tested_subjects(function):
        match asked:
            case Mix(op="any" | "len", parts=(whole,)) | Mix(op="call", parts=(Attr(obj=whole), *_)):
                found.add(whole)
            case _:
                pass
    return _places(function, (whole for whole in found if not unchanging(function, whole)))


def _linked(pairs: list[tuple[Expr, Expr]], first: frozenset[Expr]) -> frozenset[Expr]:
    """These places, and all that are other names of them."""
    linked, found = set(first), set(first)
    while found:
        found = {each for pair in pairs if not linked.isdisjoint(pair) for each in pair} - linked
        linked |= found
    return frozenset(linked)


@memoize
def collections(function: Function) -> frozenset[Expr]:
    """What a function loops over, counts, makes with something in it, fills or empties."""
    known: set[Expr] = set()
    for step in function.cfg.steps:
        match step.op:
            case Next(iterable=iterable):
                known.update(wholes(function, iterable))
            case Test(condition=asked):
                known.update(counted_in(asked))
            case Bind(target=target, value=Build(kind="list" | "dict" | "set")):
                known.add(target)
            case Bind(target=Item(obj=whole)) | Update(target=Item(obj=whole)) | Drop(target=Item(obj=whole)):
                known.add(whole)
            case Bind(value=value):
                known.update(counted_in(value))
            case Update(target=target, value=Build()):
                known.add(target)
            case Call(func=Attr(obj=whole, name=name)) if name in _FILLS:
                known.add(whole)
            case _:
                pass
    return frozenset(known)


@memoize
def collection_places(function: Function) -> frozenset[Expr]:
    """Where these are found."""
    return _places(function, collections(function))


def counted_in(fact: Expr) -> Iterator[Expr]:
    """The collections of which a fact says how much there is in them."""
    for part in subexpressions(fact):
        match part:
            case Mix(op="len", parts=(whole,)):
                yield whole
            case _:
                pass


def _own(function: Function, expr: Expr) -> bool:
    """Whether it is the answer of a method of the component's own."""
    call = calls_by_result(function).get(expr)
    return call is not None and is_field(call.func)


def _passing(expr: Expr) -> bool:
    return isinstance(expr, Name) and expr.id.startswith("%")


# ---- what has a second name ----


def _pairs(function: Function, op: Instr) -> Iterator[tuple[Expr, Expr]]:
    match op:
        case Bind(target=target, value=Build(items=items)):
            for value in items:
                yield from _pair(function, Attr(target, _UNDER), value)
        case Next(target=target, iterable=Build(items=items)) if target is not None:
            for value in items:
                yield from _pair(function, target, value)
        case Next(target=target, iterable=whole) if target is not None:
            yield from _pair(function, target, Attr(whole, _UNDER))
        case Bind(target=target, value=value):
            yield from _pair(function, target, value)
            made = calls_by_result(function).get(value)
            if (
                made is not None
                and last_name(made.func)[:1].isupper()
                and last_name(made.func) not in _COPIES
            ):
                yield from _given(function, made, target)
        case Unpack(targets=targets, value=Build(items=items)) if len(targets) == len(items):
            for target, value in zip(targets, items, strict=True):
                if target is not None and value not in targets:
                    yield from _pair(function, target, value)
        case Call(func=Attr(obj=obj, name=name)) if name in CONTAINER_STORES or _SETTER.match(name):
            yield from _given(function, op, obj)
        case _:
            pass


def _pair(function: Function, target: Expr, value: Expr) -> Iterator[tuple[Expr, Expr]]:
    one, other = place(function, target), place(function, value)
    if one is not None and other is not None and one != other:
        yield (other, one) if isinstance(other, Name) and not _passing(other) else (one, other)


def _given(function: Function, call: Call, whole: Expr) -> Iterator[tuple[Expr, Expr]]:
    """What was given to an object is found under it."""
    under = place(function, whole)
    for arg in call.args:
        named = isinstance(arg.value, (Name, Attr)) and not _passing(arg.value)
        if under is not None and named and arg.value not in _COMPONENT:
            yield arg.value, Attr(under, _UNDER)


def place(function: Function, expr: Expr) -> Expr | None:
    """What an object is found under, or None where it is nobody else's."""
    match expr:
        case Name() if expr in calls_by_result(function):
            return _got(function, calls_by_result(function)[expr]) or expr
        case Name() | Global():
            return expr
        case Attr(obj=obj, name=name):
            return _under(place(function, obj), name)
        case Item(obj=obj, key=key):
            return _under(
                place(function, obj),
                f"[{key.value!r}]" if isinstance(key, Literal) and isinstance(key.value, str) else _UNDER,
            )
        case _:
            return None


def _got(function: Function, call: Call) -> Expr | None:
    """Where the answer of a call lies, if its name says so."""
    if not isinstance(call.func, Attr):
        return None
    name = call.func.name
    whole = place(function, call.func.obj)
    if name in LIVE_VIEWS:
        return whole
    if name in CONTAINER_READS and call.args:
        return _under(whole, _UNDER)
    return _under(whole, f"{name}()") if not call.args and _GETTER.match(name) else None


def _under(whole: Expr | None, name: str) -> Expr | None:
    return Attr(whole, name) if whole is not None else None
