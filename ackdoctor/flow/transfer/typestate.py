"""The transfer function of one instruction."""

import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ackdoctor.flow.aliases import bind_aliases
from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import memoize
from ackdoctor.flow.induction import (
    BodyCounter,
    CountedLoop,
    body_counters,
    counted_loops,
    induction_variables,
    minus,
)
from ackdoctor.flow.invalidation import invalidate_aliases, invalidate_contents, invalidate_target
from ackdoctor.flow.library import EXCEPTIONS
from ackdoctor.flow.pure_calls import nonempty_facts, split_results
from ackdoctor.flow.state import (
    EMPTY_GENERATOR,
    Batch,
    Const,
    Container,
    Count,
    ExceptionValue,
    Field,
    GeneratorResult,
    Index,
    LoopState,
    Picked,
    Row,
    State,
    Token,
    TokenKind,
    TokenRef,
    Value,
    Zipped,
    finish_generator,
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
from ackdoctor.model.protocol import Op, Stage

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


def number_of_rounds(context: Context, path: Path, op: Next) -> Iterator[tuple[bool, State]]:
    """Whether there is another round, with the state in it; or the state behind the loop."""
    function = path.function
    known = induction_variables(function)
    if (counted := counted_loops(function).get(op.loop)) and counted.name in known:
        yield from _counted_rounds(context, path, op, counted)
    elif (pace := body_counters(function).get(op.loop)) and pace.name in known:
        yield from _paced_rounds(context, path, op, pace)
    else:
        yield from _unknown_rounds(context, path, op, again=op.loop in path.state.loops)


def _counted_rounds(
    context: Context, path: Path, op: Next, loop: CountedLoop
) -> Iterator[tuple[bool, State]]:
    """Over `range(n)` or `enumerate(rows)`: another round while the counter, one more than it was, is below the end."""
    state, again = path.state, op.loop in path.state.loops
    last = (
        Compare(Name(loop.name), "<", minus(loop.stop, loop.step))
        if again
        else Compare(loop.start, "<", loop.stop)
    )
    for more, after in branch(context, path.function, state, last):
        if more:
            memory = LoopState(None, None, position=1 if again else 0)
            before = after.replace(loops={**state.loops, op.loop: memory})
            given = assign(context, path, before, op.target, None)
            yield True, next_number(context, path, before, given, op.target)
        else:
            yield (
                False,
                after.replace(loops={each: kept for each, kept in state.loops.items() if each != op.loop}),
            )


def _paced_rounds(context: Context, path: Path, op: Next, pace: BodyCounter) -> Iterator[tuple[bool, State]]:
    """Over what a local counts: as many rounds as there are elements, and the local is then at the end if no round has left it behind."""
    state = path.state
    memory = state.loops.get(op.loop)
    at = _standing(memory, pace, state) if memory is not None else _LOST
    asked = nonempty_facts(path.function, op.iterable)
    known = None
    if memory is None and decided(context, path.function, state, pace.first):
        at, known = _IN_STEP, decided(context, path.function, state, pace.more)
    if at == _IN_STEP and memory is not None:
        ways = branch(context, path.function, state, pace.more)
    else:
        ways = _unknown_rounds(context, path, op, again=memory is not None)
    for more, after in ways:
        if known is not None and more != known:
            continue
        facts = {fact: truth for fact, truth in after.facts.items() if fact != pace.mark}
        if at == _IN_STEP:
            facts[pace.more] = more
            if memory is None:  # and whether there is anything
                facts |= dict.fromkeys(asked, more)
        elif at == _BEHIND:
            facts |= {pace.more: True, pace.lagging: more}
        if not more:
            loops = {loop: kept for loop, kept in state.loops.items() if loop != op.loop}
            yield False, after.replace(facts=facts, loops=loops)
            continue
        loops = {**state.loops, op.loop: LoopState(None, None, position=at)}
        given = assign(context, path, after.replace(facts=facts, loops=loops), op.target, None)
        yield True, given if at == _LOST else given.replace(facts={**given.facts, pace.mark: False})


def _standing(memory: LoopState, pace: BodyCounter, state: State) -> int:
    """Where a local stands after a round that has counted it or not, if the path still knows."""
    if memory.position == _LOST or pace.mark not in state.facts:
        return _LOST
    return memory.position if state.facts[pace.mark] else _BEHIND


def _unknown_rounds(context: Context, path: Path, op: Next, *, again: bool) -> Iterator[tuple[bool, State]]:
    """Over something else: any number of rounds, at least one where the path has asked and there is something, none where there is nothing."""
    state = path.state
    known = next(
        (state.facts[fact] for fact in nonempty_facts(path.function, op.iterable) if fact in state.facts),
        None,
    )
    if known is None and not context.typed and op.iterable in split_results(path.function):
        known = True
    if known is not False:
        more = state.replace(loops={**state.loops, op.loop: LoopState(None, None)}) if known else state
        yield True, assign(context, path, more, op.target, None)
    if again or not known:
        yield (
            False,
            state.replace(loops={loop: kept for loop, kept in state.loops.items() if loop != op.loop}),
        )


class WayOn(NamedTuple):
    """An edge taken: its kind, its target and the state after it."""

    kind: EdgeKind
    target: int
    state: State


def ways_on(context: Context, path: Path) -> Iterator[WayOn]:
    """Where a path can go from a step that is no call."""
    step = path.step
    match step.op:
        case Test(condition=condition):
            yield from _tested(context, path, condition)
        case Next():
            yield from _iterated(context, path, step.op)
        case Catch():
            yield from _caught(path, step.op)
        case _:
            after = _after(context, path, step)
            quiet = isinstance(step.op, Yield) and _gives_nothing(context, path, step.op)
            quiet = quiet or (_counts(step.op) and completed(path.state))
            for kind, target in step.edges:
                if kind is EdgeKind.RAISE and quiet:
                    continue
                if kind is EdgeKind.RAISE:
                    yield WayOn(kind, target, _raising(context, path, step))
                else:
                    yield WayOn(kind, target, after)


def _counts(op: Instr) -> bool:
    """Whether it is `stats["acked"] += 1`: behind a completion nobody expects that to fail."""
    return isinstance(op, Update) and isinstance(op.target, Item) and isinstance(op.value, Literal)


def _raising(context: Context, path: Path, step: Step) -> State:
    state = path.state
    if isinstance(step.op, Throw):
        name = ""
        if step.op.value is not None:
            match evaluate(context, path.function, state, step.op.value):
                case ExceptionValue(name=thrown):
                    name = thrown
                case _:
                    name = step.op.value.id if isinstance(step.op.value, Global) else ""
        return state.replace(raising=name)
    return state if state.raising is not None else state.replace(raising="")


def _after(context: Context, path: Path, step: Step) -> State:
    """The state behind a step, with what has a second name by it."""
    after = invalidate_aliases(path.function, path.index, path.state, _done(context, path, step))
    return bind_aliases(path.function, path.index, after)


def _done(context: Context, path: Path, step: Step) -> State:
    function, state = path.function, path.state
    match step.op:
        case Bind(target=target, value=value):
            given = evaluate(context, function, state, value)
            after = assign(context, path, state, target, given)
            if isinstance(target, Name):
                after = made(function, after, target.id, value)
            else:
                after = set_in_box(function, after, target, given)
            if not isinstance(target, Name) or (isinstance(value, Build) and value.kind != "object"):
                after = put_away(after, given)
            return same_list(same_under(path, context, after, target, value), target, value)
        case Unpack(targets=targets, value=value):
            return unpack(context, path, targets, value)
        case Update(target=target, value=value):
            after = update(context, path, target, evaluate(context, function, state, value))
            return set_in_box(function, after, target, None)
        case Drop(target=Name(id=name)):
            return state.bind(name, None)
        case Drop(target=Item(obj=whole)):
            return invalidate_contents(state, whole, step.op)
        case Return(value=value):
            return state.bind(
                "%return", _returned(context, path, value) if value is not None else Const(None)
            )
        case Yield():
            return _yielded(context, path, step.op)
        case _:
            return state


def _returned(context: Context, path: Path, expr: Expr) -> Value | None:
    value = evaluate(context, path.function, path.state, expr)
    if context.typed and isinstance(value, Const) and not isinstance(value.value, (bool, type(None))):
        return None
    if isinstance(value, Container) and isinstance(expr, Build) and expr.kind == "tuple":
        parts = (evaluate(context, path.function, path.state, item) for item in expr.items)
        return Container(value.items, tuple(parts))  # `return False, "no key"`
    return value


def _gives_nothing(context: Context, path: Path, op: Yield) -> bool:
    """Whether it is a `yield from` of a generator that has come to its end and given nothing."""
    given = evaluate(context, path.function, path.state, op.value) if op.value is not None else None
    return op.delegate and given == EMPTY_GENERATOR


def _yielded(context: Context, path: Path, op: Yield) -> State:
    """What a generator has given so far, and how the tuples are while somebody looks at it."""
    value = evaluate(context, path.function, path.state, op.value) if op.value is not None else None
    if _gives_nothing(context, path, op):
        return path.state.bind(op.result.id, None)
    before = path.state.env.get("%yield")
    items = before.items if isinstance(before, GeneratorResult) else frozenset()
    if value is not None and any(tokens_in(value)):
        items |= value.items if isinstance(value, GeneratorResult) and op.delegate else {value}
    given = GeneratorResult(items, frozenset(path.state.tokens.items()))
    state = path.state
    if isinstance(value, GeneratorResult) and op.delegate:
        state = _run_out(context, path, state, value)
    return state.bind(op.result.id, None).bind("%yield", given)


# ---- branches, loops, handlers ----


def _tested(context: Context, path: Path, condition: Expr) -> Iterator[WayOn]:
    step = path.step
    for truth, learnt in branch(context, path.function, path.state, condition):
        after = _without_temporary(learnt, condition)
        wanted = EdgeKind.TRUE if truth else EdgeKind.FALSE
        for kind, target in step.edges:
            if kind is wanted or (
                kind in (EdgeKind.BACK, EdgeKind.NEXT) and wanted not in {e.kind for e in step.edges}
            ):
                yield WayOn(wanted, target, after)
    for kind, target in step.edges:
        if kind is EdgeKind.RAISE:
            yield WayOn(kind, target, _raising(context, path, step))


def _without_temporary(state: State, condition: Expr) -> State:
    """A temporary is tested once: what was known of it only keeps equal states apart."""
    subject = condition.left if isinstance(condition, Compare) else condition
    if isinstance(subject, Name) and subject.id.startswith("%"):
        return invalidate_target(state, subject)
    return state


def _iterated(context: Context, path: Path, op: Next) -> Iterator[WayOn]:
    state = path.state
    iterable = evaluate(context, path.function, state, op.iterable)
    again = op.loop in state.loops
    for more, after in _rounds(context, path, op, iterable, again=again):
        wanted = EdgeKind.TRUE if more else EdgeKind.FALSE
        for kind, target in path.step.edges:
            if kind is wanted:
                known = bind_aliases(path.function, path.index, after) if more else after
                yield WayOn(kind, target, known)
    if iterable is None and isinstance(op.iterable, Name):
        for kind, target in path.step.edges:
            if kind is EdgeKind.RAISE and target != RAISED:
                yield WayOn(kind, target, _raising(context, path, path.step))


def _rounds(
    context: Context, path: Path, op: Next, iterable: Value | None, *, again: bool
) -> Iterator[tuple[bool, State]]:
    match iterable:
        case Batch(token=token):
            yield from _batch_rounds(context, path, op, token, TokenRef(token), again=again)
        case Zipped(token=token, column=column, numbered=numbered):
            yield from _batch_rounds(context, path, op, token, Row(token, column, numbered), again=again)
        case Count(of=Batch(token=token)):
            yield from _batch_rounds(context, path, op, token, Index(token), again=again)
        case Count(of=Container(items=items) as listed) if any(tokens_in(listed)):
            yield from _listed_rounds(context, path, op, [None] * len(items))
        case Container(items=items) if any(tokens_in(iterable)) or any(isinstance(i, Picked) for i in items):
            yield from _listed_rounds(context, path, op, sorted(items, key=repr))
        case Field(name=field):
            yield from _open_rounds(context, path, op, stored(field))
        case TokenRef(token=token, part="") if token.kind is TokenKind.STORED:
            yield from _open_rounds(context, path, op, stored(token.field, f"{token.path}[*]"))
        case GeneratorResult() if iterable == EMPTY_GENERATOR:
            yield False, path.state
        case GeneratorResult(items=items) as given:
            for more, after in _rounds(context, path, op, Container(items), again=again):
                yield more, after if more else _run_out(context, path, after, given)
        case _:
            yield from number_of_rounds(context, path, op)


def _run_out(context: Context, path: Path, state: State, given: GeneratorResult) -> State:
    """A generator comes to its end: what was completed meanwhile is completed once more.

    Of a batch that is not said: its element may be another one than that of the loop.
    """
    for token, token_state in given.token_states:
        now = context.token_state(state, token).stage
        if token.kind is TokenKind.INPUT and now in (Stage.ACKED, Stage.FAILED):
            op = Op.ACK if token_state.stage is Stage.ACKED else Op.FAIL
            state = complete(context, path, state, op, token)
    return finish_generator(state, given)


def _open_rounds(context: Context, path: Path, op: Next, element: TokenRef) -> Iterator[tuple[bool, State]]:
    """Over what a field holds: any number of rounds, each with a tuple not seen before."""
    state = path.state
    fresh = {
        token: held
        for token, held in state.tokens.items()
        if token.kind is not TokenKind.STORED or token.field != element.token.field
    }
    yield True, assign(context, path, state.replace(tokens=fresh), op.target, element)
    yield False, state


def _batch_rounds(
    context: Context, path: Path, op: Next, token: Token, element: TokenRef | Row | Index, *, again: bool
) -> Iterator[tuple[bool, State]]:
    """Over a batch: at least one round; each element starts where the loop found the batch, in no list that the loop fills.

    After a loop that fills lists it is the last element that is in them, or not, and what was done with it that counts.
    """
    state = path.state
    now = context.token_state(state, token)
    if again:
        memory = state.loops[op.loop]
        done = {loop: kept for loop, kept in state.loops.items() if loop != op.loop}
        filled = _collections(state, token) - memory.containers
        rest = now if filled else worse(memory.rest, now)
        yield False, state.replace(loops=done).with_token(token, rest)
        memory = memory._replace(rest=None if filled else rest)
        state = _emptied(state, token, filled)
    else:
        memory = LoopState(now, None, containers=_collections(state, token))
    state = state.replace(loops={**state.loops, op.loop: memory}).with_token(token, memory.base or now)
    yield True, assign(context, path, state, op.target, element)


def _collections(state: State, token: Token) -> frozenset[str]:
    """The locals that hold the token among others."""
    return frozenset(
        name
        for name, value in state.env.items()
        if isinstance(value, Container) and token in tokens_in(value)
    )


def _emptied(state: State, token: Token, names: frozenset[str]) -> State:
    """The state in which the token is in none of these collections."""
    if not names:
        return state
    env = dict(state.env)
    for name in names:
        held = env[name]
        if isinstance(held, Container):
            env[name] = Container(frozenset(item for item in held.items if token not in tokens_in(item)))
    return state.replace(env=env)


def _listed_rounds(
    context: Context, path: Path, op: Next, items: Sequence[Value | None]
) -> Iterator[tuple[bool, State]]:
    """Over a list whose tuples are known: each in turn, once."""
    state = path.state
    memory = state.loops.get(op.loop)
    position = memory.position if memory is not None else 0
    if position >= len(items):
        done = {loop: kept for loop, kept in state.loops.items() if loop != op.loop}
        yield False, state.replace(loops=done)
        return
    after = state.replace(loops={**state.loops, op.loop: LoopState(None, None, position + 1)})
    yield True, assign(context, path, after, op.target, items[position])


def _caught(path: Path, op: Catch) -> Iterator[WayOn]:
    state = path.state
    certain, possible = catches(op, state.raising or "")
    for kind, target in path.step.edges:
        if kind is EdgeKind.TRUE and possible:
            after = state.replace(raising=None, caught=(path.function.path, path.step.span.line))
            yield WayOn(
                kind, target, after.bind(op.name, ExceptionValue(state.raising or "")) if op.name else after
            )
        elif kind is not EdgeKind.TRUE and not certain:
            yield WayOn(EdgeKind.FALSE, target, state)


_ALL = range(1 << 30)  # the loops around a helper's call: no step of it leaves them


def each_element(context: Context, path: Path, way: WayOn) -> Iterator[WayOn]:
    """The way itself, or, where it leaves a loop over the batch early, one for each kind of element."""
    token, state = context.subject, way.state
    bodies = _bodies(path.function)
    left = {loop: memory for loop, memory in state.loops.items() if way.target not in bodies.get(loop, _ALL)}
    if left:
        state = state.replace(loops={loop: kept for loop, kept in state.loops.items() if loop not in left})
    batches = [loop for loop, memory in left.items() if memory.base is not None]
    if not batches or token is None or token.kind is not TokenKind.ELEMENT:
        yield way._replace(state=state) if left else way
        return
    first = left[min(batches)]
    now = context.token_state(state, token)
    yield WayOn(way.kind, way.target, state)
    others = [
        token_state
        for token_state in (first.base, first.rest)
        if token_state is not None and token_state != now
    ]
    for token_state in dict.fromkeys(others):
        yield WayOn(way.kind, way.target, _nameless(state, token).with_token(token, token_state))


def _nameless(state: State, token: Token) -> State:
    """The state in which no local is that element: the names mean the one at hand."""

    def other(value: Value) -> bool:
        return not (isinstance(value, (TokenRef, Index)) and value.token == token)

    return state.replace(env={name: value for name, value in state.env.items() if other(value)})


@memoize
def _bodies(function: Function) -> Mapping[int, range]:
    """The steps of each loop by its number."""
    cfg = function.cfg
    return {
        step.op.loop: cfg.bodies[head] for head, step in enumerate(cfg.steps) if isinstance(step.op, Next)
    }
