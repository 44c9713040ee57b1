"""What a spout keeps of the tuples it has sent: entries under, or together with, their message ids."""

from collections.abc import Iterator

from ackdoctor.checks.canonical import Spelling, bare
from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.checks.fields import own_field
from ackdoctor.checks.spouts import data_emits, entry_method, has_id, reach
from ackdoctor.flow.known import CONTAINER_STORES
from ackdoctor.model.cfg import Attr, Bind, Build, Call, Expr, Item, Name, Step
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import EntryKind

__all__ = ["kept"]

MANY = 50  # message ids followed to callers of helpers


def kept(diagnosis: Diagnosis) -> Iterator[tuple[Function, Step, str]]:
    """Each place on the way of `next_tuple` that puts something under or with a message id into a field."""
    ids = _ids(diagnosis)
    for function in reach(diagnosis, entry_method(diagnosis, EntryKind.NEXT)):
        wanted = [expr for owner, expr in ids if owner is function]
        if not wanted:
            continue
        spelling = Spelling(function)
        spelt = {bare(spelling.of(expr)) for expr in wanted}
        for step in function.cfg.steps:
            name, keys = _stored(diagnosis, function, step)
            if name is not None and any(bare(spelling.of(key)) in spelt for key in keys):
                yield function, step, name


def _stored(diagnosis: Diagnosis, function: Function, step: Step) -> tuple[str | None, list[Expr]]:
    """The field that a step puts something into, and what could be the id in it."""
    match step.op:
        case Bind(target=Item(obj=place, key=key)):
            return own_field(diagnosis, function, place), [key]
        case Call(func=Attr(obj=place, name=verb), args=args) if verb in CONTAINER_STORES:
            keys: list[Expr] = []
            for arg in args:
                value = Spelling(function).of(arg.value)
                keys += (
                    value.items
                    if isinstance(value, Build) and value.kind in ("tuple", "list")
                    else (arg.value,)
                )
            return own_field(diagnosis, function, place), keys
        case _:
            return None, []


def _ids(diagnosis: Diagnosis) -> list[tuple[Function, Expr]]:
    """The message ids that `next_tuple` leads to, also as the callers of an emitting helper know them."""
    found = [
        (emit.function, emit.args[emit.verb.message_id])
        for emit in data_emits(diagnosis)
        if has_id(emit) and emit.verb.message_id is not None
    ]
    functions = reach(diagnosis, entry_method(diagnosis, EntryKind.NEXT))
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
