"""The table of library components: which class is known, and what arguments and versions change."""

import pytest

from ackdoctor.model.topology import Anchors, Gap, Node, OnFail, Place, SourceAck, Value
from ackdoctor.topology import libraries

PLACE = Place("Main.java", 12)
KAFKA = "org.apache.storm.kafka.spout.KafkaSpout"


def _known(cls, role="spout", framework="storm 1.2.4", **arguments):
    node = Node(id="x", role=role, cls=cls, place=PLACE, arguments=arguments)
    return libraries.known(node, framework)


@pytest.mark.parametrize(
    ("arguments", "has_id", "fails"),
    [
        ({}, True, OnFail.SOURCE),
        ({"processingGuarantee": "AT_LEAST_ONCE"}, True, OnFail.SOURCE),
        ({"processingGuarantee": "ProcessingGuarantee.AT_MOST_ONCE"}, False, OnFail.NOTHING),
        ({"processingGuarantee": "NO_GUARANTEE"}, False, OnFail.NOTHING),
        ({"processingGuarantee": "NO_GUARANTEE", "tupleTrackingEnforced": True}, True, OnFail.NOTHING),
        ({"processingGuarantee": Gap("from args[0]", PLACE)}, None, OnFail.UNKNOWN),
        ({"enable.auto.commit": True}, False, OnFail.NOTHING),
        ({"enable.auto.commit": "false"}, True, OnFail.SOURCE),
        ({"maxRetries": 2_147_483_647}, True, OnFail.SOURCE),
        ({"maxRetries": 5}, True, OnFail.BOUNDED),
        ({"retry": "own service"}, True, OnFail.UNKNOWN),
        ({"retry": "backoff", "maxRetries": 2_147_483_647}, True, OnFail.SOURCE),
    ],
)
def test_the_kafka_spout_depends_on_its_configuration(arguments, has_id, fails):
    facts = _known(KAFKA, **arguments)
    assert facts.emits[0].has_id is has_id
    assert facts.on_fail is fails


def test_the_place_is_that_of_the_argument_that_decides():
    at = Place("Main.java", 30)
    given = {"processingGuarantee": at, "maxRetries": Place("Main.java", 31)}
    arguments: dict[str, Value] = {"processingGuarantee": "AT_MOST_ONCE", "maxRetries": 2_147_483_647}
    facts = libraries.known(
        Node(id="x", role="spout", cls=KAFKA, place=PLACE, arguments=arguments, given=given)
    )
    assert (facts.emits[0].place, facts.on_fail_place, facts.place) == (at, at, PLACE)


def test_a_batching_sink_flushes_at_the_ticks_of_its_argument():
    known = _known("org.apache.storm.hbase.bolt.HBaseBolt", "bolt", flushIntervalSecs=70)
    assert [(each.key, each.value) for each in known.settings] == [("topology.tick.tuple.freq.secs", 70)]
    assert _known("org.apache.storm.hbase.bolt.HBaseBolt", "bolt").settings == ()


@pytest.mark.parametrize(
    ("arguments", "seconds"),
    [
        ({"linger.ms": "5000"}, 5.0),
        ({"linger.ms": 200}, 0.2),
        ({"linger.ms": Gap("from args[0]", PLACE)}, None),
        ({"linger.ms": "5000", "fireAndForget": True}, None),
        ({}, None),
    ],
)
def test_the_producer_of_a_kafka_bolt_lingers(arguments, seconds):
    linger = _known("org.apache.storm.kafka.bolt.KafkaBolt", "bolt", **arguments).linger
    assert linger == (None if seconds is None else (seconds, PLACE))


def test_the_old_kafka_spout_retries_without_a_limit():
    assert _known("storm.kafka.KafkaSpout", retryLimit=-1).on_fail is OnFail.SOURCE
    assert _known("storm.kafka.KafkaSpout", retryLimit=3).on_fail is OnFail.BOUNDED


def test_places_are_those_of_the_wiring():
    facts = _known("backtype.storm.testing.TestWordSpout")
    assert facts.emits[0].place == facts.on_fail_place == PLACE
    assert facts.source_ack is SourceAck.GENERATED


@pytest.mark.parametrize("cls", ["TestWordCounter", "RandomSentenceSpout", "my.own.KafkaSpout", ""])
def test_a_class_of_the_project_is_not_taken_for_one_of_a_library(cls):
    assert _known(cls) is None
    assert _known(cls, "bolt") is None


def test_a_role_must_agree():
    assert _known(KAFKA, "bolt") is None


def test_an_old_hdfs_bolt_acks_before_it_syncs():
    cls = "org.apache.storm.hdfs.bolt.HdfsBolt"
    assert _known(cls, "bolt", "storm 0.10.2").acks_early == PLACE
    assert _known(cls, "bolt").acks_early is None
    assert _known(cls, "bolt").holds


def test_a_bolt_whose_emits_are_unanchored():
    facts = _known("org.apache.stormcrawler.bolt.URLFilterBolt", "bolt")
    assert [emit.anchors for emit in facts.emits] == [Anchors.NONE]
    assert _known("org.apache.storm.redis.bolt.RedisStoreBolt", "bolt").emits == ()


def test_a_map_in_memory_dies_with_its_worker():
    facts = _known("org.apache.storm.trident.testing.MemoryMapState$Factory", "state")
    assert facts.batch == "opaque"
    assert [fault.code for fault in facts.faults] == ["state-in-memory"]


@pytest.mark.parametrize(
    ("framework", "batch"),
    [("storm 1.2.4", "transactional"), ("storm 0.10.2", "non-transactional"), ("storm", ""), ("", "")],
)
def test_an_hdfs_state_recovers_since_storm_1(framework, batch):
    assert _known("org.apache.storm.hdfs.trident.HdfsStateFactory", "state", framework).batch == batch


def test_every_entry_can_be_read_and_says_where_it_comes_from():
    for name, entries in libraries._table().items():
        for entry in entries:
            assert "@" in entry["cite"], name
            assert libraries.known(Node(id="x", role=entry["role"], cls=name, place=PLACE)) is not None
