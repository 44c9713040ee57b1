"""A tuple becomes several SQL statements, and the bolt acks after each.

Twenty tuples per second for five minutes, T = 30 s.
"""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Bolt, Spout
from ackdoctor.lab.topology import Settings, TopologyBuilder
from ackdoctor.model.trace import GrowthPoint

RATE = 20
T = 30
MINUTES = 5
STEADY_MS = 3 * T * 1000  # from here on the acker drops as many entries as it adds


class Orders(Spout):
    """Emits RATE tuples per second."""

    count = 0
    acked = failed = 0

    def next_tuple(self):
        yield 1 / RATE
        self.count += 1
        self.collector.emit([self.count], msg_id=self.count)

    def ack(self, msg_id):
        self.acked += 1

    def fail(self, msg_id):
        self.failed += 1


class AckPerStatement(Bolt):
    """The fault: an ack per statement."""

    def __init__(self, statements):
        self.statements = statements

    def execute(self, tup):
        for _ in range(self.statements):
            yield 0.01
            self.collector.ack(tup)


class AckAtTheEnd(Bolt):
    """The simplest fix: one ack at the end."""

    def __init__(self, statements):
        self.statements = statements

    def execute(self, tup):
        for _ in range(self.statements):
            yield 0.01
        self.collector.ack(tup)


class EmitPerStatement(Bolt):
    """The other fix: an anchored tuple per statement."""

    def __init__(self, statements):
        self.statements = statements

    def execute(self, tup):
        for number in range(self.statements):
            self.collector.emit([number], anchors=[tup])
        self.collector.ack(tup)


def _run(storm, statements=2, bolt=AckPerStatement, *, window=1, **settings):
    builder = TopologyBuilder()
    builder.set_spout("orders", Orders, outputs=["order"])
    builder.set_bolt("sql", lambda: bolt(statements), outputs=["statement"]).shuffle_grouping("orders")
    if bolt is EmitPerStatement:
        builder.set_bolt("one", lambda: AckAtTheEnd(1)).shuffle_grouping("sql")
    topology = builder.build(Settings(message_timeout_secs=T, **settings))
    cluster = Cluster(topology, profile=storm)
    growth: list[GrowthPoint] = []

    def sample():
        orphans = [entry.task is None for entry in cluster.pending()]
        growth.append(GrowthPoint(time_ms=cluster.clock.now_ms(), pending=len(orphans), orphans=sum(orphans)))

    for end in range(window, 60 * MINUTES + 1, window):
        cluster.at(end, sample)
    cluster.advance(60 * MINUTES)
    return cluster, growth


def _steady(growth: Sequence[GrowthPoint]):
    pending = [point.pending for point in growth if point.time_ms >= STEADY_MS]
    return min(pending), max(pending)


def _acked_and_failed(cluster):
    (orders,) = cluster.instances("orders")
    return orders.acked, orders.failed


def _added(growth: Sequence[GrowthPoint]):
    """Return the growth of each window."""
    return {after.pending - before.pending for before, after in pairwise(growth)}


@pytest.mark.slow
@pytest.mark.parametrize("statements", [2, 3])  # even leaves O(a), odd O(0): both stay
def test_in_1_1_0_the_pending_map_grows_by_every_tuple(statements):
    cluster, growth = _run("storm-1.1.0", statements, window=T)
    assert _added(growth) == {RATE * T}
    emitted = RATE * 60 * MINUTES
    assert emitted - 10 <= growth[-1].pending <= emitted
    assert {entry.value == 0 for entry in cluster.pending() if entry.task is None} == {statements % 2 == 1}
    assert all(point.orphans >= point.pending - 1 for point in growth)


@pytest.mark.slow
@pytest.mark.parametrize("statements", [2, 3])
@pytest.mark.parametrize(("storm", "timeouts"), [("storm-1.2.4", (1, 2)), ("storm-2.8.8", (2, 3))])
def test_later_versions_drop_entries_after_some_timeouts(storm, timeouts, statements):
    _, growth = _run(storm, statements)
    least, most = _steady(growth)
    assert timeouts[0] * RATE * T - 5 <= least
    assert timeouts[1] * RATE * T - RATE - 5 <= most <= timeouts[1] * RATE * T


@pytest.mark.slow
def test_2_8_without_timeouts_grows_as_1_1_0_does_and_1_2_does_not():
    _, unbounded = _run("storm-2.8.8", window=T, enable_message_timeouts=False)
    assert _added(unbounded) == {RATE * T}
    _, bounded = _run("storm-1.2.4", enable_message_timeouts=False)
    assert _steady(bounded)[1] <= 2 * RATE * T


@pytest.mark.slow
@pytest.mark.parametrize("storm", ["storm-1.1.0", "storm-1.2.4", "storm-2.8.8"])
def test_the_spout_receives_an_ack_for_every_tuple(storm):
    cluster, _ = _run(storm, window=T)
    acked, failed = _acked_and_failed(cluster)
    assert (acked >= RATE * 60 * MINUTES - 2, failed) == (True, 0)
    assert len(cluster.spout_pending("orders")) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("fix", [AckAtTheEnd, EmitPerStatement])
@pytest.mark.parametrize("storm", ["storm-1.1.0", "storm-2.8.8"])
def test_both_fixes_keep_the_map_empty(storm, fix):
    _, growth = _run(storm, bolt=fix)
    assert _steady(growth)[1] <= 1
    assert all(point.orphans == 0 for point in growth)
