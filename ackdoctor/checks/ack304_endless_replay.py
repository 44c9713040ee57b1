"""ACK304: `fail` sends the tuple again every time, without a limit and without a pause."""

import re
from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import canonical, derived_names, mentions_any
from ackdoctor.checks.facts.fields import drained_fields, is_container, shrunk_fields
from ackdoctor.checks.facts.spouts import (
    Source,
    data_emits,
    emits,
    entry_method,
    has_id,
    lasting_effects,
    payload_source,
    reach,
    stored_for_ever,
    stored_under_id,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.expressions import last_name, name_words, subexpressions
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
from ackdoctor.model.dialect import EntryKind
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]

_ORDERS = frozenset(("<", "<=", ">", ">=", "==", "!="))
_PAUSES = frozenset("sleep wait call_later Timer sleep_for".split())
# a part of a name; neither `country` nor `account`
_COUNTS = re.compile(r"retr|^tries|attempt|fail|(?<!ac)(?<!dis)count(?!r)|^age$|time|clock|limit|max")
_KNOWN = PURE_CALLS | CONTAINER_READS | CONTAINER_VIEWS | {"len", "bool", "get", "empty", "qsize"}


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for a spout whose `fail` always replays."""
    if context.is_bolt or context.discipline.replays:
        return
    reached = reach(context, entry_method(context, EntryKind.FAILED))
    shared = reach(context, entry_method(context, EntryKind.NEXT))
    functions = [function for function in reached if function not in shared]
    if any(_limits(function, step) for function in functions for step in function.cfg.steps):
        return
    again = next(_replays(context, functions), None)
    stored = stored_under_id(context)
    sources = [payload_source(context, emit) for emit in data_emits(context)] if again else []
    if again is None or (not stored and set(sources) == {Source.GENERATED}):
        return  # a demo or a benchmark has no record that always fails
    function, step, does = again
    shrunk = shrunk_fields(context, reached)
    stays = [use.field for use in stored if use.field not in shrunk and is_container(context, use.field)]
    severity, price = Severity.INFO, context.phrase("stays", field=f"self.{stays[0]}") if stays else ""
    if growing := stored_for_ever(context):
        severity, price = Severity.WARNING, context.phrase("leaks", field=f"self.{growing[0].field}")
    words = context.words(component=context.component.name, does=does, price=price)
    yield context.finding(words, None, (function, step.span), severity=severity)


def _replays(context: RuleContext, functions: list[Function]) -> Iterator[tuple[Function, Step, str]]:
    """Yield the steps that emit again or put a record back into a queue, each with a clause about it."""
    for emit in emits(context, EntryKind.FAILED):
        if has_id(emit) and emit.function in functions:
            yield emit.function, emit.step, context.phrase("emits")
    queues = drained_fields(context, reach(context, entry_method(context, EntryKind.NEXT)))
    for function, step, word in lasting_effects(context, entry_method(context, EntryKind.FAILED)):
        if function in functions and isinstance(step.op, Call) and isinstance(step.op.func, Attr):
            field = context.own_field(function, step.op.func.obj)
            if word in CONTAINER_STORES and field in queues and field and is_container(context, field):
                yield function, step, context.phrase("queues", field=f"self.{field}")


# ---- limits ----


def _limits(function: Function, step: Step) -> bool:
    """Whether a step compares a count or an age of the tuple, calls opaque code with its id, or waits."""
    match step.op:
        case Test(condition=value) | Return(value=value) if value is not None:
            ids = derived_names(function, frozenset(param.name for param in function.params[1:]))
            return _measures(canonical(function, value), ids)
        case Call(func=Attr() | Global() as func):
            return last_name(func) in _PAUSES
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
    words = (word for part in subexpressions(expr) for word in name_words(last_name(part)))
    return mentions_any(expr, ids) or any(_COUNTS.search(word) for word in words)
