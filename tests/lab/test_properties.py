"""Without faults, correct bolts complete every root, for any topology, order and version."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackdoctor.lab.cluster import Cluster, in_phase, spread_phases
from ackdoctor.lab.component import Bolt, Feed
from ackdoctor.lab.topology import (
    ALL,
    GLOBAL,
    LOCAL_OR_SHUFFLE,
    NONE,
    SHUFFLE,
    Settings,
    TopologyBuilder,
    fields_of,
)
from ackdoctor.model.trace import Event, EventKind
from tests.lab.components import Branch

VERSIONS = (
    "storm-0.9.7",
    "storm-1.1.0",
    "storm-1.2.4",
    "storm-2.7.1",
    "storm-2.8.8",
    "jstorm-2.4.0",
    "heron",
)
GROUPINGS = (SHUFFLE, LOCAL_OR_SHUFFLE, NONE, ALL, GLOBAL, fields_of("value"))


class Pairs(Bolt):
    """Anchors to two tuples if it can; a tick or the next tuple acks a waiting tuple."""

    def __init__(self) -> None:
        self.waiting = None

    def execute(self, tup):
        if tup.is_tick or self.waiting is not None:
            waiting, self.waiting = self.waiting, None
            anchors = [anchor for anchor in (waiting, tup) if anchor is not None and not anchor.is_tick]
            if anchors:
                self.collector.emit([len(anchors)], anchors=anchors)
            for anchor in anchors:
                self.collector.ack(anchor)
        else:
            self.waiting = tup


class Slow(Bolt):
    """Works for 20 ms per tuple."""

    def execute(self, tup):
        yield 0.01
        self.collector.emit(tup.values, anchors=[tup])
        yield 0.01
        self.collector.ack(tup)


BOLTS = st.one_of(
    st.integers(0, 3).map(lambda branches: lambda: Branch(branches)), st.sampled_from([Pairs, Slow])
)


@st.composite
def topologies(draw):
    """Draw a spout and up to four bolts, each with inputs from earlier components."""
    feed = Feed()
    builder = TopologyBuilder()
    names = ["spout"]
    executors, more = draw(st.integers(1, 2)), draw(st.integers(0, 2))
    builder.set_spout("spout", feed, outputs=["value"], parallelism=executors, tasks=executors + more)
    for number in range(draw(st.integers(1, 4))):
        executors, more = draw(st.integers(1, 2)), draw(st.integers(0, 2))
        bolt = builder.set_bolt(
            f"bolt {number}",
            draw(BOLTS),
            outputs=["value"],
            parallelism=executors,
            tasks=executors + more,
            tick_secs=5,
        )
        for source in draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)):
            bolt.grouping(source, draw(st.sampled_from(GROUPINGS)))
        names.append(bolt.component)
    pending = draw(st.sampled_from([None, 1, 3]))
    chosen = Settings(ackers=draw(st.integers(1, 3)), message_timeout_secs=600, max_spout_pending=pending)
    return feed, builder.build(chosen)


@pytest.mark.slow
@settings(max_examples=80)
@given(
    topologies(), st.sampled_from(VERSIONS), st.integers(0, 2**32), st.sampled_from([in_phase, spread_phases])
)
def test_without_faults_every_root_completes(drawn, version, seed, phases):
    feed, topology = drawn
    cluster = Cluster(topology, profile=version, seed=seed, phases=phases)
    for number in range(6):
        feed.put(number, msg_id=number)
    cluster.advance(120)
    assert sorted(feed.acked) == list(range(6))
    assert (feed.failed, list(cluster.pending()), cluster.spout_pending("spout")) == ([], [], {})


def _rows(drawn, seed, **options):
    feed, topology = drawn
    rows: list[Event] = []
    cluster = Cluster(topology, seed=seed, record=rows.append, **options)
    for number in range(6):
        feed.put(number, msg_id=number)
    cluster.advance(120)
    return rows


@settings(max_examples=50)
@given(st.data(), st.integers(0, 2**32))
def test_equal_seeds_give_equal_runs(data, seed):
    drawn = data.draw(topologies())
    assert _rows(drawn, seed) == _rows(drawn, seed)


def test_seeds_vary_the_order_of_init_and_ack():
    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("spout", feed, outputs=["value"])
    builder.set_bolt("bolt", lambda: Branch(0)).shuffle_grouping("spout")
    first = {
        next(
            row.kind
            for row in _rows((feed, builder.build()), seed)
            if row.kind in {EventKind.INIT, EventKind.ACK}
        )
        for seed in range(20)
    }
    assert first == {EventKind.INIT, EventKind.ACK}
