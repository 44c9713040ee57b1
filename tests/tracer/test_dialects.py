"""The components of every dialect are traced unchanged, by the description of its wire."""

import io
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from ackdoctor.lab.bench import Bench, SpoutBench
from tests.frameworks import framework
from tests.tracer.driven import summaries, traced

TWICE = "completed twice: 1: received; acked at `{0}`; acked at `{0}`"


def violations(component: type, *values: Any, ticks: int = 0) -> list[str]:
    """Return the violations of a component on a bench, fed with these values."""
    with traced() as run, Bench(component, tick_secs=5 if ticks else None) as bench:
        for value in values:
            bench.feed(value)
        for _ in range(ticks):
            bench.tick()
    assert (run.settlement.notes, run.settlement.unobserved) == ((), ())
    return summaries(run.settlement.violations)


# ---- storm.py ----


def test_storm_py():
    storm: Any = framework("storm")

    class Manual(storm.Bolt):
        def process(self, tup):
            if tup.values[0] == "twice":
                storm.ack(tup)
                storm.ack(tup)
            elif tup.values[0] == "bare":
                storm.emitBolt(["x"])
                storm.emitBolt(["y"], anchors=[])
                storm.ack(tup)
            elif tup.values[0] == "late":
                storm.ack(tup)
                storm.emitBolt(["z"], None, [tup])
            elif tup.values[0] == "thread":
                worker = threading.Thread(target=storm.ack, args=(tup,), name="worker")
                worker.start()
                worker.join()

    class Basic(storm.BasicBolt):
        def process(self, tup):
            storm.emitBolt(["x"])
            if tup.values[0] == "twice":
                storm.ack(tup)

    class Source(storm.Spout):
        def nextTuple(self):  # noqa: N802
            storm.emitSpout(["x"])

        def fail(self, msg_id):
            self.failed = msg_id

    assert violations(Manual, "twice") == [
        "completed twice: 1: received; acked at `storm.ack(tup)`; acked at `storm.ack(tup)`"
    ]
    assert violations(Manual, "bare") == [
        'emitted unanchored: 1: received; emitted at `storm.emitBolt(["x"])`'
    ]
    assert violations(Manual, "late") == [
        'anchored after completion: 1: received; acked at `storm.ack(tup)`; anchored at `storm.emitBolt(["z"], None, [tup])`'
    ]
    assert violations(Manual, "lost", "lost") == ["never completed x2: 1: received; end of the run"]
    (thread,) = violations(Manual, "thread")
    assert thread.startswith("completed from another thread: 1: received; acked at `")
    assert thread.endswith(" on worker")
    assert violations(Basic, "once") == []
    assert violations(Basic, "twice") == [
        "completed twice: 1: received; acked at `storm.ack(tup)`; acked by BasicBolt.run"
    ]
    with traced() as run, SpoutBench(Source) as bench:
        bench.next_tuple()
    assert summaries(run.settlement.violations) == [
        'emitted without a message id: : emitted at `storm.emitSpout(["x"])`'
    ]


# ---- pyleus ----


def test_pyleus():
    pyleus: Any = framework("pyleus.storm")

    class Manual(pyleus.Bolt):
        def process_tuple(self, tup):
            if tup.values[0] == "bare":
                self.emit(("x",), need_task_ids=False)
            if tup.values[0] != "lost":
                self.ack(tup)

    class Simple(pyleus.SimpleBolt):
        def process_tuple(self, tup):
            self.ack(tup)

    assert violations(Manual, "a") == []
    assert violations(Manual, "lost") == ["never completed: 1: received; end of the run"]
    assert violations(Manual, "bare") == [
        'emitted unanchored: 1: received; emitted at `self.emit(("x",), need_task_ids=False)`'
    ]
    assert violations(Simple, "a") == [
        "completed twice: 1: received; acked at `self.ack(tup)`; acked by SimpleBolt._process_tuple"
    ]


# ---- Petrel ----


def test_petrel():
    emitter: Any = framework("petrel.emitter")
    storm: Any = framework("petrel.storm")

    class Manual(emitter.Bolt):
        def __init__(self):
            super().__init__("manual.py")

        def process(self, tup):
            storm.ackId(tup.id)
            if tup.values[0] == "twice":
                storm.ackId(tup.id)

    assert violations(Manual, "a") == []
    assert violations(Manual, "twice") == [
        "completed twice: 1: received; acked at `storm.ackId(tup.id)`; acked at `storm.ackId(tup.id)`"
    ]


def test_petrels_own_mock_completes_nothing(monkeypatch):
    emitter: Any = framework("petrel.emitter")
    storm: Any = framework("petrel.storm")
    monkeypatch.setitem(sys.modules, "storm", storm)  # as its mock imports it

    class Basic(emitter.BasicBolt):
        by_hand = False

        def __init__(self):
            super().__init__("basic.py")

        def process(self, tup):
            storm.emit(tup.values)
            if self.by_hand:
                storm.ack(tup)

    class ByHand(Basic):
        by_hand = True

    bench: Any = framework("petrel.mock")
    monkeypatch.setattr(storm, "old_stdout", io.StringIO())
    with traced() as run:
        bench.run_simple_topology(None, [bench.MockSpout(["line"], [["a"], ["b"]]), Basic()], bench.LIST)
    assert summaries(run.settlement.violations) == []
    assert [(tally.delivered, tally.acked) for tally in run.settlement.tallies if tally.delivered] == [(2, 2)]
    with traced() as run:
        bench.run_simple_topology(None, [bench.MockSpout(["line"], [["a"]]), ByHand()], bench.LIST)
    assert summaries(run.settlement.violations) == [
        "completed twice: : received; acked at `storm.ack(tup)`; acked by BasicBolt.run"
    ]


# ---- streamparse ----


def test_streamparse():
    streamparse: Any = framework("streamparse")

    class Auto(streamparse.Bolt):
        def process(self, tup):
            self.ack(tup)

    with traced() as run, Bench(Auto) as bench:
        bench.feed("a")
    assert summaries(run.settlement.violations) == [
        "completed twice: 1: received; acked at `self.ack(tup)`; acked by Bolt._run"
    ]
    assert [violation.traced.dialect for violation in run.settlement.violations] == ["streamparse"]


# ---- heronpy ----


def test_heronpy():
    api: Any = framework("heronpy.api.bolt.bolt")

    class Manual(api.Bolt):
        def initialize(self, config, context):
            pass

        def process_tick(self, tup):
            pass

        def process(self, tup):
            if tup.values[0] == "bare":
                self.emit(["x"])
            if tup.values[0] == "id":
                self.emit(["x"], anchors="12")
            if tup.values[0] == "shape":
                self.emit(["x"], anchors=tup)
            if tup.values[0] == "sent on":
                self.emit(["x"], anchors=[tup])
            if tup.values[0] not in ("lost", "sent on"):
                self.ack(tup)
            if tup.values[0] == "twice":
                self.ack(tup)

    assert violations(Manual, "a", ticks=1) == []
    assert violations(Manual, "lost") == ["never completed: 1: received; end of the run"]
    assert violations(Manual, "sent on") == ["never completed: 1: received; end of the run"]
    assert violations(Manual, "bare") == ['emitted unanchored: 1: received; emitted at `self.emit(["x"])`']
    assert violations(Manual, "shape") == [
        'anchors is not a list of tuples: 1: received; emitted at `self.emit(["x"], anchors=tup)`'
    ]
    assert violations(Manual, "twice") == [TWICE.format("self.ack(tup)")]


def test_a_mock_in_the_place_of_herons_tuple_is_known_by_its_id():
    api: Any = framework("heronpy.api.bolt.bolt")

    class Manual(api.Bolt):
        def process(self, tup):
            self.emit(["x"], anchors=[tup])
            self.ack(tup)

    with traced() as run:
        Manual(delegate=mock.Mock()).process(mock.Mock(values=["a"]))
    assert (run.settlement.violations, run.settlement.notes) == ((), ())


def test_heron_windows_complete_their_own():
    window: Any = framework("heronpy.api.bolt.window_bolt")

    class Sums(window.TumblingWindowBolt):
        def processWindow(self, window_info, tuples):  # noqa: N802
            self.emit([len(tuples)], anchors=tuples)

    with traced() as run, Bench(Sums, conf={"tumblingwindowbolt_duration_secs": 5}) as bench:
        bench.feed("a")
        bench.feed("b")
        bench.tick()
        bench.feed("c")
    assert run.settlement.violations == ()
    assert [(tally.acked, tally.pending) for tally in run.settlement.tallies] == [(2, 1)]


@pytest.mark.parametrize("name", ["storm", "resources.storm"])
def test_a_framework_that_comes_later_is_wrapped_when_it_comes(name, tmp_path, monkeypatch):
    """A project's copy of storm.py is traced too, and the loader is restored."""
    source = framework("storm").__file__
    folder = tmp_path / "resources"
    folder.mkdir()
    text = Path(str(source)).read_text(encoding="utf-8")
    for place in (folder, tmp_path):
        (place / "storm.py").write_text(text, encoding="utf-8")
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    for gone in [key for key in sys.modules if key in {"storm", "resources", "resources.storm"}]:
        monkeypatch.delitem(sys.modules, gone)
    sent: list[Any] = []
    with traced() as run:
        storm: Any = import_module(name)
        assert "exec_module" not in vars(storm.__spec__.loader)

        class Manual(storm.Bolt):
            def process(self, tup):
                storm.ack(tup)
                storm.ack(tup)

        monkeypatch.setattr(storm, "json_encode", sent.append)
        Manual().process(storm.Tuple("1", "spout", "default", 4, ["a"]))
    assert sent == [{"command": "ack", "id": "1"}] * 2
    assert summaries(run.settlement.violations) == [TWICE.format("storm.ack(tup)")]
    assert not hasattr(storm.ack, "__wrapped__")
    assert not hasattr(storm.sendMsgToParent, "__wrapped__")
