"""The cluster simulator: running, killing, holding messages, and inspecting."""

from collections import Counter
from functools import partial

import pytest

from ackdoctor.lab.cluster import Cluster, RestlessError, spread_phases
from ackdoctor.lab.component import BasicBolt, Bolt, FailedError, Feed, Spout
from ackdoctor.lab.runtime import lossy
from ackdoctor.lab.topology import ACKER, Settings, TopologyBuilder
from ackdoctor.model.acker import AckAck, AckInit, Tick
from tests.acker.messages import PowersOfTwo
from tests.lab.components import Ack, Do, cluster_of


def test_every_seed_completes_all_roots_in_some_order():
    orders = set()
    for seed in range(20):
        feed = Feed()
        builder = TopologyBuilder()
        builder.set_spout("spout", feed, outputs=["value"])
        builder.set_bolt("bolt", Ack, parallelism=3).shuffle_grouping("spout")
        for number in range(6):
            feed.put(number, msg_id=number)
        Cluster(builder.build(), seed=seed).settle()
        orders.add(tuple(feed.acked))
    assert {frozenset(order) for order in orders} == {frozenset(range(6))}
    assert len(orders) > 1


def test_messages_between_two_tasks_arrive_in_order():
    for seed in range(20):
        seen: list[object] = []
        feed, cluster = cluster_of(partial(Ack, seen), seed=seed)
        for number in range(10):
            feed.put(number, msg_id=number)
        cluster.settle()
        assert seen == list(range(10))


def test_a_wrapped_acker_receives_every_message():
    passed: list[object] = []

    class Wrapped:
        def __init__(self, acker):
            self.acker = acker

        def receive(self, message):
            passed.append(message)
            return self.acker.receive(message)

        def pending(self):
            return self.acker.pending()

        def __len__(self):
            return len(self.acker)

    ids = PowersOfTwo()
    feed, cluster = cluster_of(
        Ack, Settings(message_timeout_secs=10), wrap_acker=Wrapped, ids=lambda _seed: ids
    )
    feed.put("x", msg_id=1)
    cluster.advance(10)
    assert set(passed) == {AckInit(1, 2, 3), AckAck(1, 2), Tick()}
    assert all(isinstance(acker, Wrapped) for acker in cluster.ackers)


def test_roots_are_distributed_over_the_ackers():
    feed, cluster = cluster_of(lambda: Do(lambda _bolt, _tup: None), Settings(ackers=3))
    for number in range(60):
        feed.put(number, msg_id=number)
    cluster.settle()
    sizes = [len(acker) for acker in cluster.ackers]
    assert (sum(sizes), min(sizes) > 0, len(list(cluster.pending()))) == (60, True, 60)


def test_a_held_message_arrives_after_its_release():
    feed, cluster = cluster_of(Ack)
    cluster.hold("bolt", ACKER)
    feed.put("x", msg_id=1)
    cluster.settle()
    (parcel,) = cluster.under_way("bolt", ACKER)
    assert (isinstance(parcel.content, AckAck), feed.acked) == (True, [])
    cluster.release("bolt", ACKER)
    cluster.settle()
    assert (cluster.under_way("bolt", ACKER), feed.acked) == ((), [1])


def test_a_working_component_receives_no_other_tuple():
    log: list[tuple[int, object]] = []

    def execute(bolt, tup):
        log.append((bolt.context.now_ms(), tup.values[0]))
        yield 2
        log.append((bolt.context.now_ms(), tup.values[0]))
        bolt.collector.ack(tup)

    feed, cluster = cluster_of(lambda: Do(execute))
    feed.put("a", msg_id="a")
    feed.put("b", msg_id="b")
    cluster.advance(3)
    assert (log, feed.acked) == ([(0, "a"), (2000, "a"), (2000, "b")], ["a"])
    cluster.advance(1)
    assert (log[3:], feed.acked) == ([(4000, "b")], ["a", "b"])


def test_a_bolt_that_is_killed_at_work_does_not_resume():
    log: list[str] = []

    def execute(bolt, tup):
        log.append("begins")
        yield 2
        log.append("ends")

    feed, cluster = cluster_of(lambda: Do(execute), Settings(message_timeout_secs=10))
    feed.put("x", msg_id=1)
    feed.put("y", msg_id=2)
    cluster.advance(1)
    cluster.kill("bolt")
    cluster.advance(30)
    assert (log, feed.failed) == (["begins"], [1, 2])
    assert [(death.component, death.lost, death.time_ms) for death in cluster.deaths] == [("bolt", 1, 1000)]


def test_one_task_can_be_killed_alone():
    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("spout", feed, outputs=["value"])
    builder.set_bolt("bolt", Ack, parallelism=3).shuffle_grouping("spout")
    cluster = Cluster(builder.build())
    before = cluster.instances("bolt")
    cluster.kill("bolt", task=before[1].context.task)
    after = cluster.instances("bolt")
    assert [old is new for old, new in zip(before, after, strict=True)] == [True, False, True]


def test_killing_an_unknown_component_is_an_error():
    _, cluster = cluster_of(Ack)
    with pytest.raises(KeyError, match="no component 'no' in this topology"):
        cluster.kill("no")


def test_ticks_reach_every_task_of_a_bolt_from_its_own_start():
    ticks: Counter[tuple[int, object]] = Counter()

    def execute(bolt, tup):
        assert tup.is_tick
        ticks[bolt.context.now_ms(), bolt.context.task] += 1
        bolt.collector.ack(tup)

    builder = TopologyBuilder()
    builder.set_bolt("bolt", lambda: Do(execute), parallelism=1, tasks=2, tick_secs=5)
    cluster = Cluster(builder.build())
    cluster.advance(11)
    assert ticks == {(5000, 2): 1, (5000, 3): 1, (10000, 2): 1, (10000, 3): 1}
    ticks.clear()
    Cluster(builder.build(), phases=spread_phases).advance(10)
    ((time, _), *_rest) = ticks
    assert 5000 <= time < 10000
    assert time % 5000 != 0


def test_a_topology_wide_tick_frequency_applies_to_bolts_only():
    def execute(_bolt, tup):
        seen.append(tup.values)

    seen: list[object] = []
    settings = Settings(message_timeout_secs=10, tick_tuple_freq_secs=1)
    feed, cluster = cluster_of(lambda: Do(execute), settings)
    cluster.advance(3)
    assert seen == [(1,), (1,), (1,)]
    feed.put("x", msg_id=1)
    cluster.advance(8)  # two ticks of 1 s would fail it
    assert feed.failed == []


def test_max_spout_pending_pauses_the_spout():
    feed, cluster = cluster_of(lambda: Do(lambda _bolt, _tup: None), Settings(max_spout_pending=3))
    for number in range(10):
        feed.put(number, msg_id=number)
    cluster.settle()
    assert len(cluster.spout_pending("spout")) == 3
    cluster.advance(60)
    assert (len(cluster.spout_pending("spout")), len(feed.failed)) == (3, 3)


def test_a_spout_that_never_stops_emitting_is_an_error(monkeypatch):
    class Endless(Spout):
        def next_tuple(self):
            self.collector.emit([1], msg_id=1)

    monkeypatch.setattr("ackdoctor.lab.cluster._MANY_STEPS", 100)
    builder = TopologyBuilder()
    builder.set_spout("spout", Endless, outputs=["value"])
    builder.set_bolt("bolt", Ack).shuffle_grouping("spout")
    with pytest.raises(RestlessError) as error:
        Cluster(builder.build()).settle()
    assert str(error.value) == (
        "100 steps at 0 ms and no end: if a spout always emits, set max_spout_pending, "
        "or let it yield the seconds between two tuples"
    )


def test_a_deactivated_spout_still_receives_acks():
    feed, cluster = cluster_of(Ack)
    cluster.hold(ACKER, "spout")
    feed.put("x", msg_id=1)
    cluster.settle()
    cluster.deactivate()
    feed.put("y", msg_id=2)
    cluster.release(ACKER, "spout")
    cluster.settle()
    assert feed.acked == [1]
    cluster.activate()
    cluster.settle()
    assert feed.acked == [1, 2]


def test_a_basic_bolt_acks_if_it_returns_and_fails_if_it_raises():
    class Picky(BasicBolt):
        def process(self, tup):
            if tup["value"] < 0:
                raise FailedError

    feed, cluster = cluster_of(Picky)
    feed.put(1, msg_id="good")
    feed.put(-1, msg_id="bad")
    cluster.settle()
    assert (feed.acked, feed.failed) == (["good"], ["bad"])


def test_any_other_exception_reaches_the_test():
    def execute(_bolt, _tup):
        raise ZeroDivisionError

    feed, cluster = cluster_of(lambda: Do(execute))
    feed.put("x", msg_id=1)
    with pytest.raises(ZeroDivisionError):
        cluster.settle()


def test_a_network_that_loses_all_messages_delivers_none():
    feed, cluster = cluster_of(Ack, Settings(message_timeout_secs=10), loss=lossy(1))
    feed.put("x", msg_id=1)
    cluster.advance(20)
    assert (feed.failed, list(cluster.pending()), cluster.lost) == ([1], [], 2)  # tuple and init


def test_an_action_runs_at_its_time():
    feed, cluster = cluster_of(Ack)
    cluster.at(3, lambda: feed.put(cluster.clock.now_ms(), msg_id="at 3"))
    cluster.advance(2.9)
    assert feed.acked == []
    cluster.advance(0.2)
    assert feed.acked == ["at 3"]


def test_cleanup_runs_at_shutdown_and_not_at_a_death():
    log: list[str] = []

    class Tidy(Bolt):
        def cleanup(self):
            log.append("cleaned up")

    _, cluster = cluster_of(Tidy)
    cluster.kill("bolt")
    assert log == []
    cluster.shutdown()
    assert log == ["cleaned up"]


def test_a_tuple_prints_as_in_storm():
    seen: list[object] = []
    ids = PowersOfTwo()
    feed, cluster = cluster_of(lambda: Do(lambda _bolt, tup: seen.append(repr(tup))), ids=lambda _seed: ids)
    feed.put("the cow", msg_id=1)
    cluster.settle()
    assert seen == ["source: spout:3, stream: default, id: {1=2}, [the cow]"]
