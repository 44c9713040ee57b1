"""Messages on the wire in a short form ("emit ['a'] <- 1 2", "ack 1", "sync"), and the tests that every framework passes."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ackdoctor.lab.bench import Bench, Emitted, SpoutBench
from ackdoctor.model.trace import Verdict

__all__ = ["NO_JSON", "OLD", "TWICE", "ByHand", "ReceivesAnswers", "line", "raw", "wire"]


OLD = "storm-1.2.4"  # reads with json-simple, whose messages the tests quote; Storm 2.6 and later read a text as a string
NO_JSON = (
    "java.lang.ClassCastException: java.lang.String cannot be cast to "
    "org.apache.storm.shade.net.minidev.json.JSONObject"
)


def wire(bench: Bench | SpoutBench) -> list[str]:
    """Return all messages except logs."""
    return [line(message) for message in bench.messages if message["command"] != "log"]


def line(message: Mapping[str, Any]) -> str:
    command = message["command"]
    if command == "emit":
        text = f"emit {message['tuple']}"
        if message.get("anchors"):
            text += " <- " + " ".join(map(str, message["anchors"]))
        if "id" in message:
            text += f" id {message['id']}"
        return text
    return f"{command} {message['id']}" if "id" in message else str(command)


def raw(component: Any, text: str) -> None:
    """Write a frame of any text from the component."""
    component.serializer.output_stream.write(f"{text}\nend\n")
    component.serializer.output_stream.flush()


TWICE = "java.lang.RuntimeException: Acked a non-existent or already acked/failed id: 1"


class ByHand:
    """Tests of a framework's bolts: `manual` makes a bolt that takes these steps with each tuple.

    "ack again" uses the framework's second way to ack, if there is one.
    """

    manual: Callable[..., type]

    def test_a_bolt_that_emits_and_acks_completes_its_tuple(self):
        with Bench(self.manual("emit", "ack again")) as bench:
            delivery = bench.feed("a")
            assert wire(bench) == ["emit ['a'] <- 1", "ack 1"]
            assert bench.verdict(delivery) is Verdict.COMPLETE

    @pytest.mark.parametrize(
        ("steps", "text"),
        [
            (("ack", "ack again"), TWICE),
            (("fail", "ack"), TWICE),
            (("ack", "fail"), TWICE.replace("Acked", "Failed")),
            (("ack", "emit"), "java.lang.RuntimeException: Anchored onto 1 after ack/fail"),
        ],
    )
    def test_misuse_kills_the_worker(self, steps, text):
        with Bench(self.manual(*steps)) as bench:
            bench.feed("a")
            assert str(bench.died) == text

    def test_a_bolt_without_acks_leaks_tuples_and_ticks(self):
        with Bench(self.manual()) as bench:
            bench.feed("a")
            bench.tick()
            assert bench.inputs == ("1", "2")


class ReceivesAnswers:
    """Tests of a framework's spouts: `spout` emits ["a"] with the id "m" and records its calls in `heard`."""

    spout: type

    def test_a_spout_receives_the_outcome_of_its_messages(self):
        with SpoutBench(self.spout) as bench:
            assert bench.next_tuple() == [Emitted(["a"], msg_id="m")]
            bench.ack("m")
            bench.next_tuple()
            bench.advance(60)
            assert bench.component.heard == [("ack", "m"), ("fail", "m")]
