"""Spouts that lose failed tuples, replay them for ever, or keep what they have sent."""

import re
from collections.abc import Iterator
from itertools import pairwise

from ackdoctor.checks.facts.dataflow import canonical_form, derived_names, mentions_any
from ackdoctor.checks.facts.fields import drained_fields, is_container, shrunk_fields, uses
from ackdoctor.checks.facts.outputs import emitted_stream
from ackdoctor.checks.facts.spouts import (
    REMOVALS,
    Effect,
    Source,
    calls_super,
    data_emits,
    emits,
    entry_method,
    has_id,
    lasting_effects,
    payload_source,
    reach,
    remembered_fields,
    stored_for_ever,
    stored_under_id,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.expressions import calls_by_result, last_name, name_words, subexpressions
from ackdoctor.libraries.vocabulary import CONTAINER_READS, CONTAINER_STORES, CONTAINER_VIEWS, PURE_CALLS
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Call,
    Compare,
    Expr,
    Function,
    Global,
    Item,
    Mix,
    Name,
    Return,
    Step,
    Test,
)
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding, Severity

# ---- ACK301 spout-emit-without-id ----
# The severity depends on whether the spout expects an answer, or could replay the record.


_ID_NAME = re.compile(
    r"(?:.*_)?(?:msg|message|mess|tup|tuple|emit|storm)_?u?u?id|uuid|guid|.*_uuid", re.IGNORECASE
)
_PENDING = ("pending", "inflight", "unacked", "outstanding", "replay")
_ID_LIKE = re.compile(r"(?:.*_)?(?:u?u?id|key|tag|offset)", re.IGNORECASE)


def ack301_spout_emit_without_id(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for a spout if none of its emits passes an id, or for the retry that passes none."""
    found = [] if context.is_bolt else data_emits(context)
    if not found or any(has_id(emit) is not False for emit in found):
        yield from _retried_without_id(context, found)
        return
    emit = found[0]
    severity, reason = _severity(context, found)
    words = context.words(reason=reason, advice=_advice(context, emit))
    yield context.finding(words, Misuse.NO_MESSAGE_ID, emit, severity=severity, details=context.heirs)


def _retried_without_id(context: RuleContext, found: list[Emitted]) -> Iterator[Finding]:
    """Yield the emit of `fail` that passes no id, on a stream on which `next_tuple` passes one."""
    streams = [emitted_stream(context, emit) for emit in found if has_id(emit)]
    for emit in emits(context, EntryKind.FAILED) if streams else ():
        if has_id(emit) is False and emitted_stream(context, emit) in streams:
            words = context.words("retry")
            yield context.finding(
                words, Misuse.NO_MESSAGE_ID, emit, severity=Severity.WARNING, details=context.heirs
            )
            return


def _advice(context: RuleContext, emit: Emitted) -> str:
    own = context.advice(Misuse.NO_MESSAGE_ID, "")
    if own:
        return own
    verb, stream = emit.verb, emit.args.get("stream")
    if isinstance(stream, Name) and _ID_LIKE.fullmatch(stream.id):
        position = verb.params.index("stream") + 1
        return context.phrase(
            "stream", position=position, verb=verb.name, message_id=verb.message_id, value=stream.id
        )
    return context.phrase("pass", message_id=f"`{verb.message_id}=...`")


def _severity(context: RuleContext, found: list[Emitted]) -> tuple[Severity, str]:
    """Return the severity, and its reason as a clause of the message."""
    if context.discipline.replays:
        return context.severity(Misuse.NO_MESSAGE_ID), ""
    name = context.component.name
    callbacks = {"fail": EntryKind.FAILED, "ack": EntryKind.ACKED}
    for word, kind in callbacks.items():
        if lasting_effects(context, kind):
            return Severity.WARNING, context.phrase("waits", component=name, method=word)
    for kind in callbacks.values():
        method = entry_method(context, kind)
        if method is not None and _logs_id(method):
            return Severity.WARNING, context.phrase("logs", component=name, method=method.name)
    unused = next((name for emit in found if (name := _unused_id(emit))), "")
    if unused:
        return Severity.WARNING, context.phrase("unused", name=unused)
    if _keeps_records(context):
        return Severity.WARNING, context.phrase("keeps")
    best = max(payload_source(context, emit) for emit in found)
    return (Severity.WARNING if best.replayable else Severity.INFO), ""


def _logs_id(method: Function) -> bool:
    """Whether an idle callback passes the id that it gets to a call: it prints or logs it."""
    ids = derived_names(method, frozenset(param.name for param in method.params[1:]))
    calls = calls_by_result(method).values()
    return any(mentions_any(arg.value, ids) for call in calls for arg in call.args)


def _unused_id(emit: Emitted) -> str:
    """Return a local of the emitting function that is named like an id and is not in the payload; else ""."""
    payload = emit.payload
    for step in emit.function.cfg.steps:
        match step.op:
            case Bind(target=Name(id=name)) if _ID_NAME.fullmatch(name):
                used = derived_names(emit.function, frozenset((name,)))
                if payload is None or not mentions_any(payload, used):
                    return name
            case _:
                pass
    return ""


def _keeps_records(context: RuleContext) -> bool:
    """Whether `next_tuple` stores a value under a key in a field that is named after pending tuples."""
    stored = uses(context, reach(context, EntryKind.NEXT))
    stores = (use for use in stored if use.how == "=" and isinstance(use.place, Item))
    return any(_names_pending(name_words(use.field)) for use in stores)


def _names_pending(words: list[str]) -> bool:
    """Whether a name means pending tuples: `pending`, `in_flight`, `sent`; not `sentences`, nor an airline's `flights`."""
    in_flight = ("in", "flight") in pairwise(words)
    return in_flight or any(word == "sent" or word.startswith(_PENDING) for word in words)


# ---- ACK302 spout-without-replay ----


_DROPS = REMOVALS | {"del"}
_COMPLETES = frozenset(
    "ack acknowledge basicAck basic_ack commit commitAsync commitSync deleteMessage delete_message".split()
)
_IN_ARGUMENTS = frozenset("= execute executemany executeUpdate".split())  # the same word may do anything


def ack302_spout_without_replay(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for a spout that loses failed tuples."""
    if context.is_bolt or context.discipline.replays or context.component.opaque:
        return
    found = [emit for emit in data_emits(context) if has_id(emit)]
    loss = _loss(context, found) if found else None
    if loss is not None:
        reason, severity = loss
        words = context.words(reason=reason)
        yield context.finding(words, None, found[0], severity=severity, details=context.heirs)


def _loss(context: RuleContext, found: list[Emitted]) -> tuple[str, Severity] | None:
    """Return why failed tuples are lost, and the severity; None if the spout replays them."""
    name = context.component.name
    failed, acked = (lasting_effects(context, kind) for kind in (EntryKind.FAILED, EntryKind.ACKED))
    actions = {effect.word for effect in failed}
    completed = _source_acks(failed) & _source_acks(acked)
    if completed and actions <= _DROPS | ({effect.word for effect in acked} - _IN_ARGUMENTS):
        return context.phrase("acked", component=name, call=min(completed)), Severity.WARNING
    calls = [each for each in acked if each.is_call and not (each.field and each.word in CONTAINER_STORES)]
    if not actions <= _DROPS or not all(each.field and is_container(context, each.field) for each in calls):
        return None  # `fail` does something, or the source keeps every record that `ack` does not complete
    stored = stored_under_id(context)
    drained = drained_fields(context, reach(context, EntryKind.NEXT))
    if any(use.field in drained for use in stored):
        return None  # `next_tuple` reads the records that it stored
    if actions:
        return context.phrase("dropped", component=name), Severity.INFO
    source = max(payload_source(context, emit) for emit in found)
    warns = source.replayable or (source is Source.UNKNOWN and stored)
    why = "missing" if entry_method(context, EntryKind.FAILED) is None else "idle"
    return context.phrase(why, component=name), Severity.WARNING if warns else Severity.INFO


def _source_acks(effects: list[Effect]) -> set[str]:
    """The calls that complete a record at its source, as `field.method`."""
    return {f"{each.field}.{each.word}" for each in effects if each.field and each.word in _COMPLETES}


# ---- ACK303 spout-buffer-leak ----


def ack303_spout_buffer_leak(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each field that only grows, and for each override that disables the framework's cleanup."""
    if context.is_bolt:
        return
    if context.discipline.replays:
        yield from _overridden(context)
    if context.component.opaque:
        return
    remembered = {each for each in remembered_fields(context) if not _names_pending(name_words(each))}
    kept = remembered | shrunk_fields(context, _after_success(context))
    growing = [
        use for use in stored_under_id(context) if use.field not in kept and is_container(context, use.field)
    ]
    replayed = stored_for_ever(context)  # under a new id, and the entry under the old id stays
    for case, found in (("message", growing), ("new id", replayed)):
        for use in found:
            if context.is_first(use.field):
                words = context.words(case, field=f"self.{use.field}")
                yield context.finding(words, None, (use.function, use.step.span), details=context.heirs)


def _overridden(context: RuleContext) -> Iterator[Finding]:
    """Yield the overrides of the framework's own callbacks that do not call them."""
    for kind in (EntryKind.ACKED, EntryKind.FAILED):
        method = entry_method(context, kind)
        if method is None or method.name not in context.role.owned:
            continue
        if any(calls_super(each) for each in reach(context, kind) if each.name == method.name):
            continue
        words = context.words(
            "owned method",
            method=method.name,
            component=context.component.name,
            role=context.role.name,
            damage=context.role.owned[method.name],
        )
        yield context.finding(words, None, method, details=context.heirs)


def _after_success(context: RuleContext) -> list[Function]:
    """Every function except those that only `fail` reaches."""
    others = reach(context, *(kind for kind in EntryKind if kind is not EntryKind.FAILED))
    failing = set(reach(context, EntryKind.FAILED)).difference(others)
    return [function for function in context.functions if function not in failing]


# ---- ACK304 endless-replay ----


_ORDERS = frozenset(("<", "<=", ">", ">=", "==", "!="))
_PAUSES = frozenset("sleep wait call_later Timer sleep_for".split())
# a part of a name; neither `country` nor `account`
_COUNTS = re.compile(r"retr|^tries|attempt|fail|(?<!ac)(?<!dis)count(?!r)|^age$|time|clock|limit|max")
_KNOWN = PURE_CALLS | CONTAINER_READS | CONTAINER_VIEWS | {"len", "bool", "get", "empty", "qsize"}


def ack304_endless_replay(context: RuleContext) -> Iterator[Finding]:
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
