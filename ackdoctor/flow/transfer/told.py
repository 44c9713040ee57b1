"""Calls that nobody expects to fail: in `log.info("kept %s", place.name())` the name, in `finally: writer.close()` the end."""

from ackdoctor.flow.expressions import last_name, memoize, names_in
from ackdoctor.flow.library import ENDINGS, LOGGING
from ackdoctor.flow.transfer.liveness import read
from ackdoctor.model.cfg import Call
from ackdoctor.model.component import Function

__all__ = ["only_told", "taken_to_work"]


@memoize
def taken_to_work(function: Function) -> frozenset[int]:
    """The calls (by step) that are taken not to raise once a tuple was completed.

    What a `finally` closes or releases is closed as behind a `try` with resources, where the close that nobody wrote raises nothing either.
    """
    endings = {
        index
        for index, step in enumerate(function.cfg.steps)
        if step.way is not None
        and isinstance(step.op, Call)
        and step.op.dropped
        and not step.op.args
        and last_name(step.op.func) in ENDINGS
    }
    return only_told(function) | endings


@memoize
def only_told(function: Function) -> frozenset[int]:
    """The calls (by step) whose result is given to log lines and to nothing else, directly or through such a call."""
    steps = function.cfg.steps
    takers: dict[str, set[int]] = {}
    for index, step in enumerate(steps):
        for expr in read(step.op):
            for name in names_in(expr):
                takers.setdefault(name, set()).add(index)
    lines: set[int] = set()
    told: set[int] = set()
    for index in range(len(steps) - 1, -1, -1):  # what is given is worked out before it is given
        op = steps[index].op
        if not isinstance(op, Call):
            continue
        if op.dropped and last_name(op.func) in LOGGING:
            lines.add(index)
        elif takers.get(op.result.id, set()) and takers[op.result.id] <= lines | told:
            told.add(index)
    return frozenset(told)
