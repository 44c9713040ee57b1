"""The source with committed offsets, and its spout."""

from functools import partial

import pytest

from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.rig import OffsetSpout, Partition, Read, Records, Sink
from ackdoctor.lab.runtime import lossy
from ackdoctor.lab.topology import Settings, TopologyBuilder
from tests.lab.components import STORMS


def _cluster(partition, records, *, rate=None, commit_s=0.0, pending=20, **options):
    builder = TopologyBuilder()
    spout = partial(OffsetSpout, partition, rate=rate, commit_s=commit_s)
    builder.set_spout("spout", spout, outputs=["value", "attempt"])
    builder.set_bolt("sink", partial(Sink, records)).shuffle_grouping("spout")
    return Cluster(builder.build(Settings(max_spout_pending=pending)), **options)


@pytest.mark.parametrize("rate", [50, 1000, 5000])
def test_the_rate_limits_the_tuples_per_second(rate):
    partition, records = Partition(100_000), Records()
    cluster = _cluster(partition, records, rate=rate)
    cluster.advance(0.1)
    first = len(records.deliveries)
    cluster.advance(0.1)
    assert len(records.deliveries) - first == pytest.approx(rate / 10, abs=1)


def test_a_spout_that_was_down_does_not_make_up_for_it():
    partition, records = Partition(1000), Records()
    cluster = _cluster(partition, records, rate=100)
    cluster.advance(1)
    before = len(records.deliveries)
    cluster.kill("spout", down=2)
    cluster.advance(3)
    assert len(records.deliveries) - before == pytest.approx(100, abs=1)


def test_without_faults_all_is_committed_and_read_once():
    partition, records = Partition(300), Records()
    _cluster(partition, records, rate=100, commit_s=0.5).advance(4)
    assert (records.times_seen(), partition.times_read()) == ({1: 300}, {1: 300})
    assert partition.committed == 300


def test_a_new_spout_reads_from_the_committed_offset():
    partition, records = Partition(1000), Records()
    cluster = _cluster(partition, records, rate=100, commit_s=1)
    cluster.advance(2.4)
    committed, read = partition.committed, partition.reads[0]
    assert 100 <= committed <= 200
    cluster.kill("spout")
    cluster.advance(20)
    assert partition.reads == [Read(0, read.end), Read(committed, 1000)]
    assert (
        records.times_seen()
        == partition.times_read()
        == {1: 1000 - read.end + committed, 2: read.end - committed}
    )


def test_one_low_offset_that_is_not_acked_holds_the_floor():
    partition, records = Partition(50), Records()
    slow = {3}
    cluster = _cluster(
        partition,
        records,
        loss=lambda parcel, _random: getattr(parcel.content, "values", ())[:1] == (3,) and bool(slow),
    )
    cluster.settle()
    (spout,) = cluster.instances("spout")
    assert (partition.committed, spout.floor, spout.position) == (3, 3, 50)
    slow.clear()
    cluster.kill("spout")
    cluster.settle()
    assert records.times_seen() == {1: 4, 2: 46}
    assert partition.committed == 50


def test_a_failed_offset_is_emitted_again_first():
    partition, records = Partition(60), Records()
    dropped: list[object] = []

    def first_attempt_of_five(parcel, _random):
        if getattr(parcel.content, "values", ()) == (5, 1):
            dropped.append(parcel)
        return dropped[-1:] == [parcel]

    cluster = _cluster(partition, records, loss=first_attempt_of_five)
    cluster.advance(60)
    assert records.times_seen() == {1: 60}
    assert [(entry.value, entry.attempt) for entry in records.deliveries if entry.attempt > 1] == [(5, 2)]


@pytest.mark.parametrize("storm", STORMS)
def test_a_lossy_network_loses_no_number(storm):
    partition, records = Partition(1000), Records()
    cluster = _cluster(partition, records, loss=lossy(0.02), profile=storm)
    cluster.advance(3600)
    assert cluster.lost > 0
    assert (records.missing(range(1000)), partition.committed) == ([], 1000)


@pytest.mark.parametrize(
    ("reads", "times"),
    [
        ([], {}),
        ([Read(0, 10)], {1: 10}),
        ([Read(0, 10), Read(4, 20)], {1: 14, 2: 6}),
        ([Read(0, 10), Read(4, 4), Read(4, 12), Read(6, 12)], {1: 4, 2: 4, 3: 4}),
    ],
)
def test_times_read_counts_overlapping_reads(reads, times):
    assert Partition(20, reads=reads).times_read() == times
