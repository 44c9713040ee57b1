"""The trace of a lab run: the lab's ackers against the replay and the findings of the trace."""

import inspect

import pytest

from ackdoctor.acker.replay import replay, rows
from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import BasicBolt, Bolt, Feed
from ackdoctor.lab.topology import Settings, TopologyBuilder
from ackdoctor.model.trace import Event, EventKind
from ackdoctor.tracer.recorder import Recorder
from ackdoctor.tracer.replay import judge_trace
from ackdoctor.tracer.trace_reader import read
from tests.lab.components import STORMS, Ack, AckEveryOther, Branch, Do
from tests.trace_rows import with_culprits

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


def _run(storm, last, seconds=5, **options):
    events: list[Event] = []
    feed, topology = _topology(last)
    cluster = Cluster(topology, profile=storm, record=events.append, **options)
    for number in range(20):
        feed.put(number, msg_id=number)
        cluster.advance(0.5)
    cluster.advance(seconds)
    return cluster, events


@each_storm
@pytest.mark.parametrize("last", [Ack, Twice, AckEveryOther])
@pytest.mark.parametrize("seconds", [5, 25, 60])
def test_the_replay_of_a_trace_holds_the_entries_of_the_ackers(storm, last, seconds):
    cluster, events = _run(storm, last, seconds)
    tally = replay(rows(events), profile(storm))
    pending = {(entry.root, entry.value, entry.task) for entry in cluster.pending()}
    replayed = {
        (tree.root, tree.entry.value, tree.entry.task) for tree in tally.trees if tree.entry is not None
    }
    assert (pending <= replayed, tally.pending) == (True, len(pending))


@each_storm
def test_law_l1_names_each_tuple_that_was_acked_twice_and_its_lines(storm):
    cluster, events = _run(storm, Twice, 0)
    tally = with_culprits(replay(rows(events), profile(storm)), events)
    lines = [_line_of(Twice.execute, "ack"), _line_of(Twice.execute, "yield") + 1]
    blamed = {
        tuple(int(site.split()[0].rpartition(":")[2]) for site in culprit.sites)
        for tree in tally.trees
        for culprit in tree.culprits
    }
    assert blamed == {tuple(lines)}
    assert {culprit.component for tree in tally.trees for culprit in tree.culprits} == {"last"}
    assert len(tally.trees) == len(list(cluster.pending())) > 0


def test_the_findings_of_a_trace_name_component_and_line():
    _, events = _run("storm-1.1.0", Twice, 0)
    found = judge_trace(lambda: iter(events), profile("storm-1.1.0")).findings
    places = {(finding.code, finding.component, finding.site.span.line) for finding in found}
    assert places == {("ACK103", "last", _line_of(Twice.execute, "yield") + 1), ("ACK603", "acker", 1)}
    assert not any("ShellBolt" in finding.message for finding in found)


def test_an_ack_of_a_basic_bolt_has_the_framework_as_its_site():
    class Quiet(BasicBolt):
        def process(self, tup):
            pass

    _, events = _run("storm-2.8.8", Quiet, 0)
    sites = {
        row.site.split()[-1] for row in events if row.kind is EventKind.ACKED and row.component == "last"
    }
    assert sites == {"BasicBolt.execute"}


def test_a_recorded_trace_reads_back_unchanged(tmp_path):
    clock = VirtualClock()
    recorder = Recorder(tmp_path, run="lab", clock=lambda: clock.now_ms() * 1_000_000, seconds=3600)
    events: list[Event] = []

    def write_and_keep(row):
        events.append(row)
        columns = row._asdict()
        for name in ("time_ns", "seq", "thread", "test", "run", "worker", "pid"):
            del columns[name]
        recorder.write(**columns)

    feed, topology = _topology(Twice)
    cluster = Cluster(topology, clock=clock, record=write_and_keep)
    for number in range(20):
        feed.put(number, msg_id=number)
    cluster.advance(30)
    recorder.close()
    reading = read([tmp_path])
    found = [row._replace(seq=0, run="", worker="", pid=0) for row in reading.events()]
    assert found == [row._replace(seq=0) for row in events]
    assert list(reading.unreadable) == []


def test_without_a_recorder_no_call_site_is_computed():
    feed, topology = _topology(lambda: Do(lambda bolt, tup: bolt.collector.ack(tup)))
    cluster = Cluster(topology)
    feed.put(1, msg_id=1)
    cluster.settle()
    assert len(cluster._runtime.sites) == 0
