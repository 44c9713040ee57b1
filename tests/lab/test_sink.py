"""The sink that records what arrives."""

from functools import partial
from random import Random

from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Feed
from ackdoctor.lab.rig import Delivery, Records, Sink
from ackdoctor.lab.topology import TopologyBuilder


def _run(values, **options):
    feed, records = Feed(), Records()
    builder = TopologyBuilder()
    builder.set_spout("spout", feed, outputs=["value"])
    builder.set_bolt("sink", partial(Sink, records, **options)).shuffle_grouping("spout")
    for value in values:
        feed.put(value, msg_id=value)
    cluster = Cluster(builder.build())
    cluster.advance(60)
    return feed, records


def test_a_write_is_recorded_at_its_end():
    feed, records = _run("ab", seconds=2)
    assert records.deliveries == [Delivery("a", 2000, 0), Delivery("b", 4000, 0)]
    assert feed.acked == ["a", "b"]


def test_values_are_counted():
    records = Records()
    records.deliveries = [Delivery(value, 0, 1) for value in "aabbbcd"]
    assert records.times_seen() == {1: 2, 2: 1, 3: 1}
    assert (records.repeated(), records.extra(), records.missing("abxy")) == (2, 3, ["x", "y"])


def test_a_producer_that_retries_writes_twice_what_storm_delivers_once():
    feed, records = _run(range(200), resend=0.1, random=Random(1))
    assert len(feed.acked) == 200
    assert records.missing(range(200)) == []
    assert 5 < records.repeated() < 50
