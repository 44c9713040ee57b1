"""Escape analysis: tuples that reach fields or opaque code, and locals that opaque code may write."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Path, Released, Stored
from ackdoctor.flow.expressions import last_name, memoize
from ackdoctor.flow.invalidation import invalidate_contents, invalidate_target
from ackdoctor.flow.library import COLLECTION_WRAPPERS, LOGGING, NEVER_RAISES, PURE_CALLS
from ackdoctor.flow.pure_calls import is_read_only
from ackdoctor.flow.state import (
    Const,
    Container,
    Field,
    FunctionRef,
    Instance,
    Partial,
    SelfRef,
    State,
    Tick,
    Token,
    TokenKind,
    TokenState,
    Value,
    tokens_in,
)
from ackdoctor.flow.transfer.heap_cells import (
    BOX,
    asked_places,
    bare,
    boxes,
    emptied,
    is_box,
    own_method,
    shared,
    where,
    without,
)
from ackdoctor.model.cfg import Attr, Call, Closure, Expr, Item, Name
from ackdoctor.model.component import Function
from ackdoctor.model.protocol import Stage

__all__ = [
    "EVERYTHING",
    "behind",
    "behind_own",
    "completed",
    "escape",
    "put_away",
    "release",
    "store",
    "within",
    "worse",
]


EVERYTHING = "*"  # the name under which all fields are released: the component itself was handed over

WORST = (Stage.OWED, Stage.HELD, Stage.FAILED, Stage.ACKED)
_UNASKED = (
    Tick.NO,
    Tick.MAYBE,
    Tick.YES,
    Tick.HEARTBEAT,
    Tick.OTHER,
)  # of two that are equally undone, the data tuple is worse


def completed(state: State) -> bool:
    """Whether the path has completed any tuple, be it in an earlier round."""
    earlier = (memory.rest for memory in state.loops.values() if memory.rest is not None)
    return any(
        token_state.stage in (Stage.ACKED, Stage.FAILED) for token_state in (*state.tokens.values(), *earlier)
    )


def worse(one: TokenState | None, other: TokenState) -> TokenState:
    """The token_state that leaves more undone."""
    if one is None:
        return other
    return min(one, other, key=lambda held: (WORST.index(held.stage), _UNASKED.index(held.tick), held.holder))


def store(
    context: Context, path: Path, state: State, field: str, value: Value, *, how: str, key: Expr | None
) -> State:
    """A value goes into `self.<field>`; the tuples it carries are held there."""
    for token in dict.fromkeys(tokens_in(value)):
        if token.kind is TokenKind.STORED:
            if token.field != field:
                release(context, path, token.field)
            continue
        context.record(
            Stored(
                function=path.function,
                step=path.step,
                path=path,
                deferral=context.deferral,
                field=field,
                token=token,
                how=how,
                key=key,
            ),
            field,
            token,
        )
        state = _kept_in(state, token, context.token_state(state, token), f"self.{field}")
    return state


def _kept_in(state: State, token: Token, token_state: TokenState, holder: str) -> State:
    """The token is held by one field more; several are named one after the other."""
    if token_state.stage is Stage.OWED:
        return state.with_token(token, TokenState(Stage.HELD, token_state.tick, holder))
    if token_state.stage is Stage.HELD and holder not in token_state.holder.split():
        return state.with_token(token, token_state._replace(holder=f"{token_state.holder} {holder}"))
    return state


def release(context: Context, path: Path, field: str) -> None:
    """What a field holds goes where nobody can look."""
    released = Released(
        function=path.function,
        step=path.step,
        path=path,
        deferral=context.deferral,
        field=field,
        completed=False,
    )
    context.record(released, field, False)


def escape(
    context: Context,
    path: Path,
    state: State,
    values: "frozenset[Value] | tuple[Value | None, ...]",
    holder: str,
) -> State:
    """Tuples handed to code that cannot be seen are held there; fields handed over are released."""
    for value in values:
        if isinstance(value, Field):
            release(context, path, value.name)
        elif isinstance(value, SelfRef):
            release(context, path, EVERYTHING)
        for token in tokens_in(value):
            state = _hand_over(context, path, state, token, holder)
    return state


def _hand_over(context: Context, path: Path, state: State, token: Token, holder: str) -> State:
    if token.kind is TokenKind.STORED:
        release(context, path, token.field)
        return state
    token_state = context.token_state(state, token)
    if token_state.stage is Stage.OWED:
        return state.with_token(token, TokenState(Stage.HELD, token_state.tick, holder))
    return state


def within(token: Token, whole: Token) -> bool:
    """Whether a tuple is what was taken out of a field, or a part of it."""
    return token.kind is TokenKind.STORED and token.field == whole.field and token.path.startswith(whole.path)


_EXPOSED = f"{BOX}exposed"
_CODE = (FunctionRef, Partial, Container, Instance)
_RUNS_NOTHING = (LOGGING | PURE_CALLS | NEVER_RAISES | COLLECTION_WRAPPERS) - {
    "sleep"
}  # while this one sleeps others run


class _Handing(NamedTuple):
    """What a call gives away: locals, by their names, and what the closures know that are written there; and what it may change or run itself."""

    names: tuple[str, ...]
    places: frozenset[str]
    receiver: str  # the local that it is made on, itself or something in it, if it may change that
    runs: str  # the local that it calls, or whose method
    quiet: bool  # whether its name says that it runs nothing that others were given


def behind(context: Context, function: Function, state: State, call: Call) -> State:
    """The state behind a call out of sight."""
    handing = _handings(function)[call.result.id]
    given = handing.places
    for name in (*handing.names, handing.runs):
        value = state.env.get(name)
        if isinstance(value, _CODE):
            given |= frozenset(_reached(value))
    given |= _boxes_in(function, state, handing.names)
    if not given and not handing.receiver and _EXPOSED not in state.fields:
        return state
    state = _expose(state, given)
    changed = given | _receiver(function, state, call, handing)
    if _EXPOSED in state.fields and not _runs_nothing(context, function, state, call, handing):
        changed |= _exposed(state)
    return _opened(function, state, call, changed, given)


def behind_own(function: Function, state: State, call: Call) -> State:
    """The state behind a call of the project's own code, which knows a box that it was given by another name, and may keep it."""
    handing = _handings(function)[call.result.id]
    state = _expose(state, _boxes_in(function, state, handing.names))
    return _opened(function, state, call, _exposed(state) | _receiver(function, state, call, handing))


def put_away(state: State, value: Value | None) -> State:
    """The state in which a value lies where others find it."""
    return _expose(state, frozenset(_reached(value))) if isinstance(value, _CODE) else state


def _boxes_in(function: Function, state: State, names: tuple[str, ...]) -> frozenset[str]:
    if not names or not (function.captures or boxes(function)):
        return frozenset()
    return frozenset(where(function, name) for name in names if is_box(function, state, name))


def _expose(state: State, places: frozenset[str]) -> State:
    if not places:
        return state
    known = _exposed(state)
    return (
        state if places <= known else state.replace(fields={**state.fields, _EXPOSED: Const(known | places)})
    )


def _exposed(state: State) -> frozenset[str]:
    known = state.fields.get(_EXPOSED)
    return known.value if isinstance(known, Const) and isinstance(known.value, frozenset) else frozenset()


def _opened(
    function: Function, state: State, call: Call, places: frozenset[str], given: frozenset[str] = frozenset()
) -> State:
    """The state in which nothing is known of what is in these boxes and cells, nor of anything else that was given just now."""
    if not places:
        return state
    state = without(state, places)
    for place in places:
        state = emptied(state, place)
        name = place.rpartition(":")[2]
        if where(function, name) == place and (place in given or name in _tracked(function)):
            own = is_box(function, state, name) and name not in shared(function)
            state = (
                invalidate_contents(state, Name(name), call) if own else invalidate_target(state, Name(name))
            )
    return state


def _receiver(function: Function, state: State, call: Call, handing: _Handing) -> frozenset[str]:
    """The box that a call is made on and may change otherwise than is known."""
    name = handing.receiver
    if not name or not is_box(function, state, name) or _known_method(function, state, call):
        return frozenset()
    return frozenset({where(function, name)})


def _runs_nothing(context: Context, function: Function, state: State, call: Call, handing: _Handing) -> bool:
    """Whether a call is known to run no code of the project's that others were given."""
    if handing.quiet or _known_method(function, state, call):
        return True
    return last_name(call.func) in context.verb_names


def _known_method(function: Function, state: State, call: Call) -> bool:
    match call.func:
        case Attr(obj=Name(id=local), name=method):
            return own_method(function, state, local, method)
        case _:
            return False


@memoize
def _handings(function: Function) -> Mapping[str, _Handing]:
    """What each call of a function gives away, by its result."""
    return {
        step.op.result.id: _handing(function, step.op)
        for step in function.cfg.steps
        if isinstance(step.op, Call)
    }


def _handing(function: Function, call: Call) -> _Handing:
    given = list(bare(arg.value for arg in call.args))
    closures = (function.closures.get(expr.key) for expr in given if isinstance(expr, Closure))
    func: Expr = call.func.obj if isinstance(call.func, Attr) else call.func
    root = func
    while isinstance(root, (Attr, Item)):
        root = root.obj
    changes = isinstance(call.func, Attr) and isinstance(root, Name) and not is_read_only(call)
    return _Handing(
        names=tuple(expr.id for expr in given if isinstance(expr, Name)),
        places=frozenset(
            where(each, name) for each in closures if each is not None for name in each.captures
        ),
        receiver=root.id if changes and isinstance(root, Name) else "",
        runs=func.id if isinstance(func, Name) else "",
        quiet=last_name(call.func) in _RUNS_NOTHING or is_read_only(call),
    )


def _reached(value: Value | None) -> Iterator[str]:
    """What the code knows that a value is, or has in it."""
    match value:
        case FunctionRef(function=inner):
            yield from (where(inner, name) for name in inner.captures)
        case Partial(target=target, args=args):
            for part in (target, *args):
                yield from _reached(part)
        case Container(items=items):
            for item in items:
                yield from _reached(item)
        case Instance(cls=cls):
            yield from (where(inner, name) for inner in cls.methods.values() for name in inner.captures)
        case _:
            pass


@memoize
def _tracked(function: Function) -> frozenset[str]:
    """The locals whose content is kept beside the fields, or is asked about although another function's."""
    return boxes(function) | shared(function) | function.captures.intersection(asked_places(function))
