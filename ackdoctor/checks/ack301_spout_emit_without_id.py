"""ACK301: a spout emits without a message id, so the acker tracks nothing and `ack` and `fail` are never called.

The severity depends on whether the spout expects an answer, or could replay the record.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from ackdoctor.checks.facts.dataflow import derived_names, mentions_any
from ackdoctor.checks.facts.fields import uses
from ackdoctor.checks.facts.spouts import (
    data_emits,
    entry_method,
    has_id,
    lasting_effects,
    payload_source,
    reach,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.expressions import calls_by_result, name_words
from ackdoctor.model.cfg import Bind, Function, Item, Name
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding, Severity

_ID_NAME = re.compile(
    r"(?:.*_)?(?:msg|message|mess|tup|tuple|emit|storm)_?u?u?id|uuid|guid|.*_uuid", re.IGNORECASE
)
_PENDING = ("pending", "inflight", "unacked", "outstanding", "replay")
_ID_LIKE = re.compile(r"(?:.*_)?(?:u?u?id|key|tag|offset)", re.IGNORECASE)


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for a spout if none of its emits passes an id."""
    found = [] if context.is_bolt else data_emits(context)
    if not found or any(has_id(emit) is not False for emit in found):
        return
    emit = found[0]
    severity, reason = _severity(context, found)
    words = context.words(reason=reason, advice=_advice(context, emit))
    yield context.finding(words, Misuse.NO_MESSAGE_ID, emit, severity=severity, details=context.heirs)


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
    payload = emit.args.get(emit.verb.subject or "")
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
