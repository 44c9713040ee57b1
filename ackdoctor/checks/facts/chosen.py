"""Paths that a bolt's user has chosen: `if (autoAck) collector.ack(tuple)`, where `autoAck` is set from outside."""

import re
from collections.abc import Callable

from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.checks.facts.canonical import spelling
from ackdoctor.flow.events import Trail, turns_back
from ackdoctor.flow.expressions import parts
from ackdoctor.model.cfg import Attr, Bind, Compare, Expr, Mix, Not, Test, Update
from ackdoctor.model.component import Function

__all__ = ["ACKING", "ANCHORING", "chosen"]

ACKING = frozenset("ack acks acking acknowledge reliable reliability".split())
ANCHORING = frozenset("anchor anchors anchored anchoring unanchored reliable reliability".split())
_SETTERS = re.compile(r"<init>|__init__|prepare|initialize|set|with")


def chosen(diagnosis: Diagnosis, words: frozenset[str]) -> Callable[[Trail], bool]:
    """Tells whether a path takes a test of a field that one of these words names, and that only setters and the like fill."""
    tests = {
        id(step)
        for function in diagnosis.functions()
        for step in function.cfg.steps
        if isinstance(step.op, Test) and _asks(diagnosis, function, step.op.condition, words)
    }
    return lambda end: bool(tests) and any(id(turn.visit.step) in tests for turn in turns_back(end))


def _asks(diagnosis: Diagnosis, function: Function, condition: Expr, words: frozenset[str]) -> bool:
    return any(
        words.intersection(parts(name)) and not _changes(diagnosis, name)
        for name in _fields(diagnosis, function, spelling(function).of(condition))
    )


def _fields(diagnosis: Diagnosis, function: Function, condition: Expr) -> set[str]:
    """The component's own fields that a condition, spelt out, asks."""
    match condition:
        case Attr() as place:
            name = diagnosis.field(function, place)
            return {name} if name else set()
        case Not(value=value):
            return _fields(diagnosis, function, value)
        case Compare(left=left, right=right):
            return _fields(diagnosis, function, left) | _fields(diagnosis, function, right)
        case Mix(op="call", parts=(Attr() as getter,)):
            own = diagnosis.own_method(function, getter)
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
