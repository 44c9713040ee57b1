"""Where tuples are kept: stores into fields, and what is handed to code that cannot be seen."""

from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Released, Stored, Trail
from ackdoctor.flow.state import Field, Holding, SelfRef, State, Tick, Token, TokenKind, Value, tokens_in
from ackdoctor.model.cfg import Expr
from ackdoctor.model.protocol import State as Stage

__all__ = ["EVERYTHING", "completed", "escape", "release", "store", "within", "worse"]

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
    return any(holding.stage in (Stage.ACKED, Stage.FAILED) for holding in (*state.tokens.values(), *earlier))


def worse(one: Holding | None, other: Holding) -> Holding:
    """The holding that leaves more undone."""
    if one is None:
        return other
    return min(one, other, key=lambda held: (WORST.index(held.stage), _UNASKED.index(held.tick), held.holder))


def store(
    context: Context, trail: Trail, state: State, field: str, value: Value, *, how: str, key: Expr | None
) -> State:
    """A value goes into `self.<field>`; the tuples it carries are held there."""
    for token in dict.fromkeys(tokens_in(value)):
        if token.kind is TokenKind.STORED:
            if token.field != field:
                release(context, trail, token.field)
            continue
        context.see(
            Stored(
                function=trail.function,
                step=trail.step,
                trail=trail,
                deferral=context.deferral,
                field=field,
                token=token,
                how=how,
                key=key,
            ),
            field,
            token,
        )
        state = _kept_in(state, token, context.holding(state, token), f"self.{field}")
    return state


def _kept_in(state: State, token: Token, holding: Holding, holder: str) -> State:
    """The token is held by one field more; several are named one after the other."""
    if holding.stage is Stage.OWED:
        return state.hold(token, Holding(Stage.HELD, holding.tick, holder))
    if holding.stage is Stage.HELD and holder not in holding.holder.split():
        return state.hold(token, holding._replace(holder=f"{holding.holder} {holder}"))
    return state


def release(context: Context, trail: Trail, field: str) -> None:
    """What a field holds goes where nobody can look."""
    released = Released(
        function=trail.function,
        step=trail.step,
        trail=trail,
        deferral=context.deferral,
        field=field,
        completed=False,
    )
    context.see(released, field, False)


def escape(
    context: Context,
    trail: Trail,
    state: State,
    values: "frozenset[Value] | tuple[Value | None, ...]",
    holder: str,
) -> State:
    """Tuples handed to code that cannot be seen are held there; fields handed over are released."""
    for value in values:
        if isinstance(value, Field):
            release(context, trail, value.name)
        elif isinstance(value, SelfRef):
            release(context, trail, EVERYTHING)
        for token in tokens_in(value):
            state = _hand_over(context, trail, state, token, holder)
    return state


def _hand_over(context: Context, trail: Trail, state: State, token: Token, holder: str) -> State:
    if token.kind is TokenKind.STORED:
        release(context, trail, token.field)
        return state
    holding = context.holding(state, token)
    if holding.stage is Stage.OWED:
        return state.hold(token, Holding(Stage.HELD, holding.tick, holder))
    return state


def within(token: Token, whole: Token) -> bool:
    """Whether a tuple is what was taken out of a field, or a part of it."""
    return token.kind is TokenKind.STORED and token.field == whole.field and token.path.startswith(whole.path)
