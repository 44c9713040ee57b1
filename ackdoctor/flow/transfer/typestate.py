"""The transfer function of one step: assignments, branches, loops, exception handlers and the exit of generators.

A loop over a batch runs once for each element; a loop over known elements runs in their order; any other loop runs any
number of times, or as often as its induction variable allows.
"""

import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ackdoctor.flow.aliases import bind_aliases
from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import memoize
from ackdoctor.flow.facts import tested_subjects
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
from ackdoctor.flow.transfer.assignment import (
    alias_list,
    assign,
    assign_next_number,
    copy_facts,
    unpack,
    update,
)
from ackdoctor.flow.transfer.buffers import (
    complete_batch,
    field_iterations,
    learn_emptiness,
    leave_field_loops,
)
from ackdoctor.flow.transfer.escape import after_store, completes_any, worse_state
from ackdoctor.flow.transfer.evaluate import evaluate, stored_tuple
from ackdoctor.flow.transfer.heap_cells import assign_place, new_box
from ackdoctor.flow.transfer.predicates import branch, known_truth
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
    Function,
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
from ackdoctor.model.protocol import Op, Stage

_CATCH_ALL = frozenset({"Exception", "BaseException", "StandardError", "Throwable"})


def catches(op: Catch, raising: str) -> tuple[bool, bool]:
    """Return whether an exception handler certainly catches what is raised, and whether it possibly does."""
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


_AT_ELEMENT, _BEFORE_ELEMENT, _LOST = (
    1,
    2,
    3,
)  # the position of a local that counts along with a loop; lost: unknown


def counted_loop_steps(context: Context, path: Path, op: Next) -> Iterator[tuple[bool, State]]:
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
    for more, after in branch(context, path.function, state, last):
        if more:
            memory = LoopState(None, None, position=1 if again else 0)
            before = after.replace(loops={**state.loops, op.loop: memory})
            assigned = assign(context, path, before, op.target, None)
            yield True, assign_next_number(context, path, before, assigned, op.target)
        else:
            yield (
                False,
                after.replace(
                    loops={each: memory for each, memory in state.loops.items() if each != op.loop}
                ),
            )


def _body_counter_iterations(
    context: Context, path: Path, op: Next, pace: BodyCounter
) -> Iterator[tuple[bool, State]]:
    """Yield the iterations that a local counts: as many as there are elements, so the local ends at the size unless an iteration skips it."""
    state = path.state
    memory = state.loops.get(op.loop)
    at = _counter_position(memory, pace, state) if memory is not None else _LOST
    emptiness = nonempty_facts(path.function, op.iterable)
    known = None
    if memory is None and known_truth(context, path.function, state, pace.first):
        at, known = _AT_ELEMENT, known_truth(context, path.function, state, pace.more)
    if at == _AT_ELEMENT and memory is not None:
        ways = branch(context, path.function, state, pace.more)
    else:
        ways = _unknown_iterations(context, path, op, again=memory is not None)
    for more, after in ways:
        if known is not None and more != known:
            continue
        facts = {fact: truth for fact, truth in after.facts.items() if fact != pace.mark}
        if at == _AT_ELEMENT:
            facts[pace.more] = more
            if memory is None:  # and whether there is any element
                facts |= dict.fromkeys(emptiness, more)
        elif at == _BEFORE_ELEMENT:
            facts |= {pace.more: True, pace.lagging: more}
        if not more:
            loops = {loop: memory for loop, memory in state.loops.items() if loop != op.loop}
            yield False, after.replace(facts=facts, loops=loops)
            continue
        loops = {**state.loops, op.loop: LoopState(None, None, position=at)}
        assigned = assign(context, path, after.replace(facts=facts, loops=loops), op.target, None)
        yield True, assigned if at == _LOST else assigned.replace(facts={**assigned.facts, pace.mark: False})


def _counter_position(memory: LoopState, pace: BodyCounter, state: State) -> int:
    """Return the position of a counting local after an iteration, if the path still knows it."""
    if memory.position == _LOST or pace.mark not in state.facts:
        return _LOST
    return memory.position if state.facts[pace.mark] else _BEFORE_ELEMENT


def _unknown_iterations(
    context: Context, path: Path, op: Next, *, again: bool
) -> Iterator[tuple[bool, State]]:
    """Yield the iterations over an unknown iterable: at least one if the path knows it is not empty, none if it knows it is."""
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
            state.replace(loops={loop: memory for loop, memory in state.loops.items() if loop != op.loop}),
        )


class NextStep(NamedTuple):
    """An edge: its kind, its target and the state after it."""

    kind: EdgeKind
    target: int
    state: State


def next_steps(context: Context, path: Path) -> Iterator[NextStep]:
    """Yield the edges that a path can take from a step that is no call."""
    step = path.step
    match step.op:
        case Test(condition=condition):
            yield from _tested(context, path, condition)
        case Next():
            yield from _iterated(context, path, step.op)
        case Catch():
            yield from _catch(path, step.op)
        case _:
            after = _after_step(context, path, step)
            quiet = isinstance(step.op, Yield) and _is_finished_generator(context, path, step.op)
            quiet = quiet or (_updates_counter(step.op) and completes_any(path.state))
            for kind, target in step.edges:
                if kind is EdgeKind.RAISE and quiet:
                    continue
                if kind is EdgeKind.RAISE:
                    yield NextStep(kind, target, _raising(context, path, step))
                else:
                    yield NextStep(kind, target, after)


def _updates_counter(op: Instr) -> bool:
    """Whether a step is `stats["acked"] += 1`: after a completion it is assumed not to raise."""
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


def _after_step(context: Context, path: Path, step: Step) -> State:
    """Return the state after a step, with the aliases that it creates."""
    after = invalidate_aliases(path.function, path.index, path.state, _done(context, path, step))
    return bind_aliases(path.function, path.index, after)


def _done(context: Context, path: Path, step: Step) -> State:
    function, state = path.function, path.state
    match step.op:
        case Bind(target=target, value=value):
            assigned = evaluate(context, function, state, value)
            after = assign(context, path, state, target, assigned)
            if isinstance(target, Name):
                after = new_box(function, after, target.id, value)
            else:
                after = assign_place(function, after, target, assigned)
            if not isinstance(target, Name) or (isinstance(value, Build) and value.kind != "object"):
                after = after_store(after, assigned)
            return alias_list(copy_facts(path, context, after, target, value), target, value)
        case Unpack(targets=targets, value=value):
            return unpack(context, path, targets, value)
        case Update(target=target, value=value):
            after = update(context, path, target, evaluate(context, function, state, value))
            return assign_place(function, after, target, None)
        case Drop(target=Name(id=name)):
            return state.bind(name, None)
        case Drop(target=Item(obj=whole)):
            held = evaluate(context, function, state, whole)
            if isinstance(held, Field):
                state = context.touch(state, held)
            return invalidate_contents(state, whole, step.op)
        case Return(value=value):
            return state.bind(
                "%return", _returned(context, path, value) if value is not None else Const(None)
            )
        case Yield():
            return _yield(context, path, step.op)
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


def _is_finished_generator(context: Context, path: Path, op: Yield) -> bool:
    """Whether a step is a `yield from` of a generator that ended without an element."""
    result = evaluate(context, path.function, path.state, op.value) if op.value is not None else None
    return op.delegate and result == EMPTY_GENERATOR


def _yield(context: Context, path: Path, op: Yield) -> State:
    """Return the elements that a generator has yielded so far, and the token states while its consumer runs."""
    value = evaluate(context, path.function, path.state, op.value) if op.value is not None else None
    if _is_finished_generator(context, path, op):
        return path.state.bind(op.result.id, None)
    before = path.state.env.get("%yield")
    items = before.items if isinstance(before, GeneratorResult) else frozenset()
    if value is not None and any(tokens_in(value)):
        items |= value.items if isinstance(value, GeneratorResult) and op.delegate else {value}
    result = GeneratorResult(items, frozenset(path.state.tokens.items()))
    state = path.state
    if isinstance(value, GeneratorResult) and op.delegate:
        state = _finish_generator(context, path, state, value)
    return state.bind(op.result.id, None).bind("%yield", result)


# ---- branches, loops, handlers ----


def _tested(context: Context, path: Path, condition: Expr) -> Iterator[NextStep]:
    step = path.step
    for truth, learnt in branch(context, path.function, path.state, condition):
        after = learn_emptiness(context, path.function, learnt, condition, truth=truth)
        if after is None:
            continue
        after = _forget_temporary(path.function, after, condition)
        wanted = EdgeKind.TRUE if truth else EdgeKind.FALSE
        for kind, target in step.edges:
            if kind is wanted or (
                kind in (EdgeKind.BACK, EdgeKind.NEXT) and wanted not in {e.kind for e in step.edges}
            ):
                yield NextStep(wanted, target, after)
    for kind, target in step.edges:
        if kind is EdgeKind.RAISE:
            yield NextStep(kind, target, _raising(context, path, step))


def _forget_temporary(function: Function, state: State, condition: Expr) -> State:
    """Return the state without the facts about a temporary that is tested once: only `match` and `switch` test one again."""
    subject = condition.left if isinstance(condition, Compare) else condition
    if isinstance(subject, Name) and subject.id.startswith("%") and subject not in tested_subjects(function):
        return invalidate_target(state, subject)
    return state


def _iterated(context: Context, path: Path, op: Next) -> Iterator[NextStep]:
    state = path.state
    iterable = evaluate(context, path.function, state, op.iterable)
    again = op.loop in state.loops
    for more, after in _rounds(context, path, op, iterable, again=again):
        wanted = EdgeKind.TRUE if more else EdgeKind.FALSE
        for kind, target in path.step.edges:
            if kind is wanted:
                known = bind_aliases(path.function, path.index, after) if more else after
                yield NextStep(kind, target, known)
    if iterable is None and isinstance(op.iterable, Name):
        for kind, target in path.step.edges:
            if kind is EdgeKind.RAISE and target != RAISED:
                yield NextStep(kind, target, _raising(context, path, path.step))


def _rounds(
    context: Context, path: Path, op: Next, iterable: Value | None, *, again: bool
) -> Iterator[tuple[bool, State]]:
    match iterable:
        case Batch(token=token, whole=whole):
            yield from _batch_iterations(context, path, op, token, TokenRef(token), again=again, whole=whole)
        case Zipped(token=token, column=column, numbered=numbered):
            yield from _batch_iterations(context, path, op, token, Row(token, column, numbered), again=again)
        case Count(of=Batch(token=token)):
            yield from _batch_iterations(context, path, op, token, Index(token), again=again)
        case Count(of=Container(items=items) as listed) if any(tokens_in(listed)):
            yield from _list_iterations(context, path, op, [None] * len(items))
        case Container(items=items) if any(tokens_in(iterable)) or any(isinstance(i, Picked) for i in items):
            yield from _list_iterations(context, path, op, sorted(items, key=repr))
        case Field() as buffer:
            element = TokenRef(buffer.element)
            for more, after in field_iterations(context, path, op, buffer):
                yield more, assign(context, path, after, op.target, element) if more else after
        case TokenRef(token=token, part="") if token.kind is TokenKind.STORED:
            yield from _part_iterations(context, path, op, stored_tuple(token.field, f"{token.path}[*]"))
        case GeneratorResult() if iterable == EMPTY_GENERATOR:
            yield False, path.state
        case GeneratorResult(items=items) as result:
            for more, after in _rounds(context, path, op, Container(items), again=again):
                yield more, after if more else _finish_generator(context, path, after, result)
        case _:
            yield from counted_loop_steps(context, path, op)


def _finish_generator(context: Context, path: Path, state: State, result: GeneratorResult) -> State:
    """Return the state after a generator ends, with the completions that happened in it.

    The elements of a batch are left out: they may be other ones than that of the loop.
    """
    for token, token_state in result.token_states:
        now = context.token_state(state, token).stage
        if token.kind is TokenKind.INPUT and now in (Stage.ACKED, Stage.FAILED):
            op = Op.ACK if token_state.stage is Stage.ACKED else Op.FAIL
            state = complete(context, path, state, op, token)
    return finish_generator(state, result)


def _part_iterations(
    context: Context, path: Path, op: Next, element: TokenRef
) -> Iterator[tuple[bool, State]]:
    """Yield the iterations over one of the collections in a field: any number, each with a tuple not seen before."""
    state, token = path.state, element.token
    fresh = state.replace(
        tokens={each: held for each, held in state.tokens.items() if each.field != token.field}
    )
    loops = {loop: memory for loop, memory in state.loops.items() if loop != op.loop}
    again = op.loop in state.loops
    yield (
        True,
        assign(
            context, path, fresh.replace(loops={**loops, op.loop: LoopState(None, None)}), op.target, element
        ),
    )
    if again:
        yield False, state.replace(loops=loops)
    else:  # the collection may be empty
        yield False, context.touch(fresh, token.collection)


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
    if again:
        memory = state.loops[op.loop]
        done = {loop: memory for loop, memory in state.loops.items() if loop != op.loop}
        filled = _collections(state, token) - memory.containers
        rest = now if filled else worse_state(memory.rest, now)
        left = state.replace(loops=done).with_token(token, rest)
        yield False, complete_batch(context, path.function, left, op.loop, token, rest) if whole else left
        memory = memory._replace(rest=None if filled else rest)
        state = _remove_token(state, token, filled)
    else:
        memory = LoopState(now, None, containers=_collections(state, token))
    done_inside = state.contents.get(Batch(token)) if again and whole else None
    base = memory.base or now
    if done_inside is not None and done_inside.stage is not None:  # by a loop over the whole batch
        base = base._replace(stage=done_inside.stage)
    state = state.replace(loops={**state.loops, op.loop: memory}).with_token(token, base)
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
        done = {loop: memory for loop, memory in state.loops.items() if loop != op.loop}
        yield False, state.replace(loops=done)
        return
    after = state.replace(loops={**state.loops, op.loop: LoopState(None, None, position + 1)})
    yield True, assign(context, path, after, op.target, items[position])


def _catch(path: Path, op: Catch) -> Iterator[NextStep]:
    state = path.state
    certain, possible = catches(op, state.raising or "")
    for kind, target in path.step.edges:
        if kind is EdgeKind.TRUE and possible:
            after = state.replace(raising=None, caught=(path.function.path, path.step.span.line))
            yield NextStep(
                kind, target, after.bind(op.name, ExceptionValue(state.raising or "")) if op.name else after
            )
        elif kind is not EdgeKind.TRUE and not certain:
            yield NextStep(EdgeKind.FALSE, target, state)


_ALL = range(1 << 30)  # the loops around the call of a helper: no step of the helper leaves them


def split_by_element(context: Context, path: Path, way: NextStep) -> Iterator[NextStep]:
    """Yield the edge itself, or one for each kind of element if it leaves a loop over a batch early."""
    token, state = context.subject, way.state
    bodies = _bodies(path.function)
    left = {loop: memory for loop, memory in state.loops.items() if way.target not in bodies.get(loop, _ALL)}
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


@memoize
def _bodies(function: Function) -> Mapping[int, range]:
    """Return the steps of each loop, by its number."""
    cfg = function.cfg
    return {
        step.op.loop: cfg.bodies[head] for head, step in enumerate(cfg.steps) if isinstance(step.op, Next)
    }
