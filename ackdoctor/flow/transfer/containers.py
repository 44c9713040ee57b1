"""Method calls on containers: local ones, fields, and what lies in fields."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import last_name, memoize, mentions, names_in
from ackdoctor.flow.invalidation import invalidate_receiver, invalidate_size
from ackdoctor.flow.library import (
    CONTAINER_BULK_STORES,
    CONTAINER_OTHERS,
    CONTAINER_READS,
    CONTAINER_REMOVALS,
    CONTAINER_STORES,
    CONTAINER_VIEWS,
    LOGGING,
    NEVER_RAISES,
)
from ackdoctor.flow.pure_calls import is_read_only
from ackdoctor.flow.state import (
    Batch,
    BoundMethod,
    Const,
    Container,
    Count,
    Field,
    FunctionRef,
    Instance,
    Partial,
    State,
    TickTest,
    TokenKind,
    TokenRef,
    Value,
    tokens_in,
)
from ackdoctor.flow.transfer.escape import escape, release, store
from ackdoctor.flow.transfer.evaluate import as_held, evaluate, only, stored, system_question
from ackdoctor.flow.transfer.liveness import read, written
from ackdoctor.model.cfg import Attr, Call, Compare, Expr, Name
from ackdoctor.model.component import Function

__all__ = ["Done", "arguments", "elements", "method_call", "packed"]

_KEY_AND_VALUE = 2
_ELEMENTS = (TokenRef, Container, Batch, Instance)
_CALLABLE = (BoundMethod, FunctionRef, Partial)


@dataclass(slots=True, unsafe_hash=True)
class Done:
    """The call needs no look inside: the state after it, its value, and whether it may raise."""

    state: State
    value: Value | None
    may_raise: bool


def arguments(context: Context, path: Path, call: Call) -> tuple[Value | None, ...]:
    """The values of a call's arguments, in the order they are written."""
    return tuple(evaluate(context, path.function, path.state, arg.value) for arg in call.args)


def elements(context: Context, values: Iterable[Value | None]) -> frozenset[Value]:
    """What of these values a collection of tuples has in it."""
    known = (as_held(context, value) for value in values)
    return frozenset(value for value in known if isinstance(value, _ELEMENTS))


def packed(
    context: Context, function: Function, more: Sequence[Value | None], named: Collection[str | None] = ()
) -> Iterator[tuple[str, Value]]:
    """What `*args` and `**kwargs` hold of a call: what no parameter took, in Java perhaps as one array.  Values given by name are not kept."""
    own = {param.name for param in function.params}
    for param in function.params:
        if param.kind == "positional" or param.name in _worked_on(function):
            continue
        if param.kind == "*":
            array = more[0] if context.typed and len(more) == 1 else None
            together = Container(elements(context, more), tuple(more))
            yield param.name, array if isinstance(array, (Batch, Container, Field)) else together
        elif param.kind == "**" and own.issuperset(named):
            yield param.name, Container(frozenset(), ())


@memoize
def _worked_on(function: Function) -> frozenset[str]:
    """The names that a function binds anew, and those of dicts that it does more with than to hand them on."""
    dicts = {param.name for param in function.params if param.kind == "**"}
    names: set[str] = set()
    for step in function.cfg.steps:
        names.update(written(step.op))
        handed = [arg.value for arg in step.op.args if arg.star] if isinstance(step.op, Call) else []
        names.update(
            name for expr in read(step.op) if expr not in handed for name in names_in(expr) if name in dicts
        )
    return frozenset(names)


def method_call(context: Context, path: Path, call: Call, receiver: Value | None, func: Attr) -> Done | None:
    """A method call on something that is not the component."""
    state, name = path.state, func.name
    match receiver:
        case Field(name=field):
            return _field_method(context, path, call, field, name)
        case TokenRef(token=token, part="") if token.kind is TokenKind.STORED:
            return _field_method(context, path, call, token.field, name, inner=True)
        case TokenRef(token=token, part="") if kind := system_question(name):
            return Done(state, TickTest(token, kind), may_raise=False)
        case Container() as held:
            return _local_method(context, path, call, held, func)
        case Batch() if name == "copy":
            return Done(state, receiver, may_raise=False)
        case _:
            return None


def _local_method(context: Context, path: Path, call: Call, held: Container, func: Attr) -> Done | None:
    """A method call on a local collection or an iterator over one; what is taken out is no longer in it."""
    name, items = func.name, held.items
    state = path.state if is_read_only(call) else invalidate_size(path.state, func.obj)
    if name in CONTAINER_STORES:
        return Done(_add_to_local(context, path, state, call, func.obj, items), None, may_raise=False)
    if name in CONTAINER_VIEWS:
        return Done(state, held, may_raise=False)
    if name in CONTAINER_READS:
        value = only(held, *arguments(context, path, call))
        asked = (context.typed and name in CONTAINER_REMOVALS) or any(
            mentions(fact, func.obj) for fact in state.facts
        )
        quiet = name in NEVER_RAISES or bool(items) or asked
        if name in CONTAINER_REMOVALS and value is not None:
            state = _emptied(state, func.obj)
        return Done(state, value, may_raise=not quiet)
    match name:
        case "size":
            return Done(state, Count(held) if items else None, may_raise=False)
        case "isEmpty" | "hasNext" | "isPresent" if items:
            return Done(state, Const(name != "isEmpty"), may_raise=False)
        case "clear":
            return Done(_emptied(state, func.obj), None, may_raise=False)
        case _:
            return None


def _emptied(state: State, obj: Expr) -> State:
    return state.bind(obj.id, Container(frozenset())) if isinstance(obj, Name) else state


def _add_to_local(
    context: Context, path: Path, state: State, call: Call, obj: Expr, items: frozenset[Value]
) -> State:
    added = frozenset(v for v in arguments(context, path, call) if v is not None and any(tokens_in(v)))
    if not added:
        return _no_longer_empty(state, call, obj)
    if isinstance(obj, Name):
        return _add_to_same(state.bind(obj.id, Container(items | added)), state, obj, added)
    return escape(context, path, state, added, "a container")


def _no_longer_empty(state: State, call: Call, obj: Expr) -> State:
    """Something else is put into a list that the path knows to be empty; of `extend` nobody knows whether it is anything."""
    if state.facts.get(obj) is not False:
        return state
    rest = {fact: truth for fact, truth in state.facts.items() if fact != obj}
    return state.replace(facts=rest if last_name(call.func) in CONTAINER_BULK_STORES else {**rest, obj: True})


def _add_to_same(after: State, before: State, obj: Name, added: frozenset[Value]) -> State:
    """The same into the list that `obj` is another name of: `(good if ok else bad).append(tup)`."""
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
    context: Context, path: Path, call: Call, field: str, name: str, *, inner: bool = False
) -> Done | None:
    values = arguments(context, path, call)
    carried = [value for value in values if value is not None and any(tokens_in(value))]
    state = invalidate_receiver(path.state, call)
    if context.typed and name in CONTAINER_STORES:
        state = _shared(state, call, values, stored(field))
    if name == "drainTo" and call.args and isinstance(call.args[0].value, Name):
        drained = stored(field)
        target = call.args[0].value.id
        return Done(state.bind(target, Container(frozenset({drained}))), None, may_raise=False)
    if inner and context.typed and not carried and (name.startswith("get") or _reads(call, name)):
        return Done(state, stored(field, f".{name}"), may_raise=False)
    if name in CONTAINER_STORES and carried and not any(isinstance(v, _CALLABLE) for v in values):
        keyed = context.typed and name == "put" and len(call.args) == _KEY_AND_VALUE
        how, key = ("[]", call.args[0].value) if keyed else (name, None)
        for value in carried:
            state = store(context, path, state, field, value, how=how, key=key)
        element = stored(field) if name == "setdefault" else None
        return Done(state, element, may_raise=name not in NEVER_RAISES)
    if name in CONTAINER_READS:
        read = stored(field, f".{name}" if inner else "")
        tokens = {token: held for token, held in state.tokens.items() if token != read.token}
        return Done(state.replace(tokens=tokens), read, may_raise=name not in NEVER_RAISES)
    if name in CONTAINER_VIEWS:
        return Done(state, stored(field, ".view") if inner else Field(field), may_raise=False)
    if name in CONTAINER_OTHERS:
        return Done(state, None, may_raise=name not in NEVER_RAISES)
    if carried or name in NEVER_RAISES or name in LOGGING:
        return None
    if field in context.stored_stages:
        release(context, path, field)
    return None


def _reads(call: Call, name: str) -> bool:
    """Whether a call on something stored asks it for a part: `held.tuple()` of a record."""
    other = CONTAINER_READS | CONTAINER_VIEWS | CONTAINER_OTHERS
    return not call.args and not call.dropped and name not in other


def _shared(state: State, call: Call, values: tuple[Value | None, ...], element: TokenRef) -> State:
    """A local collection that was put into a field and is filled afterwards: what goes in is held there."""
    for arg, value in zip(call.args, values, strict=True):
        if isinstance(arg.value, Name) and isinstance(value, Container) and not any(tokens_in(value)):
            state = state.bind(arg.value.id, element)
    return state
