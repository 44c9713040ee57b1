"""Escape analysis: tuples that reach fields or opaque code."""

from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Path, Released, Stored
from ackdoctor.flow.state import EMPTY, OWED, UNKNOWN, State
from ackdoctor.flow.values import Field, SelfRef, Token, TokenKind, TokenState, Value, tokens_in
from ackdoctor.model.cfg import Expr
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
    return min(
        one, other, key=lambda held: (WORST.index(held.stage), _UNASKED.index(held.tick), held.holders)
    )


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
        stored = Stored(path=path, deferral=context.deferral, field=field, token=token, how=how, key=key)
        context.record(stored, field, token)
        state = _add_holder(state, token, context.token_state(state, token), f"self.{field}")
        known = state.contents.get(Field(field))
        if known is not None and known != OWED:
            state = state.with_contents(Field(field), OWED if known == EMPTY else UNKNOWN)
    return state


def _add_holder(state: State, token: Token, token_state: TokenState, holder: str) -> State:
    """Add a field to the holders of a token."""
    if token_state.stage is Stage.OWED:
        return state.with_token(token, TokenState(Stage.HELD, token_state.tick, (holder,)))
    if holder not in token_state.holders:
        return state.with_token(token, token_state._replace(holders=(*token_state.holders, holder)))
    return state


def release(
    context: Context, path: Path, field: str, *, completed: bool = False, at_tick: bool = False
) -> None:
    """Record that the contents of a field escape to opaque code, or are completed; a tick has a path of its own."""
    released = Released(path=path, deferral=context.deferral, field=field, completed=completed)
    context.record(released, field, completed, at_tick)


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
        return state.with_token(token, TokenState(Stage.HELD, token_state.tick, (holder,)))
    return state


def _hold_stored(context: Context, state: State, token: Token, holder: str) -> State:
    """Return the state after other code got a tuple of a field: it may complete the tuple later."""
    known = context.token_state(state, token)
    if known.stage is not Stage.OWED or token.field not in context.stored_stages:
        return state
    return state.with_token(token, known._replace(stage=Stage.HELD, holders=(holder,)))
