"""ACK204: an emit whose anchors, stream or payload the framework refuses, misreads or ignores."""

from collections.abc import Iterator
from dataclasses import dataclass

from ackdoctor.checks.facts.dataflow import origin
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.state import Batch, Const, Container, Picked, Token, TokenKind, TokenRef, Value
from ackdoctor.model.cfg import Build, Expr, Item, Literal, Name
from ackdoctor.model.dialect import Anchoring, Misuse, VerbKind
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]

_NO_STREAM = "a stream is named by a string, and no stream has this name"


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class _Fault:
    """What is wrong with an emit; without a misuse `cost` says what it costs."""

    message: str
    help: str
    misuse: Misuse | None
    cost: str = ""
    severity: Severity | None = None


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for each emit call in a bolt."""
    if not context.is_bolt:
        return
    told: set[int] = set()
    for flow, emit in context.events(Emitted):
        fault = _fault(context, emit)
        if fault is None or id(emit.step) in told:
            continue
        told.add(id(emit.step))
        yield context.finding(
            at=(emit.function, emit.step.span),
            message=fault.message + (f": {fault.cost}" if fault.cost else ""),
            misuse=fault.misuse,
            path=emit.path,
            token=emit.subject,
            last="emitted here",
            flow=flow,
            severity=fault.severity,
            help=fault.help,
        )


def _fault(context: RuleContext, emit: Emitted) -> _Fault | None:
    return (
        _extra(emit)
        or _payload(emit)
        or _stream(emit)
        or (
            _forced(context, emit)
            if context.discipline.anchoring is Anchoring.FORCED
            else _anchors(context, emit)
        )
    )


# ---- arguments in the wrong place ----


def _extra(emit: Emitted) -> _Fault | None:
    if not emit.verb.keyword_only or all(arg.name is not None or arg.star for arg in emit.extra):
        return None
    return _Fault(
        message=f"`{emit.verb.name}` of a batching bolt takes one positional argument",
        help="name the others: `stream=...`, `anchors=...`",
        misuse=Misuse.EMIT_POSITIONAL,
    )


def _payload(emit: Emitted) -> _Fault | None:
    match emit.payload:
        case TokenRef(token=token, part="") if (
            token.kind is not TokenKind.STORED and emit.verb.kind is VerbKind.EMIT
        ):
            return _Fault(
                message=f"this emits the tuple `{token.name}` itself, not its values",
                help=f"emit `{token.name}.values`, or a list of the fields you mean",
                misuse=Misuse.PAYLOAD_TUPLE,
            )
        case _:
            return None


def _stream(emit: Emitted) -> _Fault | None:
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
        message=f"argument {position} of `{emit.verb.name}` is the stream, and this is a tuple or a list",
        help=f"pass it as `{anchors}=`",
        misuse=None,
        cost=_NO_STREAM,
        severity=Severity.ERROR,
    )


# ---- anchors ----


def _forced(context: RuleContext, emit: Emitted) -> _Fault | None:
    """A basic bolt anchors to its input, whatever the code says."""
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
        message=f"`{emit.verb.anchors}` has no effect in a {context.role.name}",
        help="leave it out; if you need other anchors, derive from Bolt and complete every tuple by hand",
        misuse=Misuse.ANCHOR_IGNORED,
        severity=severity,
    )


def _anchors(context: RuleContext, emit: Emitted) -> _Fault | None:
    name = emit.verb.anchors
    if name is None or name not in emit.args:
        return None
    match emit.values.get(name):
        case Const(value=None) if Misuse.ANCHOR_NONE in context.discipline.prices:
            return _Fault(
                message=f"`{name}` is None",
                help=f"leave `{name}` out, or pass a list",
                misuse=Misuse.ANCHOR_NONE,
            )
        case Const(value=str()):
            return _one_id(name, "an id")
        case TokenRef(token=token, part="id"):
            return _one_id(name, f"the id of `{token.name}`")
        case TokenRef() if Misuse.ANCHOR_SHAPE not in context.discipline.prices:
            return None  # one tuple will do
        case TokenRef(token=token, part="") if token.kind is not TokenKind.STORED:
            return _one_tuple(name, token.name)
        case Container(items=items) if not context.discipline.accepts_id:
            return _ids(context, name, items) or _nested(emit, name)
        case Container():
            return _nested(emit, name)
        case None | Picked():
            element = _element(emit, emit.args[name])
            return _one_tuple(name, element) if element else None
        case _:
            return None


def _one_tuple(name: str, said: str) -> _Fault:
    return _Fault(
        message=f"`{name}` is the tuple `{said}` instead of a list of tuples",
        help=f"pass `{name}=[{said}]`",
        misuse=Misuse.ANCHOR_SHAPE,
    )


def _one_id(name: str, said: str) -> _Fault:
    return _Fault(
        message=f"`{name}` is {said} instead of a list of tuples",
        help=f"pass the tuple in a list: `{name}=[tup]`",
        misuse=Misuse.ANCHOR_ID,
    )


def _ids(context: RuleContext, name: str, items: frozenset[Value]) -> _Fault | None:
    tokens: list[Token] = [item.token for item in items if isinstance(item, TokenRef) and item.part == "id"]
    if not tokens:
        return None
    raises = context.severity(Misuse.ANCHOR_ID) is Severity.ERROR
    said = min(token.name for token in tokens)
    return _Fault(
        message=f"`{name}` holds the id of `{said}` instead of the tuple",
        help=f"pass `{name}=[{said}]`",
        misuse=Misuse.SUBJECT_ID if raises else Misuse.ANCHOR_ID,
    )


def _nested(emit: Emitted, name: str) -> _Fault | None:
    """A list in a list, such as `anchors=[tups]`."""
    found = origin(emit.path, emit.args[name])
    if found is None or not isinstance(found.made, Build):
        return None
    for item in found.made.items:
        value = found.visit.state.env.get(item.id) if isinstance(item, Name) else None
        if isinstance(item, Name) and isinstance(value, Batch):
            return _Fault(
                message=f"`{name}` is a list that holds the list `{item.id}`",
                help=f"pass `{name}={item.id}`",
                misuse=Misuse.ANCHOR_SHAPE,
            )
    return None


def _element(emit: Emitted, expr: Expr) -> str:
    """`tups[0]` as the code says it, where `tups` is the batch; "" for anything else."""
    match expr:
        case Item(obj=Name(id=batch), key=Literal(value=key)) if isinstance(
            emit.path.state.env.get(batch), Batch
        ):
            return f"{batch}[{key!r}]"
        case _:
            return ""
