"""The effect of violations on the pending map, and a growing map."""

import pytest

from ackdoctor.acker.versions import profile
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Confidence, Severity
from ackdoctor.model.trace import AccessKind, GrowthPoint, Verdict
from ackdoctor.tracer.acker_findings import growth_finding
from ackdoctor.tracer.findings import findings
from tests.tracer.violations import call, culprit, orphan, pending, summary, touch, traced, tree, violation

ACKED, FAILED = AccessKind.ACKED, AccessKind.FAILED


# ---- what it did to the pending map ----


def test_a_violation_names_the_entry_that_it_leaves_in_the_acker(path, places):
    twice = violation(Misuse.TWICE, traced(path), touch(ACKED, call(path, 9)), touch(ACKED, call(path, 10)))
    (found,) = findings(
        [twice], [orphan(77, 3, culprit(2, component="SqlBolt"))], profile=profile("1.1.0"), places=places
    )
    assert (found.code, tree(found).root) == ("ACK103", 77)
    assert tree(found).left == (
        "acker: root 77 leaves an orphan, value 3; the spout got ack",
        "acker: such an entry stays until the acker's worker restarts: storm-1.1.0 never drops one",
    )


def test_the_same_id_in_another_component_is_another_tuple(path, places):
    twice = violation(Misuse.TWICE, traced(path), touch(ACKED, call(path, 9)), touch(ACKED, call(path, 10)))
    found = findings([twice], [orphan(77, 3, culprit(2, component="store"))], places=places)
    assert {finding.code for finding in found} == {"ACK103", "ACK601"}


def test_many_roots_of_one_violation_are_shown_as_three_and_a_number(path, places):
    sites = (str(call(path, 9)), str(call(path, 10)))
    twice = violation(
        Misuse.TWICE, traced(path), touch(ACKED, call(path, 9)), touch(ACKED, call(path, 10)), count=9
    )
    trees = [orphan(root, 3, culprit(2, *sites, delivery=str(root))) for root in range(1, 10)]
    (found,) = findings([twice], trees, places=places)
    assert [line.partition(" leaves")[0] for line in tree(found).left] == [
        "acker: root 1",
        "acker: root 2",
        "acker: root 3",
        "acker: 6 more roots like these",
        "acker: such an entry stays until the acker drops it",
    ]


def test_an_entry_without_a_violation_is_a_never_zero_entry_with_its_tuple(path, places):
    sites = (str(call(path, 9)), str(call(path, 10)))
    trees = [pending(root, 3, culprit(2, *sites, delivery=str(root))) for root in (5, 6)]
    (found,) = findings((), trees, profile=profile("2.8.8"), places=places)
    assert summary(found) == (
        "sql.py:10:13: error ACK601 never-zero-entry the acker keeps an entry that can never become zero: "
        "a tuple of sql was acked twice; it stays for two to three message timeouts"
    )
    assert (found.component, found.handler, tree(found).seen, tree(found).root) == ("sql", "process", 2, 5)
    assert tree(found).left == (
        "acker: root 5 leaves a tracked entry, value 3; the spout timed out and replays",
        "law L1: 3 is what sql[4] delivery 5 sends; acked twice",
        "acker: root 6 leaves a tracked entry, value 3; the spout timed out and replays",
        "law L1: 3 is what sql[4] delivery 6 sends; acked twice",
    )


def test_an_entry_that_is_open_at_the_end_is_only_a_maybe(places):
    (found,) = findings((), [pending(5, 3, culprit(0), verdict=Verdict.OPEN)], places=places)
    assert summary(found) == (
        "<acker>:1:1: warning (may) ACK601 never-zero-entry the acker keeps an entry that is not zero at the end: "
        "a tuple of sql was never acked; it stays until the acker drops it"
    )


@pytest.mark.parametrize(
    ("verdict", "severity"),
    [
        (Verdict.FAILED, Severity.INFO),
        (Verdict.EXPIRED, Severity.INFO),
        (Verdict.ORPHAN, Severity.INFO),
        (Verdict.COMPLETE, Severity.WARNING),
    ],
)
def test_an_orphan_proves_nothing_unless_the_tree_was_complete(verdict, severity, places):
    (found,) = findings((), [orphan(5, 4, verdict=verdict)], places=places)
    assert (found.code, found.severity, found.confidence) == ("ACK602", severity, Confidence.MAY)


# ---- growth ----


def grown(sizes: list[int], load: list[int] | None = None) -> list[GrowthPoint]:
    started = load or [100] * len(sizes)
    return [
        GrowthPoint(time_ms=n * 10_000, pending=size, orphans=size, started=begun)
        for n, (size, begun) in enumerate(zip(sizes, started, strict=True))
    ]


def test_a_map_that_rises_in_every_window_is_reported_with_its_price():
    found = growth_finding(
        grown([0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]), profile=profile("1.1.0"), nowhere=None
    )
    assert found is not None
    assert (found.code, found.severity) == ("ACK603", Severity.ERROR)
    assert found.message == (
        "the pending map grows in every window although the load does not: an entry stays until the acker's "
        "worker restarts: storm-1.1.0 never drops one"
    )
    assert tree(found).left == (
        "acker: 0 entries at the start, 60,000 after 60 s, 60,000 of them orphans: 1,000.0 a second (R2 1.00)",
        "acker: at 144 bytes an entry the 768 MB of a worker are full in 93 minutes",
    )


def test_a_long_run_is_looked_at_in_twelve_windows():
    saw = [n * 10 + (n % 7) * 20 for n in range(600)]  # up and down within a minute, up in the end
    found = growth_finding(grown(saw), profile=profile("2.8.8"), nowhere=None)
    assert found is not None
    assert found.severity is Severity.WARNING


@pytest.mark.parametrize(
    "points",
    [
        grown([10, 12, 9, 11, 10, 12, 10]),
        grown([0, 10, 20, 30, 40]),
        grown([0, 100, 200, 300, 300, 300, 300]),
        grown([10, 20, 30, 40, 50, 60, 70], [10, 20, 30, 40, 50, 60, 70]),
        grown([0, 1, 2, 3, 4, 5, 6]),
    ],
    ids=["steady", "too short", "levels off", "follows the load", "too small"],
)
def test_a_map_that_does_not_leak_is_silent(points):
    assert growth_finding(points, profile=None, nowhere=None) is None
