"""Paths that a bolt's user has chosen: `if (autoAck) collector.ack(tuple)`, where `autoAck` is set from outside."""

import re

from ackdoctor.checks.canonical import Spelling
from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.flow.trail import Trail, turns_back
from ackdoctor.model.cfg import Attr, Bind, Compare, Expr, Mix, Not, Test, Update

__all__ = ["ACKING", "ANCHORING", "is_chosen"]

ACKING = frozenset("ack acks acking acknowledge reliable reliability".split())
ANCHORING = frozenset("anchor anchors anchored anchoring unanchored reliable reliability".split())
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_SETTERS = re.compile(r"<init>|__init__|prepare|initialize|set|with")


def is_chosen(diagnosis: Diagnosis, end: Trail, words: frozenset[str]) -> bool:
    """Whether a test on the path asks a field that one of these words names, and that only setters and the like fill."""
    return any(
        words.intersection(part.lower() for part in _PART.findall(name)) and not _changes(diagnosis, name)
        for station in turns_back(end)
        if isinstance(station.visit.step.op, Test)
        for name in _fields(diagnosis, station.visit, station.visit.step.op.condition)
    )


def _fields(diagnosis: Diagnosis, visit: Trail, condition: Expr) -> set[str]:
    """The component's own fields that a condition asks."""
    match Spelling(visit.function).of(condition):
        case Attr() as place:
            name = diagnosis.field(visit.function, place)
            return {name} if name else set()
        case Not(value=value):
            return _fields(diagnosis, visit, value)
        case Compare(left=left, right=right):
            return _fields(diagnosis, visit, left) | _fields(diagnosis, visit, right)
        case Mix(op="call", parts=(Attr() as getter,)):
            own = diagnosis.own_method(visit.function, getter)
            return {getter.name} if own is not None else set()
        case _:
            return set()


def _changes(diagnosis: Diagnosis, field: str) -> bool:
    """Whether the component itself turns a field while it runs: then it is a state, not a setting."""
    return any(
        isinstance(step.op, (Bind, Update))
        and isinstance(step.op.target, Attr)
        and diagnosis.field(function, step.op.target) == field
        for function in diagnosis.functions()
        if not _SETTERS.match(function.name)
        for step in function.cfg.steps
    )
