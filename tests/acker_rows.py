"""Trace rows from lines of text (`init 66 1`, `ack 66 1 by sql`, `timeout 66`), and the culprits of trees."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ackdoctor.acker.residue import blame, suspicions
from ackdoctor.model.event import Event, EventKind
from ackdoctor.model.verdict import RunTally

__all__ = ["events_of", "with_culprits"]

_KINDS = {
    "init": EventKind.INIT,
    "ack": EventKind.ACK,
    "fail": EventKind.FAIL,
    "reset": EventKind.RESET,
    "tick": EventKind.ROTATED,
    "timeout": EventKind.TIMED_OUT,
}
_LINE = re.compile(r"(?P<kind>[a-z]+)(?: (?P<root>\d+))?(?: (?P<value>\d+))?(?: by (?P<component>\w+))?")
_SECOND = 1_000_000_000


def events_of(lines: Sequence[str]) -> list[Event]:
    """Return the trace rows of these lines, one a second."""
    events = []
    for seq, line in enumerate(lines, start=1):
        words = _LINE.fullmatch(line)
        assert words is not None, f"line {seq} is not a message to an acker: {line}"
        component, value = words["component"] or "", int(words["value"] or 0)
        events.append(
            Event(
                kind=_KINDS[words["kind"]],
                time_ns=seq * _SECOND,
                seq=seq,
                component=component,
                task=11 if words["kind"] == "init" else 0,
                delivery=f"{component}-{value}" if component else "",
                root=int(words["root"] or 0),
                value=value,
            )
        )
    return events


def with_culprits(tally: RunTally, events: Iterable[Event]) -> RunTally:
    """Return the tally with the culprits of its trees, from a second pass over the trace."""
    wanted = {tree.root: tree for tree in tally.trees}
    seen = suspicions(events, wanted)
    return replace(tally, trees=tuple(blame(tree, seen[tree.root]) for tree in tally.trees))
