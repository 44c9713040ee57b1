"""Runs one case of a rule page that is written as messages to an acker."""

import re
from collections.abc import Iterator

from ackdoctor.acker.versions import profile
from ackdoctor.model.finding import Finding, TreeWitness
from ackdoctor.model.tally import GrowthPoint
from ackdoctor.rulebook import Case
from ackdoctor.tracer.judge.growth import growth_finding
from ackdoctor.tracer.judge.inquest import inquest
from tests.acker_rows import events_of

__all__ = ["findings_by_line"]

_WINDOW = re.compile(r"window (\d+) begun (\d+) pending")


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
