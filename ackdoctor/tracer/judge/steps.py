"""A delivery's recent access records as the steps of a path: where, what, and the tuple's state after it."""

from collections.abc import Mapping

from ackdoctor.model.finding import PathStep
from ackdoctor.model.offence import Offence, Touch, TouchKind
from ackdoctor.model.protocol import Op, Stage, move
from ackdoctor.tracer.judge.circumstances import by_framework
from ackdoctor.tracer.judge.place import Places

__all__ = ["steps"]

_NOTES: Mapping[TouchKind, str] = {
    TouchKind.RECEIVED: "received",
    TouchKind.ANCHORED: "emitted, anchored to it",
    TouchKind.EMITTED: "emitted without anchor",
    TouchKind.ACKED: "acked",
    TouchKind.FAILED: "failed",
    TouchKind.RETURNED: "returns to the framework",
    TouchKind.LOST: "garbage collected, still owed",
    TouchKind.ENDED: "the run ends",
}
_FRAMEWORK: Mapping[TouchKind, str] = {
    TouchKind.ACKED: "the framework acks it",
    TouchKind.FAILED: "the framework fails it",
    TouchKind.ANCHORED: "the framework anchors an emit to it",
}
_OPS: Mapping[TouchKind, tuple[Op, Op]] = {
    TouchKind.ACKED: (Op.ACK, Op.AUTO_ACK),
    TouchKind.FAILED: (Op.FAIL, Op.AUTO_FAIL),
    TouchKind.ANCHORED: (Op.ANCHOR, Op.ANCHOR),
}


def steps(offence: Offence, places: Places, last: str) -> tuple[PathStep, ...]:
    """One step for each record; what the framework did stands at the line that let it.

    `last` is what the rule says of the offending record, '' where the record says it itself.
    """
    here = places.receipt(offence.suspect, offence.handler)
    state = Stage.OWED
    path: list[PathStep] = []
    for number, touch in enumerate(offence.life):
        own = touch.site if touch.site is not None and not touch.site.framework else None
        if own is not None and own.line:
            here = places.of(own)
        if touch.kind in _OPS:
            state = move(state, _OPS[touch.kind][by_framework(touch)]).state
        offending = number == len(offence.life) - 1
        note = last if offending and last else _note(touch, offence)
        path.append(PathStep(site=here, note=note + _aside(touch), state=state.value))
    return tuple(path) or (PathStep(site=here, note=last or "here"),)


def _note(touch: Touch, offence: Offence) -> str:
    if by_framework(touch) and touch.kind in _FRAMEWORK:
        return _FRAMEWORK[touch.kind]
    note = _NOTES[touch.kind]
    if touch.kind is TouchKind.ENDED and offence.held:
        return f"{note}, still in {offence.held}"
    return f"tick {note}" if offence.tick and touch.kind is TouchKind.RECEIVED else note


def _aside(touch: Touch) -> str:
    thread = f", on thread {touch.thread}" if touch.thread else ""
    return f"{thread}, while an exception is handled" if touch.in_except else thread
