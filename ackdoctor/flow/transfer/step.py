"""The transfer function of one step that is no call: assignments, branches, loops, handlers and the exit of generators."""

from collections.abc import Iterator

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.aliases import ALIASES
from ackdoctor.flow.domains.heap_cells import HEAP_CELLS
from ackdoctor.flow.domains.invalidation import invalidate_aliases, invalidate_contents
from ackdoctor.flow.domains.predicates import PREDICATES
from ackdoctor.flow.domains.product import PRODUCT
from ackdoctor.flow.domains.tuples import empty_buffer, is_whole_slice, remove_entry
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import RESULT
from ackdoctor.flow.facts import tested_subjects
from ackdoctor.flow.pure_calls import is_field
from ackdoctor.flow.state import State
from ackdoctor.flow.transfer.assignment import assign, unpack, update
from ackdoctor.flow.transfer.escape import completes_any, release
from ackdoctor.flow.transfer.evaluate import evaluate
from ackdoctor.flow.transfer.loops import NextStep, complete_generator, iterations
from ackdoctor.flow.values import (
    EMPTY_GENERATOR,
    Const,
    Container,
    ExceptionValue,
    Field,
    GeneratorResult,
    TokenKind,
    TokenRef,
    Value,
    tokens_in,
)
from ackdoctor.libraries.vocabulary import BUILTIN_EXCEPTIONS, CATCH_ALL, EXCEPTIONS
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


def catches(op: Catch, raising: str) -> tuple[bool, bool]:
    """Return whether an exception handler certainly catches what is raised, and whether it possibly does."""
    names = {name.rpartition(".")[2] for name in op.types}
    raised = raising.rpartition(".")[2]
    if not op.types or names & CATCH_ALL:
        return True, True
    if not raised:
        return False, True
    if raised in names:
        return True, True
    if raised not in EXCEPTIONS:
        return False, True
    parent = EXCEPTIONS.get(raised)
    while parent is not None:
        if parent in names:
            return True, True
        parent = EXCEPTIONS.get(parent)
    return False, raised in BUILTIN_EXCEPTIONS and not names <= BUILTIN_EXCEPTIONS.keys()


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
            quiet = quiet or _unpacks_record(context, path, step.op)
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


def _unpacks_record(context: Context, path: Path, op: Instr) -> bool:
    """Whether a step is `tup, row = self.rows.popleft()`: what the component itself has stored has as many parts."""
    if not isinstance(op, Unpack):
        return False
    value = evaluate(context, path.function, path.state, op.value)
    return isinstance(value, TokenRef) and value.token.kind is TokenKind.STORED


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
    return ALIASES.bind(path, after)


def _done(context: Context, path: Path, step: Step) -> State:
    function, state = path.function, path.state
    match step.op:
        case Bind(target=target, value=value):
            assigned = evaluate(context, function, state, value)
            after = assign(context, path, state, target, assigned)
            return PRODUCT.assign(context, path, after, target, value, assigned)
        case Unpack(targets=targets, value=value):
            return unpack(context, path, targets, value)
        case Update(target=target, value=value):
            after = update(context, path, target, evaluate(context, function, state, value))
            return HEAP_CELLS.assign_place(function, after, target, None)
        case Drop(target=Name(id=name)):
            return state.bind(name, None)
        case Drop(target=Item(obj=whole)):
            held = evaluate(context, function, state, whole)
            if isinstance(held, Field) and is_whole_slice(step.op.target) and not held.taken:
                state = empty_buffer(context, path, state, held.name, in_place=True)
            elif isinstance(held, Field):
                if is_field(function, whole):
                    remove_entry(context, path, state, held.name)
                state = context.touch(state, held)
            return invalidate_contents(state, whole, step.op)
        case Return(value=value):
            returned = _returned(context, path, value) if value is not None else Const(None)
            after = state.bind(RESULT, returned)
            return PREDICATES.assign(context, path, after, Name(RESULT), value, returned) if value else after
        case Yield():
            return _yield(context, path, step.op)
        case _:
            return state


def _returned(context: Context, path: Path, expr: Expr) -> Value | None:
    value = evaluate(context, path.function, path.state, expr)
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
    if isinstance(value, Field):
        release(context, path, value.name)  # what runs the generator may complete its tuples
    if value is not None and any(tokens_in(value)):
        items |= value.items if isinstance(value, GeneratorResult) and op.delegate else {value}
    result = GeneratorResult(items, frozenset(path.state.tokens.items()))
    state = path.state
    if isinstance(value, GeneratorResult) and op.delegate:
        state = complete_generator(context, path, state, value)
    return state.bind(op.result.id, None).bind("%yield", result)


# ---- branches, loops, handlers ----


def _tested(context: Context, path: Path, condition: Expr) -> Iterator[NextStep]:
    step = path.step
    for truth, learnt in PRODUCT.outcomes(context, path, path.state, condition):
        after = _forget_temporary(path.function, learnt, condition)
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
        return state.forget(subject)
    return state


def _iterated(context: Context, path: Path, op: Next) -> Iterator[NextStep]:
    state = path.state
    iterable = evaluate(context, path.function, state, op.iterable)
    again = op.loop in state.loops
    for more, after in iterations(context, path, op, iterable, again=again):
        wanted = EdgeKind.TRUE if more else EdgeKind.FALSE
        for kind, target in path.step.edges:
            if kind is wanted:
                known = ALIASES.bind(path, after) if more else after
                yield NextStep(kind, target, known)
    if iterable is None and isinstance(op.iterable, Name):
        for kind, target in path.step.edges:
            if kind is EdgeKind.RAISE and target != RAISED:
                yield NextStep(kind, target, _raising(context, path, path.step))


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
