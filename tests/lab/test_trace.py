"""A lab run leaves a trace that the tracer's own tools read: the lab against the acker's replay and the inquest."""

import inspect

import pytest

from ackdoctor.acker.replay import replay, rows
from ackdoctor.acker.rotating_map import VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import BasicBolt, Bolt, Feed
from ackdoctor.lab.recording import nanoseconds, recorded
from ackdoctor.lab.topology import Settings, TopologyBuilder
from ackdoctor.model.event import Event, EventKind
from ackdoctor.tracer.judge.inquest import inquest
from ackdoctor.tracer.trace.read import read
from ackdoctor.tracer.trace.write import Recorder
from ackdoctor.tracer.traced_acker import TracedAcker
from tests.acker_rows import with_culprits
from tests.lab.components import STORMS, Ack, AckEveryOther, Branch, Do

each_storm = pytest.mark.parametrize("storm", STORMS)


class Twice(Bolt):
    """Acks twice, 10 ms apart."""

    def execute(self, tup):
        self.collector.ack(tup)
        yield 0.01
        self.collector.ack(tup)


def _line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


def _topology(last, **settings):
    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("spout", feed, outputs=["value"])
    builder.set_bolt("inner", lambda: Branch(2), outputs=["value"], parallelism=2).shuffle_grouping("spout")
    builder.set_bolt("last", last).shuffle_grouping("inner")
    return feed, builder.build(Settings(message_timeout_secs=10, **settings))


def _run(storm, last, seconds=5, **how):
    written: list[Event] = []
    feed, topology = _topology(last)
    cluster = Cluster(topology, profile=storm, record=written.append, **how)
    for number in range(20):
        feed.put(number, msg_id=number)
        cluster.advance(0.5)
    cluster.advance(seconds)
    return cluster, written


@each_storm
@pytest.mark.parametrize("last", [Ack, Twice, AckEveryOther])
@pytest.mark.parametrize("seconds", [5, 25, 60])
def test_the_replay_of_a_trace_holds_what_the_ackers_held(storm, last, seconds):
    cluster, written = _run(storm, last, seconds)
    tally = replay(rows(written), profile(storm))
    left = {(entry.root, entry.value, entry.task) for entry in cluster.pending()}
    told = {(tree.root, tree.entry.value, tree.entry.task) for tree in tally.trees if tree.entry is not None}
    assert (left <= told, tally.pending) == (True, len(left))


@each_storm
def test_law_l1_names_each_tuple_that_was_acked_twice_and_the_line(storm):
    cluster, written = _run(storm, Twice, 0)
    tally = with_culprits(replay(rows(written), profile(storm)), written)
    lines = [_line_of(Twice.execute, "ack"), _line_of(Twice.execute, "yield") + 1]
    blamed = {
        tuple(int(site.split()[0].rpartition(":")[2]) for site in culprit.sites)
        for tree in tally.trees
        for culprit in tree.culprits
    }
    assert blamed == {tuple(lines)}
    assert {culprit.component for tree in tally.trees for culprit in tree.culprits} == {"last"}
    assert len(tally.trees) == len(list(cluster.pending())) > 0


def test_an_inquest_finds_what_was_done_and_by_whom():
    _, written = _run("storm-1.1.0", Twice, 0)
    found = inquest(lambda: iter(written), profile("storm-1.1.0")).findings
    told = {(finding.code, finding.component, finding.site.span.line) for finding in found}
    assert told == {("ACK103", "last", _line_of(Twice.execute, "yield") + 1), ("ACK603", "acker", 1)}
    assert not any("ShellBolt" in finding.message for finding in found)


def test_what_a_basic_bolt_acks_was_done_by_the_framework():
    class Quiet(BasicBolt):
        def process(self, tup):
            pass

    _, written = _run("storm-2.8.8", Quiet, 0)
    sites = {
        row.site.split()[-1] for row in written if row.kind is EventKind.ACKED and row.component == "last"
    }
    assert sites == {"BasicBolt.execute"}


def test_a_cluster_that_is_recorded_is_read_as_it_was_written(tmp_path):
    clock = VirtualClock()
    recorder = Recorder(tmp_path, run="lab", clock=nanoseconds(clock), seconds=3600)
    written: list[Event] = []
    keep = recorded(recorder)

    def both(row):
        written.append(row)
        keep(row)

    feed, topology = _topology(Twice)
    cluster = Cluster(topology, clock=clock, record=both)
    for number in range(20):
        feed.put(number, msg_id=number)
    cluster.advance(30)
    recorder.close()
    reading = read([tmp_path])
    found = [row._replace(seq=0, run="", worker="", pid=0) for row in reading.events()]
    assert found == [row._replace(seq=0) for row in written]
    assert list(reading.unreadable) == []


def test_without_a_recorder_no_call_site_is_looked_for():
    feed, topology = _topology(lambda: Do(lambda bolt, tup: bolt.collector.ack(tup)))
    cluster = Cluster(topology)
    feed.put(1, msg_id=1)
    cluster.settle()
    assert len(cluster._worker.sites) == 0


@each_storm
@pytest.mark.parametrize("last", [Ack, Twice, AckEveryOther])
def test_a_traced_acker_in_a_cluster_tells_what_the_replay_of_its_trace_tells(storm, last):
    clock = VirtualClock()
    traced: list[TracedAcker] = []

    def wrap(acker):
        traced.append(TracedAcker(acker, profile(storm), now_ms=clock.now_ms))
        return traced[0]

    def tell(row):
        written.append(row)
        whose = {"delivery": row.delivery, "component": row.component, "task": row.task}
        if row.kind is EventKind.LINKED:
            traced[0].linked(row.root, row.value, **whose)
        elif row.kind is EventKind.ACK:
            traced[0].noted(row.root, row.value, site=row.site, **whose)

    written: list[Event] = []
    feed, topology = _topology(last)
    cluster = Cluster(topology, profile=storm, clock=clock, wrap_acker=wrap, record=tell)
    for number in range(20):
        feed.put(number, msg_id=number)
        cluster.advance(0.5)
    live = traced[0].tally()
    stored = with_culprits(replay(rows(written), profile(storm)), written)
    assert (live.pending, live.completed) == (stored.pending, stored.completed)
    assert {(tree.root, tree.culprits) for tree in live.trees if tree.entry} == {
        (tree.root, tree.culprits) for tree in stored.trees if tree.entry
    }
