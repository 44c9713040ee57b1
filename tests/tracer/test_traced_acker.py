"""A traced acker gives the same answers, and records their tuples."""

from collections.abc import Iterator

import pytest

from ackdoctor.acker.acker import make_acker
from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.lab.bench import Bench
from ackdoctor.model.acker import AckAck, AckFail, AckInit, Message, ResetTimeout, Tick
from ackdoctor.model.trace import EventKind, GrowthPoint, Residue, Verdict
from ackdoctor.tracer.traced_acker import TracedAcker

PROFILES = ["storm-1.1.0", "storm-1.2.4", "storm-2.8.3"]


class Rows:
    """A recorder that stores its rows."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int]] = []

    def write(self, kind, component, task=0, *, root=0, value=0):
        self.rows.append((kind, root, value))


def watched(name: str = "storm-1.1.0", **options) -> tuple[TracedAcker, VirtualClock]:
    clock = VirtualClock()
    version = profile(name)
    return TracedAcker(make_acker(version, clock), version, now_ms=clock.now_ms, **options), clock


def messages() -> Iterator[Message]:
    yield AckInit(66, 8 ^ 11, 1)
    yield AckAck(66, 8 ^ 3)
    yield AckAck(66, 11)
    yield AckAck(66, 3)
    yield AckInit(67, 5, 1)
    yield AckAck(67, 5)
    yield AckAck(67, 5)
    yield AckFail(68)
    yield ResetTimeout(68)
    yield Tick()
    yield AckInit(69, 9, 2)
    yield AckFail(69)


@pytest.mark.parametrize("name", PROFILES)
def test_answers_are_those_of_the_acker_model(name):
    bare = make_acker(profile(name), VirtualClock())
    traced, _ = watched(name)
    for message in messages():
        assert traced.receive(message) == bare.receive(message)
        assert sorted(traced.pending(), key=str) == sorted(bare.pending(), key=str)
        assert len(traced) == len(bare)


def test_a_leaf_acked_twice_is_the_culprit():
    traced, _ = watched()
    traced.receive(AckInit(66, 3 ^ 4, 1))
    for delivery, value, line in (("b", 4, 20), ("b", 4, 21), ("a", 3, 10)):
        traced.noted(
            66, value, delivery=delivery, component="Leaf", task=7, site=f"leaf.py:{line} Leaf.process"
        )
        traced.receive(AckAck(66, value))
    (tree,) = traced.trees()
    assert (tree.root, tree.verdict, tree.residue) == (66, Verdict.OPEN, Residue.EVEN)
    (culprit,) = tree.culprits
    assert (culprit.delivery, culprit.component, culprit.task, culprit.acks) == ("b", "Leaf", 7, 2)
    assert culprit.sites == ("leaf.py:20 Leaf.process", "leaf.py:21 Leaf.process")


def test_an_ack_that_comes_after_the_root_has_completed_leaves_an_orphan_with_its_culprit():
    traced, _ = watched()
    traced.receive(AckInit(66, 3 ^ 4, 1))
    for delivery, value in (("a", 3), ("b", 4), ("b", 4)):
        traced.noted(66, value, delivery=delivery, component="Leaf")
        traced.receive(AckAck(66, value))
    (tree,) = traced.trees()
    assert tree.verdict is Verdict.ORPHAN
    assert [(culprit.delivery, culprit.acks) for culprit in tree.culprits] == [("b", 2)]


def test_a_leaf_never_acked_is_the_culprit():
    traced, _ = watched()
    traced.receive(AckInit(66, 3 ^ 4, 1))
    traced.linked(66, 3, delivery="a", component="Leaf")
    traced.linked(66, 4, delivery="b", component="Leaf")
    traced.noted(66, 3, delivery="a", component="Leaf")
    traced.receive(AckAck(66, 3))
    (tree,) = traced.trees()
    assert [(culprit.delivery, culprit.acks) for culprit in tree.culprits] == [("b", 0)]


def test_a_completed_root_is_forgotten():
    traced, _ = watched(most_notes=1)
    for root in range(1, 4):
        traced.receive(AckInit(root, 5, 1))
        traced.noted(root, 5, delivery="a", component="Leaf")
        traced.receive(AckAck(root, 5))
    tally = traced.tally()
    assert (tally.completed, tally.pending, tally.dropped, tally.trees) == (3, 0, 0, ())


def test_roots_beyond_the_limit_are_counted():
    traced, _ = watched(most_notes=1)
    traced.receive(AckInit(1, 5, 1))
    for delivery in "abc":
        traced.noted(1, 5, delivery=delivery, component="Leaf")
    assert traced.tally().dropped == 2


def test_growth_has_a_point_for_each_window():
    traced, clock = watched()
    for root in range(1, 4):
        traced.receive(AckInit(root, 5, 1))
        clock.advance(1)
    traced.receive(AckAck(99, 7))
    assert traced.tally().growth == (
        GrowthPoint(time_ms=1000, pending=1, orphans=0, started=1),
        GrowthPoint(time_ms=2000, pending=2, orphans=0, started=1),
        GrowthPoint(time_ms=3000, pending=3, orphans=0, started=1),
        GrowthPoint(time_ms=3000, pending=4, orphans=1, started=0),
    )


def test_a_rotated_entry_has_expired():
    traced, _ = watched("storm-2.8.3")
    traced.receive(AckInit(1, 5, 1))
    for _ in range(3):
        traced.receive(Tick())
    assert [(tree.root, tree.verdict) for tree in traced.trees()] == [(1, Verdict.EXPIRED)]


def test_the_recorder_gets_messages_and_answers():
    rows = Rows()
    traced, _ = watched(recorder=rows)
    traced.receive(AckInit(1, 5, 1))
    traced.receive(AckAck(1, 5))
    assert rows.rows == [(EventKind.INIT, 1, 5), (EventKind.ACK, 1, 5), (EventKind.COMPLETED, 1, 0)]


def test_the_model_is_the_acker_of_a_bench():
    from pystorm import Bolt

    class Forgets(Bolt):
        auto_ack = False

        def process(self, tup):
            pass

    watchers: list[TracedAcker] = []

    def wrap(acker):
        watchers.append(TracedAcker(acker, profile("storm-1.1.0")))
        return watchers[0]

    with Bench(Forgets, profile="storm-1.1.0", wrap_acker=wrap) as bench:
        bench.feed("a")
        assert [tree.verdict for tree in watchers[0].trees()] == [Verdict.OPEN]
