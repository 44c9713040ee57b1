"""Escape analysis: tuples that reach fields or opaque code, and locals that opaque code may write.

A closure that an opaque call gets may run at any later opaque call.  It may write the boxes and the cells that it captures,
so their contents are unknown after each such call.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Path, Released, Stored
from ackdoctor.flow.expressions import last_name, memoize
from ackdoctor.flow.invalidation import invalidate_contents, invalidate_target
from ackdoctor.flow.library import COLLECTION_WRAPPERS, LOGGING, NEVER_RAISES, PURE_CALLS
from ackdoctor.flow.pure_calls import is_read_only
from ackdoctor.flow.state import (
    EMPTY,
    OWED,
    UNKNOWN,
    Const,
    Container,
    Field,
    FunctionRef,
    Instance,
    Partial,
    SelfRef,
    State,
    Token,
    TokenKind,
    TokenState,
    Value,
    tokens_in,
)
from ackdoctor.flow.transfer.heap_cells import (
    BOX,
    cell_name,
    forget_box,
    forget_cells,
    is_box,
    is_value_method,
    local_boxes,
    shared_locals,
    tested_places,
    value_operands,
)
from ackdoctor.model.cfg import Attr, Call, Closure, Expr, Function, Item, Name
from ackdoctor.model.protocol import Stage, Tick

EVERYTHING = "*"  # the name that releases all fields: the component itself escapes

WORST = (Stage.OWED, Stage.HELD, Stage.FAILED, Stage.ACKED)
_UNASKED = (
    Tick.NO,
    Tick.MAYBE,
    Tick.YES,
    Tick.HEARTBEAT,
    Tick.OTHER,
)  # of two tuples in the same stage, the data tuple is worse


def completes_any(state: State) -> bool:
    """Whether the path has completed any tuple, perhaps in an earlier iteration."""
    earlier = (memory.rest for memory in state.loops.values() if memory.rest is not None)
    return any(
        token_state.stage in (Stage.ACKED, Stage.FAILED) for token_state in (*state.tokens.values(), *earlier)
    )


def worse_state(one: TokenState | None, other: TokenState) -> TokenState:
    """Return the token state that leaves more undone."""
    if one is None:
        return other
    return min(one, other, key=lambda held: (WORST.index(held.stage), _UNASKED.index(held.tick), held.holder))


def store(
    context: Context, path: Path, state: State, field: str, value: Value, *, how: str, key: Expr | None
) -> State:
    """Store a value in `self.<field>`, which then holds the tuples that the value carries."""
    for token in dict.fromkeys(tokens_in(value)):
        if token.kind is TokenKind.STORED:
            if token.field != field:
                release(context, path, token.field)
            state = _hold_stored(context, state, token, f"self.{field}")
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
        state = _add_holder(state, token, context.token_state(state, token), f"self.{field}")
        known = state.contents.get(Field(field))
        if known is not None and known != OWED:
            state = state.with_contents(Field(field), OWED if known == EMPTY else UNKNOWN)
    return state


def _add_holder(state: State, token: Token, token_state: TokenState, holder: str) -> State:
    """Add a field to the holders of a token."""
    if token_state.stage is Stage.OWED:
        return state.with_token(token, TokenState(Stage.HELD, token_state.tick, holder))
    if holder not in token_state.holder.split():
        return state.with_token(token, token_state._replace(holder=f"{token_state.holder} {holder}".strip()))
    return state


def release(context: Context, path: Path, field: str) -> None:
    """Record that the contents of a field escape to opaque code."""
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
    """Let values escape to opaque code: it holds their tuples, and their fields are released."""
    for value in values:
        if isinstance(value, Field):
            release(context, path, value.name)
            state = context.touch(state, value)
        elif isinstance(value, SelfRef):
            release(context, path, EVERYTHING)
        for token in tokens_in(value):
            state = _escape_token(context, path, state, token, holder)
    return state


def _escape_token(context: Context, path: Path, state: State, token: Token, holder: str) -> State:
    if token.kind is TokenKind.STORED:
        release(context, path, token.field)
        return _hold_stored(context, state, token, holder)
    token_state = context.token_state(state, token)
    if token_state.stage is Stage.OWED:
        return state.with_token(token, TokenState(Stage.HELD, token_state.tick, holder))
    return state


def _hold_stored(context: Context, state: State, token: Token, holder: str) -> State:
    """Return the state after other code got a tuple of a field: it may complete the tuple later."""
    known = context.token_state(state, token)
    if known.stage is not Stage.OWED or token.field not in context.stored_stages:
        return state
    return state.with_token(token, known._replace(stage=Stage.HELD, holder=holder))


_EXPOSED = f"{BOX}exposed"
_CODE = (FunctionRef, Partial, Container, Instance)
_RUNS_NOTHING = (LOGGING | PURE_CALLS | NEVER_RAISES | COLLECTION_WRAPPERS) - {
    "sleep"
}  # while this thread sleeps, others run


class _Passed(NamedTuple):
    """What a call passes on: locals, by name, and the captures of closures written in its arguments; and what it may change or run."""

    names: tuple[str, ...]
    places: frozenset[str]
    receiver: (
        str  # the local that it is called on, directly or through an attribute, if the call may change it
    )
    runs: str  # the local that it calls, or whose method
    quiet: bool  # whether its name says that it runs no code that other calls got


def after_opaque_call(context: Context, function: Function, state: State, call: Call) -> State:
    """Return the state after an opaque call."""
    passed = _passed_by_call(function)[call.result.id]
    escaping = passed.places
    for name in (*passed.names, passed.runs):
        value = state.env.get(name)
        if isinstance(value, _CODE):
            escaping |= frozenset(_captured_names(value))
    escaping |= _boxes_in(function, state, passed.names)
    if not escaping and not passed.receiver and _EXPOSED not in state.fields:
        return state
    state = _expose(state, escaping)
    changed = escaping | _receiver(function, state, call, passed)
    if _EXPOSED in state.fields and not _runs_nothing(context, function, state, call, passed):
        changed |= _exposed(state)
    return _havoc(function, state, call, changed, escaping)


def after_own_call(function: Function, state: State, call: Call) -> State:
    """Return the state after a call of the project's own code, for which a box that it gets has another name and may be kept."""
    passed = _passed_by_call(function)[call.result.id]
    state = _expose(state, _boxes_in(function, state, passed.names))
    return _havoc(function, state, call, _exposed(state) | _receiver(function, state, call, passed))


def after_store(state: State, value: Value | None) -> State:
    """Return the state after a value was stored where other code can find it."""
    return _expose(state, frozenset(_captured_names(value))) if isinstance(value, _CODE) else state


def _boxes_in(function: Function, state: State, names: tuple[str, ...]) -> frozenset[str]:
    if not names or not (function.captures or local_boxes(function)):
        return frozenset()
    return frozenset(cell_name(function, name) for name in names if is_box(function, state, name))


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


def _havoc(
    function: Function,
    state: State,
    call: Call,
    places: frozenset[str],
    escaping: frozenset[str] = frozenset(),
) -> State:
    """Return the state without the contents of these boxes and cells, and of every argument of the call."""
    if not places:
        return state
    state = forget_cells(state, places)
    for place in places:
        state = forget_box(state, place)
        name = place.rpartition(":")[2]
        if cell_name(function, name) == place and (place in escaping or name in _tracked_locals(function)):
            own = is_box(function, state, name) and name not in shared_locals(function)
            state = (
                invalidate_contents(state, Name(name), call) if own else invalidate_target(state, Name(name))
            )
    return state


def _receiver(function: Function, state: State, call: Call, passed: _Passed) -> frozenset[str]:
    """Return the box on which a call is made that may change it in an unknown way."""
    name = passed.receiver
    if not name or not is_box(function, state, name) or _known_method(function, state, call):
        return frozenset()
    return frozenset({cell_name(function, name)})


def _runs_nothing(context: Context, function: Function, state: State, call: Call, passed: _Passed) -> bool:
    """Whether a call is known to run none of the project's code that other calls got."""
    if passed.quiet or _known_method(function, state, call):
        return True
    return last_name(call.func) in context.verb_names


def _known_method(function: Function, state: State, call: Call) -> bool:
    match call.func:
        case Attr(obj=Name(id=local), name=method):
            return is_value_method(function, state, local, method)
        case _:
            return False


@memoize
def _passed_by_call(function: Function) -> Mapping[str, _Passed]:
    """Return what each call of a function passes on, by its result."""
    return {
        step.op.result.id: _handing(function, step.op)
        for step in function.cfg.steps
        if isinstance(step.op, Call)
    }


def _handing(function: Function, call: Call) -> _Passed:
    operands = list(value_operands(arg.value for arg in call.args))
    closures = (function.closures.get(expr.key) for expr in operands if isinstance(expr, Closure))
    func: Expr = call.func.obj if isinstance(call.func, Attr) else call.func
    root = func
    while isinstance(root, (Attr, Item)):
        root = root.obj
    changes = isinstance(call.func, Attr) and isinstance(root, Name) and not is_read_only(call)
    return _Passed(
        names=tuple(expr.id for expr in operands if isinstance(expr, Name)),
        places=frozenset(
            cell_name(each, name) for each in closures if each is not None for name in each.captures
        ),
        receiver=root.id if changes and isinstance(root, Name) else "",
        runs=func.id if isinstance(func, Name) else "",
        quiet=last_name(call.func) in _RUNS_NOTHING or is_read_only(call),
    )


def _captured_names(value: Value | None) -> Iterator[str]:
    """Return what the code captures that a value is, or contains."""
    match value:
        case FunctionRef(function=inner):
            yield from (cell_name(inner, name) for name in inner.captures)
        case Partial(target=target, args=args):
            for part in (target, *args):
                yield from _captured_names(part)
        case Container(items=items):
            for item in items:
                yield from _captured_names(item)
        case Instance(cls=cls):
            yield from (cell_name(inner, name) for inner in cls.methods.values() for name in inner.captures)
        case _:
            pass


@memoize
def _tracked_locals(function: Function) -> frozenset[str]:
    """Return the locals whose contents the state tracks, or that a condition tests in another function."""
    return (
        local_boxes(function)
        | shared_locals(function)
        | function.captures.intersection(tested_places(function))
    )
