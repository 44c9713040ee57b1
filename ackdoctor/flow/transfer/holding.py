"""Where tuples are kept: stores into fields, and what is handed to code that cannot be seen."""

from ackdoctor.flow.graph.expressions import about, subexpressions
from ackdoctor.flow.path.context import Context
from ackdoctor.flow.path.lattice import (
    Field,
    Holding,
    SelfRef,
    State,
    Tick,
    Token,
    TokenKind,
    Value,
    tokens_in,
)
from ackdoctor.flow.path.questions import reopen
from ackdoctor.flow.path.sighting import Released, Stored
from ackdoctor.flow.path.trail import Trail
from ackdoctor.model.cfg import Attr, Compare, Expr, Item, Literal, Mix
from ackdoctor.model.protocol import State as Stage

__all__ = ["EVERYTHING", "escape", "forget", "recount", "release", "store", "within", "worse"]

EVERYTHING = "*"  # the name under which all fields are released: the component itself was handed over

WORST = (Stage.OWED, Stage.HELD, Stage.FAILED, Stage.ACKED)
_UNASKED = (Tick.NO, Tick.MAYBE, Tick.YES)  # of two that are equally undone, the data tuple is worse


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


def forget(state: State, target: Expr) -> State:
    """The target changes: what was decided about it no longer holds."""
    return reopen(state, about(state.facts, target))


def recount(state: State, whole: Expr, key: Expr | None = None) -> State:
    """Something was put into a collection (under this key), or taken out: what is in it, and how much, is to be asked anew.

    Whether there is anything in it at all is left as it is.
    """
    stale = [fact for fact in state.facts if any(_counts(part, whole, key) for part in subexpressions(fact))]
    return reopen(state, stale)


def _counts(part: Expr, whole: Expr, key: Expr | None) -> bool:
    """Whether an expression asks how much there is in a collection, whether something is, or what lies at a place that may be the key's."""
    match part:
        case Mix(op="len", parts=(asked,)) | Mix(op="call", parts=(Attr(obj=asked, name="size"), *_)):
            return asked == whole
        case Mix(op="call", parts=(Attr(obj=asked), _, *_)) | Compare(op="in", right=asked):
            return asked == whole
        case Item(obj=asked, key=place):
            other = isinstance(place, Literal) and isinstance(key, Literal) and place != key
            return asked == whole and not other
        case _:
            return False


def within(token: Token, whole: Token) -> bool:
    """Whether a tuple is what was taken out of a field, or a part of it."""
    return token.kind is TokenKind.STORED and token.field == whole.field and token.path.startswith(whole.path)
