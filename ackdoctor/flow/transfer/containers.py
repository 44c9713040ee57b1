"""Transfer function of method calls on containers: locals, fields, and objects stored in fields."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.aliases import collections
from ackdoctor.flow.domains.invalidation import invalidate_receiver, invalidate_size
from ackdoctor.flow.domains.tuples import (
    drain_buffer,
    empty_buffer,
    forget_place,
    keep_removed,
    put_back,
    remove_current,
    remove_entry,
    remove_tuple,
)
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import assigned_locals, last_name, memoize, mentions, names_in, operands
from ackdoctor.flow.pure_calls import is_field, is_read_only
from ackdoctor.flow.state import UNKNOWN, State
from ackdoctor.flow.transfer.escape import escape, release, store
from ackdoctor.flow.transfer.evaluate import (
    as_stored_tuple,
    evaluate,
    one_of,
    single_item,
    stored_tuple,
    table_entry,
    tick_test_of_name,
)
from ackdoctor.flow.transfer.origins import is_queue, may_raise
from ackdoctor.flow.values import (
    Batch,
    BoundMethod,
    Const,
    Container,
    Count,
    Field,
    FunctionRef,
    Instance,
    Partial,
    TickTest,
    Token,
    TokenKind,
    TokenRef,
    Value,
    tokens_in,
)
from ackdoctor.libraries.vocabulary import (
    CLEARS,
    CONTAINER_BULK_STORES,
    CONTAINER_FILTERS,
    CONTAINER_OTHERS,
    CONTAINER_READS,
    CONTAINER_REMOVALS,
    CONTAINER_STORES,
    CONTAINER_VIEWS,
    DRAINS,
    EMPTINESS,
    ITERATOR_TESTS,
    LOGGING,
    NEVER_RAISES,
    REORDERING,
    SIZES,
)
from ackdoctor.model.cfg import Attr, Call, Closure, Compare, Expr, Function, Name

_KEY_AND_VALUE = 2
_ADDS_ONE = frozenset("append appendleft add addFirst addLast addElement push".split())
_ELEMENTS = (TokenRef, Container, Batch, Instance)
_CHANGES = CONTAINER_REMOVALS | CONTAINER_OTHERS  # also read-only ones
_CALLABLE = (BoundMethod, FunctionRef, Partial)


@dataclass(slots=True, unsafe_hash=True)
class CallEffect:
    """The effect of a call that needs no look inside: the state after it, its value, and whether it may raise."""

    state: State
    value: Value | None
    may_raise: bool


def arguments(
    context: Context, path: Path, call: Call, preset: tuple[Value | None, ...] | None = None
) -> tuple[Value | None, ...]:
    """Return the abstract values of a call's arguments, in source order, or those that replace them."""
    if preset is not None:
        return preset
    return tuple(evaluate(context, path.function, path.state, arg.value) for arg in call.args)


def elements(context: Context, values: Iterable[Value | None]) -> frozenset[Value]:
    """Return the elements of those values that are collections of tuples."""
    known = (as_stored_tuple(context, value) for value in values)
    return frozenset(value for value in known if isinstance(value, _ELEMENTS))


def packed_arguments(
    context: Context,
    function: Function,
    more: Sequence[Value | None],
    named: Mapping[str, Value | None] = MappingProxyType({}),
) -> Iterator[tuple[str, Value]]:
    """Return what `*args` and `**kwargs` hold of a call: the arguments that no parameter took, perhaps as one array."""
    for param in function.params:
        if param.kind == "positional" or param.name in _rebound_names(function):
            continue
        if param.kind == "*":
            array = more[0] if context.library.array_arguments and len(more) == 1 else None
            together = Container(elements(context, more), tuple(more))
            yield param.name, array if isinstance(array, (Batch, Container, Field)) else together
        elif param.kind == "**":
            yield (
                param.name,
                Container(elements(context, named.values()), tuple(named.values()), tuple(named)),
            )


@memoize
def _rebound_names(function: Function) -> frozenset[str]:
    """Return the names that a function rebinds, and the dicts that it uses for more than passing them on."""
    dicts = {param.name for param in function.params if param.kind == "**"}
    names: set[str] = set()
    for step in function.cfg.steps:
        names.update(assigned_locals(step.op))
        handed = [arg.value for arg in step.op.args if arg.star] if isinstance(step.op, Call) else []
        names.update(
            name
            for expr in operands(step.op)
            if expr not in handed
            for name in names_in(expr)
            if name in dicts
        )
    return frozenset(names)


def method_call(
    context: Context, path: Path, call: Call, receiver: Value | None, func: Attr
) -> CallEffect | None:
    """Apply a method call on an object that is not the component."""
    state, name = path.state, func.name
    match receiver:
        case Field(name=field, taken=True):
            done = _field_method(context, path, call, field, name)
            if name in CONTAINER_VIEWS or done is None:
                return done and replace(done, value=receiver)
            attached = Field(field)
            after = done.state.with_contents(attached, state.contents.get(attached))
            return replace(done, state=after if is_read_only(call) else context.touch(after, receiver))
        case Field(name=field):
            return _field_method(context, path, call, field, name)
        case TokenRef(token=token, part="") if token.kind is TokenKind.STORED:
            return _field_method(context, path, call, token.field, name, inner=token)
        case TokenRef(token=token, part="") if kind := tick_test_of_name(name):
            return CallEffect(state, TickTest(token, kind), may_raise=False)
        case Container() as held:
            return _local_method(context, path, call, held, func)
        case Batch() if name == "copy":
            return CallEffect(state, receiver, may_raise=False)
        case _:
            return None


def _local_method(context: Context, path: Path, call: Call, held: Container, func: Attr) -> CallEffect | None:
    """Apply a method call on a local collection or an iterator over one; an element that is removed is no longer in it."""
    name, items = func.name, held.items
    state = path.state if is_read_only(call) else invalidate_size(path.state, func.obj)
    if name in CONTAINER_STORES:
        return CallEffect(_add_to_local(context, path, state, call, func.obj, items), None, may_raise=False)
    if name in CONTAINER_VIEWS:
        return CallEffect(state, held, may_raise=False)
    if name in CONTAINER_READS:
        values = arguments(context, path, call)
        value = table_entry(held, *values[:2]) if held.keys else one_of(items) or single_item(held, *values)
        quiet = name in context.library.removals or bool(items) or not may_raise(context, path.function, call)
        quiet = quiet or any(mentions(fact, func.obj) for fact in state.facts)
        if name in CONTAINER_REMOVALS and value is not None:
            state = _emptied(state, func.obj)
        return CallEffect(state, value, may_raise=not quiet)
    if name in SIZES:
        return CallEffect(state, Count(held) if items else None, may_raise=False)
    if items and name in EMPTINESS | ITERATOR_TESTS:
        return CallEffect(state, Const(name not in EMPTINESS), may_raise=False)
    return CallEffect(_emptied(state, func.obj), None, may_raise=False) if name in CLEARS else None


def _emptied(state: State, obj: Expr) -> State:
    return state.bind(obj.id, Container(frozenset())) if isinstance(obj, Name) else state


def _add_to_local(
    context: Context, path: Path, state: State, call: Call, obj: Expr, items: frozenset[Value]
) -> State:
    added = frozenset(v for v in arguments(context, path, call) if v is not None and any(tokens_in(v)))
    if not added:
        return _mark_nonempty(state, call, obj)
    if isinstance(obj, Name):
        return _add_to_same(state.bind(obj.id, Container(items | added)), state, obj, added)
    return escape(context, path, state, added, "a container")


def _mark_nonempty(state: State, call: Call, obj: Expr) -> State:
    """Record that a list which was known to be empty has an element; after `extend` this is unknown."""
    if state.facts.get(obj) is not False:
        return state
    rest = {fact: truth for fact, truth in state.facts.items() if fact != obj}
    return state.replace(facts=rest if last_name(call.func) in CONTAINER_BULK_STORES else {**rest, obj: True})


def _with_element(function: Function, state: State, call: Call) -> State:
    """Record that a field which gets an element is not empty."""
    match call.func:
        case Attr(obj=obj, name=name) if name in _ADDS_ONE and is_field(function, obj):
            known = obj in collections(function)
            return state.replace(facts={**state.facts, obj: True}) if known else state
        case _:
            return state


def _add_to_same(after: State, before: State, obj: Name, added: frozenset[Value]) -> State:
    """Add an element to the list that `obj` is an alias of: `(good if ok else bad).append(tup)`."""
    for fact in before.facts:
        match fact:
            case Compare(left=left, op="is", right=Name(id=name)) if left == obj:
                held = after.env.get(name)
                if isinstance(held, Container):
                    same = after.bind(name, Container(held.items | added))
                    return same.replace(facts={**same.facts, fact: True})
            case _:
                pass
    return after


def _field_method(
    context: Context, path: Path, call: Call, field: str, name: str, *, inner: Token | None = None
) -> CallEffect | None:
    """Apply a method call on a field, or on the object `inner` that the field holds."""
    values = arguments(context, path, call)
    carried = [value for value in values if value is not None and any(tokens_in(value))]
    with_code = carried and any(isinstance(value, _CALLABLE) for value in values)  # of a client's callback
    state = invalidate_receiver(path.state, call)
    if inner and name in _CHANGES and not is_read_only(call):
        state = state.with_contents(inner.members, UNKNOWN)
    if name in CONTAINER_BULK_STORES and Field(field, taken=True) in values:
        return CallEffect(put_back(context, path, state, field), None, may_raise=False)
    if name in CONTAINER_STORES:
        state = _store_added(state, call, values, stored_tuple(field))
        state = _with_element(path.function, state, call)
    if name in DRAINS and call.args and isinstance(call.args[0].value, Name):
        state = drain_buffer(context, path, state, field, call.args[0].value.id)
        return CallEffect(state, None, may_raise=False)
    if inner and not carried and (name.startswith("get") or _reads_part(call, name)):
        return CallEffect(state, TokenRef(inner.at(f".{name}")), may_raise=False)
    if carried and name in CONTAINER_STORES and not with_code:
        keyed = name == "put" and len(call.args) == _KEY_AND_VALUE and values[1] in carried
        how, key = ("[]", call.args[0].value) if keyed else (name, None)
        for value in carried:
            state = store(context, path, state, field, value, how=how, key=key)
        element = stored_tuple(field) if name == "setdefault" else None
        return CallEffect(state, element, may_raise=may_raise(context, path.function, call))
    if name in CONTAINER_READS and not with_code:
        return _read_element(context, path, state, call, field, inner=inner)
    if name in CONTAINER_VIEWS:
        return CallEffect(state, TokenRef(inner) if inner else Field(field), may_raise=False)
    if name in CLEARS | CONTAINER_FILTERS and not (inner or _code_completes(context, path.function, call)):
        return CallEffect(_shrink(context, path, state, field, name), None, may_raise=False)
    if name in CONTAINER_OTHERS:
        if not is_read_only(call) and name not in REORDERING:
            state = context.touch(state, Field(field))
        return CallEffect(state, None, may_raise=may_raise(context, path.function, call))
    if carried or name in NEVER_RAISES or name in LOGGING:
        return None
    if context.keeps(field):
        release(context, path, field)
    return None


def _shrink(context: Context, path: Path, state: State, field: str, name: str) -> State:
    """Return the state after a call has removed all elements of a field, or those for which a predicate holds."""
    if name in CLEARS:
        return empty_buffer(context, path, state, field, in_place=True)
    remove_entry(context, path, state, field)
    return context.touch(state, Field(field))


def _code_completes(context: Context, function: Function, call: Call) -> bool:
    """Whether code among the arguments of a call may complete a tuple, or is not in sight."""
    codes = [
        function.closures.get(arg.value.key) if isinstance(arg.value, Closure) else None for arg in call.args
    ]
    return any(code is None or context.names_completion(code) for code in codes)


def _read_element(
    context: Context, path: Path, state: State, call: Call, field: str, *, inner: Token | None
) -> CallEffect:
    """Apply a method that returns an element of a field, or a part of the object `inner`, and may remove it."""
    name, values = last_name(call.func), arguments(context, path, call)
    read = TokenRef(inner.at(f".{name}")) if inner else stored_tuple(field)
    by_tuple = name == "remove" and any(isinstance(value, TokenRef) for value in values)
    takes = not inner and not by_tuple and _takes_out(context, path.function, call, field)
    carries = any(value is not None and any(tokens_in(value)) for value in values)
    if name in CONTAINER_REMOVALS and call.dropped and call.args and not (inner or by_tuple or carries):
        remove_entry(context, path, state, field)
    state = remove_tuple(context, path, state, field) if takes else forget_place(state, read.token)
    in_own_loop = any(each.field == Field(field) for each in state.loops.values())
    if name in CONTAINER_REMOVALS and in_own_loop and not inner:
        if call.dropped and not call.args:
            state = remove_current(context, state, field, before=path.state)
        state = context.touch(state, Field(field))  # its loop completes tuples that are no longer in it
    elif by_tuple and read in values:
        state = keep_removed(context, path, state, field)
    raises = (takes or name != "remove") and may_raise(context, path.function, call)
    return CallEffect(state, None if by_tuple else read, may_raise=raises)


def _takes_out(context: Context, function: Function, call: Call, field: str) -> bool:
    """Whether a call removes a tuple from a field and gives it a name; an iterator's `next` removes nothing."""
    if call.dropped or not isinstance(call.func, Attr) or not is_field(function, call.func.obj):
        return False
    name = call.func.name
    return name in CONTAINER_REMOVALS or (name in ("get", "get_nowait") and is_queue(context, field))


def _reads_part(call: Call, name: str) -> bool:
    """Whether a call reads a part of a stored object: `held.tuple()` of a record."""
    other = CONTAINER_READS | CONTAINER_VIEWS | CONTAINER_OTHERS
    return not call.args and not call.dropped and name not in other


def _store_added(state: State, call: Call, values: tuple[Value | None, ...], element: TokenRef) -> State:
    """Store the elements that are added to a local collection after it was put into a field."""
    for arg, value in zip(call.args, values, strict=True):
        if isinstance(arg.value, Name) and isinstance(value, Container) and not any(tokens_in(value)):
            state = state.bind(arg.value.id, element)
    return state
