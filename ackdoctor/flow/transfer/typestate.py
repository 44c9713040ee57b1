"""One step at a time: what each instruction does to one path's state.

Terms.  A *way on* is an edge that this path can take, with the state it takes along.  A RAISE edge takes the
state from before the step: an ack that raises is one that did not happen.

Example.  At `self.pending[key] = tup`, a token that is OWED becomes HELD by "self.pending"; at
`if tick(tup):` a token whose tick is MAYBE leaves by TRUE as YES and by FALSE as NO.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ackdoctor.flow.aliases import also
from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Trail
from ackdoctor.flow.invalidation import elsewhere, forget, inside
from ackdoctor.flow.state import (
    NOTHING,
    Batch,
    Coll,
    Const,
    Count,
    Field,
    Generated,
    Index,
    LoopMemory,
    Picked,
    Row,
    State,
    Thrown,
    Token,
    TokenKind,
    TokenRef,
    Value,
    Zipped,
    ended,
    tokens_in,
)
from ackdoctor.flow.transfer.assignment import assign, same_list, same_under, unpack, update
from ackdoctor.flow.transfer.boxes import made, set_in_box
from ackdoctor.flow.transfer.catching import catches
from ackdoctor.flow.transfer.deciding import branch
from ackdoctor.flow.transfer.evaluate import evaluate, stored
from ackdoctor.flow.transfer.exposed import put_away
from ackdoctor.flow.transfer.holding import completed, worse
from ackdoctor.flow.transfer.rounds import number_of_rounds
from ackdoctor.flow.transfer.verbs import complete
from ackdoctor.model.cfg import (
    RAISED,
    Bind,
    Build,
    Catch,
    Compare,
    Drop,
    EdgeKind,
    Expr,
    Global,
    Instr,
    Item,
    Literal,
    Name,
    Next,
    Return,
    Step,
    Test,
    Throw,
    Unpack,
    Update,
    Yield,
)
from ackdoctor.model.protocol import Op
from ackdoctor.model.protocol import State as Stage

__all__ = ["WayOn", "ways_on"]


class WayOn(NamedTuple):
    """An edge taken: its kind, its target and the state after it."""

    kind: EdgeKind
    target: int
    state: State


def ways_on(context: Context, trail: Trail) -> Iterator[WayOn]:
    """Where a path can go from a step that is no call."""
    step = trail.step
    match step.op:
        case Test(condition=condition):
            yield from _tested(context, trail, condition)
        case Next():
            yield from _iterated(context, trail, step.op)
        case Catch():
            yield from _caught(trail, step.op)
        case _:
            after = _after(context, trail, step)
            quiet = isinstance(step.op, Yield) and _gives_nothing(context, trail, step.op)
            quiet = quiet or (_counts(step.op) and completed(trail.state))
            for kind, target in step.edges:
                if kind is EdgeKind.RAISE and quiet:
                    continue
                if kind is EdgeKind.RAISE:
                    yield WayOn(kind, target, _raising(context, trail, step))
                else:
                    yield WayOn(kind, target, after)


def _counts(op: Instr) -> bool:
    """Whether it is `stats["acked"] += 1`: behind a completion nobody expects that to fail."""
    return isinstance(op, Update) and isinstance(op.target, Item) and isinstance(op.value, Literal)


def _raising(context: Context, trail: Trail, step: Step) -> State:
    state = trail.state
    if isinstance(step.op, Throw):
        name = ""
        if step.op.value is not None:
            match evaluate(context, trail.function, state, step.op.value):
                case Thrown(name=thrown):
                    name = thrown
                case _:
                    name = step.op.value.id if isinstance(step.op.value, Global) else ""
        return state.but(raising=name)
    return state if state.raising is not None else state.but(raising="")


def _after(context: Context, trail: Trail, step: Step) -> State:
    """The state behind a step, with what has a second name by it."""
    after = elsewhere(trail.function, trail.index, trail.state, _done(context, trail, step))
    return also(trail.function, trail.index, after)


def _done(context: Context, trail: Trail, step: Step) -> State:
    function, state = trail.function, trail.state
    match step.op:
        case Bind(target=target, value=value):
            given = evaluate(context, function, state, value)
            after = assign(context, trail, state, target, given)
            if isinstance(target, Name):
                after = made(function, after, target.id, value)
            else:
                after = set_in_box(function, after, target, given)
            if not isinstance(target, Name) or (isinstance(value, Build) and value.kind != "object"):
                after = put_away(after, given)
            return same_list(same_under(trail, context, after, target, value), target, value)
        case Unpack(targets=targets, value=value):
            return unpack(context, trail, targets, value)
        case Update(target=target, value=value):
            after = update(context, trail, target, evaluate(context, function, state, value))
            return set_in_box(function, after, target, None)
        case Drop(target=Name(id=name)):
            return state.bind(name, None)
        case Drop(target=Item(obj=whole)):
            return inside(state, whole, step.op)
        case Return(value=value):
            return state.bind(
                "%return", _returned(context, trail, value) if value is not None else Const(None)
            )
        case Yield():
            return _yielded(context, trail, step.op)
        case _:
            return state


def _returned(context: Context, trail: Trail, expr: Expr) -> Value | None:
    value = evaluate(context, trail.function, trail.state, expr)
    if context.typed and isinstance(value, Const) and not isinstance(value.value, (bool, type(None))):
        return None
    if isinstance(value, Coll) and isinstance(expr, Build) and expr.kind == "tuple":
        parts = (evaluate(context, trail.function, trail.state, item) for item in expr.items)
        return Coll(value.items, tuple(parts))  # `return False, "no key"`
    return value


def _gives_nothing(context: Context, trail: Trail, op: Yield) -> bool:
    """Whether it is a `yield from` of a generator that has come to its end and given nothing."""
    given = evaluate(context, trail.function, trail.state, op.value) if op.value is not None else None
    return op.delegate and given == NOTHING


def _yielded(context: Context, trail: Trail, op: Yield) -> State:
    """What a generator has given so far, and how the tuples are while somebody looks at it."""
    value = evaluate(context, trail.function, trail.state, op.value) if op.value is not None else None
    if _gives_nothing(context, trail, op):
        return trail.state.bind(op.result.id, None)
    before = trail.state.env.get("%yield")
    items = before.items if isinstance(before, Generated) else frozenset()
    if value is not None and any(tokens_in(value)):
        items |= value.items if isinstance(value, Generated) and op.delegate else {value}
    given = Generated(items, frozenset(trail.state.tokens.items()))
    state = trail.state
    if isinstance(value, Generated) and op.delegate:
        state = _run_out(context, trail, state, value)
    return state.bind(op.result.id, None).bind("%yield", given)


# ---- branches, loops, handlers ----


def _tested(context: Context, trail: Trail, condition: Expr) -> Iterator[WayOn]:
    step = trail.step
    for truth, learnt in branch(context, trail.function, trail.state, condition):
        after = _without_temporary(learnt, condition)
        wanted = EdgeKind.TRUE if truth else EdgeKind.FALSE
        for kind, target in step.edges:
            if kind is wanted or (
                kind in (EdgeKind.BACK, EdgeKind.NEXT) and wanted not in {e.kind for e in step.edges}
            ):
                yield WayOn(wanted, target, after)
    for kind, target in step.edges:
        if kind is EdgeKind.RAISE:
            yield WayOn(kind, target, _raising(context, trail, step))


def _without_temporary(state: State, condition: Expr) -> State:
    """A temporary is tested once: what was known of it only keeps equal states apart."""
    subject = condition.left if isinstance(condition, Compare) else condition
    if isinstance(subject, Name) and subject.id.startswith("%"):
        return forget(state, subject)
    return state


def _iterated(context: Context, trail: Trail, op: Next) -> Iterator[WayOn]:
    state = trail.state
    iterable = evaluate(context, trail.function, state, op.iterable)
    again = op.loop in state.loops
    for more, after in _rounds(context, trail, op, iterable, again=again):
        wanted = EdgeKind.TRUE if more else EdgeKind.FALSE
        for kind, target in trail.step.edges:
            if kind is wanted:
                known = also(trail.function, trail.index, after) if more else after
                yield WayOn(kind, target, known)
    if iterable is None and isinstance(op.iterable, Name):
        for kind, target in trail.step.edges:
            if kind is EdgeKind.RAISE and target != RAISED:
                yield WayOn(kind, target, _raising(context, trail, trail.step))


def _rounds(
    context: Context, trail: Trail, op: Next, iterable: Value | None, *, again: bool
) -> Iterator[tuple[bool, State]]:
    match iterable:
        case Batch(token=token):
            yield from _batch_rounds(context, trail, op, token, TokenRef(token), again=again)
        case Zipped(token=token, column=column, numbered=numbered):
            yield from _batch_rounds(context, trail, op, token, Row(token, column, numbered), again=again)
        case Count(of=Batch(token=token)):
            yield from _batch_rounds(context, trail, op, token, Index(token), again=again)
        case Count(of=Coll(items=items) as listed) if any(tokens_in(listed)):
            yield from _listed_rounds(context, trail, op, [None] * len(items))
        case Coll(items=items) if any(tokens_in(iterable)) or any(isinstance(i, Picked) for i in items):
            yield from _listed_rounds(context, trail, op, sorted(items, key=repr))
        case Field(name=field):
            yield from _open_rounds(context, trail, op, stored(field))
        case TokenRef(token=token, part="") if token.kind is TokenKind.STORED:
            yield from _open_rounds(context, trail, op, stored(token.field, f"{token.path}[*]"))
        case Generated() if iterable == NOTHING:
            yield False, trail.state
        case Generated(items=items) as given:
            for more, after in _rounds(context, trail, op, Coll(items), again=again):
                yield more, after if more else _run_out(context, trail, after, given)
        case _:
            yield from number_of_rounds(context, trail, op)


def _run_out(context: Context, trail: Trail, state: State, given: Generated) -> State:
    """A generator comes to its end: what was completed meanwhile is completed once more.

    Of a batch that is not said: its element may be another one than that of the loop.
    """
    for token, holding in given.holdings:
        now = context.holding(state, token).stage
        if token.kind is TokenKind.INPUT and now in (Stage.ACKED, Stage.FAILED):
            op = Op.ACK if holding.stage is Stage.ACKED else Op.FAIL
            state = complete(context, trail, state, op, token)
    return ended(state, given)


def _open_rounds(context: Context, trail: Trail, op: Next, element: TokenRef) -> Iterator[tuple[bool, State]]:
    """Over what a field holds: any number of rounds, each with a tuple not seen before."""
    state = trail.state
    fresh = {
        token: held
        for token, held in state.tokens.items()
        if token.kind is not TokenKind.STORED or token.field != element.token.field
    }
    yield True, assign(context, trail, state.but(tokens=fresh), op.target, element)
    yield False, state


def _batch_rounds(
    context: Context, trail: Trail, op: Next, token: Token, element: TokenRef | Row | Index, *, again: bool
) -> Iterator[tuple[bool, State]]:
    """Over a batch: at least one round; each element starts where the loop found the batch, in no list that the loop fills.

    After a loop that fills lists it is the last element that is in them, or not, and what was done with it that counts.
    """
    state = trail.state
    now = context.holding(state, token)
    if again:
        memory = state.loops[op.loop]
        done = {loop: kept for loop, kept in state.loops.items() if loop != op.loop}
        filled = _collections(state, token) - memory.among
        rest = now if filled else worse(memory.rest, now)
        yield False, state.but(loops=done).hold(token, rest)
        memory = memory._replace(rest=None if filled else rest)
        state = _emptied(state, token, filled)
    else:
        memory = LoopMemory(now, None, among=_collections(state, token))
    state = state.but(loops={**state.loops, op.loop: memory}).hold(token, memory.base or now)
    yield True, assign(context, trail, state, op.target, element)


def _collections(state: State, token: Token) -> frozenset[str]:
    """The locals that hold the token among others."""
    return frozenset(
        name for name, value in state.env.items() if isinstance(value, Coll) and token in tokens_in(value)
    )


def _emptied(state: State, token: Token, names: frozenset[str]) -> State:
    """The state in which the token is in none of these collections."""
    if not names:
        return state
    env = dict(state.env)
    for name in names:
        held = env[name]
        if isinstance(held, Coll):
            env[name] = Coll(frozenset(item for item in held.items if token not in tokens_in(item)))
    return state.but(env=env)


def _listed_rounds(
    context: Context, trail: Trail, op: Next, items: Sequence[Value | None]
) -> Iterator[tuple[bool, State]]:
    """Over a list whose tuples are known: each in turn, once."""
    state = trail.state
    memory = state.loops.get(op.loop)
    position = memory.position if memory is not None else 0
    if position >= len(items):
        done = {loop: kept for loop, kept in state.loops.items() if loop != op.loop}
        yield False, state.but(loops=done)
        return
    after = state.but(loops={**state.loops, op.loop: LoopMemory(None, None, position + 1)})
    yield True, assign(context, trail, after, op.target, items[position])


def _caught(trail: Trail, op: Catch) -> Iterator[WayOn]:
    state = trail.state
    certain, possible = catches(op, state.raising or "")
    for kind, target in trail.step.edges:
        if kind is EdgeKind.TRUE and possible:
            after = state.but(raising=None, caught=(trail.function.path, trail.step.span.line))
            yield WayOn(kind, target, after.bind(op.name, Thrown(state.raising or "")) if op.name else after)
        elif kind is not EdgeKind.TRUE and not certain:
            yield WayOn(EdgeKind.FALSE, target, state)
