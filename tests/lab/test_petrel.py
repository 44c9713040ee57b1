"""Petrel on the wire (petrel 1.0.3.0.3.post1)."""

import sys
from typing import Any

import pytest

from ackdoctor.lab.bench import Bench
from tests.frameworks import framework
from tests.lab.wire import NO_JSON, OLD, TWICE, ByHand, ReceivesAnswers, wire

emitter: Any = framework("petrel.emitter")
storm: Any = framework("petrel.storm")


class Bolt(emitter.Bolt):
    def __init__(self) -> None:
        super().__init__(script=__file__)


class BasicBolt(emitter.BasicBolt):
    def __init__(self) -> None:
        super().__init__(script=__file__)


def manual(*steps: str) -> type:
    """Return a Bolt that takes these steps with each tuple."""

    def process(self: Any, tup: Any) -> None:
        for step in steps:
            if step == "emit":
                storm.emit(["a"], anchors=[tup])
            elif step == "ack again":
                storm.ackId(tup.id)
            else:
                getattr(storm, step)(tup)

    return type("Manual", (Bolt,), {"process": process})


def basic(process: Any) -> type:
    return type("Basic", (BasicBolt,), {"process": process})


class TestByHand(ByHand):
    manual = staticmethod(manual)


def test_a_basic_bolt_anchors_and_acks_ticks_too():
    with Bench(basic(lambda self, tup: storm.emit([tup.is_tick_tuple()], anchors=[]))) as bench:
        bench.feed("a")
        bench.tick()
        assert wire(bench) == ["emit [False] <- 1", "ack 1", "emit [True] <- 2", "ack 2"]


def test_an_ack_in_a_basic_bolt_kills_the_worker():
    with Bench(basic(lambda self, tup: storm.ack(tup))) as bench:
        bench.feed("a")
        assert str(bench.died) == TWICE


def test_an_exception_prints_a_line_that_is_not_json():
    def broken(self: Any, tup: Any) -> None:
        raise ValueError("no")

    with Bench(basic(broken)) as bench:
        bench.feed("a")
        assert bench.bolt.transcript.texts[0].startswith("E_BOLTFAILED__")
        assert bench.bolt.transcript.texts[0].endswith("__ValueError")
        assert str(bench.died) == NO_JSON
        assert bench.inputs == ("1",), "it is not failed"


def test_print_goes_to_a_log():
    before = (sys.stdout, sys.stderr)
    with Bench(basic(lambda self, tup: print("hello"))) as bench:  # noqa: T201
        bench.feed("a")
        assert (wire(bench), bench.died) == (["ack 1"], None)
    assert (sys.stdout, sys.stderr) == before


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        (OLD, "java.io.IOException: Unexpected character (') at position 1."),
        (
            "storm-2.8.3",
            "java.lang.ClassCastException: org.apache.storm.shade.net.minidev.json.JSONArray cannot be cast to "
            "org.apache.storm.shade.net.minidev.json.JSONObject",
        ),
    ],
)
def test_several_tuples_at_once_are_a_python_list_on_the_wire(profile, text):
    with Bench(basic(lambda self, tup: storm.emitMany([["a"], ["b"]])), profile=profile) as bench:
        bench.feed("a")
        assert str(bench.died) == text


def test_task_ids_arrive_only_on_request():
    def asks(self: Any, tup: Any) -> None:
        self.answers = [storm.emit(["a"]), storm.emit(["b"], need_task_ids=True)]

    with Bench(basic(asks)) as bench:
        bench.feed("a")
        assert bench.component.answers == [None, [3]]


def test_an_exception_at_the_start_ends_the_process():
    class Stillborn(Bolt):
        def __init__(self) -> None:
            raise ValueError("no")

    class Unready(Bolt):
        def initialize(self, conf: Any, context: Any) -> None:
            raise ValueError("no")

    with Bench(Stillborn) as bench:
        assert bench.died.exit_code == 1
    with Bench(Unready) as bench:
        assert bench.died.exit_code == 11
        assert bench.died.message.rstrip().endswith("ValueError: no")


class Spout(emitter.Spout):
    def __init__(self) -> None:
        super().__init__(script=__file__)
        self.heard: list[object] = []

    def nextTuple(self) -> None:  # noqa: N802 - Petrel's name
        storm.emit(["a"], id="m")

    def ack(self, id: object) -> None:  # noqa: A002 - Petrel's name
        self.heard.append(("ack", id))

    def fail(self, id: object) -> None:  # noqa: A002
        self.heard.append(("fail", id))


class TestSpout(ReceivesAnswers):
    spout = Spout
