"""ACK304: `fail` sends the tuple again every time, without a limit and without a pause."""

import re
from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import canonical_form, derived_names, mentions_any
from ackdoctor.checks.facts.fields import drained_fields, is_container, shrunk_fields
from ackdoctor.checks.facts.spouts import (
    Source,
    data_emits,
    emits,
    has_id,
    lasting_effects,
    payload_source,
    reach,
    stored_for_ever,
    stored_under_id,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.expressions import last_name, name_words, subexpressions
from ackdoctor.libraries.vocabulary import CONTAINER_READS, CONTAINER_STORES, CONTAINER_VIEWS, PURE_CALLS
from ackdoctor.model.cfg import Attr, Call, Compare, Expr, Function, Global, Mix, Return, Step, Test
from ackdoctor.model.dialect import EntryKind
from ackdoctor.model.finding import Finding, Severity

_ORDERS = frozenset(("<", "<=", ">", ">=", "==", "!="))
_PAUSES = frozenset("sleep wait call_later Timer sleep_for".split())
# a part of a name; neither `country` nor `account`
_COUNTS = re.compile(r"retr|^tries|attempt|fail|(?<!ac)(?<!dis)count(?!r)|^age$|time|clock|limit|max")
_KNOWN = PURE_CALLS | CONTAINER_READS | CONTAINER_VIEWS | {"len", "bool", "get", "empty", "qsize"}


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for a spout whose `fail` always replays."""
    if context.is_bolt or context.discipline.replays:
        return
    reached = reach(context, EntryKind.FAILED)
    shared = reach(context, EntryKind.NEXT)
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
    yield context.finding(words, None, (function, step.span), severity=severity, details=context.heirs)


def _replays(context: RuleContext, functions: list[Function]) -> Iterator[tuple[Function, Step, str]]:
    """Yield the steps that emit again or put a record back into a queue, each with a clause about it."""
    for emit in emits(context, EntryKind.FAILED):
        if has_id(emit) and emit.function in functions:
            yield emit.function, emit.step, context.phrase("emits")
    queues = drained_fields(context, reach(context, EntryKind.NEXT))
    for effect in lasting_effects(context, EntryKind.FAILED):
        stores = effect.word in CONTAINER_STORES and effect.function in functions
        if stores and effect.field in queues and is_container(context, effect.field):
            yield effect.function, effect.step, context.phrase("queues", field=f"self.{effect.field}")


# ---- limits ----


def _limits(function: Function, step: Step) -> bool:
    """Whether a step compares a count or an age of the tuple, calls opaque code with its id, or waits."""
    match step.op:
        case Test(condition=value) | Return(value=value) if value is not None:
            ids = derived_names(function, frozenset(param.name for param in function.params[1:]))
            return _measures(canonical_form(function, value), ids)
        case Call(func=Attr() | Global() as func):
            return last_name(func) in _PAUSES
        case _:
            return False


def _measures(condition: Expr, ids: frozenset[str]) -> bool:
    """Whether a condition compares the failed id, a count or an age, or calls opaque code with the id."""
    for part in subexpressions(condition):
        match part:
            case Compare(op=op) if op in _ORDERS:
                words = (word for inner in subexpressions(part) for word in name_words(last_name(inner)))
                if mentions_any(part, ids) or any(_COUNTS.search(word) for word in words):
                    return True
            case Mix(op="call", parts=(Attr(name=name) | Global(id=name), *_)):
                if name not in _KNOWN and mentions_any(part, ids):
                    return True
            case _:
                pass
    return False
