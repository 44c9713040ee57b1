"""Tuples: what a path knows of one tuple, and what it has done with all tuples that a field of the component holds.

A test may show that a tuple is a tick, or that a field is empty.

A loop over a field ends with the same thing done to each tuple if its body completes one on every way through it.
Then the field's tuples are known to be acked or failed until the field changes:

    for tup in self.batch:
        self.ack(tup)
    for tup in self.batch:          every tuple of `self.batch` is acked here
        self.fail(tup)

A loop that an exception or a `break` leaves has completed some of the tuples.  What a path does not do to all tuples
alike makes the contents unknown.
"""

import operator
from collections.abc import Iterator, Mapping

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.aliases import named_closures
from ackdoctor.flow.domains.domain import Domain
from ackdoctor.flow.events import Dropped, Path
from ackdoctor.flow.expressions import last_name, memoize, names_in
from ackdoctor.flow.facts import normalise
from ackdoctor.flow.pure_calls import inline_calls, nonempty_facts, size_of
from ackdoctor.flow.state import (
    EMPTY,
    FOUND,
    LEFT,
    OWED,
    TAKEN,
    UNKNOWN,
    Batch,
    Container,
    Contents,
    Field,
    Live,
    LoopState,
    State,
    TickTest,
    Token,
    TokenRef,
    TokenState,
    fields_in,
    tokens_in,
)
from ackdoctor.flow.transfer.effects import callees
from ackdoctor.flow.transfer.escape import release, worse_state
from ackdoctor.flow.transfer.evaluate import evaluate, tick_comparison
from ackdoctor.flow.transfer.liveness import container_keys
from ackdoctor.libraries.vocabulary import CONTAINER_REMOVALS
from ackdoctor.model.cfg import (
    ENTRY,
    EXIT,
    Attr,
    Call,
    Catch,
    Closure,
    Compare,
    EdgeKind,
    Expr,
    Function,
    Item,
    Literal,
    Mix,
    Name,
    Next,
    Way,
)
from ackdoctor.model.protocol import Stage, Tick

_DONE = (Stage.ACKED, Stage.FAILED)
_FOUND = (None, FOUND, OWED)
_HOLDS = {"<": operator.lt, ">": operator.gt, "==": operator.eq}  # the comparisons of normal forms


class Tuples(Domain):
    """What a path knows of `State.tokens` and `State.contents`."""

    def assume(
        self, context: Context, path: Path, after: State, condition: Expr, *, truth: bool
    ) -> State | None:
        """A test may show what a tuple is, or that a field holds none."""
        test = tick_test(context, path.function, after, condition)
        if test is None:
            return _learn_emptiness(context, path.function, after, condition, truth=truth)
        held = context.token_state(after, test.token)
        if isinstance(condition, Compare) and condition.op in ("!=", "is not", "not in"):
            truth = not truth
        if truth:
            unknown = (Tick.MAYBE,) if test.kind is Tick.YES else (Tick.MAYBE, Tick.NO)
            if held.tick not in (*unknown, test.kind):
                return None
            return after.with_token(test.token, held._replace(tick=test.kind))
        if held.tick is test.kind:
            return None
        known = Tick.NO if test.kind is Tick.YES and held.tick is Tick.MAYBE else held.tick
        return after.with_token(test.token, held._replace(tick=known))

    def join(self, state: State, live: Live) -> State:
        """A local ends with the last step that reads it."""
        if state.env.keys() <= live.names:
            return state
        return state.replace(env={name: value for name, value in state.env.items() if name in live.names})


TUPLES = Tuples()


def tick_test(context: Context, function: Function, state: State, condition: Expr) -> TickTest | None:
    """The test that a condition makes of a tuple: whether it is a tick, or another system tuple."""
    if isinstance(condition, Compare):
        return tick_comparison(context, function, state, condition)
    value = evaluate(context, function, state, condition)
    return value if isinstance(value, TickTest) else None


# ---- changes of a buffer ----


def empty_buffer(context: Context, path: Path, state: State, field: str) -> State:
    """Return the state after a field was emptied, and record the event if its tuples are still owed.

    While an exception leaves the handler, the worker ends, and with it the field.
    """
    if field not in context.stored_stages:
        return context.touch(state, Field(field))
    state = take_buffer(context, path, state, field)
    leaves = path.step.way is Way.RAISE
    indexed = field in _indexed_fields(path.function)
    known = state.contents.get(Field(field))
    is_used = _is_named(state, field) or (known != LEFT and _has_used(state, field))
    if known in (*_FOUND, LEFT) and not (leaves or indexed or is_used):
        _record_dropped(context, path, field)
    return state.with_contents(Field(field), EMPTY)


def is_whole_slice(place: Expr) -> bool:
    """Whether a place is all of a list: `self.batch[:]`."""
    match place:
        case Item(key=Mix(op="slice", parts=bounds)):
            return all(bound == Literal(None) for bound in bounds)
        case _:
            return False


@memoize
def _indexed_fields(function: Function) -> frozenset[str]:
    """Return the fields whose tuples the function looks up one by one: `self.batch[i]`, `batch.get(i)`."""
    found = [obj for obj, keys in container_keys(function).items() if any([*names_in(key)] for key in keys)]
    found += [
        step.op.func.obj
        for step in function.cfg.steps
        if isinstance(step.op, Call)
        and isinstance(step.op.func, Attr)
        and step.op.func.name in CONTAINER_REMOVALS | {"get"}
    ]
    return frozenset(obj.name for obj in found if isinstance(obj, Attr))


def take_buffer(context: Context, path: Path, state: State, field: str) -> State:
    """Return the state in which the locals that refer to a field keep its collection: the field gets another one."""
    collection, taken = Field(field), Field(field, taken=True)
    names = (name for name, value in state.env.items() if value == collection and is_named(Name(name)))
    locals_ = dict.fromkeys(names, taken)
    if not locals_:
        return state
    state = _lose_taken(context, path, state, taken)
    state = state.replace(env={**state.env, **locals_})
    return state.with_contents(taken, state.contents.get(collection) or FOUND)


def drain_buffer(context: Context, path: Path, state: State, field: str, target: str) -> State:
    """Return the state after some tuples of a field were moved into a local list."""
    taken = Field(field, taken=True)
    is_new = state.env.get(target) == Container(frozenset()) and all(
        value != taken for name, value in state.env.items() if name != target
    )
    if is_new:
        state = _lose_taken(context, path, state, taken).bind(target, taken).with_contents(taken, FOUND)
    else:
        state = state.bind(target, Container(frozenset({TokenRef(Field(field).element)})))
    return context.touch(state, Field(field))


def _lose_taken(context: Context, path: Path, state: State, taken: Field) -> State:
    """Return the state without what was taken out of a field before, which no local refers to any more."""
    if taken in state.env.values():
        return state
    if _is_lost(state, taken):
        _record_dropped(context, path, taken.name)
    return _next_tuple(state, taken)


def put_back(context: Context, path: Path, state: State, field: str) -> State:
    """Return the state after a collection that was taken out of a field was added to the new one.

    Its tuples are in two collections then, and what happens to one happens to the other: neither is followed further.
    """
    release(context, path, field)
    taken = Field(field, taken=True)
    env = {name: value for name, value in state.env.items() if value != taken}
    return context.touch(context.touch(state.replace(env=env), taken), Field(field))


def drop_at_end(context: Context, path: Path, state: State) -> None:
    """Record what a handler took out of a field and left as it found it: a tuple, or after an exception a collection."""
    for field in context.stored_stages:
        if _is_lost(state, Field(field, taken=True)):
            _record_dropped(context, path, field)
        elif _is_removed(state, field):
            _record_dropped(context, path, field, removed=True)


def _is_lost(state: State, taken: Field) -> bool:
    """Whether a path has left what it took out of a field as it found it, after an exception."""
    known = state.contents.get(taken)
    is_owed = known == LEFT or (known in (FOUND, OWED) and not _has_used(state, taken.name))
    return is_owed and state.caught is not None


def _record_dropped(context: Context, path: Path, field: str, *, removed: bool = False) -> None:
    dropped = Dropped(
        function=path.function,
        step=path.step,
        path=path,
        deferral=context.deferral,
        field=field,
        removed=removed,
    )
    context.record(dropped, field, removed)


# ---- single tuples of a buffer ----


def remove_tuple(context: Context, path: Path, state: State, field: str) -> State:
    """Return the state after a tuple was removed from a field and given a name: other code has lost it.

    It is in the stage in which its handler left it, unless the path has completed all tuples of the field.
    """
    if field not in context.stored_stages:
        return state
    if _is_removed(state, field):
        _record_dropped(context, path, field, removed=True)
    collection = Field(field)
    known = state.contents.get(collection)
    if known == OWED:
        state = state.with_contents(collection, None)  # it may be empty now
    elif known is not None and not known.every:
        state = state.with_contents(collection, UNKNOWN)
    removed = collection.element
    state = forget_place(other_tuple(state, TokenRef(removed)), removed)
    return state.with_token(removed, context.token_state(state, removed))


def other_tuple(state: State, read: TokenRef) -> State:
    """Return the state after another stored tuple was read: the locals that hold an earlier one are unknown."""
    env = {name: value for name, value in state.env.items() if value != read or not is_named(Name(name))}
    return state if len(env) == len(state.env) else state.replace(env=env)


def is_named(expr: Expr) -> bool:
    """Whether an expression is a local that the source names, no temporary."""
    return isinstance(expr, Name) and not expr.id.startswith("%")


def forget_other_key(function: Function, state: State, expr: Expr, whole: Token) -> State:
    """Return the state after `self.pending[key]` was read: if the function uses several keys, it is another place."""
    if not isinstance(expr, Item) or len(container_keys(function)[expr.obj]) == 1:
        return state
    return forget_place(state, whole)


def forget_place(state: State, whole: Token) -> State:
    """Return the state after another tuple, or none, has taken the place of a stored one: its parts are unknown."""

    def is_part(token: Token) -> bool:
        same = token.field == whole.field and token.path.startswith(TAKEN) == whole.path.startswith(TAKEN)
        return same and token.path.startswith(whole.path)

    tokens = {token: held for token, held in state.tokens.items() if not is_part(token)}
    contents = {
        each: known
        for each, known in state.contents.items()
        if not (isinstance(each, Field) and each.part and is_part(each.place))
    }
    if len(tokens) + len(contents) == len(state.tokens) + len(state.contents):
        return state
    return state.replace(tokens=tokens, contents=contents)


def _is_removed(state: State, field: str) -> bool:
    """Whether a tuple that the path has removed from a field is still owed, and in no collection."""
    if all(token.field != field for token in state.tokens) or _has_used(state, field):
        return False
    return not any(token.field == field for value in state.env.values() for token in tokens_in(value))


def _is_named(state: State, field: str) -> bool:
    """Whether a local still refers to the field or to a tuple from it."""
    return any(field in fields_in(value) for name, value in state.env.items() if is_named(Name(name)))


def _has_used(state: State, field: str) -> bool:
    """Whether the path has completed a tuple from a field, or other code got one."""
    return any(token.field == field and held.stage is not Stage.OWED for token, held in state.tokens.items())


def _learn_emptiness(
    context: Context, function: Function, state: State, condition: Expr, *, truth: bool
) -> State | None:
    """Return the state after a test that may show that a field is empty, or that there was no tuple to remove.

    The result is None if the path has emptied the field and the test says that it is not empty.
    """
    if not context.stored_stages:
        return state
    fact, same = normalise(inline_calls(function, condition))
    nothing = truth != same
    match fact:
        case Compare(left=tested, op="is" | "==", right=Literal(value=None)):
            nothing = not nothing
        case Mix(op="any", parts=(tested,)):
            pass
        case Compare(left=left, op=op, right=Literal(value=int(bound))) if (
            whole := size_of(left)
        ) is not None:
            size = evaluate(context, function, state, whole)
            known = state.contents.get(size) if isinstance(size, Field) else None
            is_possible = known != EMPTY or op not in _HOLDS or _HOLDS[op](0, bound) != nothing
            return state if is_possible else None
        case _:
            tested = fact
    match evaluate(context, function, state, tested):
        case Field() as field if nothing:
            return state.with_contents(field, EMPTY)
        case Field() as field if state.contents.get(field) == EMPTY:
            return None
        case Field() as field if state.contents.get(field) in _FOUND:
            return state.with_contents(field, OWED)
        case TokenRef(token=token) if token.field and nothing:
            return _next_tuple(state, Field(token.field))
        case _:
            return state


# ---- loops over a buffer ----


def field_iterations(context: Context, path: Path, op: Next, field: Field) -> Iterator[tuple[bool, State]]:
    """Yield whether a loop over a field has another iteration, with the state before its target is assigned."""
    state, memory = path.state, path.state.loops.get(op.loop)
    if field.name not in context.stored_stages:
        yield True, _next_tuple(state, field)
        yield False, state
    elif memory is None:
        state = forget_other_key(path.function, state, op.iterable, field.place)
        before = state.known_contents(field)
        known = {
            state.facts[fact] for fact in nonempty_facts(path.function, op.iterable) if fact in state.facts
        }
        if True not in known and before in (None, FOUND, EMPTY, UNKNOWN):
            yield False, _skip_loop(context, state, field)
        if False not in known and before != EMPTY:
            loops = {**state.loops, op.loop: LoopState(None, None, field=field, before=before)}
            for at_start in _stages_at_start(context, path.function, op.loop, before):
                yield True, _next_tuple(state, field).with_contents(field, at_start).replace(loops=loops)
    else:
        rest = _rest(state, memory)
        yield False, _after_loop(context, path.function, state, op.loop, memory, rest, every=True)
        loops = {**state.loops, op.loop: memory._replace(rest=rest)}
        yield True, _next_tuple(state, field).replace(loops=loops)


def _skip_loop(context: Context, state: State, field: Field) -> State:
    """Return the state after a loop over an empty collection; if it was removed from a field, nothing was lost with it."""
    if not field.part:
        return state.with_contents(field, EMPTY)
    for token, held in state.tokens.items():
        if held.stage is Stage.OWED and field.collection_is_in(token):
            state = state.with_token(token, held._replace(stage=Stage.HELD))
    return context.touch(state, field.place.collection).with_contents(field, EMPTY)


def _stages_at_start(
    context: Context, function: Function, loop: int, before: Contents | None
) -> tuple[Contents, ...]:
    """Return what may be known of each tuple when a loop starts: of some completed ones, two cases.

    If the loop chooses among the tuples, it may know which ones are completed.
    """
    if before is None or before.stage not in _DONE:
        return (OWED,)
    if not _completes_each(context, function, loop) and (not before.every or _catches_in_loop(function)):
        return (UNKNOWN,)
    return (before,) if before.every else (before._replace(every=True), OWED)


@memoize
def _catches_in_loop(function: Function) -> bool:
    """Whether a loop of a function catches exceptions: another loop may know for which tuples."""
    steps = function.cfg.steps
    return any(isinstance(steps[index].op, Catch) for body in function.cfg.bodies.values() for index in body)


def _next_tuple(state: State, field: Field) -> State:
    """Return the state in an iteration over a field: its tuple is another one than those before."""
    return forget_place(state, field.element)


def _rest(state: State, memory: LoopState) -> TokenState:
    """Return the worst state in which this or an earlier iteration leaves its tuple."""
    field = memory.field
    own = [held for token, held in state.tokens.items() if field is not None and field.holds(token)]
    done = [held for held in own if held.stage in _DONE]
    parts = (known for each, known in state.contents.items() if field is not None and _is_inside(each, field))
    now = TokenState(Stage.OWED)
    if LEFT in parts:
        return worse_state(memory.rest, now)
    for held in done or [held for held in own if held.stage is Stage.HELD]:
        now = worse_state(None if now.stage is Stage.OWED else now, held)
    return worse_state(memory.rest, now)


def _is_inside(collection: Field | Batch, field: Field) -> bool:
    """Whether a collection lies in an element of another one."""
    return isinstance(collection, Field) and collection != field and field.holds(collection.element)


def complete_batch(
    context: Context, function: Function, state: State, loop: int, token: Token, rest: TokenState
) -> State:
    """Return the state after a loop over a batch: if it completes each tuple, a loop around it sees all of them done."""
    if rest.stage in _DONE and state.loops and _completes_each(context, function, loop):
        return state.with_contents(Batch(token), Contents(rest.stage, every=True))
    return state


def leave_field_loops(
    context: Context, path: Path, state: State, left: Mapping[int, LoopState], kind: EdgeKind
) -> State:
    """Return the state after a path has left loops over fields early: some of the tuples are completed.

    A call of the framework hardly ever raises for one tuple after it has not for the others: what it leaves is unknown.
    """
    rare = kind is EdgeKind.RAISE and _is_framework_call(context, path)
    for loop, memory in left.items():
        if memory.field is not None and rare:
            state = state.with_contents(memory.field, UNKNOWN)
        elif memory.field is not None:
            rest = (
                memory.rest
                if memory.rest is not None and memory.rest.stage in _DONE
                else _rest(state, memory)
            )
            state = _after_loop(context, path.function, state, loop, memory, rest, every=False)
    return state


def _is_framework_call(context: Context, path: Path) -> bool:
    """Whether a step calls a verb of the framework, or a getter of a tuple."""
    match path.step.op:
        case Call(func=Attr(obj=obj, name=name)):
            receiver = evaluate(context, path.function, path.state, obj)
            return name in context.verb_names or isinstance(receiver, TokenRef)
        case _:
            return False


def _after_loop(
    context: Context,
    function: Function,
    state: State,
    loop: int,
    memory: LoopState,
    rest: TokenState,
    *,
    every: bool,
) -> State:
    loops = {each: kept for each, kept in state.loops.items() if each != loop}
    state = state.replace(loops=loops)
    field = memory.field
    now = state.contents.get(field) if field is not None else UNKNOWN
    if field is None or now == UNKNOWN:  # the body changes the field
        return state
    if rest.stage in _DONE and _completes_each(context, function, loop):
        whole = every or (now is not None and now.stage in _DONE and now.every)
        return state.with_contents(field, Contents(rest.stage, every=whole))
    if rest.stage is Stage.OWED and not _completes_some(context, function, loop):
        kept = memory.before is not None and memory.before.stage is not Stage.OWED
        return state.with_contents(field, memory.before if kept else OWED)
    if rest.stage is Stage.OWED and every and memory.before in (*_FOUND, LEFT):
        return state.with_contents(
            field, LEFT if _left_by_exception(context, function, state, loop) else UNKNOWN
        )
    return state.with_contents(field, UNKNOWN)


def _left_by_exception(context: Context, function: Function, state: State, loop: int) -> bool:
    """Whether a handler in a loop has caught an exception and goes on to the next tuple past every completion."""
    outer = _head(function, loop)
    steps, bodies = function.cfg.steps, function.cfg.bodies
    return any(
        isinstance(steps[index].op, Catch)
        and (function.path, steps[index].span.line) == state.caught
        and _reaches(context, function, index, head, bodies[head])
        for head in bodies
        if head == outer or head in bodies[outer]
        for index in bodies[head]
    )


# ---- which loops complete each tuple ----


def _completes_each(
    context: Context, function: Function, loop: int, running: frozenset[int] = frozenset()
) -> bool:
    """Whether every way through the body of a loop, without exceptions, completes a tuple."""
    head = _head(function, loop)
    start = next(edge.target for edge in function.cfg.steps[head].edges if edge.kind is EdgeKind.TRUE)
    return not _reaches(context, function, start, head, function.cfg.bodies[head], running)


def _completes_some(context: Context, function: Function, loop: int) -> bool:
    """Whether the body of a loop may complete a tuple."""
    body = function.cfg.bodies[_head(function, loop)]
    return any(_may_complete(context, function, index, frozenset()) for index in body)


def _head(function: Function, loop: int) -> int:
    return next(
        index
        for index, step in enumerate(function.cfg.steps)
        if isinstance(step.op, Next) and step.op.loop == loop
    )


def _reaches(
    context: Context,
    function: Function,
    start: int,
    goal: int,
    body: range,
    running: frozenset[int] = frozenset(),
) -> bool:
    """Whether a way without exceptions leads from a step of the body to `goal` past every completion."""
    stack, seen = [start], {start}
    while stack:
        index = stack.pop()
        if index == goal:
            return True
        if _completes(context, function, index, running):
            continue
        for edge in function.cfg.steps[index].edges:
            inside = edge.target in body or edge.target == goal
            if edge.kind is not EdgeKind.RAISE and inside and edge.target not in seen:
                seen.add(edge.target)
                stack.append(edge.target)
    return False


def _completes(context: Context, function: Function, index: int, running: frozenset[int]) -> bool:
    """Whether a step completes a tuple, directly, in a helper or in a loop, on every way through it."""
    op = function.cfg.steps[index].op
    if isinstance(op, Next):
        return _completes_each(context, function, op.loop, running)
    if not isinstance(op, Call):
        return False
    if last_name(op.func) in context.completing_names:
        return True
    called = [each for each in _called(context, function, op) if id(each) not in running]
    return bool(called) and not any(
        _reaches(context, each, ENTRY, EXIT, range(len(each.cfg.steps)), running | {id(each)})
        for each in called
    )


def _may_complete(context: Context, function: Function, index: int, running: frozenset[int]) -> bool:
    """Whether a step may complete a tuple, directly, in a helper or in a closure."""
    op = function.cfg.steps[index].op
    if not isinstance(op, Call):
        return False
    if last_name(op.func) in context.completing_names:
        return True
    called = [each for each in _called(context, function, op) if id(each) not in running]
    return any(
        _may_complete(context, inner, at, running | {id(each)})
        for each in called
        for inner in each.tree()
        for at in range(len(inner.cfg.steps))
    )


def _called(context: Context, function: Function, call: Call) -> tuple[Function, ...]:
    """Return the methods of the component or the closure that a call runs, by its name."""
    closure = named_closures(function).get(call.func, call.func)
    if isinstance(closure, Closure):
        return (function.closures[closure.key],)
    name = last_name(call.func)
    foreign = isinstance(call.func, Attr) and call.func.obj != Name(function.receiver)
    if foreign and any(entry.method == name for entry in context.component.role.entries):
        return ()  # `statement.execute(row)` is not the handler
    return callees(context, name)
