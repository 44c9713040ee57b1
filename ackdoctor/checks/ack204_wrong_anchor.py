"""ACK204: an emit whose anchors, stream or payload the framework rejects, misreads or ignores."""

from collections.abc import Iterator
from dataclasses import dataclass

from ackdoctor.checks.facts.dataflow import definition
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.state import Batch, Const, Container, Picked, Token, TokenKind, TokenRef, Value
from ackdoctor.model.cfg import Build, Expr, Item, Literal, Name
from ackdoctor.model.dialect import Anchoring, Misuse, VerbKind
from ackdoctor.model.finding import Finding, Severity
from ackdoctor.rulebook import Words

__all__ = ["check"]


@dataclass(slots=True, unsafe_hash=True)
class _Fault:
    """A mistake in an emit call; `misuse` decides its price."""

    words: Words
    misuse: Misuse | None
    severity: Severity | None = None


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each wrong emit call in a bolt."""
    if not context.is_bolt:
        return
    reported: set[int] = set()
    for flow, emit in context.events(Emitted):
        fault = _fault(context, emit)
        if fault is None or id(emit.step) in reported:
            continue
        reported.add(id(emit.step))
        yield context.finding(
            fault.words,
            at=(emit.function, emit.step.span),
            misuse=fault.misuse,
            path=emit.path,
            token=emit.subject,
            flow=flow,
            severity=fault.severity,
        )


def _fault(context: RuleContext, emit: Emitted) -> _Fault | None:
    return (
        _extra(context, emit)
        or _payload(context, emit)
        or _stream(context, emit)
        or (
            _forced(context, emit)
            if context.discipline.anchoring is Anchoring.FORCED
            else _anchors(context, emit)
        )
    )


# ---- arguments in the wrong place ----


def _extra(context: RuleContext, emit: Emitted) -> _Fault | None:
    if not emit.verb.keyword_only or all(arg.name is not None or arg.star for arg in emit.extra):
        return None
    return _Fault(context.words("positional", verb=emit.verb.name), misuse=Misuse.EMIT_POSITIONAL)


def _payload(context: RuleContext, emit: Emitted) -> _Fault | None:
    match emit.payload:
        case TokenRef(token=token, part="") if (
            token.kind is not TokenKind.STORED and emit.verb.kind is VerbKind.EMIT
        ):
            return _Fault(context.words("payload", name=token.name), misuse=Misuse.PAYLOAD_TUPLE)
        case _:
            return None


def _stream(context: RuleContext, emit: Emitted) -> _Fault | None:
    if "stream" not in emit.verb.params or "stream" not in emit.args:
        return None
    match emit.values.get("stream"):
        case TokenRef(token=token) if token.kind is TokenKind.STORED:
            return None
        case TokenRef() | Batch():
            pass
        case Container(items=items) if items:
            pass
        case _:
            return None
    position = emit.verb.params.index("stream") + 1
    anchors = emit.verb.anchors or "anchors"
    return _Fault(
        context.words("stream", position=position, verb=emit.verb.name, anchors=anchors),
        misuse=None,
        severity=Severity.ERROR,
    )


# ---- anchors ----


def _forced(context: RuleContext, emit: Emitted) -> _Fault | None:
    """Check a basic bolt, which always anchors to its input."""
    if emit.verb.anchors is None or emit.verb.anchors not in emit.args:
        return None
    match emit.values.get(emit.verb.anchors):
        case Container(items=items) if emit.subject is not None and items == frozenset(
            (TokenRef(emit.subject),)
        ):
            severity = Severity.INFO
        case _:
            severity = Severity.WARNING
    return _Fault(
        context.words("ignored", anchors=emit.verb.anchors, role=context.role.name),
        misuse=Misuse.ANCHOR_IGNORED,
        severity=severity,
    )


def _anchors(context: RuleContext, emit: Emitted) -> _Fault | None:
    name = emit.verb.anchors
    if name is None or name not in emit.args:
        return None
    match emit.values.get(name):
        case Const(value=None) if Misuse.ANCHOR_NONE in context.discipline.prices:
            return _Fault(context.words("none", anchors=name), misuse=Misuse.ANCHOR_NONE)
        case Const(value=str()):
            return _one_id(context, name, "an id")
        case TokenRef(token=token, part="id"):
            return _one_id(context, name, f"the id of `{token.name}`")
        case TokenRef() if Misuse.ANCHOR_SHAPE not in context.discipline.prices:
            return None  # the framework accepts a single tuple
        case TokenRef(token=token, part="") if token.kind is not TokenKind.STORED:
            return _one_tuple(context, name, token.name)
        case Container(items=items) if not context.discipline.accepts_id:
            return _ids(context, name, items) or _nested(context, emit, name)
        case Container():
            return _nested(context, emit, name)
        case None | Picked():
            element = _element(emit, emit.args[name])
            return _one_tuple(context, name, element) if element else None
        case _:
            return None


def _one_tuple(context: RuleContext, name: str, tup: str) -> _Fault:
    words = context.words("tuple", anchors=name, what=f"the tuple `{tup}`", value=tup)
    return _Fault(words, misuse=Misuse.ANCHOR_SHAPE)


def _one_id(context: RuleContext, name: str, what: str) -> _Fault:
    return _Fault(context.words("id", anchors=name, what=what, value="tup"), misuse=Misuse.ANCHOR_ID)


def _ids(context: RuleContext, name: str, items: frozenset[Value]) -> _Fault | None:
    tokens: list[Token] = [item.token for item in items if isinstance(item, TokenRef) and item.part == "id"]
    if not tokens:
        return None
    raises = context.severity(Misuse.ANCHOR_ID) is Severity.ERROR
    first = min(token.name for token in tokens)
    return _Fault(
        context.words("list of ids", anchors=name, value=first),
        misuse=Misuse.SUBJECT_ID if raises else Misuse.ANCHOR_ID,
    )


def _nested(context: RuleContext, emit: Emitted, name: str) -> _Fault | None:
    """Check for a list in a list, such as `anchors=[tups]`."""
    found = definition(emit.path, emit.args[name])
    if found is None or not isinstance(found.value, Build):
        return None
    for item in found.value.items:
        value = found.visit.state.env.get(item.id) if isinstance(item, Name) else None
        if isinstance(item, Name) and isinstance(value, Batch):
            return _Fault(context.words("nested", anchors=name, value=item.id), misuse=Misuse.ANCHOR_SHAPE)
    return None


def _element(emit: Emitted, expr: Expr) -> str:
    """Return `tups[0]` as the code spells it, if `tups` is the batch; else ""."""
    match expr:
        case Item(obj=Name(id=batch), key=Literal(value=key)) if isinstance(
            emit.path.state.env.get(batch), Batch
        ):
            return f"{batch}[{key!r}]"
        case _:
            return ""
