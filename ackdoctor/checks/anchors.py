"""Emits without an anchor, with a late one, or with a wrong one."""

from collections.abc import Iterator
from typing import NamedTuple

from ackdoctor.checks.facts.dataflow import definition
from ackdoctor.checks.facts.fields import ANCHORING, depends_on_setting
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Anchors, Emitted, Flow, Path, points_back
from ackdoctor.flow.values import Batch, Const, Container, Picked, Token, TokenKind, TokenRef
from ackdoctor.flow.witness import completions, line_text
from ackdoctor.model.cfg import Attr, Bind, Build, Call, Expr, Item, Literal, Name
from ackdoctor.model.dialect import Anchoring, EntryKind, Misuse, Moment, VerbKind
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Breach, Stage
from ackdoctor.rulebook import Words, advice

# ---- ACK201 unanchored-emit ----


def ack201_unanchored_emit(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each emit call that handles an input tuple and has no anchor."""
    if not context.is_bolt or Misuse.UNANCHORED not in context.discipline.prices:
        return
    emits = [
        (flow, emit)
        for flow, emit in context.events(Emitted, EntryKind.DATA, EntryKind.BATCH)
        if emit.anchors is Anchors.NONE and not emit.tick.is_system
    ]
    is_opt_out = depends_on_setting(context, ANCHORING) if emits else None
    for flow, emit in emits:
        if is_opt_out is not None and not is_opt_out(emit.path) and context.is_first(emit.step):
            name = emit.subject.name if emit.subject is not None else "the input tuple"
            advice = _anchor_advice(context, flow, emit, name)
            details = (
                emit.verb.anchors or "",
                emit.subject.name if emit.subject is not None else "",
                _value(flow, name),
            )
            yield context.finding(
                context.words(tup=f"`{name}`", advice=advice),
                Misuse.UNANCHORED,
                emit,
                flow=flow,
                severity=Severity.WARNING,
                details=details,
            )


def _anchor_advice(context: RuleContext, flow: Flow, emit: Emitted, name: str) -> str:
    token_state = emit.path.state.tokens.get(emit.subject) if emit.subject is not None else None
    late = token_state is not None and token_state.stage in (Stage.ACKED, Stage.FAILED)
    first = context.phrase("early", tup=f"`{name}`") if late else ""  # a completed anchor would do harm
    return first + (
        context.advice(Misuse.UNANCHORED, name)
        or context.phrase("anchor", anchors=emit.verb.anchors, value=_value(flow, name))
    )


def _value(flow: Flow, name: str) -> str:
    """Return the list of anchors: the batch, or a list of the one tuple."""
    return name if flow.entry is not None and flow.entry.kind is EntryKind.BATCH else f"[{name}]"


# ---- ACK202 emit-after-ack ----


def ack202_emit_after_ack(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each emit call that some path reaches with a completed anchor."""
    reaches_system = advice.reaches_system(context.discipline, Misuse.LATE_EMIT)
    for flow, emit in context.events(Emitted):
        # ticks and Storm's other own tuples are in no tree
        late = [each for each in emit.late if reaches_system or not _is_system_tuple(emit, each[0])]
        late = [each for each in late if not _is_of_this_call(emit.path, each[0])]
        if not late or not context.is_first(emit.step):
            continue
        token, breach = late[0]
        done = next(completions(emit.path, token), None)
        words = context.words(
            is_anchored="anchors" if emit.anchors is Anchors.EXPLICIT else "is anchored by the framework",
            tup=token.words,
            done="acked" if breach is Breach.EMIT_AFTER_ACK else "failed",
            where=f" on {line_text(done, emit.function)}" if done is not None else "",
            advice=_late_advice(context, token, by_hand=done is not None),
        )
        confidence = Confidence.MAY if context.discipline.completion is Moment.STORED else None
        yield context.finding(words, Misuse.LATE_EMIT, emit, flow=flow, token=token, confidence=confidence)


def _is_system_tuple(emit: Emitted, token: Token) -> bool:
    token_state = emit.path.state.tokens.get(token)
    return token_state is not None and token_state.tick.is_system


def _is_of_this_call(end: Path, token: Token) -> bool:
    """Whether a tuple is from a field that the path has emptied: it is no tuple that an earlier call left there."""
    field = token.field
    if not field or next(completions(end, token), None) is not None:
        return False
    for visit, _, _ in points_back(end):
        match visit.step.op:
            case Bind(target=Attr(name=name)) | Call(func=Attr(obj=Attr(name=name), name="clear")) if (
                name == field
            ):
                return True
            case _:
                pass
    return False


def _late_advice(context: RuleContext, token: Token, *, by_hand: bool) -> str:
    if token.kind is TokenKind.ELEMENT and not by_hand:
        return context.phrase("no anchor", framework=context.dialect.title, tup=token.words)
    if context.component.auto_ack and not by_hand and context.role.by_hand:
        return context.phrase("by hand", by_hand=context.role.by_hand, tup=token.words)
    return context.phrase("emit first", tup=token.words)


# ---- ACK204 wrong-anchor ----


class _Fault(NamedTuple):
    """A mistake in an emit call; `misuse` decides its price."""

    words: Words
    misuse: Misuse | None
    severity: Severity | None = None


def ack204_wrong_anchor(context: RuleContext) -> Iterator[Finding]:
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
    match emit.values.get(emit.verb.subject or ""):
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
                return _element(context, emit, name)
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


def _element(context: RuleContext, emit: Emitted, name: str) -> _Fault | None:
    """Check for an element that is no tuple: `anchors=[tups]`, `anchors=[tup.values]`."""
    found = definition(emit.path, emit.args[name])
    if found is None or not isinstance(found.value, Build):
        return None
    wrong = [words for item in found.value.items if (words := _no_tuple(context, found.visit, item, name))]
    raises = context.severity(Misuse.ANCHOR_ELEMENT) is Severity.ERROR
    if not wrong or (not raises and len(wrong) < len(found.value.items)):
        return None  # a framework that skips the element takes the others
    return _Fault(wrong[0], Misuse.ANCHOR_ELEMENT)


def _no_tuple(context: RuleContext, visit: Path, item: Expr, name: str) -> Words | None:
    """Return the words on an element of a list of anchors that is no tuple and no id."""
    env, shape = visit.state.env, context.dialect.shape
    match item:
        case Name(id=inner) if isinstance(env.get(inner), (Batch, Container)):
            return context.words("nested", anchors=name, value="[...]" if inner.startswith("%") else inner)
        case Build(kind="list" | "tuple", items=items):
            names = ", ".join(each.id if isinstance(each, Name) else "..." for each in items)
            return context.words("nested", anchors=name, value=f"[{names}]")
        case Attr(obj=Name(id=tup), name=attribute) if attribute in (
            shape.values,
            shape.component,
            shape.stream,
            shape.task,
        ):
            if isinstance(value := env.get(tup), TokenRef) and not value.part:
                return context.words("element", anchors=name, what=f"{tup}.{attribute}", value=tup)
        case Literal(value=None):
            return context.words("element", anchors=name, what="None", value="tup")
        case _:
            pass
    return None
