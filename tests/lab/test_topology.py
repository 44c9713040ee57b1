"""Topologies: the builder, groupings, task ids, and the errors of Storm."""

from random import Random

import pytest

from ackdoctor.acker.runtime import java_hash
from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Bolt, Feed
from ackdoctor.lab.topology import (
    ALL,
    GLOBAL,
    NONE,
    SHUFFLE,
    InvalidEmitError,
    InvalidTopologyError,
    Settings,
    TopologyBuilder,
    assign,
    fields_of,
)
from tests.lab.components import Ack, Do

TASKS = (4, 5, 6)


def _choices(grouping, values):
    choose = grouping.prepare(TASKS, ("key", "value"), Random(1))
    return [tuple(choose(value)) for value in values]


def test_shuffle_gives_every_task_the_same_share():
    chosen = _choices(SHUFFLE, [("k", 0)] * 9)
    assert sorted(chosen) == [(4,)] * 3 + [(5,)] * 3 + [(6,)] * 3
    assert chosen[:3] == chosen[3:6] == chosen[6:]


def test_all_global_and_none():
    assert _choices(ALL, [("k", 0)]) == [TASKS]
    assert _choices(GLOBAL, [("k", 0)]) == [(4,)]
    assert set(_choices(NONE, [("k", 0)] * 50)) == {(4,), (5,), (6,)}


def test_fields_grouping_chooses_the_task_of_the_jvm():
    # Arrays.deepHashCode(["a"]) = 31 + 97 = 128, 128 mod 3 = 2; of "b" 0; of the Long -1, whose hash is 0, 1
    assert _choices(fields_of("key"), [("a", 1), ("a", 2), ("b", 3), (-1, 4)]) == [(6,), (6,), (4,), (5,)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, 0),
        (True, 1231),
        (False, 1237),
        (7, 7),
        (-1, 0),
        (1 << 32, 1),
        (-(1 << 63), -(1 << 31)),
        (1.5, 1073217536),
        ("", 0),
        ("Aa", 2112),
        ("BB", 2112),
        ("polygenelubricants", -(1 << 31)),
        ("\N{GRINNING FACE}", 1772899),
        (b"\x01\xff", 991),
        ([], 1),
        (["a", 1], 3969),
    ],
)
def test_values_hash_as_in_java(value, expected):
    assert java_hash(value) == expected


def test_other_values_have_the_same_hash_in_every_run():
    assert java_hash({"a": 1}) == java_hash({"a": 1}) != java_hash({"a": 2})


def test_task_ids_start_with_the_ackers_and_follow_the_names():
    builder = TopologyBuilder()
    builder.set_spout("words", Feed(), outputs=["word"])
    builder.set_bolt("count", Ack, parallelism=2, tasks=5).shuffle_grouping("words")
    assignment = assign(builder.build(Settings(ackers=2)))
    assert assignment.tasks == {"__acker": (1, 2), "count": (3, 4, 5, 6, 7), "words": (8,)}
    assert assignment.executors["count"] == ((3, 4, 5), (6, 7))
    assert assignment.executors["__acker"] == ((1,), (2,))


@pytest.mark.parametrize(
    ("subscribe", "message"),
    [
        (
            lambda bolt: bolt.shuffle_grouping("3"),
            "'2' subscribes to stream 'default' of '3': no component has that id",
        ),
        (
            lambda bolt: bolt.fields_grouping("1", "no"),
            "'2' subscribes to stream 'default' of '1' by field 'no', which the stream does not declare",
        ),
        (
            lambda bolt: bolt.fields_grouping("1", "word", stream="no"),
            "'2' subscribes to stream 'no' of '1', which declares only 'default', '__system'",
        ),
    ],
)
def test_a_topology_that_storm_rejects_is_rejected(
    subscribe, message
):  # integration_test.clj, test-validate-...
    builder = TopologyBuilder()
    builder.set_spout("1", Feed(), outputs=["word"])
    subscribe(builder.set_bolt("2", Ack))
    with pytest.raises(InvalidTopologyError) as error:
        builder.build()
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("1", "two components have the id '1'"),
        ("__acker", "'__acker' is not a valid component id: it starts with '__'"),
    ],
)
def test_a_component_s_id_is_unique_and_valid(name, message):
    builder = TopologyBuilder()
    builder.set_spout("1", Feed())
    with pytest.raises(InvalidTopologyError) as error:
        builder.set_bolt(name, Ack)
    assert str(error.value) == message


def _emitting(execute, *, direct=False):
    feed = Feed()
    seen: list[object] = []
    builder = TopologyBuilder()
    builder.set_spout("spout", feed, outputs=["value"])
    builder.set_bolt("bolt", lambda: Do(execute), outputs=["value"]).shuffle_grouping("spout")
    sink = builder.set_bolt("sink", lambda: Ack(seen), parallelism=3)
    subscribe = sink.direct_grouping if direct else sink.shuffle_grouping
    subscribe("bolt")
    cluster = Cluster(builder.build())
    feed.put("x", msg_id=1)
    return cluster, feed, seen


@pytest.mark.parametrize(
    ("emit", "direct", "message"),
    [
        ({"stream": "no"}, False, "Unknown stream ID: no"),
        (
            {"values": []},
            False,
            "Tuple created with wrong number of fields. Expected 1 fields but got 0 fields",
        ),
        ({"task": 4}, False, "Cannot emitDirect to a task expecting a regular grouping"),
        ({}, True, "Cannot do regular emit to direct stream"),
    ],
)
def test_an_emit_that_storm_rejects_is_rejected(emit, direct, message):
    cluster, _, _ = _emitting(lambda bolt, _: bolt.collector.emit(**{"values": ["x"], **emit}), direct=direct)
    with pytest.raises(InvalidEmitError) as error:
        cluster.settle()
    assert str(error.value) == message


def test_a_direct_emit_reaches_the_task_it_names():
    class ToLast(Bolt):
        def execute(self, tup):
            target = self.context.tasks_of("sink")[-1]
            assert self.collector.emit(["direct"], anchors=[tup], task=target) == [target]
            self.collector.ack(tup)

    inner = ToLast()
    cluster, feed, seen = _emitting(lambda bolt, tup: inner.execute(tup), direct=True)
    (bolt,) = cluster.instances("bolt")
    inner.prepare(bolt.context, bolt.collector)
    cluster.settle()
    assert (seen, feed.acked, list(cluster.pending())) == (["direct"], [1], [])


def test_a_direct_emit_to_a_task_that_does_not_subscribe_goes_nowhere():
    sent = []

    def execute(bolt, tup):
        sent.append(bolt.collector.emit(["x"], anchors=[tup], task=1))
        bolt.collector.ack(tup)

    cluster, feed, _ = _emitting(execute, direct=True)
    cluster.settle()
    assert (sent, feed.acked) == ([[]], [1])
