"""Tuples: what a path knows of one tuple, and what it has done with all tuples that a field of the component holds.

A test may show that a tuple is a tick, or that a field is empty.
"""

import operator

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.domain import Domain
from ackdoctor.flow.events import Dropped, Path, points_back
from ackdoctor.flow.expressions import last_name, local_values, memoize, names_in
from ackdoctor.flow.facts import normalise
from ackdoctor.flow.pure_calls import inline_calls, is_field, size_of
from ackdoctor.flow.state import EMPTY, FOUND, LEFT, OWED, UNKNOWN, Contents, Live, State
from ackdoctor.flow.transfer.escape import release
from ackdoctor.flow.transfer.evaluate import evaluate, tick_comparison
from ackdoctor.flow.transfer.liveness import container_keys
from ackdoctor.flow.values import (
    TAKEN,
    Container,
    Field,
    TickTest,
    Token,
    TokenRef,
    TokenState,
    fields_in,
    tokens_in,
)
from ackdoctor.libraries.vocabulary import CONTAINER_REMOVALS, HAS_NEXT
from ackdoctor.model.cfg import Attr, Call, Compare, Expr, Function, Item, Literal, Mix, Way
from ackdoctor.model.protocol import Stage, Tick

DONE = (Stage.ACKED, Stage.FAILED)
AS_FOUND = (None, FOUND, OWED)
_ITERATOR = ("the iterator of its loop",)  # the holders of a tuple that such an iterator has removed
_LISTED = ("a list of removed tuples",)  # the holders of one that a local list or name still has
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


def empty_buffer(context: Context, path: Path, state: State, field: str, *, in_place: bool = False) -> State:
    """Return the state after a field was emptied, and record the event if its tuples are still owed.

    In place (`clear()`), the locals that are the field's own collection are empty too.  While an exception leaves the
    handler, the worker ends, and with it the field.
    """
    if field not in context.stored_stages:
        return context.touch(state, Field(field))
    if in_place:
        state = _empty_names(path.function, state, field)
    state = take_buffer(context, path, state, field)
    leaves = path.step.way is Way.RAISE
    indexed = field in _indexed_fields(path.function)
    known = state.contents.get(Field(field))
    callers = (visit.state for visit in path.call_stack() if visit is not path)
    is_used = any(_is_named(each, field) for each in (state, *callers))
    is_used = is_used or (known != LEFT and _has_used(state, field))
    if known in (*AS_FOUND, LEFT) and not (leaves or indexed or is_used):
        _record_dropped(context, path, field)
    elif known in (*AS_FOUND, UNKNOWN) and not (leaves or indexed):
        state = keep_removed(context, path, state, field)
    return state.with_contents(Field(field), EMPTY)


def _empty_names(function: Function, state: State, field: str) -> State:
    """Return the state in which the locals that are a field's own collection, and no copy of it, have no tuples."""
    assigned = local_values(function)
    emptied = {
        name
        for name, value in state.env.items()
        if value == Field(field) and name in assigned
        if all(not isinstance(made, Call) and is_field(function, made) for made in assigned[name])
    }
    return state.replace(env={name: value for name, value in state.env.items() if name not in emptied})


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
    names = (name for name, value in state.env.items() if value == collection and is_named(name))
    locals_ = dict.fromkeys(names, taken)
    if not locals_:
        return state
    state = _lose_taken(context, path, state, taken)
    state = state.replace(env={**state.env, **locals_})
    return state.with_contents(taken, state.contents.get(collection) or FOUND)


def keep_taken(context: Context, before: State, after: State) -> State:
    """Return the state after a helper that gave fields new collections: the caller's locals keep the old ones."""
    for field in context.stored_stages:
        collection, taken = Field(field), Field(field, taken=True)
        if after.contents.get(collection) != EMPTY or before.contents.get(collection) == EMPTY:
            continue
        names = [name for name, value in after.env.items() if value == collection and is_named(name)]
        if not names:
            continue
        known = before.contents.get(collection) or FOUND
        if any(
            token.field == field and before.tokens.get(token) != held for token, held in after.tokens.items()
        ):
            known = UNKNOWN  # the helper has completed some
        after = after.replace(env={**after.env, **dict.fromkeys(names, taken)}).with_contents(taken, known)
    return after


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
    return next_tuple(state, taken)


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
        if _is_lost(state, Field(field, taken=True)) or is_listed(state, field):
            _record_dropped(context, path, field)
        elif _is_removed(state, field):
            _record_dropped(context, path, field, removed=True)


def _is_lost(state: State, taken: Field) -> bool:
    """Whether a path has left what it took out of a field as it found it, after an exception."""
    known = state.contents.get(taken)
    return known == LEFT or (
        known in (FOUND, OWED) and not _has_used(state, taken.name) and state.caught is not None
    )


def _record_dropped(context: Context, path: Path, field: str, *, removed: bool = False) -> None:
    dropped = Dropped(path=path, deferral=context.deferral, field=field, removed=removed)
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


def remove_entry(context: Context, path: Path, state: State, field: str) -> None:
    """Record an entry that is removed by its key and not read; the path has completed no tuple, and holds none of the field."""
    whole = Field(field)
    if context.stored_stages.get(field) is not Stage.OWED or state.contents.get(whole) not in AS_FOUND:
        return
    nested = any(isinstance(each, Field) and each.name == field and each.part for each in state.contents)
    used = any(
        held.tick is not Tick.YES and (held.stage is not Stage.OWED or token.field == field)
        for token, held in state.tokens.items()
    )
    if not (nested or used or _is_named(state, field)):
        _record_dropped(context, path, field)


def remove_current(context: Context, state: State, field: str, *, before: State) -> State:
    """Return the state after the iterator of a loop over a field has removed the current element, which is still owed.

    If the element is a collection, the path may have completed the tuples in it.
    """
    removed = Field(field).element
    known = {
        known for each, known in before.contents.items() if isinstance(each, Field) and each.name == field
    }
    if field not in context.stored_stages or _has_used(before, field) or any(map(_may_be_done, known)):
        return state
    held = context.token_state(state, removed)
    return state.with_token(removed, held._replace(holders=_ITERATOR)) if held.stage is Stage.OWED else state


def keep_removed(context: Context, path: Path, state: State, field: str) -> State:
    """Return the state after the field has lost a tuple that a local names or lists: it stays owed.

    If the path has completed any tuple before, it may have been this one.
    """
    lost = Field(field).element
    held = context.token_state(state, lost)
    is_local = any(lost in tokens_in(value) for name, value in state.env.items() if is_named(name))
    calls = (visit.step.op for visit, _, _ in points_back(path) if isinstance(visit.step.op, Call))
    if held.stage is not Stage.OWED or not is_local:
        return state
    if any(last_name(call.func) in context.completing_names for call in calls):
        return state
    return state.with_token(lost, held._replace(holders=_LISTED))


def is_listed(state: State, field: str) -> bool:
    """Whether a tuple that the field has lost is in a local list and still owed."""
    held = state.tokens.get(Field(field).element)
    return held is not None and held.holders == _LISTED and not _has_used(state, field)


def _may_be_done(known: Contents) -> bool:
    return known == UNKNOWN or (known.every and known != OWED)


def drop_current(context: Context, path: Path, state: State, field: Field) -> None:
    """Record the element that an iterator has removed, if an iteration ends with it owed and in no collection."""
    held = state.tokens.get(field.element)
    if held is None or held.holders != _ITERATOR or _has_used(state, field.name):
        return
    kept = (value for value in state.env.values() if not isinstance(value, TokenRef))
    if not any(token.field == field.name for value in kept for token in tokens_in(value)):
        _record_dropped(context, path, field.name, removed=True)


def other_tuple(state: State, read: TokenRef) -> State:
    """Return the state after another stored tuple was read: the locals that hold an earlier one are unknown."""
    env = {name: value for name, value in state.env.items() if value != read or not is_named(name)}
    return state if len(env) == len(state.env) else state.replace(env=env)


def is_named(local: str) -> bool:
    """Whether the source names a local: it is no temporary."""
    return not local.startswith("%")


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
    own = [held for token, held in state.tokens.items() if token.field == field and held.holders != _ITERATOR]
    if not own or _has_used(state, field):
        return False
    return not any(token.field == field for value in state.env.values() for token in tokens_in(value))


def _is_named(state: State, field: str) -> bool:
    """Whether a local still refers to the field or to a tuple from it."""
    return any(field in fields_in(value) for name, value in state.env.items() if is_named(name))


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
        case Mix(op="call", parts=(Attr(obj=iterator, name=name),)) if name == HAS_NEXT:
            field = evaluate(context, function, state, iterator)
            if nothing and isinstance(field, Field) and state.contents.get(field) in AS_FOUND:
                return state.with_contents(field, UNKNOWN)  # it had no tuples, or the loop skipped them
            return state
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
        case Field(name=name) if name not in context.stored_stages:
            return state
        case Field() as field if nothing:
            return state.with_contents(field, EMPTY)
        case Field() as field if state.contents.get(field) == EMPTY:
            return None
        case Field() as field if state.contents.get(field) in AS_FOUND:
            return state.with_contents(field, OWED)
        case TokenRef(token=token) if token.field and nothing:
            state = next_tuple(state, Field(token.field))
            if all(memory.field != token.collection for memory in state.loops.values()):
                return state
            none = TokenState(Stage.HELD, holders=("no tuple",))
            return state.with_token(token, none)
        case _:
            return state


def next_tuple(state: State, field: Field) -> State:
    """Return the state in an iteration over a field: its tuple is another one than those before."""
    return forget_place(state, field.element)
