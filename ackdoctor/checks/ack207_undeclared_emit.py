"""ACK207: an emit to a stream that the component does not declare, or with another number of values than its fields."""

from collections.abc import Iterator

from ackdoctor.checks.facts.outputs import Streams, declared_streams, emitted_stream, payload_size
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.values import Const
from ackdoctor.model.dialect import Misuse, VerbKind
from ackdoctor.model.finding import Finding
from ackdoctor.rulebook import Words


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each emit call that certainly differs from the declaration."""
    streams = declared_streams(context)
    for flow, emit in context.events(Emitted):
        if flow.entry is None and context.program.owner(flow.function) is not context.component.cls:
            continue  # a method of a base class that this component may never call
        fault = _type(context, emit) or (_undeclared(context, streams, emit) if streams is not None else None)
        if fault is not None and fault[1] in context.discipline.costs and context.is_first(emit.step):
            yield context.finding(*fault, emit, flow=flow)


def _type(context: RuleContext, emit: Emitted) -> tuple[Words, Misuse] | None:
    match emit.values.get("stream"):
        case Const(value=int() | float() | bytes() as value):
            return context.words("type", value=repr(value)), Misuse.STREAM_TYPE
        case _:
            return None


def _undeclared(context: RuleContext, streams: Streams, emit: Emitted) -> tuple[Words, Misuse] | None:
    if emit.verb.kind is not VerbKind.EMIT:
        return None
    stream = emitted_stream(context, emit)
    declaration = context.dialect.outputs
    if stream is None or stream not in streams:
        known = isinstance(stream, str) and streams and all(isinstance(each, str) for each in streams)
        return (
            (context.words("stream", stream=stream, declaration=declaration), Misuse.STREAM)
            if known
            else None
        )
    fields, got = streams[stream], payload_size(context, emit)
    if fields is None or got is None or len(fields) == got:
        return None
    values = "1 value" if got == 1 else f"{got} values"
    name = f"`{stream}`" if isinstance(stream, str) else "this stream"
    words = context.words("fields", values=values, stream=name, want=len(fields), declaration=declaration)
    return words, Misuse.FIELDS
