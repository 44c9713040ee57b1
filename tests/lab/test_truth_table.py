"""Rows 21 to 28 of `tests/acker/truth_table.py`: deaths, lateness, and trees that nobody keeps.

The topology is spout -> inner -> leaf, so the spout's edge is a, the inner bolt's e.
"""

from dataclasses import dataclass

import pytest

from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Bolt, Feed, WorkerDiedError
from ackdoctor.lab.topology import ACKER, Settings, TopologyBuilder
from ackdoctor.model.event import Event, EventKind
from tests.lab.components import STORMS, Ack, Branch, fed

each_storm = pytest.mark.parametrize("storm", STORMS)


@dataclass
class Tree:
    """One root, and all that can be seen of it."""

    cluster: Cluster
    feed: Feed
    rows: list[Event]
    leaves: list[object]

    def edge(self, component):
        """The edge id of what a component received first."""
        received = [row for row in self.rows if row.component == component and row.kind is EventKind.LINKED]
        return received[0].value

    def entries(self):
        return [(entry.task is not None, entry.value) for entry in self.cluster.pending()]

    def told(self):
        return self.feed.acked, self.feed.failed


def _tree(storm, inner=Branch, *, feed=None, **settings):
    rows: list[Event] = []
    leaves: list[object] = []
    feed = feed or Feed()
    builder = TopologyBuilder()
    builder.set_spout("spout", feed, outputs=["value"])
    builder.set_bolt("inner", inner, outputs=["value"]).shuffle_grouping("spout")
    builder.set_bolt("leaf", lambda: Ack(leaves)).shuffle_grouping("inner")
    topology = builder.build(Settings(message_timeout_secs=10, **settings))
    return Tree(Cluster(topology, profile=storm, record=rows.append), feed, rows, leaves)


class Mortal(Bolt):
    """Dies once, at a point; `lives` outlives it."""

    point = "before emit"

    def __init__(self, lives):
        self.lives = lives

    def execute(self, tup):
        self._here("before emit")
        self.collector.emit(tup.values, anchors=[tup])
        self._here("after emit")
        self.collector.ack(tup)
        self._here("after ack")

    def _here(self, point):
        if self.lives.get(point, 0):
            self.lives[point] -= 1
            raise WorkerDiedError(point)


@each_storm
def test_row_21_an_acker_that_restarts_makes_orphans_of_the_acks_that_come_later(storm):
    tree = _tree(storm)
    tree.cluster.hold("inner", "leaf")
    tree.feed.put("x", msg_id=1)
    tree.cluster.settle()
    tree.cluster.kill(ACKER)
    assert tree.entries() == []
    tree.cluster.release("inner", "leaf")
    tree.cluster.settle()
    assert tree.entries() == [(False, tree.edge("leaf"))]
    tree.cluster.advance(20)
    assert tree.told() == ([], [1])


@each_storm
def test_row_21_an_acker_that_restarts_after_the_last_ack_holds_nothing(storm):
    tree = _tree(storm)
    tree.cluster.hold("spout", ACKER)  # the init waits in the acker's queue, and is lost with it
    tree.feed.put("x", msg_id=1)
    tree.cluster.settle()
    tree.cluster.kill(ACKER)
    tree.cluster.release("spout", ACKER)
    tree.cluster.advance(20)
    assert (tree.entries(), tree.told()) == ([], ([], [1]))


@each_storm
def test_row_22_a_spout_that_restarts_hears_nothing(storm):
    tree = _tree(storm)
    tree.cluster.hold("inner", "leaf")
    tree.feed.put("x", msg_id=1)
    tree.cluster.settle()
    tree.cluster.kill("spout")
    assert tree.cluster.spout_pending("spout") == {}
    tree.cluster.release("inner", "leaf")
    tree.cluster.advance(60)
    assert (tree.entries(), tree.told(), tree.leaves) == ([], ([], []), ["x"])
    assert [row.kind for row in tree.rows if row.kind is EventKind.COMPLETED] == [EventKind.COMPLETED]


@each_storm
def test_row_23_a_bolt_that_dies_before_it_emits_repeats_nothing(storm):
    lives = {"before emit": 1}
    tree = _tree(storm, lambda: Mortal(lives))
    tree.feed.put("x", msg_id=1)
    tree.cluster.settle()
    assert tree.entries() == [(True, tree.edge("inner"))]
    tree.cluster.advance(20)
    assert (tree.told(), tree.leaves) == (([], [1]), [])
    tree.feed.put("x", msg_id=1)  # the replay
    tree.cluster.settle()
    assert (tree.told(), tree.leaves) == (([1], [1]), ["x"])


@each_storm
def test_row_24_a_bolt_that_dies_after_it_has_emitted_has_its_child_repeated(storm):
    lives = {"after emit": 1}
    tree = _tree(storm, lambda: Mortal(lives))
    tree.feed.put("x", msg_id=1)
    tree.cluster.settle()
    assert tree.entries() == [(True, tree.edge("inner") ^ tree.edge("leaf"))]
    tree.cluster.advance(20)
    tree.feed.put("x", msg_id=1)  # the replay
    tree.cluster.settle()
    assert (tree.told(), tree.leaves) == (([1], [1]), ["x", "x"])


@each_storm
def test_row_25_a_bolt_that_dies_after_its_ack_does_no_harm(storm):
    lives = {"after ack": 1}
    tree = _tree(storm, lambda: Mortal(lives))
    tree.feed.put("x", msg_id=1)
    tree.cluster.advance(60)
    assert [death.reason for death in tree.cluster.deaths] == ["after ack"]
    assert (tree.entries(), tree.told(), tree.leaves) == ([], ([1], []), ["x"])


class Late(Bolt):
    """Acks after so many seconds."""

    def __init__(self, seconds):
        self.seconds = seconds

    def execute(self, tup):
        yield self.seconds
        self.collector.ack(tup)


@pytest.mark.parametrize(
    "storm", ["storm-1.1.0", "storm-2.8.8"]
)  # 2 and 3 buckets, never and at last rotated
def test_row_26_a_completion_after_the_spouts_timeout_finds_the_entry(storm):
    feed, cluster = fed(lambda: Late(25), Settings(message_timeout_secs=10), profile=storm)
    feed.put("x", msg_id=1)
    cluster.advance(20)
    assert (feed.failed, len(list(cluster.pending()))) == ([1], 1)
    cluster.advance(5)
    assert (feed.acked, feed.failed, list(cluster.pending())) == ([], [1], [])


@pytest.mark.parametrize(("storm", "seconds"), [("storm-1.2.4", 25), ("storm-2.8.8", 35)])
def test_row_26b_a_completion_after_the_entry_was_dropped_leaves_an_orphan(storm, seconds):
    feed, cluster = fed(lambda: Late(seconds), Settings(message_timeout_secs=10), profile=storm)
    feed.put("x", msg_id=1)
    cluster.advance(seconds - 1)
    assert (feed.failed, list(cluster.pending())) == ([1], [])
    cluster.advance(1)
    assert (feed.acked, feed.failed) == ([], [1])
    assert [(entry.task, entry.failed) for entry in cluster.pending()] == [(None, False)]


@each_storm
def test_row_27_without_ackers_a_message_is_acked_at_once_whatever_becomes_of_it(storm):
    lives = {"before emit": 1}
    tree = _tree(storm, lambda: Mortal(lives), ackers=0)
    tree.feed.put("x", msg_id=1)
    tree.cluster.advance(60)
    assert (tree.told(), tree.leaves, tree.cluster.ackers) == (([1], []), [], ())


@each_storm
def test_row_27_a_message_for_nobody_is_acked_at_once(storm):
    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("spout", feed, outputs=["value"])
    cluster = Cluster(builder.build(), profile=storm)
    feed.put("x", msg_id=1)
    cluster.settle()
    assert (feed.acked, list(cluster.pending()), cluster.spout_pending("spout")) == ([1], [], {})


@each_storm
def test_row_28_of_a_tuple_without_message_id_nobody_hears(storm):
    lives = {"after emit": 1}
    tree = _tree(storm, lambda: Mortal(lives))
    tree.feed.put("x")
    tree.cluster.advance(60)
    assert (tree.entries(), tree.told(), tree.leaves) == ([], ([], []), ["x"])
