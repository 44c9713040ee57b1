"""Loops over buffers: which iterations a path may take, and what it then knows of the tuples in the buffer."""

from collections.abc import Iterator, Mapping

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.aliases import named_closures
from ackdoctor.flow.domains.tuples import AS_FOUND, DONE, drop_current, forget_other_key, next_tuple
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import is_slice, last_name, local_values, memoize
from ackdoctor.flow.pure_calls import nonempty_facts
from ackdoctor.flow.state import EMPTY, FOUND, LEFT, OWED, UNKNOWN, Contents, LoopState, State
from ackdoctor.flow.transfer.effects import callees
from ackdoctor.flow.transfer.escape import worse_state
from ackdoctor.flow.transfer.evaluate import evaluate
from ackdoctor.flow.values import Batch, Container, Field, Token, TokenRef, TokenState, tokens_in
from ackdoctor.model.cfg import (
    ENTRY,
    EXIT,
    Attr,
    Bind,
    Build,
    Call,
    Catch,
    Closure,
    Compare,
    EdgeKind,
    Expr,
    Function,
    Item,
    Literal,
    Name,
    Next,
    Test,
)
from ackdoctor.model.protocol import Stage


def field_iterations(context: Context, path: Path, op: Next, field: Field) -> Iterator[tuple[bool, State]]:
    """Yield whether a loop over a field has another iteration, with the state before its target is assigned."""
    state, memory = path.state, path.state.loops.get(op.loop)
    if field.name not in context.stored_stages:
        yield True, next_tuple(state, field)
        yield False, state
    elif memory is None:
        state = forget_other_key(path.function, state, op.iterable, field.place)
        if is_part(path.function, op.iterable):
            state = state.with_contents(field, UNKNOWN)
        before = state.known_contents(field)
        known = {
            state.facts[fact] for fact in nonempty_facts(path.function, op.iterable) if fact in state.facts
        }
        if True not in known and before in (None, FOUND, EMPTY, UNKNOWN):
            yield False, _skip_loop(context, state, field)
        if False not in known and before != EMPTY:
            inside = next_tuple(state, field).enter_loop(
                op.loop, LoopState(None, None, field=field, before=before)
            )
            for at_start in _stages_at_start(context, path.function, op.loop, before):
                yield True, inside.with_contents(field, at_start)
    else:
        drop_current(context, path, state, field)
        rest = _rest(state, memory)
        yield False, _after_loop(context, path.function, state, op.loop, memory, rest, every=True)
        yield True, next_tuple(state, field).enter_loop(op.loop, memory._replace(rest=rest))


def is_part(function: Function, iterable: Expr) -> bool:
    """Whether a loop is over the first or the last elements of a list: `rows[:n]`, `rows[n:]`."""
    sources = local_values(function).get(iterable.id, ()) if isinstance(iterable, Name) else (iterable,)
    return any(
        isinstance(source, Item)
        and is_slice(source.key)
        and [bound == Literal(None) for bound in source.key.parts[:2]] in ([True, False], [False, True])
        for source in sources
    )


def skip_groups(context: Context, function: Function, state: State, op: Next) -> State:
    """Return the state after no iteration of a loop over something else that completes whole fields: groups of their tuples.

    Whether there are tuples without a group is unknown.
    """
    body = function.cfg.bodies[loop_heads(function)[op.loop]]
    inner = [step.op for step in function.cfg.steps[body.start : body.stop] if isinstance(step.op, Next)]
    for each in inner:
        whole = evaluate(context, function, state, each.iterable)
        kept = isinstance(whole, Field) and state.contents.get(whole) in AS_FOUND
        if isinstance(whole, Field) and kept and completes_some(context, function, each.loop):
            state = state.with_contents(whole, UNKNOWN)
    return state


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
    if before is None or before.stage not in DONE:
        return (OWED,)
    if not _completes_each(context, function, loop) and (not before.every or _catches_in_loop(function)):
        return (UNKNOWN,)
    return (before,) if before.every else (before._replace(every=True), OWED)


@memoize
def _catches_in_loop(function: Function) -> bool:
    """Whether a loop of a function catches exceptions: another loop may know for which tuples."""
    steps = function.cfg.steps
    return any(isinstance(steps[index].op, Catch) for body in function.cfg.bodies.values() for index in body)


def _rest(state: State, memory: LoopState) -> TokenState:
    """Return the worst state in which this or an earlier iteration leaves its tuple."""
    field = memory.field
    own = [held for token, held in state.tokens.items() if field is not None and field.holds(token)]
    collected = (value for value in state.env.values() if isinstance(value, Container))
    if any(held.tick.is_system for held in own) or any(
        field is not None and field.holds(token) for value in collected for token in tokens_in(value)
    ):
        return worse_state(memory.rest, TokenState(Stage.HELD))
    done = [held for held in own if held.stage in DONE]
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
    """Return the state after a loop over a batch: it has completed each tuple, or some of them by a condition."""
    if not completes_some(context, function, loop):
        return state
    if not _completes_each(context, function, loop):
        return state.with_contents(Batch(token), UNKNOWN)
    if rest.stage in DONE and state.loops:  # a loop around it sees all of them done
        return state.with_contents(Batch(token), Contents(rest.stage, every=True))
    return state


def element_of_rest(
    context: Context, function: Function, state: State, loop: int, token: Token, now: TokenState
) -> TokenState:
    """Return the state of an element in a further loop over a batch.

    If both loops complete some elements by a condition, this loop may complete just the others.
    """
    some = state.contents.get(Batch(token)) == UNKNOWN and completes_some(context, function, loop)
    if some and not _completes_each(context, function, loop):
        return now._replace(stage=Stage.HELD, holders=("an earlier loop",))
    return now


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
                memory.rest if memory.rest is not None and memory.rest.stage in DONE else _rest(state, memory)
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
    state = state.leave_loop(loop)
    field = memory.field
    now = state.contents.get(field) if field is not None else UNKNOWN
    if field is None or now == UNKNOWN:  # the body changes the field
        return state
    if rest.stage in DONE and _completes_each(context, function, loop):
        whole = every or (now is not None and now.stage in DONE and now.every)
        return state.with_contents(field, Contents(rest.stage, every=whole))
    if rest.stage is Stage.OWED and not completes_some(context, function, loop):
        kept = memory.before is not None and memory.before.stage is not Stage.OWED
        if memory.before == LEFT and _collects(function, loop):
            return state.with_contents(field, UNKNOWN)  # it may list just those that an earlier loop has left
        return state.with_contents(field, memory.before if kept else OWED)
    if rest.stage is Stage.OWED and every and memory.before in (*AS_FOUND, LEFT):
        left = _left_by_exception(context, function, state, loop) or (
            memory.before != LEFT and _completes_last(context, function, loop)
        )
        return state.with_contents(field, LEFT if left else UNKNOWN)
    return state.with_contents(field, UNKNOWN)


def holds_rest(context: Context, path: Path, state: State, chosen: Name, field: str) -> bool:
    """Whether a list may hold what a loop over the field has not completed: another loop over the field has filled it."""
    function = path.function
    values = local_values(function).get(chosen.id, ())
    lists = {chosen, *(value for value in values if isinstance(value, Name))}
    steps = function.cfg.steps
    return state.contents.get(Field(field)) == LEFT and any(
        evaluate(context, function, state, loop.iterable) == Field(field)
        and _collects(function, number, lists)
        and not completes_some(context, function, number)
        for number, head in loop_heads(function).items()
        if isinstance(loop := steps[head].op, Next)
    )


def _collects(function: Function, loop: int, lists: set[Name] | None = None) -> bool:
    """Whether the body of a loop adds something to a collection, or to one of these lists."""
    body = function.cfg.bodies[loop_heads(function)[loop]]
    for index in body:
        match function.cfg.steps[index].op:
            case Bind(target=target, value=Build(items=(_, *_))):
                found: Expr = target
            case Call(func=Attr(obj=obj, name="append" | "add" | "put")):
                found = obj
            case _:
                continue
        if lists is None or found in lists:
            return True
    return False


def _completes_last(context: Context, function: Function, loop: int) -> bool:
    """Whether the rest of a function completes nothing but its own input after a loop: what the loop leaves stays owed.

    A loop that asks a collection of the component may leave what is in there: `if tup.id not in self.done`.  Of several
    loops in its body, one may complete what another has left.
    """
    head = loop_heads(function)[loop]
    tests = (function.cfg.steps[index].op for index in function.cfg.bodies[head])
    inner = [
        each for each, at in loop_heads(function).items() if at != head and at in function.cfg.bodies[head]
    ]
    completing = [each for each in inner if completes_some(context, function, each)]
    if len(completing) > 1 or any(isinstance(op, Test) and _asks_field(op.condition) for op in tests):
        return False
    exits = [edge.target for edge in function.cfg.steps[head].edges if edge.kind is EdgeKind.FALSE]
    after = function.cfg.reached(exits, lambda _, edge: edge.target != head)
    inputs = {Name(param.name) for param in function.params if param.name not in local_values(function)}
    return not any(
        _may_complete(context, function, index, frozenset())
        and not _completes_only(context, function, index, inputs)
        for index in after
    )


def _asks_field(condition: Expr) -> bool:
    return (
        isinstance(condition, Compare)
        and condition.op in ("in", "not in")
        and isinstance(condition.right, Attr)
    )


def _completes_only(context: Context, function: Function, index: int, inputs: set[Name]) -> bool:
    """Whether a step completes one of these tuples: `self.ack(tick)`."""
    match function.cfg.steps[index].op:
        case Call(func=func, args=(arg,)) if last_name(func) in context.completing_names:
            return arg.value in inputs
        case _:
            return False


def _left_by_exception(context: Context, function: Function, state: State, loop: int) -> bool:
    """Whether a handler in a loop has caught an exception and goes on to the next tuple past every completion."""
    outer = loop_heads(function)[loop]
    steps, bodies = function.cfg.steps, function.cfg.bodies
    return any(
        isinstance(steps[index].op, Catch)
        and (function.path, steps[index].span.line) == state.caught
        and _reaches(context, function, index, head, bodies[head])
        for head in bodies
        if head == outer or head in bodies[outer]
        for index in bodies[head]
    )


def _completes_each(
    context: Context, function: Function, loop: int, running: frozenset[int] = frozenset()
) -> bool:
    """Whether every way through the body of a loop, without exceptions, completes a tuple."""
    head = loop_heads(function)[loop]
    start = next(edge.target for edge in function.cfg.steps[head].edges if edge.kind is EdgeKind.TRUE)
    return not _reaches(context, function, start, head, function.cfg.bodies[head], running)


def completes_some(context: Context, function: Function, loop: int) -> bool:
    """Whether the body of a loop may complete a tuple."""
    body = function.cfg.bodies[loop_heads(function)[loop]]
    return any(_may_complete(context, function, index, frozenset()) for index in body)


@memoize
def loop_heads(function: Function) -> Mapping[int, int]:
    """Return the first step of each loop over elements, by its number."""
    return {step.op.loop: index for index, step in enumerate(function.cfg.steps) if isinstance(step.op, Next)}


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
