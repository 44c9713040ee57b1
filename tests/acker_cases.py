"""Run a rule's case that consists of messages to an acker."""

import re
from collections.abc import Iterator

from ackdoctor.acker.versions import profile
from ackdoctor.model.finding import Finding, TreeWitness
from ackdoctor.model.trace import GrowthPoint
from ackdoctor.tracer.acker_findings import growth_finding
from ackdoctor.tracer.replay import judge_trace
from ackdoctor.tracer.timeouts import Step, TimedOut, slow_findings
from tests.rule_pages import Case
from tests.trace_rows import events_of

__all__ = ["findings_by_line", "timed_out"]

_WINDOW = re.compile(r"window (\d+) begun (\d+) pending")
_TIMEOUT = re.compile(r"message timeout (\d+)")
_TIMED_OUT = re.compile(
    r"(?P<roots>\d+) timed out after (?P<age>[\d.]+)(?:, complete after (?P<took>[\d.]+))?(?P<missing>, a tuple is missing)?(?P<twice>, a tuple is acked twice)?: (?P<steps>.+)"
)
_STEP = re.compile(r"(?P<component>\w+)(?: waited (?P<waited>[\d.]+))? held (?P<held>[\d.]+|to the end)")


def findings_by_line(case: Case) -> Iterator[tuple[int, Finding]]:
    """Yield each finding with its line: the last message of its root, or the last window."""
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
    if any(_TIMED_OUT.fullmatch(line) for line in lines):
        yield from _of_roots(lines)
        return
    events = events_of(lines)
    last = {event.root: n for n, event in enumerate(events, start=1) if event.root}
    for finding in judge_trace(lambda: events, version).findings:
        assert isinstance(finding.evidence, TreeWitness)
        yield last[finding.evidence.root or 0], finding


def timed_out(line: str, root: int = 1) -> TimedOut:
    """Parse `46 timed out after 19.9, complete after 24.9: parse held 0, batch waited 1 held 24.9`, in seconds."""
    words = _TIMED_OUT.fullmatch(line)
    assert words is not None, f"{line}: not a root that timed out"
    steps = [_STEP.fullmatch(step) for step in words["steps"].split(", ")]
    assert None not in steps, f"{line}: steps are `bolt held 3` or `bolt waited 2 held 3`"
    return TimedOut(
        root=root,
        roots=int(words["roots"]),
        age_ms=float(words["age"]) * 1000,
        took_ms=None if words["took"] is None else float(words["took"]) * 1000,
        missing=words["missing"] is not None,
        twice=words["twice"] is not None,
        open=any(step["held"] == "to the end" for step in steps if step),
        steps=tuple(
            Step(
                component=step["component"],
                held_ms=0 if step["held"] == "to the end" else float(step["held"]) * 1000,
                waited_ms=float(step["waited"] or 0) * 1000,
            )
            for step in steps
            if step
        ),
    )


def _of_roots(lines: list[str]) -> Iterator[tuple[int, Finding]]:
    """Yield each finding with the line of its slowest root; the first line may name the message timeout."""
    timeouts = [int(match[1]) for line in lines if (match := _TIMEOUT.fullmatch(line))]
    trees = [
        timed_out(line, number) for number, line in enumerate(lines, start=1) if not _TIMEOUT.fullmatch(line)
    ]
    found = slow_findings(
        trees, timeout_s=next(iter(timeouts), None), total=sum(tree.roots for tree in trees), paces={}
    )
    for finding in found:
        assert isinstance(finding.evidence, TreeWitness)
        yield finding.evidence.root or 0, finding
