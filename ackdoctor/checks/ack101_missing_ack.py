"""ACK101: a path leaves the handler with the tuple neither acked nor failed nor handed on."""

from collections.abc import Iterator

from ackdoctor.checks.facts.completions import ACKING, chosen
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, Stored
from ackdoctor.flow.state import Token, TokenRef
from ackdoctor.flow.witness import assumes_raise, leaving_step
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Confidence, Finding
from ackdoctor.model.protocol import Op

__all__ = ["check"]

_BY_HAND = (Op.ACK, Op.FAIL)


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding per way out that forgets the tuple; one at the handler where every way does."""
    for flow in context.flows:
        if flow.entry is None or flow.entry.kind not in (EntryKind.DATA, EntryKind.BATCH) or flow.wrapped:
            continue
        missing = [
            s
            for s in flow.events
            if isinstance(s, Ended) and s.breach is not None and s.token is not None and not s.is_system
        ]
        if not missing or flow.function.docstring_only:
            continue
        by_choice = chosen(context, ACKING)
        missing = [ended for ended in missing if not by_choice(ended.path)]
        if not missing:
            continue
        token = missing[0].token
        assert token is not None  # filtered above
        if _never(flow, token):
            first = next((ended for ended in missing if not assumes_raise(ended.path)), missing[0])
            yield context.finding(
                at=(flow.function, flow.function.head),
                message=f"no path through {context.component.name}.{flow.function.name} acks or fails {token.words}",
                misuse=Misuse.NEVER,
                path=first.path,
                token=token,
                last="returns to the framework",
                confidence=Confidence.MAY if flow.limited else Confidence.MUST,  # it is true of every path
                flow=flow,
                help=_by_id(context, flow)
                or f"ack {token.words} when its work is done, fail it when it cannot",
            )
            continue
        completing = _completing(flow, token)
        leaving: dict[tuple[int, int], Finding] = {}  # several parts of one condition are one way out
        for ended in missing:
            function, span = leaving_step(ended.path, completing)
            found = context.finding(
                at=(function, span),
                message=f"{token.words} leaves {context.component.name}.{flow.function.name} "
                "neither acked nor failed on this path",
                misuse=Misuse.NEVER,
                path=ended.path,
                token=token,
                last="returns to the framework",
                flow=flow,
                help=_by_id(context, flow)
                or f"ack {token.words} on this path too, or fail it if its work is to be tried again",
            )
            told = leaving.setdefault((id(function), span.line), found)
            if found.confidence > told.confidence:
                leaving[id(function), span.line] = found
        yield from leaving.values()


def _by_id(context: RuleContext, flow: Flow) -> str:
    """What to do where the code completes the tuple by its id, and the framework does not take that."""
    for event in flow.events:
        match event:
            case Completed(token=None, value=TokenRef(part="id"), verb=verb) if verb is not None:
                note = context.price(Misuse.SUBJECT_ID)
                return f"give `{verb.name}` the tuple, not its id (line {event.step.span.line}): {note}"
            case _:
                pass
    return ""


def _never(flow: Flow, token: Token) -> bool:
    """Whether no path completes or hands on the tuple."""
    for event in flow.events:
        match event:
            case Completed(token=None, op=op, value=TokenRef()) if op in _BY_HAND:
                continue  # refused
            case Completed(token=done, op=op) if op in _BY_HAND and (done == token or done is None):
                return False
            case Stored(token=kept) if kept == token:
                return False
            case Ended(breach=None, raised=None, state=state) if (
                token in state.tokens and not _ended_as_system(state, token)
            ):
                return False
            case _:
                pass
    return True


def _ended_as_system(state: object, token: Token) -> bool:
    tokens = getattr(state, "tokens", {})
    return token in tokens and tokens[token].tick.is_system


def _completing(flow: Flow, token: Token) -> frozenset[int]:
    """The functions in which the tuple is completed by hand or stored, the handler among them."""
    found = {id(flow.function)}
    for event in flow.events:
        match event:
            case Completed(op=op) if op not in _BY_HAND:
                continue
            case Completed(token=done) | Stored(token=done) if done == token:
                found.add(id(event.function))
            case _:
                pass
    return frozenset(found)
