"""Rows 21 to 28 of `tests/acker/truth_table.py`: deaths, late completions, and untracked trees.

The topology is spout -> inner -> leaf: a is the spout's edge, e the inner bolt's.
"""

from dataclasses import dataclass

import pytest

from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Bolt, Feed, WorkerDiedError
from ackdoctor.lab.topology import ACKER, Settings, TopologyBuilder
from ackdoctor.model.trace import Event, EventKind
from tests.lab.components import STORMS, Ack, Branch, cluster_of

each_storm = pytest.mark.parametrize("storm", STORMS)


@dataclass
class Tree:
    """A root: its cluster, spout, trace rows and leaves."""

    cluster: Cluster
    feed: Feed
    rows: list[Event]
    leaves: list[object]

    def edge(self, component):
        """Return the edge id of the first tuple that a component received."""
        received = [row for row in self.rows if row.component == component and row.kind is EventKind.LINKED]
        return received[0].value

    def entries(self):
        return [(entry.task is not None, entry.value) for entry in self.cluster.pending()]

    def spout_calls(self):
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
    """Dies at the points in `crashes`, which outlives the bolt."""

    point = "before emit"

    def __init__(self, crashes):
        self.crashes = crashes

    def execute(self, tup):
        self._here("before emit")
        self.collector.emit(tup.values, anchors=[tup])
        self._here("after emit")
        self.collector.ack(tup)
        self._here("after ack")

    def _here(self, point):
        if self.crashes.get(point, 0):
            self.crashes[point] -= 1
            raise WorkerDiedError(point)


@each_storm
def test_row_21_a_restarted_acker_turns_later_acks_into_orphans(storm):
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
    assert tree.spout_calls() == ([], [1])


@each_storm
def test_row_21_an_acker_that_restarts_after_the_last_ack_is_empty(storm):
    tree = _tree(storm)
    tree.cluster.hold("spout", ACKER)  # the init is in the acker's queue, and is lost with it
    tree.feed.put("x", msg_id=1)
    tree.cluster.settle()
    tree.cluster.kill(ACKER)
    tree.cluster.release("spout", ACKER)
    tree.cluster.advance(20)
    assert (tree.entries(), tree.spout_calls()) == ([], ([], [1]))


@each_storm
def test_row_22_a_restarted_spout_receives_no_answer(storm):
    tree = _tree(storm)
    tree.cluster.hold("inner", "leaf")
    tree.feed.put("x", msg_id=1)
    tree.cluster.settle()
    tree.cluster.kill("spout")
    assert tree.cluster.spout_pending("spout") == {}
    tree.cluster.release("inner", "leaf")
    tree.cluster.advance(60)
    assert (tree.entries(), tree.spout_calls(), tree.leaves) == ([], ([], []), ["x"])
    assert [row.kind for row in tree.rows if row.kind is EventKind.COMPLETED] == [EventKind.COMPLETED]


@each_storm
def test_row_23_a_death_before_the_emit_repeats_nothing(storm):
    crashes = {"before emit": 1}
    tree = _tree(storm, lambda: Mortal(crashes))
    tree.feed.put("x", msg_id=1)
    tree.cluster.settle()
    assert tree.entries() == [(True, tree.edge("inner"))]
    tree.cluster.advance(20)
    assert (tree.spout_calls(), tree.leaves) == (([], [1]), [])
    tree.feed.put("x", msg_id=1)  # the replay
    tree.cluster.settle()
    assert (tree.spout_calls(), tree.leaves) == (([1], [1]), ["x"])


@each_storm
def test_row_24_a_death_after_the_emit_repeats_the_child(storm):
    crashes = {"after emit": 1}
    tree = _tree(storm, lambda: Mortal(crashes))
    tree.feed.put("x", msg_id=1)
    tree.cluster.settle()
    assert tree.entries() == [(True, tree.edge("inner") ^ tree.edge("leaf"))]
    tree.cluster.advance(20)
    tree.feed.put("x", msg_id=1)  # the replay
    tree.cluster.settle()
    assert (tree.spout_calls(), tree.leaves) == (([1], [1]), ["x", "x"])


@each_storm
def test_row_25_a_death_after_the_ack_is_harmless(storm):
    crashes = {"after ack": 1}
    tree = _tree(storm, lambda: Mortal(crashes))
    tree.feed.put("x", msg_id=1)
    tree.cluster.advance(60)
    assert [death.reason for death in tree.cluster.deaths] == ["after ack"]
    assert (tree.entries(), tree.spout_calls(), tree.leaves) == ([], ([1], []), ["x"])


class Late(Bolt):
    """Acks each tuple after some seconds."""

    def __init__(self, seconds):
        self.seconds = seconds

    def execute(self, tup):
        yield self.seconds
        self.collector.ack(tup)


@pytest.mark.parametrize("storm", ["storm-1.1.0", "storm-2.8.8"])  # 2 buckets without rotation, and 3 buckets
def test_row_26_a_completion_after_the_spout_s_timeout_removes_the_entry(storm):
    feed, cluster = cluster_of(lambda: Late(25), Settings(message_timeout_secs=10), profile=storm)
    feed.put("x", msg_id=1)
    cluster.advance(20)
    assert (feed.failed, len(list(cluster.pending()))) == ([1], 1)
    cluster.advance(5)
    assert (feed.acked, feed.failed, list(cluster.pending())) == ([], [1], [])


@pytest.mark.parametrize(("storm", "seconds"), [("storm-1.2.4", 25), ("storm-2.8.8", 35)])
def test_row_26b_a_completion_after_the_rotation_leaves_an_orphan(storm, seconds):
    feed, cluster = cluster_of(lambda: Late(seconds), Settings(message_timeout_secs=10), profile=storm)
    feed.put("x", msg_id=1)
    cluster.advance(seconds - 1)
    assert (feed.failed, list(cluster.pending())) == ([1], [])
    cluster.advance(1)
    assert (feed.acked, feed.failed) == ([], [1])
    assert [(entry.task, entry.failed) for entry in cluster.pending()] == [(None, False)]


@each_storm
def test_row_27_without_ackers_a_message_is_acked_at_once(storm):
    crashes = {"before emit": 1}
    tree = _tree(storm, lambda: Mortal(crashes), ackers=0)
    tree.feed.put("x", msg_id=1)
    tree.cluster.advance(60)
    assert (tree.spout_calls(), tree.leaves, tree.cluster.ackers) == (([1], []), [], ())


@each_storm
def test_row_27_a_message_without_targets_is_acked_at_once(storm):
    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("spout", feed, outputs=["value"])
    cluster = Cluster(builder.build(), profile=storm)
    feed.put("x", msg_id=1)
    cluster.settle()
    assert (feed.acked, list(cluster.pending()), cluster.spout_pending("spout")) == ([1], [], {})


@each_storm
def test_row_28_a_tuple_without_message_id_has_no_answer(storm):
    crashes = {"after emit": 1}
    tree = _tree(storm, lambda: Mortal(crashes))
    tree.feed.put("x")
    tree.cluster.advance(60)
    assert (tree.entries(), tree.spout_calls(), tree.leaves) == ([], ([], []), ["x"])
