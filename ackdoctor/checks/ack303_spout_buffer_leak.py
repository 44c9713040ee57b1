"""ACK303: a spout remembers every tuple that it emits and does not forget it when the tuple is acked."""

from collections.abc import Iterator

from ackdoctor.checks.canonical import Spelling, bare
from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.checks.fields import emptied_by, is_container, own_field
from ackdoctor.checks.spouts import calls_super, emits, entry_method, has_id, reach
from ackdoctor.flow.known import CONTAINER_STORES
from ackdoctor.model.cfg import Attr, Bind, Build, Call, Expr, Item, Name, Step
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import EntryKind, Kind
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    """One finding for each field that only grows, and for each callback that keeps the framework's own from shrinking."""
    if diagnosis.role.kind is not Kind.SPOUT:
        return
    yield from _overridden(diagnosis)
    if diagnosis.component.opaque:
        return
    shrunk = emptied_by(diagnosis, _after_success(diagnosis))
    told: set[str] = set()
    for function, step, name in _kept(diagnosis):
        if name in told or name in shrunk or not is_container(diagnosis, name):
            continue
        told.add(name)
        yield diagnosis.finding(
            at=(function, step.span),
            message=f"`self.{name}` gets an entry for every tuple and loses none when the tuple is acked: "
            "it grows for the life of the spout",
            misuse=None,
            last="kept here",
            severity=Severity.WARNING,
            help=f"take the entry out of `self.{name}` in `ack`",
        )


# ---- the framework's own buffer ----


def _overridden(diagnosis: Diagnosis) -> Iterator[Finding]:
    if not diagnosis.discipline.replays:
        return
    for kind in (EntryKind.ACKED, EntryKind.FAILED):
        method = entry_method(diagnosis, kind)
        if method is None or method.name not in diagnosis.role.owned:
            continue
        if any(calls_super(function) for function in reach(diagnosis, method) if function.name == method.name):
            continue
        yield diagnosis.finding(
            at=(method, method.head),
            message=f"`{method.name}` of {diagnosis.component.name} does not call the one of {diagnosis.role.name}: "
            f"{diagnosis.role.owned[method.name]}",
            misuse=None,
            last="defined here",
            severity=Severity.WARNING,
            help=f"call `super().{method.name}(...)` as well",
        )


# ---- the spout's own ----


def _after_success(diagnosis: Diagnosis) -> list[Function]:
    """Every function but those that only a failure leads to."""
    reaches = {
        entry.method: reach(diagnosis, diagnosis.component.method(entry.method)) for entry in diagnosis.role.entries
    }
    failing = {entry.method for entry in diagnosis.role.entries if entry.kind is EntryKind.FAILED}
    kept = {id(function) for method, found in reaches.items() if method not in failing for function in found}
    on_failure = {id(function) for method in failing for function in reaches[method]} - kept
    return [function for function in diagnosis.functions() if id(function) not in on_failure]


def _kept(diagnosis: Diagnosis) -> Iterator[tuple[Function, Step, str]]:
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
                keys += value.items if isinstance(value, Build) and value.kind in ("tuple", "list") else (arg.value,)
            return own_field(diagnosis, function, place), keys
        case _:
            return None, []


def _ids(diagnosis: Diagnosis) -> list[tuple[Function, Expr]]:
    """The message ids that `next_tuple` leads to, also as the callers of an emitting helper know them."""
    found: list[tuple[Function, Expr]] = []
    for emit in emits(diagnosis, EntryKind.NEXT):
        if has_id(emit) and emit.verb.message_id is not None:
            found.append((emit.function, emit.args[emit.verb.message_id]))
    functions = reach(diagnosis, entry_method(diagnosis, EntryKind.NEXT))
    for function, expr in found:  # grows while it is walked
        params = [param.name for param in function.params]
        if isinstance(expr, Name) and expr.id in params and len(found) < 50:
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
