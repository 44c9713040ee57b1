"""A delivery's recent access records as the steps of a path: where, what, and the tuple's state after it."""

from collections.abc import Mapping

from ackdoctor.model.finding import PathStep
from ackdoctor.model.protocol import Op, Stage, move
from ackdoctor.model.violation import Access, AccessKind, Violation
from ackdoctor.tracer.judge.circumstances import by_framework
from ackdoctor.tracer.judge.place import Places

__all__ = ["steps"]

_NOTES: Mapping[AccessKind, str] = {
    AccessKind.RECEIVED: "received",
    AccessKind.ANCHORED: "emitted, anchored to it",
    AccessKind.EMITTED: "emitted without anchor",
    AccessKind.ACKED: "acked",
    AccessKind.FAILED: "failed",
    AccessKind.RETURNED: "returns to the framework",
    AccessKind.LOST: "garbage collected, still owed",
    AccessKind.ENDED: "the run ends",
}
_FRAMEWORK: Mapping[AccessKind, str] = {
    AccessKind.ACKED: "the framework acks it",
    AccessKind.FAILED: "the framework fails it",
    AccessKind.ANCHORED: "the framework anchors an emit to it",
}
_OPS: Mapping[AccessKind, tuple[Op, Op]] = {
    AccessKind.ACKED: (Op.ACK, Op.AUTO_ACK),
    AccessKind.FAILED: (Op.FAIL, Op.AUTO_FAIL),
    AccessKind.ANCHORED: (Op.ANCHOR, Op.ANCHOR),
}


def steps(violation: Violation, places: Places, last: str) -> tuple[PathStep, ...]:
    """One step for each record; what the framework did stands at the line that let it.

    `last` is what the rule says of the offending record, '' where the record says it itself.
    """
    here = places.receipt(violation.traced, violation.handler)
    state = Stage.OWED
    path: list[PathStep] = []
    for number, touch in enumerate(violation.history):
        own = touch.site if touch.site is not None and not touch.site.framework else None
        if own is not None and own.line:
            here = places.of(own)
        if touch.kind in _OPS:
            state = move(state, _OPS[touch.kind][by_framework(touch)]).state
        offending = number == len(violation.history) - 1
        note = last if offending and last else _note(touch, violation)
        path.append(PathStep(site=here, note=note + _aside(touch), state=state.value))
    return tuple(path) or (PathStep(site=here, note=last or "here"),)


def _note(touch: Access, violation: Violation) -> str:
    if by_framework(touch) and touch.kind in _FRAMEWORK:
        return _FRAMEWORK[touch.kind]
    note = _NOTES[touch.kind]
    if touch.kind is AccessKind.ENDED and violation.held:
        return f"{note}, still in {violation.held}"
    return f"tick {note}" if violation.tick and touch.kind is AccessKind.RECEIVED else note


def _aside(touch: Access) -> str:
    thread = f", on thread {touch.thread}" if touch.thread else ""
    return f"{thread}, while an exception is handled" if touch.in_except else thread
