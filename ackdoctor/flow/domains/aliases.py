"""Must-alias analysis: several names of one object, so that a change through one of them is a change of all.

After `batch = self.rows`, the call `self.rows.clear()` also changes the size of `batch`.  The path remembers the pair
(`batch`, `self.rows`) from the assignment until one of the names is reassigned.
Only names in conditions that the function tests are tracked.

An *access path* is how an object is reached: `rows`, `order.rows`.  The access path of an object in a container, or
passed to another object's method, ends in `*`.  The result of a call with arguments, `client.find(key)`, is assumed to
be a new object.

A call changes what is reachable from its receiver and its arguments.  A *shallow* call, such as `add`, changes the
collection itself but none of its elements.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.domain import Domain
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import calls_by_result, last_name, memoize, mentions, subexpressions
from ackdoctor.flow.facts import tested_names, tested_subjects
from ackdoctor.flow.pure_calls import (
    PURE_FUNCTIONS,
    escaping_parts,
    is_field,
    is_immutable,
    is_read_only,
    nonempty_facts,
)
from ackdoctor.flow.state import Live, State
from ackdoctor.flow.values import Container, Field, Value
from ackdoctor.libraries.vocabulary import (
    COLLECTION_LITERALS,
    COLLECTION_WRAPPERS,
    CONTAINER_OTHERS,
    CONTAINER_READS,
    CONTAINER_REMOVALS,
    CONTAINER_STORES,
    LIVE_VIEWS,
    NEVER_RAISES,
    REORDERING,
)
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Closure,
    Compare,
    Drop,
    Expr,
    Function,
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

_ELEMENT = "*"
_GETTER, _SETTER = re.compile(r"get(?![a-z])"), re.compile(r"set(?=[A-Z_])")
SHALLOW = CONTAINER_STORES | CONTAINER_READS | CONTAINER_OTHERS | REORDERING
_KEEPS_RECEIVER = (CONTAINER_READS - CONTAINER_REMOVALS - CONTAINER_STORES) | {"next"}
_NOTHING: frozenset[Expr] = frozenset()
_CHANGES_SIZE = CONTAINER_STORES | CONTAINER_REMOVALS | {"clear"}
_COPIES = COLLECTION_WRAPPERS | NEVER_RAISES - COLLECTION_LITERALS


class Aliases(Domain):
    """What a path knows of `State.aliases`."""

    def assign(
        self, context: Context, path: Path, after: State, target: Expr, source: Expr, value: Value | None
    ) -> State:
        """After `target = source` both names mean one object, and `target` has the aliases of `source`."""
        del context, value
        copied = {(target, other) for name, other in path.state.aliases if name == source}
        if copied and isinstance(target, Name) and target.id in tested_names(path.function):
            after = after.replace(aliases=after.aliases | copied)
        return self.bind(path, _same_list(after, target, source))

    def bind(self, path: Path, after: State) -> State:
        """The state after a step, with the aliases that the step creates."""
        created = new_aliases(path.function).get(path.index)
        return after.replace(aliases=after.aliases | created) if created else after

    def havoc(self, context: Context, path: Path, after: State, call: Call, callee: Function | None) -> State:
        """An opaque call may store its arguments in its receiver."""
        del context, call
        return self.bind(path, after) if callee is None else after

    def join(self, state: State, live: Live) -> State:
        """An alias ends with the last step that reads the name."""
        if all(name in live.subjects for name, _ in state.aliases):
            return state
        return state.replace(aliases=frozenset(pair for pair in state.aliases if pair[0] in live.subjects))


ALIASES = Aliases()


def _same_list(after: State, target: Expr, value: Expr) -> State:
    """The state after `target = good`: both names are one local list from here on."""
    if not isinstance(target, Name) or not isinstance(value, Name):
        return after
    if not isinstance(after.env.get(target.id), Container):
        return after
    first = value
    for fact in after.facts:
        if isinstance(fact, Compare) and fact.op == "is" and fact.left == value:
            first = fact.right if isinstance(fact.right, Name) else first
    return after.replace(facts={**after.facts, Compare(target, "is", first): True})


# ---- the aliases of a path ----


@memoize
def new_aliases(function: Function) -> Mapping[int, frozenset[tuple[Expr, Expr]]]:
    """The aliases that each step creates, by step index; only those that may matter to a tested condition."""
    pairs = {index: tuple(_alias_pairs(function, step.op)) for index, step in enumerate(function.cfg.steps)}
    every = [pair for some in pairs.values() for pair in some]
    if not every:
        return {}
    tested = _alias_closure(every, _tested_paths(function))
    relevant = tested & _alias_closure(every, collection_paths(function) | _measured_paths(function))
    uses = Counter(each for pair in every for each in pair)
    return {
        index: created
        for index, some in pairs.items()
        if (
            created := frozenset(
                (one, other)
                for one, other in some
                if one in relevant
                and (uses[other] > 1 or not _is_temporary(other) or _is_own_call(function, other))
            )
        )
    }


def alias_field_result(function: Function, state: State, call: Call, value: Value | None) -> State:
    """The state after a helper call; if the helper returned a field of the component, the result is its alias."""
    result = access_path(function, call.result)
    if not isinstance(value, Field) or result is None or not _is_own_call(function, call.result):
        return state
    if not any(result in pair for pairs in new_aliases(function).values() for pair in pairs):
        return state
    field = Attr(call.func.obj, value.name)  # type: ignore[union-attr]  # _is_own_call
    return state.replace(aliases=state.aliases | {(result, field)})


def changed_aliases(
    function: Function, index: int, state: State, fields: frozenset[str] | None = None
) -> tuple[frozenset[Expr], frozenset[Expr]]:
    """The access paths of all objects that a step may change, and those among them that the step does not mention.

    `fields` are the component's fields that a called method may change, or None if unknown.
    """
    effect = _effects(function).get(index)
    if effect is None:
        return _NOTHING, _NOTHING
    roots = _changed_roots(function, effect, fields)
    reached = set(effect.paths)
    grew = bool(state.aliases)
    while grew:
        found = {
            each
            for pair in state.aliases
            if any(side in reached or _is_changed_part(side, roots, effect) for side in pair)
            for each in pair
        }
        grew = not found <= reached
        reached |= found
    return frozenset(reached), frozenset(reached - effect.mentioned)


# ---- what a step may change ----


class _Effect(NamedTuple):
    """What a step may change: access paths; those that the step mentions; and the receiver, whose parts may change, too."""

    paths: frozenset[Expr]
    mentioned: frozenset[Expr]
    receiver: Expr | None = None
    shallow: bool = False


def _changed_roots(function: Function, effect: _Effect, fields: frozenset[str] | None) -> tuple[Expr, ...]:
    """The access paths below which a step may change anything."""
    if effect.receiver is None:
        return ()
    if fields is None or effect.receiver != Name(function.receiver):
        return (effect.receiver,)
    return tuple(Attr(effect.receiver, field) for field in sorted(fields))


def _is_changed_part(path: Expr, roots: tuple[Expr, ...], effect: _Effect) -> bool:
    """Whether an access path lies below one of the roots; a shallow call changes no elements."""
    if path == effect.receiver or not any(mentions(path, root) for root in roots):
        return False
    return not (effect.shallow and isinstance(path, Attr) and not path.name[:1].isalpha())


@memoize
def _effects(function: Function) -> Mapping[int, _Effect]:
    """What each step may change, by step index."""
    return {
        index: effect
        for index, step in enumerate(function.cfg.steps)
        if (effect := _effect(function, step.op)) is not None
    }


def _effect(function: Function, op: Instr) -> _Effect | None:
    match op:
        case Update(target=Item(obj=whole)) | Bind(target=Item(obj=whole)) | Drop(target=Item(obj=whole)):
            return _Effect(_access_paths(function, (whole,)), frozenset({whole}))
        case Update(target=Name() as whole):
            return _Effect(_access_paths(function, (whole,)), frozenset({whole}))
        case Call(func=func) if isinstance(func, Name) or not is_read_only(op):
            return _call_effect(function, op, func)
        case _:
            return None


def _call_effect(function: Function, call: Call, func: Expr) -> _Effect | None:
    name = last_name(func)
    receiver = func.obj if isinstance(func, Attr) else None
    if name in PURE_FUNCTIONS | _KEEPS_RECEIVER and not isinstance(func, Name):
        return None
    shallow = name in SHALLOW and not isinstance(receiver, Global)
    args = () if shallow else tuple(part for arg in call.args for part in escaping_parts(arg.value))
    captured = tuple(Name(local) for each in (func, *args) for local in _captured_locals(function, each))
    mentioned = frozenset(arg.value for arg in call.args)
    if receiver is None or _SETTER.match(name):
        return _Effect(_access_paths(function, (*args, *captured)), mentioned)
    paths = _access_paths(function, (receiver, *args, *captured))
    return _Effect(paths, mentioned | {receiver}, access_path(function, receiver), shallow)


def _captured_locals(function: Function, code: Expr) -> frozenset[str]:
    """The locals that a closure, or a name bound to one, captures; without the component."""
    code = named_closures(function).get(code, code)
    inner = function.closures.get(code.key) if isinstance(code, Closure) else None
    return inner.captures - {function.receiver} if inner is not None else frozenset()


@memoize
def named_closures(function: Function) -> Mapping[Expr, Expr]:
    """The closures that are bound to a name, by that name."""
    return {
        step.op.target: step.op.value
        for step in function.cfg.steps
        if isinstance(step.op, Bind) and isinstance(step.op.value, Closure)
    }


# ---- which names matter ----


@memoize
def _tested_paths(function: Function) -> frozenset[Expr]:
    """The access paths in the conditions that a path remembers."""
    parts = {part for fact in tested_subjects(function) for part in subexpressions(fact)}
    return frozenset(
        part
        for part in parts
        if isinstance(part, (Name, Attr, Item))
        and not _is_temporary(part)
        and part != Name(function.receiver)
    )


def _measured_paths(function: Function) -> frozenset[Expr]:
    """The access paths of the objects whose size or contents a condition tests."""
    found: set[Expr] = set()
    for subject in tested_subjects(function):
        match subject:
            case Mix(op="any" | "len", parts=(whole,)) | Mix(op="call", parts=(Attr(obj=whole), *_)):
                found.add(whole)
            case _:
                pass
    return _access_paths(function, (whole for whole in found if not is_immutable(function, whole)))


def _alias_closure(pairs: list[tuple[Expr, Expr]], start: frozenset[Expr]) -> frozenset[Expr]:
    """These access paths and all their aliases, transitively."""
    linked, found = set(start), set(start)
    while found:
        found = {each for pair in pairs if not linked.isdisjoint(pair) for each in pair} - linked
        linked |= found
    return frozenset(linked)


@memoize
def collections(function: Function) -> frozenset[Expr]:
    """The collections of a function: what it iterates over, measures, builds, fills or empties."""
    found: set[Expr] = set()
    for step in function.cfg.steps:
        match step.op:
            case Next(iterable=iterable):
                found.update(nonempty_facts(function, iterable))
            case Test(condition=condition):
                found.update(measured_collections(condition))
            case Bind(target=target, value=Build(kind="list" | "dict" | "set")):
                found.add(target)
            case Bind(target=Item(obj=whole)) | Update(target=Item(obj=whole)) | Drop(target=Item(obj=whole)):
                found.add(whole)
            case Bind(value=value):
                found.update(measured_collections(value))
            case Update(target=target, value=Build()):
                found.add(target)
            case Call(func=Attr(obj=whole, name=name)) if name in _CHANGES_SIZE:
                found.add(whole)
            case _:
                pass
    return frozenset(found)


@memoize
def collection_paths(function: Function) -> frozenset[Expr]:
    """The access paths of the function's collections."""
    return _access_paths(function, collections(function))


def measured_collections(fact: Expr) -> Iterator[Expr]:
    """The collections whose length a fact reads."""
    for part in subexpressions(fact):
        match part:
            case Mix(op="len", parts=(whole,)):
                yield whole
            case _:
                pass


def _is_own_call(function: Function, expr: Expr) -> bool:
    """Whether an expression is the result of one of the component's own methods."""
    call = calls_by_result(function).get(expr)
    return call is not None and is_field(function, call.func)


def _is_temporary(expr: Expr) -> bool:
    return isinstance(expr, Name) and expr.id.startswith("%")


# ---- pairs of names that a step makes aliases ----


def _alias_pairs(function: Function, op: Instr) -> Iterator[tuple[Expr, Expr]]:
    match op:
        case Bind(target=target, value=Build(items=items)):
            for value in items:
                yield from _alias_pair(function, Attr(target, _ELEMENT), value)
        case Next(target=target, iterable=Build(items=items)) if target is not None:
            for value in items:
                yield from _alias_pair(function, target, value)
        case Next(target=target, iterable=whole) if target is not None:
            yield from _alias_pair(function, target, Attr(whole, _ELEMENT))
        case Bind(target=target, value=value):
            yield from _alias_pair(function, target, value)
            constructor = calls_by_result(function).get(value)
            if (
                constructor is not None
                and last_name(constructor.func)[:1].isupper()
                and last_name(constructor.func) not in _COPIES
            ):
                yield from _stored_arguments(function, constructor, target)
        case Unpack(targets=targets, value=Build(items=items)) if len(targets) == len(items):
            for target, value in zip(targets, items, strict=True):
                if target is not None and value not in targets:
                    yield from _alias_pair(function, target, value)
        case Call(func=Attr(obj=obj, name=name)) if name in CONTAINER_STORES or _SETTER.match(name):
            yield from _stored_arguments(function, op, obj)
        case _:
            pass


def _alias_pair(function: Function, target: Expr, value: Expr) -> Iterator[tuple[Expr, Expr]]:
    one, other = access_path(function, target), access_path(function, value)
    if one is not None and other is not None and one != other:
        yield (other, one) if isinstance(other, Name) and not _is_temporary(other) else (one, other)


def _stored_arguments(function: Function, call: Call, whole: Expr) -> Iterator[tuple[Expr, Expr]]:
    """The arguments of a store or a constructor are elements of the object."""
    path = access_path(function, whole)
    for arg in call.args:
        named = isinstance(arg.value, (Name, Attr)) and not _is_temporary(arg.value)
        if path is not None and named and arg.value != Name(function.receiver):
            yield arg.value, Attr(path, _ELEMENT)


# ---- access paths ----


def access_path(function: Function, expr: Expr) -> Expr | None:
    """The access path of an object, or None for a new object."""
    match expr:
        case Name() if expr in calls_by_result(function):
            return _result_path(function, calls_by_result(function)[expr]) or expr
        case Name() | Global():
            return expr
        case Attr(obj=obj, name=name):
            return _extend(access_path(function, obj), name)
        case Item(obj=obj, key=Literal(value=str() as key)):
            return _extend(access_path(function, obj), f"[{key!r}]")
        case Item(obj=obj):
            return _extend(access_path(function, obj), _ELEMENT)
        case _:
            return None


def _access_paths(function: Function, exprs: Iterable[Expr]) -> frozenset[Expr]:
    return frozenset(path for expr in exprs if (path := access_path(function, expr)) is not None)


def _result_path(function: Function, call: Call) -> Expr | None:
    """The access path of a call's result, for views, getters and reads from containers."""
    if not isinstance(call.func, Attr):
        return None
    name = call.func.name
    whole = access_path(function, call.func.obj)
    if name in LIVE_VIEWS:
        return whole
    if name in CONTAINER_READS and call.args:
        return _extend(whole, _ELEMENT)
    return _extend(whole, f"{name}()") if not call.args and _GETTER.match(name) else None


def _extend(path: Expr | None, name: str) -> Expr | None:
    return Attr(path, name) if path is not None else None
