"""The transfer function of one instruction."""

import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ackdoctor.flow.aliases import also
from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Trail
from ackdoctor.flow.expressions import memoize
from ackdoctor.flow.induction import Counted, Pace, counted_by, counters, less, paced_by
from ackdoctor.flow.invalidation import elsewhere, forget, inside
from ackdoctor.flow.library import EXCEPTIONS
from ackdoctor.flow.predicates import split_by, wholes
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
from ackdoctor.flow.transfer.assignment import assign, next_number, same_list, same_under, unpack, update
from ackdoctor.flow.transfer.escape import completed, put_away, worse
from ackdoctor.flow.transfer.evaluate import evaluate, stored
from ackdoctor.flow.transfer.heap_cells import made, set_in_box
from ackdoctor.flow.transfer.predicates import branch, decided
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
from ackdoctor.model.component import Function
from ackdoctor.model.protocol import Op
from ackdoctor.model.protocol import State as Stage

__all__ = ["WayOn", "catches", "each_element", "number_of_rounds", "ways_on"]


_CATCH_ALL = frozenset({"Exception", "BaseException", "StandardError", "Throwable"})


def catches(op: Catch, raising: str) -> tuple[bool, bool]:
    """Whether a handler certainly, and whether it possibly, takes what is raised."""
    names = {name.rpartition(".")[2] for name in op.types}
    raised = raising.rpartition(".")[2]
    if not op.types or names & _CATCH_ALL:
        return True, True
    if not raised:
        return False, True
    if raised in names:
        return True, True
    cls = getattr(builtins, raised, None)
    if not isinstance(cls, type):
        return _by_table(names, raised)
    parents = {parent.__name__ for parent in cls.__mro__}
    handled = {name for name in names if isinstance(getattr(builtins, name, None), type)}
    if parents & handled:
        return True, True
    return False, len(handled) < len(names)


def _by_table(names: set[str], raised: str) -> tuple[bool, bool]:
    if raised not in EXCEPTIONS:
        return False, True
    parent = EXCEPTIONS.get(raised)
    while parent is not None:
        if parent in names:
            return True, True
        parent = EXCEPTIONS.get(parent)
    return False, False


_IN_STEP, _BEHIND, _LOST = 1, 2, 3  # where a local stands that paces a loop; lost: nothing is known of it


def number_of_rounds(context: Context, trail: Trail, op: Next) -> Iterator[tuple[bool, State]]:
    """Whether there is another round, with the state in it; or the state behind the loop."""
    function = trail.function
    known = counters(function)
    if (counted := counted_by(function).get(op.loop)) and counted.name in known:
        yield from _counted_rounds(context, trail, op, counted)
    elif (pace := paced_by(function).get(op.loop)) and pace.name in known:
        yield from _paced_rounds(context, trail, op, pace)
    else:
        yield from _unknown_rounds(context, trail, op, again=op.loop in trail.state.loops)


def _counted_rounds(context: Context, trail: Trail, op: Next, loop: Counted) -> Iterator[tuple[bool, State]]:
    """Over `range(n)` or `enumerate(rows)`: another round while the counter, one more than it was, is below the end."""
    state, again = trail.state, op.loop in trail.state.loops
    last = (
        Compare(Name(loop.name), "<", less(loop.stop, loop.step))
        if again
        else Compare(loop.start, "<", loop.stop)
    )
    for more, after in branch(context, trail.function, state, last):
        if more:
            memory = LoopMemory(None, None, position=1 if again else 0)
            before = after.but(loops={**state.loops, op.loop: memory})
            given = assign(context, trail, before, op.target, None)
            yield True, next_number(context, trail, before, given, op.target)
        else:
            yield (
                False,
                after.but(loops={each: kept for each, kept in state.loops.items() if each != op.loop}),
            )


def _paced_rounds(context: Context, trail: Trail, op: Next, pace: Pace) -> Iterator[tuple[bool, State]]:
    """Over what a local counts: as many rounds as there are elements, and the local is then at the end if no round has left it behind."""
    state = trail.state
    memory = state.loops.get(op.loop)
    at = _standing(memory, pace, state) if memory is not None else _LOST
    asked = wholes(trail.function, op.iterable)
    known = None
    if memory is None and decided(context, trail.function, state, pace.first):
        at, known = _IN_STEP, decided(context, trail.function, state, pace.more)
    if at == _IN_STEP and memory is not None:
        ways = branch(context, trail.function, state, pace.more)
    else:
        ways = _unknown_rounds(context, trail, op, again=memory is not None)
    for more, after in ways:
        if known is not None and more != known:
            continue
        facts = {fact: truth for fact, truth in after.facts.items() if fact != pace.mark}
        if at == _IN_STEP:
            facts[pace.more] = more
            if memory is None:  # and whether there is anything
                facts |= dict.fromkeys(asked, more)
        elif at == _BEHIND:
            facts |= {pace.more: True, pace.behind: more}
        if not more:
            loops = {loop: kept for loop, kept in state.loops.items() if loop != op.loop}
            yield False, after.but(facts=facts, loops=loops)
            continue
        loops = {**state.loops, op.loop: LoopMemory(None, None, position=at)}
        given = assign(context, trail, after.but(facts=facts, loops=loops), op.target, None)
        yield True, given if at == _LOST else given.but(facts={**given.facts, pace.mark: False})


def _standing(memory: LoopMemory, pace: Pace, state: State) -> int:
    """Where a local stands after a round that has counted it or not, if the path still knows."""
    if memory.position == _LOST or pace.mark not in state.facts:
        return _LOST
    return memory.position if state.facts[pace.mark] else _BEHIND


def _unknown_rounds(context: Context, trail: Trail, op: Next, *, again: bool) -> Iterator[tuple[bool, State]]:
    """Over something else: any number of rounds, at least one where the path has asked and there is something, none where there is nothing."""
    state = trail.state
    known = next(
        (state.facts[fact] for fact in wholes(trail.function, op.iterable) if fact in state.facts), None
    )
    if known is None and not context.typed and op.iterable in split_by(trail.function):
        known = True
    if known is not False:
        more = state.but(loops={**state.loops, op.loop: LoopMemory(None, None)}) if known else state
        yield True, assign(context, trail, more, op.target, None)
    if again or not known:
        yield False, state.but(loops={loop: kept for loop, kept in state.loops.items() if loop != op.loop})


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


_ALL = range(1 << 30)  # the loops around a helper's call: no step of it leaves them


def each_element(context: Context, trail: Trail, way: WayOn) -> Iterator[WayOn]:
    """The way itself, or, where it leaves a loop over the batch early, one for each kind of element."""
    token, state = context.subject, way.state
    bodies = _bodies(trail.function)
    left = {loop: memory for loop, memory in state.loops.items() if way.target not in bodies.get(loop, _ALL)}
    if left:
        state = state.but(loops={loop: kept for loop, kept in state.loops.items() if loop not in left})
    batches = [loop for loop, memory in left.items() if memory.base is not None]
    if not batches or token is None or token.kind is not TokenKind.ELEMENT:
        yield way._replace(state=state) if left else way
        return
    first = left[min(batches)]
    now = context.holding(state, token)
    yield WayOn(way.kind, way.target, state)
    others = [holding for holding in (first.base, first.rest) if holding is not None and holding != now]
    for holding in dict.fromkeys(others):
        yield WayOn(way.kind, way.target, _nameless(state, token).hold(token, holding))


def _nameless(state: State, token: Token) -> State:
    """The state in which no local is that element: the names mean the one at hand."""

    def other(value: Value) -> bool:
        return not (isinstance(value, (TokenRef, Index)) and value.token == token)

    return state.but(env={name: value for name, value in state.env.items() if other(value)})


@memoize
def _bodies(function: Function) -> Mapping[int, range]:
    """The steps of each loop by its number."""
    cfg = function.cfg
    return {
        step.op.loop: cfg.bodies[head] for head, step in enumerate(cfg.steps) if isinstance(step.op, Next)
    }
