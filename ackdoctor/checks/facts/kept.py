"""What a spout keeps of the tuples it has sent: entries under, or together with, their message ids."""

from collections.abc import Iterator

from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.checks.facts.canonical import bare, spelling
from ackdoctor.checks.facts.fields import emptied_by, is_container, own_field
from ackdoctor.checks.facts.shape import derived_names, mentions_any
from ackdoctor.checks.facts.spouts import data_emits, emits, entry_method, has_id, reach
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.library import CONTAINER_STORES
from ackdoctor.model.cfg import Attr, Bind, Build, Call, Expr, Item, Name, Step
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import EntryKind

__all__ = ["kept", "kept_for_ever"]

MANY = 50  # message ids followed to callers of helpers


def kept(diagnosis: Diagnosis) -> Iterator[tuple[Function, Step, str]]:
    """Each place on the way of `next_tuple` that puts something under or with a message id into a field."""
    functions = reach(diagnosis, entry_method(diagnosis, EntryKind.NEXT))
    yield from _stores(diagnosis, functions, _ids(diagnosis, data_emits(diagnosis), functions))


def _kept_anew(diagnosis: Diagnosis) -> Iterator[tuple[Function, Step, str]]:
    """Each place on the way of `fail` that puts something under or with a message id that is not the failed one."""
    functions = reach(diagnosis, entry_method(diagnosis, EntryKind.FAILED))
    ids = _ids(diagnosis, emits(diagnosis, EntryKind.FAILED), functions)
    if not any(_of_the_failed(functions[0], function, expr) for function, expr in ids):
        yield from _stores(diagnosis, functions, ids)


def kept_for_ever(diagnosis: Diagnosis) -> Iterator[tuple[Function, Step, str]]:
    """Of `_kept_anew`, the places whose field loses nothing in `fail`: an entry more for every failure."""
    shrunk = emptied_by(diagnosis, reach(diagnosis, entry_method(diagnosis, EntryKind.FAILED)))
    for function, step, name in _kept_anew(diagnosis):
        if name not in shrunk and is_container(diagnosis, name):
            yield function, step, name


def _of_the_failed(fail: Function, function: Function, expr: Expr) -> bool:
    """Whether an id may come out of what `fail` was given; what a helper was given is asked at its callers."""
    given = frozenset(param.name for param in function.params[1:])
    if function is not fail and isinstance(expr, Name) and expr.id in given:
        return False
    return mentions_any(expr, derived_names(function, given))


def _stores(
    diagnosis: Diagnosis, functions: tuple[Function, ...], ids: list[tuple[Function, Expr]]
) -> Iterator[tuple[Function, Step, str]]:
    for function in functions:
        wanted = [expr for owner, expr in ids if owner is function]
        if not wanted:
            continue
        spelt = {bare(spelling(function).of(expr)) for expr in wanted}
        for step in function.cfg.steps:
            name, keys = _stored(diagnosis, function, step)
            if name is not None and any(bare(spelling(function).of(key)) in spelt for key in keys):
                yield function, step, name


def _stored(diagnosis: Diagnosis, function: Function, step: Step) -> tuple[str | None, list[Expr]]:
    """The field that a step puts something into, and what could be the id in it."""
    match step.op:
        case Bind(target=Item(obj=place, key=key)):
            return own_field(diagnosis, function, place), [key]
        case Call(func=Attr(obj=place, name=verb), args=args) if verb in CONTAINER_STORES:
            keys: list[Expr] = []
            for arg in args:
                value = spelling(function).of(arg.value)
                keys += (
                    value.items
                    if isinstance(value, Build) and value.kind in ("tuple", "list")
                    else (arg.value,)
                )
            return own_field(diagnosis, function, place), keys
        case _:
            return None, []


def _ids(
    diagnosis: Diagnosis, sent: list[Emitted], functions: tuple[Function, ...]
) -> list[tuple[Function, Expr]]:
    """The message ids of these emits, also as the callers of an emitting helper among the functions know them."""
    found = [
        (emit.function, emit.args[emit.verb.message_id])
        for emit in sent
        if has_id(emit) and emit.verb.message_id is not None
    ]
    for function, expr in found:  # grows while it is walked
        params = [param.name for param in function.params]
        if isinstance(expr, Name) and expr.id in params and len(found) < MANY:
            found += _given(diagnosis, functions, function, params.index(expr.id), expr.id)
    return found


def _given(
    diagnosis: Diagnosis, callers: tuple[Function, ...], helper: Function, position: int, name: str
) -> Iterator[tuple[Function, Expr]]:
    for caller in callers:
        for step in caller.cfg.steps:
            if not isinstance(step.op, Call) or diagnosis.own_method(caller, step.op.func) is not helper:
                continue
            plain = [arg.value for arg in step.op.args if arg.name is None]
            named = [arg.value for arg in step.op.args if arg.name == name]
            for value in named or plain[position - 1 : position]:
                yield caller, value
