"""ACK301: a spout emits without a message id, so nobody will tell it what became of the tuple."""

import re
from collections.abc import Iterator
from itertools import pairwise

from ackdoctor.checks.facts.dataflow import derived_names, mentions_any
from ackdoctor.checks.facts.provenance import source
from ackdoctor.checks.facts.spouts import acts, data_emits, entry_method, first, has_id, reach, steps_of
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.expressions import name_words
from ackdoctor.model.cfg import Attr, Bind, Call, Item, Name
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import EntryKind, Kind, Misuse
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]

_ID_NAME = re.compile(
    r"(?:.*_)?(?:msg|message|mess|tup|tuple|emit|storm)_?u?u?id|uuid|guid|.*_uuid", re.IGNORECASE
)
_WAITING = ("pending", "inflight", "unacked", "outstanding", "replay")
_ID_LIKE = re.compile(r"(?:.*_)?(?:u?u?id|key|tag|offset)", re.IGNORECASE)


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for a spout none of whose emits passes an id."""
    if context.role.kind is not Kind.SPOUT:
        return
    found = data_emits(context)
    if not found or any(has_id(emit) is not False for emit in found):
        return
    emit = first(found)
    severity, reason = _weight(context, found)
    yield context.finding(
        at=(emit.function, emit.step.span),
        message=f"this emit passes no message id{reason}",
        misuse=Misuse.NO_MESSAGE_ID,
        path=emit.path,
        last="emitted without message id",
        severity=severity,
        help=context.advice(Misuse.NO_MESSAGE_ID, "") or _help(emit),
    )


def _help(emit: Emitted) -> str:
    word = emit.verb.message_id
    stream = emit.args.get("stream")
    if isinstance(stream, Name) and _ID_LIKE.fullmatch(stream.id):
        position = emit.verb.params.index("stream") + 1
        return f"argument {position} of `{emit.verb.name}` is the stream: pass `{word}={stream.id}`"
    return f"pass `{word}=...` with what the source knows the record by, and send it again in `fail`, a few times at most"


def _weight(context: RuleContext, found: list[Emitted]) -> tuple[Severity, str]:
    """How much it matters, and the reason as the message gives it."""
    if context.discipline.replays:
        return context.severity(Misuse.NO_MESSAGE_ID), ""
    failed, acked = (entry_method(context, kind) for kind in (EntryKind.FAILED, EntryKind.ACKED))
    for method, word in ((failed, "fail"), (acked, "ack")):
        if acts(context, method):
            return Severity.WARNING, f", although {context.component.name} has a `{word}` that waits for it"
    told = next(
        (method for method in (failed, acked) if method is not None and _tells(context, method)), None
    )
    if told is not None:
        return Severity.WARNING, f", although {context.component.name} has a `{told.name}` that tells of it"
    for emit in found:
        unused = _unused_id(emit)
        if unused:
            return Severity.WARNING, f", although `{unused}` looks like one"
    if _keeps(context):
        return Severity.WARNING, ", although the spout keeps what it has sent"
    best = max(source(context, emit) for emit in found)
    return (Severity.WARNING if best.replayable else Severity.INFO), ""


def _tells(context: RuleContext, method: Function) -> bool:
    """Whether a callback prints or logs the id that it is given."""
    given = derived_names(method, frozenset(param.name for param in method.params[1:]))
    return any(
        mentions_any(arg.value, given)
        for function, step in steps_of(reach(context, method))
        if function is method and isinstance(step.op, Call)
        for arg in step.op.args
    )


def _unused_id(emit: Emitted) -> str:
    """A local of the emitting function whose name says that it is an id, and that the emit does not carry."""
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


def _keeps(context: RuleContext) -> bool:
    """Whether `next_tuple` puts something under a key into a field that speaks of waiting."""
    for function, step in steps_of(reach(context, entry_method(context, EntryKind.NEXT))):
        match step.op:
            case Bind(target=Item(obj=Attr() as place)):
                if _speaks_of_waiting(name_words(context.field(function, place) or "")):
                    return True
            case _:
                pass
    return False


def _speaks_of_waiting(words: list[str]) -> bool:
    """`pending`, `in_flight`, `sent`; but no `sentences`, and no `flights` of an airline."""
    in_flight = ("in", "flight") in pairwise(words)
    return in_flight or any(word == "sent" or word.startswith(_WAITING) for word in words)
