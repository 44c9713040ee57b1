"""What an assignment does: to a local, a field, an item of either, or several at once."""

from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Trail
from ackdoctor.flow.expressions import mentions
from ackdoctor.flow.facts import MEANS, meant, tested_names
from ackdoctor.flow.induction import counted_by, counters
from ackdoctor.flow.invalidation import forget, recount, reopen
from ackdoctor.flow.predicates import iterators, split_by
from ackdoctor.flow.state import (
    BoundMethod,
    Coll,
    Const,
    Count,
    Field,
    FunctionRef,
    Index,
    Instance,
    Row,
    SelfRef,
    State,
    Token,
    TokenKind,
    TokenRef,
    Value,
    tokens_in,
)
from ackdoctor.flow.transfer.escape import escape, store, within
from ackdoctor.flow.transfer.evaluate import counted_on, evaluate, stored
from ackdoctor.flow.transfer.heap_cells import in_cell, put
from ackdoctor.flow.transfer.liveness import looked_up
from ackdoctor.flow.transfer.predicates import begun, counted, decided
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Compare,
    Expr,
    Global,
    Item,
    Literal,
    Mix,
    Name,
    Star,
    Unpack,
    Update,
)

__all__ = ["assign", "next_number", "same_list", "same_under", "unpack", "update"]


def assign(context: Context, trail: Trail, state: State, target: Expr | None, value: Value | None) -> State:
    """`target = value`."""
    match target:
        case Name(id=name):
            return _assign_local(trail, _looked_up(context, trail, state, name), name, value)
        case Attr(obj=obj, name=name):
            return _assign_attribute(context, trail, state, target, obj, name, value)
        case Item(obj=obj, key=key):
            return _assign_item(context, trail, _refilled(forget(state, target), obj, key), obj, key, value)
        case Star(value=inner):
            return assign(context, trail, state, inner, None)
        case Global(id=name) if value is not None:
            return escape(context, trail, state, (value,), f"global {name}")
        case _:
            return state


def _assign_local(trail: Trail, state: State, name: str, value: Value | None) -> State:
    kept = put(trail.function, state, name, value)
    if kept is not None:
        return kept
    if isinstance(value, Const) and name not in tested_names(trail.function) and not name.startswith("%"):
        value = None
    if isinstance(value, TokenRef) and value.token.kind is TokenKind.STORED:
        copied = isinstance(trail.step.op, (Bind, Unpack)) and _copies(trail.step.op, value)
        state = state if copied else _another(state, value.token)
    return state.bind(name, value)


def _looked_up(context: Context, trail: Trail, state: State, name: str) -> State:
    """The local `name` gets another value: what a field holds under it, `self.pending[name]`, is another tuple."""
    if not any(token.field for token in state.tokens):
        return state
    looked = (
        evaluate(context, trail.function, state, obj) for obj in looked_up(trail.function).get(name, ())
    )
    wholes = [
        stored(value.name).token if isinstance(value, Field) else value.token
        for value in looked
        if isinstance(value, (Field, TokenRef))
    ]
    kept = {
        token: held for token, held in state.tokens.items() if not any(within(token, each) for each in wholes)
    }
    return state.but(tokens=kept) if len(kept) < len(state.tokens) else state


def same_under(trail: Trail, context: Context, after: State, target: Expr, value: Expr) -> State:
    """What was decided about a value holds under its new name, if that is asked about."""
    if not isinstance(target, Name):
        return after
    asked = iterators(trail.function).get(value, ())
    for first in (trail.state.facts[fact] for fact in asked if fact in trail.state.facts):
        after = after.but(facts={**after.facts, Mix("call", (Attr(target, "hasNext"),)): first})
    if not context.typed and value in split_by(trail.function):
        after = after.but(facts={**after.facts, target: True})
    if target.id not in tested_names(trail.function):
        return after
    if target.id in counters(trail.function):
        after = begun(context, trail.function, trail.state, after, target.id, value)
    if mentions(value, target):
        return after
    facts = dict(after.facts)
    known = decided(context, trail.function, trail.state, value)
    if known is not None:
        facts[target] = known
    for fact, truth in trail.state.facts.items():
        if isinstance(fact, Compare) and fact.left == value:
            facts[Compare(target, fact.op, fact.right)] = truth
    condition = meant(trail.function, target.id, value)
    if condition is not None:
        facts[Compare(target, MEANS, condition)] = True
    return after.but(facts=facts) if len(facts) > len(after.facts) else after


def same_list(after: State, target: Expr, value: Expr) -> State:
    """`target = good`: what is put into the one list is put into the other."""
    if not isinstance(target, Name) or not isinstance(value, Name):
        return after
    if not isinstance(after.env.get(target.id), Coll):
        return after
    first = value
    for fact in after.facts:
        if isinstance(fact, Compare) and fact.op == "is" and fact.left == value:
            first = fact.right if isinstance(fact.right, Name) else first
    return after.but(facts={**after.facts, Compare(target, "is", first): True})


def _copies(op: Bind | Unpack, value: TokenRef) -> bool:
    """`a = b` is no new look into the field; `a = self.f[k]` is."""
    return isinstance(op.value, Name) and value.token.path == ""


def _assign_attribute(
    context: Context, trail: Trail, state: State, target: Attr, obj: Expr, name: str, value: Value | None
) -> State:
    state = forget(state, target)
    match evaluate(context, trail.function, state, obj):
        case SelfRef():
            if value is not None and any(tokens_in(value)):
                state = store(context, trail, state, name, value, how="=", key=None)
            state = _filled_later(trail, state, value, Field(name))
            fields = {field: old for field, old in state.fields.items() if field != name}
            if isinstance(value, (TokenRef, Const, BoundMethod, FunctionRef)) or (value and _may_run(value)):
                fields[name] = value
            return state.but(fields=fields)
        case Field(name=field) if value is not None:
            return store(context, trail, state, f"{field}.{name}", value, how="=", key=None)
        case TokenRef(token=token) if token.kind is TokenKind.STORED:
            state = _another(state, stored(token.field, f"{token.path}.{name}").token)
            return store(context, trail, state, token.field, value, how="=", key=None) if value else state
        case Coll(items=items) if value is not None and any(tokens_in(value)) and isinstance(obj, Name):
            return state.bind(obj.id, Coll(items | {value}))
        case _:
            return escape(context, trail, state, (value,), "an object") if value is not None else state


def _another(state: State, whole: Token) -> State:
    """What lay there is no longer there: another tuple, or none."""
    kept = {token: held for token, held in state.tokens.items() if not within(token, whole)}
    return state.but(tokens=kept) if len(kept) < len(state.tokens) else state


def _filled_later(trail: Trail, state: State, value: Value | None, kept: Field | TokenRef) -> State:
    """A local collection goes into a field while it is empty: what is put into it afterwards is held there too."""
    if not isinstance(value, Coll) or any(tokens_in(value)) or not isinstance(trail.step.op, Bind):
        return state
    source = trail.step.op.value
    for fact in state.facts:
        match fact:
            case Compare(left=Name(id=name), op="is", right=right) if right == source:
                state = state.bind(name, kept)
            case _:
                pass
    return state.bind(source.id, kept) if isinstance(source, Name) else state


def _may_run(value: Value) -> bool:
    """Whether a value is an object that was given what it needs to run: a thread that is started later on."""
    match value:
        case Instance(given=given):
            return bool(given) and "run" in value.cls.methods
        case Coll(items=items):
            return any(isinstance(item, FunctionRef) and item.function.name == "run" for item in items)
        case _:
            return False


def _refilled(state: State, obj: Expr, key: Expr) -> State:
    """What was empty has something under a key now; where a slice is replaced it is open whether anything is left."""
    state = recount(state, obj, key)
    known = state.facts.get(obj)
    if known is None or (known and not (isinstance(key, Mix) and key.op == "slice")):
        return state
    return reopen(state, [obj])


def _assign_item(
    context: Context, trail: Trail, state: State, obj: Expr, key: Expr, value: Value | None
) -> State:
    if value is None or not any(tokens_in(value)):
        match evaluate(context, trail.function, state, obj):
            case Field(name=field):
                return _filled_later(trail, state, value, stored(field))
            case _:
                return state
    match evaluate(context, trail.function, state, obj):
        case Field(name=field):
            return store(context, trail, state, field, value, how="[]", key=key)
        case TokenRef(token=token) if token.kind is TokenKind.STORED:
            return store(context, trail, state, token.field, value, how="[]", key=key)
        case Coll(items=items) if isinstance(obj, Name):
            return state.bind(obj.id, Coll(items | {value}))
        case None if isinstance(obj, Name):
            return state.bind(obj.id, Coll(frozenset({value})))
        case _:
            return escape(context, trail, state, (value,), "a container")


def unpack(context: Context, trail: Trail, targets: tuple[Expr | None, ...], value: Expr) -> State:
    """`a, b = value`."""
    function, state = trail.function, trail.state
    plain = not any(isinstance(target, Star) for target in targets)
    if isinstance(value, Build) and plain and len(value.items) == len(targets):
        values = [evaluate(context, function, state, item) for item in value.items]
    else:
        values = _parts(evaluate(context, function, state, value), len(targets))
    for target, part in zip(targets, values, strict=True):
        state = assign(context, trail, state, target, part)
    return next_number(context, trail, trail.state, state, value)


def next_number(context: Context, trail: Trail, before: State, after: State, row: Expr | None) -> State:
    """The state in which a loop over numbers has given the next one, which `row` is or is unpacked into."""
    for loop, (name, start, stop, given, step) in counted_by(trail.function).items():
        if given == row and loop in before.loops and name in counters(trail.function):
            if before.loops[loop].position:
                return counted(context, trail.function, before, after, name, step)
            after = after.bind(name, evaluate(context, trail.function, before, start))
            return after.but(facts={**after.facts, Compare(Name(name), "<", stop): True})
    return after


def _parts(whole: Value | None, count: int) -> list[Value | None]:
    """What the targets of an unpacking get."""
    match whole:
        case TokenRef(token=token, part="") if token.kind is TokenKind.STORED:
            return [stored(token.field, f"{token.path}#{index}") for index in range(count)]
        case Row(token=token, column=column, numbered=numbered):
            first = Index(token) if numbered else None
            return [TokenRef(token) if index == column else first for index in range(count)]
        case TokenRef(token=token, part=""):
            return [TokenRef(token, "id"), *[None] * (count - 1)]
        case Field(name=name):
            return [stored(name, f"#{index}") for index in range(count)]
        case Coll(order=tuple(order)) if len(order) == count:
            return list(order)
        case Coll(items=items) if len(items) == 1:
            return [next(iter(items))] * count
        case _:
            return [None] * count


def _counted(context: Context, trail: Trail, after: State, name: str) -> State:
    """What is known of a counter when a step has counted it on."""
    match trail.step.op:
        case Update(op="+" | "-" as sign, value=Literal(value=int() as step)):
            by = step if sign == "+" else -step
            return counted(context, trail.function, trail.state, after, name, by)
        case _:
            return after


def update(context: Context, trail: Trail, target: Expr, value: Value | None) -> State:
    """`target += value`."""
    state = forget(trail.state, target)
    if isinstance(target, Item):
        state = recount(state, target.obj, target.key)
    if value is None or not any(tokens_in(value)):
        if isinstance(target, Name):
            before = in_cell(trail.function, state, target.id) or state.env.get(target.id)
            if isinstance(before, (Const, Count, Index)):
                after = counted_on(before)
                kept = put(trail.function, state, target.id, after)
                state = kept if kept is not None else state.bind(target.id, after)
            state = _counted(context, trail, state, target.id)
            return _looked_up(context, trail, state, target.id)
        match target:
            case Attr(obj=obj, name=name) if evaluate(context, trail.function, state, obj) == SelfRef():
                return state.but(fields={field: old for field, old in state.fields.items() if field != name})
            case _:
                return state
    match evaluate(context, trail.function, state, target):
        case Field(name=field):
            return store(context, trail, state, field, value, how="+=", key=None)
        case Coll(items=items) if isinstance(target, Name):
            extra = value.items if isinstance(value, Coll) else frozenset({value})
            return state.bind(target.id, Coll(items | extra))
        case _ if isinstance(target, Name):
            return state.bind(target.id, value)
        case _:
            return escape(context, trail, state, (value,), "a container")
