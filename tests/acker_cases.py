"""Runs one case of a rule page that is written as messages to an acker."""

import re
from collections.abc import Iterator

from ackdoctor.acker.versions import profile
from ackdoctor.model.event import Event, EventKind
from ackdoctor.model.finding import Finding, TreeWitness
from ackdoctor.model.tally import GrowthPoint
from ackdoctor.rulebook import Case
from ackdoctor.tracer.growth import growth_finding
from ackdoctor.tracer.inquest import inquest

__all__ = ["events_of", "findings_by_line"]

_KINDS = {
    "init": EventKind.INIT,
    "ack": EventKind.ACK,
    "fail": EventKind.FAIL,
    "reset": EventKind.RESET,
    "tick": EventKind.ROTATED,
    "timeout": EventKind.TIMED_OUT,
}
_LINE = re.compile(r"(?P<kind>[a-z]+)(?: (?P<root>\d+))?(?: (?P<value>\d+))?(?: by (?P<component>\w+))?")
_WINDOW = re.compile(r"window (\d+) begun (\d+) pending")
_SECOND = 1_000_000_000


def findings_by_line(case: Case) -> Iterator[tuple[int, Finding]]:
    """Each finding with the line it stands on: the last message of its root, or the last window."""
    version = profile(case.dialect)
    (file,) = case.files
    lines = [line.partition("#")[0].strip() for line in file.text.splitlines()]
    windows = [match for line in lines if (match := _WINDOW.fullmatch(line))]
    if windows:
        points = [
            GrowthPoint(time_ms=(n + 1) * 10_000, started=int(window[1]), pending=int(window[2]))
            for n, window in enumerate(windows)
        ]
        grown = growth_finding(points, profile=version, nowhere=None)
        yield from [(len(lines), grown)] if grown is not None else []
        return
    events = events_of(lines)
    last = {event.root: n for n, event in enumerate(events, start=1) if event.root}
    for finding in inquest(lambda: events, version).findings:
        assert isinstance(finding.evidence, TreeWitness)
        yield last[finding.evidence.root or 0], finding


def events_of(lines: list[str]) -> list[Event]:
    """The rows of a trace that those lines stand for, one a second."""
    events = []
    for seq, line in enumerate(lines, start=1):
        words = _LINE.fullmatch(line)
        assert words is not None, f"line {seq} is no message to an acker: {line}"
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
