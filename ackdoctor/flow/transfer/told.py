"""Calls that are made for a log line: in `log.info("kept %s", place.name())` nobody expects the name to fail."""

from ackdoctor.flow.graph.expressions import names_in
from ackdoctor.flow.graph.once import once
from ackdoctor.flow.graph.wording import last_name
from ackdoctor.flow.linking.known import LOGGING
from ackdoctor.flow.transfer.liveness import read
from ackdoctor.model.cfg import Call
from ackdoctor.model.component import Function

__all__ = ["only_told"]


@once
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
