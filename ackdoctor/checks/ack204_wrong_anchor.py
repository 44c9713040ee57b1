"""ACK204: an emit whose anchors, stream or payload the framework rejects, misreads or ignores."""

from collections.abc import Iterator
from typing import NamedTuple

from ackdoctor.checks.facts.dataflow import definition
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.values import Batch, Const, Container, Picked, TokenKind, TokenRef
from ackdoctor.model.cfg import Build, Item, Literal, Name
from ackdoctor.model.dialect import Anchoring, Misuse, VerbKind
from ackdoctor.model.finding import Finding, Severity
from ackdoctor.rulebook import Words


class _Fault(NamedTuple):
    """A mistake in an emit call; `misuse` decides its price."""

    words: Words
    misuse: Misuse | None
    severity: Severity | None = None


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each wrong emit call in a bolt."""
    anchors = _ignored_anchors if context.discipline.anchoring is Anchoring.FORCED else _anchors
    for flow, emit in context.events(Emitted) if context.is_bolt else ():
        checks = (_positional, _payload, _stream, anchors)
        fault = next((fault for each in checks if (fault := each(context, emit))), None)
        if fault is not None and context.is_first(emit.step):
            yield context.finding(fault.words, fault.misuse, emit, flow=flow, severity=fault.severity)


# ---- arguments in the wrong place ----


def _positional(context: RuleContext, emit: Emitted) -> _Fault | None:
    if not emit.verb.keyword_only or all(arg.name is not None or arg.star for arg in emit.extra):
        return None
    return _Fault(context.words("positional", verb=emit.verb.name), Misuse.EMIT_POSITIONAL)


def _payload(context: RuleContext, emit: Emitted) -> _Fault | None:
    match emit.payload:
        case TokenRef(token=token, part="") if token.kind is not TokenKind.STORED:
            if emit.verb.kind is VerbKind.EMIT:
                return _Fault(context.words("payload", name=token.name), Misuse.PAYLOAD_TUPLE)
        case _:
            pass
    return None


def _stream(context: RuleContext, emit: Emitted) -> _Fault | None:
    match emit.values.get("stream"):
        case TokenRef(token=token) if token.kind is not TokenKind.STORED:
            pass
        case Batch():
            pass
        case Container(items=items) if items:
            pass
        case _:
            return None
    position = emit.verb.params.index("stream") + 1
    anchors = emit.verb.anchors or "anchors"
    words = context.words("stream", position=position, verb=emit.verb.name, anchors=anchors)
    return _Fault(words, None, Severity.ERROR)


# ---- anchors ----


def _ignored_anchors(context: RuleContext, emit: Emitted) -> _Fault | None:
    """Check the anchors of a basic bolt, which always anchors to its input."""
    name = emit.verb.anchors
    if name is None or name not in emit.args:
        return None
    value = emit.values.get(name)
    own = (
        isinstance(value, Container) and emit.subject is not None and value.items == {TokenRef(emit.subject)}
    )
    words = context.words("ignored", anchors=name, role=context.role.name)
    return _Fault(words, Misuse.ANCHOR_IGNORED, Severity.INFO if own else Severity.WARNING)


def _anchors(context: RuleContext, emit: Emitted) -> _Fault | None:
    name = emit.verb.anchors
    if name is None or name not in emit.args:
        return None
    match emit.values.get(name):
        case Const(value=None) if Misuse.ANCHOR_NONE in context.discipline.prices:
            return _Fault(context.words("none", anchors=name), Misuse.ANCHOR_NONE)
        case Const(value=str()):
            return _Fault(context.words("id", anchors=name, what="an id", value="tup"), Misuse.ANCHOR_ID)
        case TokenRef(token=token, part="id"):
            words = context.words("id", anchors=name, what=f"the id of `{token.name}`", value="tup")
            return _Fault(words, Misuse.ANCHOR_ID)
        case TokenRef(token=token, part="") if token.kind is not TokenKind.STORED:
            return _one_tuple(context, name, token.name)
        case Container(items=items):
            ids = [item.token.name for item in items if isinstance(item, TokenRef) and item.part == "id"]
            if not ids or context.discipline.accepts_id:
                return _nested(context, emit, name)
            raises = context.severity(Misuse.ANCHOR_ID) is Severity.ERROR
            words = context.words("list of ids", anchors=name, value=min(ids))
            return _Fault(words, Misuse.SUBJECT_ID if raises else Misuse.ANCHOR_ID)
        case None | Picked():
            match emit.args[name]:
                case Item(obj=Name(id=batch), key=Literal(value=key)):
                    if isinstance(emit.path.state.env.get(batch), Batch):
                        return _one_tuple(context, name, f"{batch}[{key!r}]")
                case _:
                    pass
        case _:
            pass
    return None


def _one_tuple(context: RuleContext, name: str, tup: str) -> _Fault | None:
    if Misuse.ANCHOR_SHAPE not in context.discipline.prices:
        return None  # the framework accepts a single tuple
    words = context.words("tuple", anchors=name, what=f"the tuple `{tup}`", value=tup)
    return _Fault(words, Misuse.ANCHOR_SHAPE)


def _nested(context: RuleContext, emit: Emitted, name: str) -> _Fault | None:
    """Check for a list in a list, such as `anchors=[tups]`."""
    found = definition(emit.path, emit.args[name])
    if found is None or not isinstance(found.value, Build):
        return None
    for item in found.value.items:
        if isinstance(item, Name) and isinstance(found.visit.state.env.get(item.id), Batch):
            return _Fault(context.words("nested", anchors=name, value=item.id), Misuse.ANCHOR_SHAPE)
    return None
