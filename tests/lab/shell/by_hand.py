"""Tests that every framework passes: a bolt that completes its tuples by hand, and a spout."""

from collections.abc import Callable

import pytest

from ackdoctor.lab.bench import Bench, Emitted, SpoutBench
from ackdoctor.model.verdict import Verdict
from tests.lab.shell.wire import wire

__all__ = ["TWICE", "ByHand", "ReceivesAnswers"]

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
