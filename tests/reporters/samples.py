"""Hand-made reports: a small topology with a missing ack, a double ack through a helper, and an idle comment."""

from dataclasses import replace
from pathlib import Path

from ackdoctor.model.finding import (
    Confidence,
    Finding,
    PathStep,
    PathWitness,
    Report,
    Severity,
    TreeWitness,
    Unreadable,
)
from ackdoctor.model.source import Site, Span
from ackdoctor.reporters import Context, Sources

ENRICH = """from streamparse import Bolt

from base import AckingBolt


class EnrichBolt(Bolt):
    auto_ack = False

    def process(self, tup):
        row = self.rows.get(tup.values[0])
        if not row:
            return
        self.emit([row], anchors=[tup])
        self.ack(tup)


class TwiceBolt(AckingBolt):
    def process(self, tup):
        self.done(tup); self.ack(tup)
"""

BASE = """from streamparse import Bolt


class AckingBolt(Bolt):
\tauto_ack = False

\tdef done(self, tup):
\t\tself.ack(tup)  # 完了
"""

GIVEN = {"bolts/enrich.py": ENRICH.encode(), "bolts/base.py": BASE.encode()}


def site(path: str, line: int, column: int, end_column: int) -> Site:
    return Site(path, Span(line, column, line, end_column))


def step(place: Site, note: str, state: str = "", depth: int = 0) -> PathStep:
    return PathStep(site=place, note=note, state=state, depth=depth)


MISSING = Finding(
    code="ACK101",
    name="missing-ack",
    severity=Severity.ERROR,
    confidence=Confidence.MUST,
    site=site("bolts/enrich.py", 12, 13, 19),
    message="`tup` leaves EnrichBolt.process neither acked nor failed",
    component="EnrichBolt",
    handler="process",
    dialect="streamparse",
    evidence=PathWitness(
        steps=(
            step(site("bolts/enrich.py", 9, 23, 26), "received", "owed"),
            step(site("bolts/enrich.py", 11, 12, 19), "true"),
            step(site("bolts/enrich.py", 12, 13, 19), "returns", "owed"),
        )
    ),
    cause="return in if",
    fingerprint="0f5cd7c1c6d96f3b3a55",
    help="ack or fail `tup` before this return",
)

DOUBLE = Finding(
    code="ACK103",
    name="double-ack",
    severity=Severity.WARNING,
    confidence=Confidence.MAY,
    site=site("bolts/enrich.py", 19, 25, 38),
    message="`tup` is acked twice",
    component="TwiceBolt",
    handler="process",
    dialect="streamparse",
    evidence=PathWitness(
        steps=(
            step(site("bolts/enrich.py", 18, 23, 26), "received", "owed"),
            step(site("bolts/enrich.py", 19, 9, 23), "calls done"),
            step(site("bolts/base.py", 8, 3, 16), "acked", "acked", depth=1),
            step(site("bolts/enrich.py", 19, 25, 38), "acked again", "acked"),
        )
    ),
    cause="ack after ack in done",
    fingerprint="5d0c1b9e5a1f0c7b9d11",
    help="ack once",
)

SEEN = replace(
    DOUBLE,
    severity=Severity.ERROR,
    confidence=Confidence.MUST,
    evidence=TreeWitness(
        steps=DOUBLE.evidence.steps,
        delivery="7",
        root=-6722594615019711369,
        left=("acker: root -6722594615019711369 leaves an orphan, value 3; the spout got ack",),
        test="tests/test_enrich.py::test_twice",
        seen=1_200,
    ),
)

LEAK = Finding(
    code="ACK603",
    name="pending-growth",
    severity=Severity.WARNING,
    confidence=Confidence.MAY,
    site=site("trace", 1, 1, 1),
    message="the pending map grows in every window although the load does not",
    component="acker",
    handler="",
    dialect="",
    evidence=TreeWitness(steps=(), left=("acker: 0 entries at the start, 6,000 after 60 s",)),
    cause="orphans",
    fingerprint="bbbbbbbbbbbbbbbbbbbb",
    help="the never-zero entries and orphans of this run name what is acked again or never",
)

RUN = Report(findings=(SEEN, LEAK), components=1)

IDLE = Finding(
    code="ACK901",
    name="unused-ignore",
    severity=Severity.WARNING,
    confidence=Confidence.MUST,
    site=site("bolts/enrich.py", 7, 5, 22),
    message="`ignore[ACK103]` silences nothing",
    component="",
    handler="",
    dialect="",
    evidence=PathWitness(steps=()),
    cause="ignore[ACK103]",
    fingerprint="aaaaaaaaaaaaaaaaaaaa",
)

REPORT = Report(
    findings=(MISSING, DOUBLE, IDLE),
    unreadable=(Unreadable(path="bolts/broken.py", line=3, column=7, reason="invalid syntax"),),
    files=("bolts/base.py", "bolts/broken.py", "bolts/enrich.py"),
    components=3,
    suppressed=2,
    baselined=1,
    hidden=4,
)


def context() -> Context:
    return Context(sources=Sources(root=Path("nowhere"), in_memory=GIVEN))
