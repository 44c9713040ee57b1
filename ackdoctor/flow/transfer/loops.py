"""Transfer function of loops: which iterations a path may take, and what it knows after the loop.

A loop over a batch runs once for each element; a loop over known elements runs in their order; any other loop runs any
number of times, or as often as its induction variable allows.

A generator of the project is solved to its end where it is called, but a loop over it runs in the middle of it:

    def words(self, tup):
        for word in tup.values[0].split():
            yield word                          `tup` is owed while the loop below runs
        self.ack(tup)                           and acked after the loop

    for word in self.words(tup):
        self.emit([word])

In the loop body, the generator holds the tuples that it completes after its last `yield`; after the loop they are
completed (`suspend_generator`, `finish_generator`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.predicates import PREDICATES
from ackdoctor.flow.domains.product import PRODUCT
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import calls_by_result, last_name, local_values, memoize
from ackdoctor.flow.facts import tested_subjects
from ackdoctor.flow.induction import (
    BodyCounter,
    CountedLoop,
    body_counters,
    counted_loops,
    induction_variables,
    minus,
)
from ackdoctor.flow.pure_calls import nonempty_facts, nonempty_results
from ackdoctor.flow.state import LoopState, State
from ackdoctor.flow.transfer.assignment import assign, assign_next_number
from ackdoctor.flow.transfer.buffer_loops import (
    complete_batch,
    completes_some,
    element_of_rest,
    field_iterations,
    leave_field_loops,
    loop_heads,
    skip_groups,
)
from ackdoctor.flow.transfer.escape import worse_state
from ackdoctor.flow.transfer.evaluate import evaluate, is_empty_selection, one_of
from ackdoctor.flow.transfer.verbs import complete
from ackdoctor.flow.values import (
    EMPTY_GENERATOR,
    Batch,
    Const,
    Container,
    Count,
    Field,
    GeneratorResult,
    Index,
    Picked,
    Row,
    Token,
    TokenKind,
    TokenRef,
    TokenState,
    Value,
    Zipped,
    tokens_in,
)
from ackdoctor.libraries.vocabulary import ITERATORS, RANGES
from ackdoctor.model.cfg import Bind, Build, Call, Compare, EdgeKind, Expr, Function, Name, Next, Star, Yield
from ackdoctor.model.protocol import Op, Stage


class NextStep(NamedTuple):
    """An edge: its kind, its target and the state after it."""

    kind: EdgeKind
    target: int
    state: State


def iterations(
    context: Context, path: Path, op: Next, iterable: Value | None, *, again: bool
) -> Iterator[tuple[bool, State]]:
    """Yield whether a loop has another iteration, with the state in it, or the state after the loop."""
    match iterable:
        case Batch(token=token, whole=whole):
            yield from _batch_iterations(context, path, op, token, TokenRef(token), again=again, whole=whole)
        case Zipped(token=token, column=column, numbered=numbered):
            yield from _batch_iterations(context, path, op, token, Row(token, column, numbered), again=again)
        case Count(of=Batch(token=token)):
            yield from _batch_iterations(context, path, op, token, Index(token), again=again)
        case Count(of=Container(items=items) as listed) if any(tokens_in(listed)):
            yield from _list_iterations(context, path, op, [None] * len(items))
        case Container() if isinstance(op.iterable, Build) and one_of(iterable.items):
            values = [evaluate(context, path.function, path.state, item) for item in op.iterable.items]
            yield from _list_iterations(context, path, op, values)
        case Container(items=items, keys=keys) if (
            any(tokens_in(iterable))
            or any(isinstance(i, Picked) for i in items)
            or (one_of(items) and not keys)
        ):
            yield from _list_iterations(context, path, op, sorted(items, key=repr))
        case Field() as buffer:
            yield from _buffer_iterations(context, path, op, buffer)
        case TokenRef(token=token, part="") if token.kind is TokenKind.STORED:
            yield from _buffer_iterations(context, path, op, token.members)
        case GeneratorResult() if iterable == EMPTY_GENERATOR:
            yield False, path.state
        case GeneratorResult(items=items) as result:
            for more, after in iterations(context, path, op, Container(items), again=again):
                yield more, after if more else complete_generator(context, path, after, result)
        case _:
            yield from _counted_loop_steps(context, path, op)


def _buffer_iterations(context: Context, path: Path, op: Next, buffer: Field) -> Iterator[tuple[bool, State]]:
    """Yield the iterations over a field, or over a collection in it."""
    element = TokenRef(buffer.element)
    for more, after in field_iterations(context, path, op, buffer):
        yield more, assign(context, path, after, op.target, element) if more else after


def _batch_iterations(
    context: Context,
    path: Path,
    op: Next,
    token: Token,
    element: TokenRef | Row | Index,
    *,
    again: bool,
    whole: bool = False,
) -> Iterator[tuple[bool, State]]:
    """Yield the iterations over a batch: at least one, each with an element in the state before the loop and in no list that the loop fills.

    After a loop that fills lists, the last element and its state count for all.
    """
    state = path.state
    now = context.token_state(state, token)
    resumed = not again and op.iterable in _resumed_iterators(path.function)
    if resumed and (now.stage is not Stage.OWED or now.holders == _TAKEN):
        yield False, state  # an earlier loop took the element from the iterator
        return
    if again:
        memory = state.loops[op.loop]
        filled = _collections(state, token) - memory.containers
        rest = now if filled else worse_state(memory.rest, now)
        left = state.leave_loop(op.loop).with_token(token, rest)
        yield False, complete_batch(context, path.function, left, op.loop, token, rest) if whole else left
        memory = memory._replace(rest=None if filled else rest)
        state = _remove_token(state, token, filled)
    else:
        now = element_of_rest(context, path.function, state, op.loop, token, now)
        memory = LoopState(now, None, containers=_collections(state, token))
    done_inside = state.contents.get(Batch(token)) if again and whole else None
    base = memory.base or now
    if done_inside is not None and done_inside.stage is not None:  # by a loop over the whole batch
        base = base._replace(stage=done_inside.stage)
    state = state.enter_loop(op.loop, memory).with_token(token, base)
    yield True, assign(context, path, state, op.target, element)


def _collections(state: State, token: Token) -> frozenset[str]:
    """Return the local collections that contain the token."""
    return frozenset(
        name
        for name, value in state.env.items()
        if isinstance(value, Container) and token in tokens_in(value)
    )


def _remove_token(state: State, token: Token, names: frozenset[str]) -> State:
    """Return the state in which none of these collections contains the token."""
    if not names:
        return state
    env = dict(state.env)
    for name in names:
        held = env[name]
        if isinstance(held, Container):
            env[name] = Container(frozenset(item for item in held.items if token not in tokens_in(item)))
    return state.replace(env=env)


def _list_iterations(
    context: Context, path: Path, op: Next, items: Sequence[Value | None]
) -> Iterator[tuple[bool, State]]:
    """Yield the iterations over a list whose tuples are known: one for each, in order."""
    state = path.state
    memory = state.loops.get(op.loop)
    position = memory.position if memory is not None else 0
    if position >= len(items):
        yield False, state.leave_loop(op.loop)
        return
    after = state.enter_loop(op.loop, LoopState(None, None, position + 1))
    yield True, assign(context, path, after, op.target, items[position])


def complete_generator(context: Context, path: Path, state: State, result: GeneratorResult) -> State:
    """Return the state after a generator ends, with the completions that happened in it.

    The elements of a batch are left out: they may be other ones than that of the loop.
    """
    for token, token_state in result.token_states:
        now = context.token_state(state, token).stage
        if token.kind is TokenKind.INPUT and now in (Stage.ACKED, Stage.FAILED):
            op = Op.ACK if token_state.stage is Stage.ACKED else Op.FAIL
            state = complete(context, path, state, op, token)
    return finish_generator(state, result)


# ---- loops that count ----

_AT_ELEMENT, _BEFORE_ELEMENT, _LOST = (
    1,
    2,
    3,
)  # the position of a local that counts along with a loop; lost: unknown


def _counted_loop_steps(context: Context, path: Path, op: Next) -> Iterator[tuple[bool, State]]:
    """Yield whether a loop has another iteration, with the state in it, or the state after the loop."""
    function = path.function
    known = induction_variables(function)
    if (counted := counted_loops(function).get(op.loop)) and counted.name in known:
        yield from _counted_iterations(context, path, op, counted)
    elif (pace := body_counters(function).get(op.loop)) and pace.name in known:
        yield from _body_counter_iterations(context, path, op, pace)
    else:
        yield from _unknown_iterations(context, path, op, again=op.loop in path.state.loops)


def _counted_iterations(
    context: Context, path: Path, op: Next, loop: CountedLoop
) -> Iterator[tuple[bool, State]]:
    """Yield the iterations over `range(n)` or `enumerate(rows)`: another one while the incremented counter is below the end."""
    state, again = path.state, op.loop in path.state.loops
    last = (
        Compare(Name(loop.name), "<", minus(loop.stop, loop.step))
        if again
        else Compare(loop.start, "<", loop.stop)
    )
    for more, after in PRODUCT.outcomes(context, path, state, last):
        if more:
            memory = LoopState(None, None, position=1 if again else 0)
            before = after.enter_loop(op.loop, memory)
            assigned = assign(context, path, before, op.target, None)
            yield True, assign_next_number(context, path, before, assigned, op.target)
        else:
            yield False, after.leave_loop(op.loop)


def _body_counter_iterations(
    context: Context, path: Path, op: Next, pace: BodyCounter
) -> Iterator[tuple[bool, State]]:
    """Yield the iterations that a local counts: as many as there are elements, so the local ends at the size unless an iteration skips it."""
    state = path.state
    memory = state.loops.get(op.loop)
    at = _counter_position(memory) if memory is not None else _LOST
    emptiness = nonempty_facts(path.function, op.iterable)
    known = None
    if memory is None and PREDICATES.evaluate(context, path.function, state, pace.first) == Const(value=True):
        runs = PREDICATES.evaluate(context, path.function, state, pace.more)
        at, known = _AT_ELEMENT, runs.value if isinstance(runs, Const) else None
    if at == _AT_ELEMENT and memory is not None:
        ways = PRODUCT.outcomes(context, path, state, pace.more)
    else:
        ways = _unknown_iterations(context, path, op, again=memory is not None)
    for more, after in ways:
        if known is not None and more != known:
            continue
        facts = dict(after.facts)
        if at == _AT_ELEMENT:
            facts[pace.more] = more
            if memory is None:  # and whether there is any element
                facts |= dict.fromkeys(emptiness, more)
        elif at == _BEFORE_ELEMENT:
            facts |= {pace.more: True, pace.lagging: more}
        if not more:
            yield False, after.replace(facts=facts).leave_loop(op.loop)
            continue
        known_here = after.replace(facts=facts).enter_loop(op.loop, LoopState(None, None, position=at))
        yield True, assign(context, path, known_here, op.target, None)


def _counter_position(memory: LoopState) -> int:
    """Return the position of a counting local after an iteration, if the path still knows it."""
    return memory.position if memory.counted or memory.position == _LOST else _BEFORE_ELEMENT


def _unknown_iterations(
    context: Context, path: Path, op: Next, *, again: bool
) -> Iterator[tuple[bool, State]]:
    """Yield the iterations over an unknown iterable: at least one if the path knows it is not empty, none if it knows it is."""
    state = path.state
    emptiness = nonempty_facts(path.function, op.iterable)
    known = next((state.facts[fact] for fact in emptiness if fact in state.facts), None)
    if known is None and _has_elements(context, path.function, op.iterable):
        known = True
    if known is None and is_empty_selection(context, path.function, state, op.iterable):
        known = False
    tested = tested_subjects(path.function).intersection(emptiness) if known is None and not again else ()
    if known is not False:
        more = state.enter_loop(op.loop, LoopState(None, None)) if known else state
        more = more.replace(facts={**more.facts, **dict.fromkeys(tested, True)}) if tested else more
        yield True, assign(context, path, more, op.target, None)
    if again or not (known or _covers_batch(context, path, op)):
        left = state.replace(facts={**state.facts, **dict.fromkeys(tested, False)}) if tested else state
        if not again:
            left = skip_groups(context, path.function, left, op)
        yield False, left.leave_loop(op.loop)


def _covers_batch(context: Context, path: Path, op: Next) -> bool:
    """Whether a loop that completes tuples of a batch is assumed to cover it: `for answer in client.bulk(rows)`."""
    subject = context.subject
    if subject is None or subject.kind is not TokenKind.ELEMENT or not isinstance(op.iterable, Name):
        return False
    made = next(iter(local_values(path.function).get(op.iterable.id, ())), None)
    maker = made if isinstance(made, Call) else calls_by_result(path.function).get(made) if made else None
    if maker is None or last_name(maker.func) in RANGES:
        return False
    inside = any(memory.base is not None for memory in path.state.loops.values())
    return not inside and completes_some(context, path.function, op.loop)


def _has_elements(context: Context, function: Function, iterable: Expr) -> bool:
    """Whether an iterable certainly has an element: `(1, 2)`, `range(3)`, `line.split(",")`, `Arrays.asList(a, b)`."""
    if isinstance(iterable, Build):
        return any(not isinstance(item, Star) for item in iterable.items)
    call = calls_by_result(function).get(iterable)
    if call is not None and (name := last_name(call.func)) in context.library.literals:
        single = len(call.args) == 1 and name in context.library.arrays  # it may be an array
        return not single and any(not arg.star for arg in call.args)
    return iterable in nonempty_results(function, context.library.nonempty)


# ---- loops that a path leaves early ----

_TAKEN = ("iterator",)  # holds the element that a path took before it left the loop over an iterator


def split_by_element(context: Context, path: Path, way: NextStep) -> Iterator[NextStep]:
    """Yield the edge itself, or one for each kind of element if it leaves a loop over a batch early."""
    token, state = context.subject, way.state
    heads, bodies = loop_heads(path.function), path.function.cfg.bodies
    left = {
        loop: memory
        for loop, memory in state.loops.items()
        if loop in heads
        and way.target not in bodies[heads[loop]]  # no step of a helper leaves a loop around it
    }
    if left:
        state = state.replace(
            loops={loop: memory for loop, memory in state.loops.items() if loop not in left}
        )
        state = leave_field_loops(context, path, state, left, way.kind)
    batches = [loop for loop, memory in left.items() if memory.base is not None]
    if not batches or token is None or token.kind is not TokenKind.ELEMENT:
        yield way._replace(state=state) if left else way
        return
    first = left[min(batches)]
    now = context.token_state(state, token)
    ops = (path.function.cfg.steps[heads[loop]].op for loop in batches)
    if any(isinstance(op, Next) and op.iterable in _resumed_iterators(path.function) for op in ops):
        now = now._replace(holders=_TAKEN)
        state = state.with_token(token, now)
    yield NextStep(way.kind, way.target, state)
    others = [
        token_state
        for token_state in (first.base, first.rest)
        if token_state is not None and token_state != now
    ]
    for token_state in dict.fromkeys(others):
        yield NextStep(way.kind, way.target, _forget_element(state, token).with_token(token, token_state))


def _forget_element(state: State, token: Token) -> State:
    """Return the state in which no local is that element: the names mean the current one."""

    def other(value: Value) -> bool:
        return not (isinstance(value, (TokenRef, Index)) and value.token == token)

    return state.replace(env={name: value for name, value in state.env.items() if other(value)})


# ---- loops over generators ----


def suspend_generator(state: State, result: GeneratorResult, generator: str) -> tuple[State, GeneratorResult]:
    """The state that a loop body sees, from the state at the generator's end, and the result of the generator."""
    if result.empty:
        return state, result
    pending: list[tuple[Token, TokenState]] = []
    known = dict(result.token_states)  # a tuple from a field is in it only once the generator has used it
    for token, now in state.tokens.items():
        before = known.get(token)
        changed = before is None or now.stage is not before.stage
        if changed and now.stage in (Stage.ACKED, Stage.FAILED):
            pending.append((token, now))
            state = state.with_token(token, now._replace(stage=Stage.HELD, holders=(generator,)))
    return state, GeneratorResult(result.items, frozenset(pending), result.empty)


def finish_generator(state: State, result: GeneratorResult) -> State:
    """The state after the generator's end: the tuples that it held are completed."""
    for token, token_state in result.token_states:
        now = state.tokens.get(token)  # None if the loop has looked up another tuple in the field
        if now is not None and now.stage is Stage.HELD:
            state = state.with_token(token, token_state)
    return state


@memoize
def _resumed_iterators(function: Function) -> frozenset[Expr]:
    """The iterators that several loops share: each loop goes on where the one before ended."""
    loops = Counter(step.op.iterable for step in function.cfg.steps if isinstance(step.op, Next))
    made = {result for result, call in calls_by_result(function).items() if last_name(call.func) in ITERATORS}
    values = local_values(function)
    return frozenset(
        iterable
        for iterable, count in loops.items()
        if count > 1 and isinstance(iterable, Name) and made.issuperset(values.get(iterable.id, (None,)))
    )


@memoize
def iterated_locals(function: Function) -> frozenset[Expr]:
    """The locals that a loop or a `yield from` iterates over, and the locals copied into them."""
    found: set[Expr] = set()
    for step in function.cfg.steps:
        match step.op:
            case Next(iterable=Name() as iterable) | Yield(value=Name() as iterable, delegate=True):
                found.add(iterable)
            case _:
                pass
    copies = [step.op for step in function.cfg.steps if isinstance(step.op, Bind) and step.op.target in found]
    return frozenset(found | {copy.value for copy in copies})
