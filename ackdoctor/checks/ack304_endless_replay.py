"""ACK304: `fail` sends the tuple again every time, without a limit and without a pause."""

import re
from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import drained_fields, is_container, own_field, shrunk_fields
from ackdoctor.checks.facts.dataflow import canonical_forms, derived_names, mentions_any, names_and_attributes
from ackdoctor.checks.facts.provenance import Source, payload_source
from ackdoctor.checks.facts.spouts import (
    data_emits,
    effective_calls,
    emits,
    entry_method,
    has_id,
    reach,
    stored_for_ever,
    stored_under_id,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.expressions import name_words
from ackdoctor.flow.library import CONTAINER_READS, CONTAINER_STORES, CONTAINER_VIEWS, PURE_CALLS
from ackdoctor.model.cfg import (
    Attr,
    Call,
    Compare,
    Expr,
    Function,
    Global,
    IsType,
    Mix,
    Not,
    Return,
    Step,
    Test,
)
from ackdoctor.model.dialect import EntryKind, Kind
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]

_ORDERS = frozenset(("<", "<=", ">", ">=", "==", "!="))
_PAUSES = frozenset("sleep wait call_later Timer sleep_for".split())
# a part of a name; neither `country` nor `account`
_COUNTS = re.compile(r"retr|^tries|attempt|fail|(?<!ac)(?<!dis)count(?!r)|^age$|time|clock|limit|max")
_KNOWN = PURE_CALLS | CONTAINER_READS | CONTAINER_VIEWS | {"len", "bool", "get", "empty", "qsize"}


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for a spout whose `fail` always replays."""
    if context.role.kind is not Kind.SPOUT or context.discipline.replays:
        return
    fail = entry_method(context, EntryKind.FAILED)
    shared = {id(function) for function in reach(context, entry_method(context, EntryKind.NEXT))}
    functions = tuple(function for function in reach(context, fail) if id(function) not in shared)
    if any(_limits(function, step) for function in functions for step in function.cfg.steps):
        return
    if _generates_records(context):
        return
    again = next(_replays(context, fail, functions), None)
    if again is None:
        return
    function, step, does = again
    growing = next((name for _, _, name in stored_for_ever(context)), None)
    price = context.phrase("leaks", field=f"self.{growing}") if growing else _stays(context, fail)
    yield context.finding(
        context.words(component=context.component.name, does=does, price=price),
        at=(function, step.span),
        misuse=None,
        severity=Severity.WARNING if growing else Severity.INFO,
    )


def _replays(
    context: RuleContext, fail: Function | None, functions: tuple[Function, ...]
) -> Iterator[tuple[Function, Step, str]]:
    inside = {id(function) for function in functions}
    for emit in emits(context, EntryKind.FAILED):
        if has_id(emit) and id(emit.function) in inside:
            yield emit.function, emit.step, context.phrase("emits")
    queues = drained_fields(context, reach(context, entry_method(context, EntryKind.NEXT)))
    for function, call in effective_calls(context, fail):
        if (
            id(function) not in inside
            or not isinstance(call.func, Attr)
            or call.func.name not in CONTAINER_STORES
        ):
            continue
        name = own_field(context, function, call.func.obj)
        if name is not None and name in queues and is_container(context, name):
            step = next(step for step in function.cfg.steps if step.op is call)
            yield function, step, context.phrase("queues", field=f"self.{name}")


def _stays(context: RuleContext, fail: Function | None) -> str:
    """Return the clause on the record's entry in the spout's own buffer, if `fail` leaves it there; else ""."""
    emptied = shrunk_fields(context, reach(context, fail))
    names = [
        name for _, _, name in stored_under_id(context) if is_container(context, name) and name not in emptied
    ]
    return context.phrase("stays", field=f"self.{names[0]}") if names else ""


def _generates_records(context: RuleContext) -> bool:
    """Whether the records are random and none is stored: a demo or a benchmark has no record that always fails."""
    sent = data_emits(context)
    random = all(payload_source(context, emit) is Source.GENERATED for emit in sent)
    return bool(sent) and random and not any(True for _ in stored_under_id(context))


# ---- limits ----


def _limits(function: Function, step: Step) -> bool:
    """Whether a step compares a count or an age of the tuple, calls opaque code with its id, or waits."""
    match step.op:
        case Test(condition=value) | Return(value=value) if value is not None:
            ids = derived_names(function, frozenset(param.name for param in function.params[1:]))
            return _measures(canonical_forms(function).of(value), ids)
        case Call(func=Attr(name=name)) | Call(func=Global(id=name)):
            return name in _PAUSES
        case _:
            return False


def _measures(expr: Expr, ids: frozenset[str]) -> bool:
    match expr:
        case Compare(op=op, left=left, right=right):
            if op in _ORDERS and _about_the_tuple(expr, ids):
                return True
            return _measures(left, ids) or _measures(right, ids)
        case Mix(op="call", parts=(Attr(name=name) | Global(id=name), *_)):
            return name not in _KNOWN and mentions_any(expr, ids)
        case Mix(parts=parts):
            return any(_measures(part, ids) for part in parts)
        case Not(value=value) | IsType(value=value):
            return _measures(value, ids)
        case _:
            return False


def _about_the_tuple(expr: Expr, ids: frozenset[str]) -> bool:
    """Whether a comparison uses the failed id, or names a count or an age."""
    return mentions_any(expr, ids) or any(
        _COUNTS.search(part) for word in names_and_attributes(expr) for part in name_words(word)
    )
