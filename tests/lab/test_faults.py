"""Faults of a cluster: workers that stay down, workers of several executors, transfer buffers."""

from functools import partial

import pytest

from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Bolt, Feed, Spout, WorkerDiedError
from ackdoctor.lab.topology import ACKER, Settings, TopologyBuilder
from tests.lab.components import Ack, Branch, Do, cluster_of


def test_a_bolt_that_is_down_receives_nothing():
    seen: list[object] = []
    feed, cluster = cluster_of(partial(Ack, seen))
    for second in range(6):
        cluster.at(second + 0.5, partial(feed.put, second, msg_id=second))
    cluster.at(1, partial(cluster.kill, "bolt", down=3))
    cluster.advance(6)
    (death,) = cluster.deaths
    assert (seen, feed.acked) == ([0, 4, 5], [0, 4, 5])
    assert (death.time_ms, death.until_ms, death.lost, death.dropped) == (1000, 4000, 0, 3)
    assert cluster.lost == 3
    cluster.advance(90)
    assert set(feed.failed) == {1, 2, 3}


def test_an_acker_that_is_down_forgets_what_it_does_not_hear():
    feed, cluster = cluster_of(Ack)
    cluster.kill(ACKER, down=2)
    feed.put("down", msg_id=1)
    cluster.advance(1)
    assert (cluster.ackers, len(cluster.spout_pending("spout"))) == ((), 1)
    cluster.advance(2)
    feed.put("up", msg_id=2)
    cluster.settle()
    assert (feed.acked, list(cluster.pending())) == ([2], [])
    cluster.advance(60)
    assert feed.failed == [1]


def test_a_spout_that_is_down_emits_nothing_and_has_nothing_pending():
    feed, cluster = cluster_of(lambda: Do(lambda _bolt, _tup: None))
    feed.put("x", msg_id=1)
    cluster.settle()
    cluster.kill("spout", down=5)
    feed.put("y", msg_id=2)
    cluster.advance(4)
    assert (len(feed.waiting), cluster.spout_pending("spout"), cluster.instances("spout")) == (1, {}, ())
    cluster.advance(1)
    assert (len(feed.waiting), len(cluster.spout_pending("spout"))) == (0, 1)
    assert [(death.pending, death.until_ms) for death in cluster.deaths] == [(1, 5000)]


def test_a_component_that_is_down_gets_no_ticks():
    ticks: list[int] = []

    def execute(bolt, tup):
        ticks.append(bolt.context.now_ms())
        bolt.collector.ack(tup)

    builder = TopologyBuilder()
    builder.set_bolt("bolt", lambda: Do(execute), tick_secs=1)
    cluster = Cluster(builder.build())
    cluster.at(1.5, partial(cluster.kill, "bolt", down=2))
    cluster.advance(4)
    assert (ticks, cluster.deaths[0].dropped) == ([1000, 4000], 0)


def test_every_death_takes_the_restart_time_of_the_cluster():
    def execute(_bolt, tup):
        raise WorkerDiedError(f"cannot take {tup.values[0]}")

    feed, cluster = cluster_of(lambda: Do(execute), restart_s=2)
    feed.put("x", msg_id=1)
    cluster.advance(10)
    (death,) = cluster.deaths
    assert (death.reason, death.in_hand, death.until_ms) == ("cannot take x", 1, 2000)


def test_a_worker_that_is_down_cannot_die():
    _, cluster = cluster_of(Ack)
    cluster.kill("bolt", down=3)
    cluster.advance(1)
    cluster.kill("bolt", down=10)
    cluster.advance(2)
    assert [death.until_ms for death in cluster.deaths] == [3000]


def test_a_deactivated_spout_stays_so_after_its_restart():
    feed, cluster = cluster_of(Ack)
    cluster.kill("spout", down=2)
    cluster.deactivate()
    feed.put("x", msg_id=1)
    cluster.advance(5)
    assert feed.acked == []
    cluster.kill("spout", down=2)
    cluster.activate()
    cluster.advance(1)
    assert feed.acked == []
    cluster.advance(1)
    assert feed.acked == [1]


@pytest.mark.parametrize("down", [0, 3])
@pytest.mark.parametrize("component", [ACKER, "spout", "bolt"])
def test_a_worker_may_die_before_the_topology_is_active(component, down):
    feed, cluster = cluster_of(Ack, active=False)
    cluster.kill(component, down=down)
    cluster.activate()
    cluster.advance(5)
    feed.put("x", msg_id=1)
    cluster.settle()
    assert (feed.acked, [death.pending for death in cluster.deaths]) == ([1], [0])


@pytest.mark.parametrize(
    ("workers", "dealt"),
    [
        (None, ((1,), (2,), (3,), (4,))),  # acker, bolt, bolt, spout
        (1, ((1, 2, 3, 4),)),
        (2, ((1, 3), (2, 4))),
        (9, ((1,), (2,), (3,), (4,))),
    ],
)
def test_executors_are_dealt_to_the_workers_in_turn(workers, dealt):
    builder = TopologyBuilder()
    builder.set_spout("spout", Feed(), outputs=["value"])
    builder.set_bolt("bolt", Ack, parallelism=2).shuffle_grouping("spout")
    assert Cluster(builder.build(), workers=workers).workers == dealt


def test_all_executors_of_a_worker_die_together():
    def execute(_bolt, tup):
        if tup.values[0] == "poison":
            raise WorkerDiedError("poison")

    builder = TopologyBuilder()
    feed = Feed()
    builder.set_spout("spout", feed, outputs=["value"])
    builder.set_bolt("bolt", lambda: Do(execute)).shuffle_grouping("spout")
    cluster = Cluster(builder.build(), workers=2, restart_s=1)
    assert cluster.workers == ((1, 3), (2,))  # acker and spout, bolt
    feed.put("x", msg_id=1)
    cluster.settle()
    cluster.kill_worker(0)
    feed.put("poison", msg_id=2)
    cluster.advance(2)
    assert [(death.component, death.reason, death.pending) for death in cluster.deaths] == [
        (ACKER, "killed", 1),
        ("spout", "killed", 1),
        ("bolt", "poison", 0),
    ]
    cluster.kill("spout")
    assert [death.component for death in cluster.deaths[3:]] == [ACKER, "spout"]


def test_a_transfer_buffer_dies_with_the_sender():
    seen: list[object] = []
    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("spout", feed, outputs=["value"])
    builder.set_bolt("bolt", Branch, outputs=["value"]).shuffle_grouping("spout")
    builder.set_bolt("sink", partial(Ack, seen)).shuffle_grouping("bolt")
    cluster = Cluster(builder.build(), flush_ms=5)
    feed.put("lost", msg_id=1)
    cluster.advance(0.005)  # the bolt has the tuple; its own messages are not flushed yet
    cluster.kill("bolt")
    feed.put("sent", msg_id=2)
    cluster.advance(0.030)
    assert (seen, feed.acked, cluster.deaths[0].unsent) == (["sent"], [2], 2)  # a tuple and an ack
    cluster.advance(90)
    assert feed.failed == [1]


def test_messages_within_a_worker_need_no_flush():
    feed, cluster = cluster_of(Ack, workers=1, flush_ms=1000)
    feed.put("x", msg_id=1)
    cluster.settle()
    assert feed.acked == [1]


def test_a_spout_that_waits_hears_its_acks():
    log: list[tuple[str, int]] = []

    class Slow(Spout):
        due_ms = 0

        def next_tuple(self):
            now_ms = self.context.now_ms()
            if now_ms < self.due_ms:
                return (self.due_ms - now_ms) / 1000
            self.due_ms = now_ms + 2000
            log.append(("emit", now_ms))
            self.collector.emit([now_ms], msg_id=now_ms)
            return None

        def ack(self, msg_id):
            log.append(("ack", self.context.now_ms()))

    class Late(Bolt):
        def execute(self, tup):
            yield 0.5
            self.collector.ack(tup)

    builder = TopologyBuilder()
    builder.set_spout("spout", Slow, outputs=["value"])
    builder.set_bolt("bolt", Late).shuffle_grouping("spout")
    cluster = Cluster(builder.build(Settings()))
    cluster.advance(3)
    assert log == [("emit", 0), ("ack", 500), ("emit", 2000), ("ack", 2500)]
