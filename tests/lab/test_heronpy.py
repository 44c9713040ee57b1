"""heronpy in a Heron instance, over a stream manager (heronpy 0.20.5)."""

import threading
from typing import Any

import pytest

from ackdoctor.lab.bench import Bench, Emitted, SpoutBench
from ackdoctor.lab.frameworks import InstanceDiedError
from ackdoctor.model.trace import Verdict
from tests.frameworks import framework
from tests.lab.wire import ReceivesAnswers, line

api: Any = framework("heronpy.api.bolt.bolt")
window: Any = framework("heronpy.api.bolt.window_bolt")
spouts: Any = framework("heronpy.api.spout.spout")


class Bolt(api.Bolt):
    def initialize(self, config: Any, context: Any) -> None:
        pass

    def process_tick(self, tup: Any) -> None:
        pass


def manual(*steps: str, tick: Any = lambda self, tup: None) -> type:
    """Return a bolt that takes these steps with each tuple."""

    def process(self: Any, tup: Any) -> None:
        for step in steps:
            if step == "emit":
                self.emit(["a"], anchors=[tup])
            else:
                getattr(self, step)(tup)

    return type("Manual", (Bolt,), {"process": process, "process_tick": tick})


def messages(bench: Bench | SpoutBench) -> list[str]:
    return [line(message) for message in bench.messages]


def test_a_bolt_that_emits_and_acks_completes_its_tuple():
    with Bench(manual("emit", "ack")) as bench:
        delivery = bench.feed("a")
        assert bench.profile.name == "heron"
        assert messages(bench) == ["emit ['a'] <- 1", "ack 1"]
        assert bench.verdict(delivery) is Verdict.COMPLETE


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        (("ack", "ack"), Verdict.COMPLETE),
        (("fail", "ack"), Verdict.FAILED),
        (("ack", "fail"), Verdict.COMPLETE),
        (("ack", "emit"), Verdict.COMPLETE),
    ],
)
def test_misuse_after_the_completion_is_harmless(steps, verdict):
    with Bench(manual(*steps)) as bench:
        delivery = bench.feed("a")
        assert (bench.verdict(delivery), bench.pending, bench.died) == (verdict, (), None)


def test_a_second_ack_in_an_open_tree_lets_it_time_out():
    with Bench(manual("emit", "ack", "ack")) as bench:
        delivery = bench.feed("a")
        bench.advance(60)
        assert bench.verdict(delivery) is Verdict.EXPIRED


def test_a_forgotten_tuple_times_out():
    with Bench(manual()) as bench:
        delivery = bench.feed("a")
        bench.advance(60)
        assert bench.verdict(delivery) is Verdict.EXPIRED


def test_an_emit_is_unanchored_by_default():
    class Loose(Bolt):
        def process(self, tup: Any) -> None:
            self.answer = self.emit(["a"], need_task_ids=True)
            self.emit(["b"], anchors=tup)
            self.emit(["c"], anchors=tup.id)
            self.ack(tup)

    with Bench(Loose) as bench:
        bench.feed("a")
        assert [emitted.anchors for emitted in bench.emitted] == [(), (), ()]
        assert bench.component.answer is None, "BaseBolt.emit drops what the instance gives"


def test_an_ack_of_a_tick_stops_the_instance():
    with Bench(manual()) as bench:
        bench.tick()
        assert bench.died is None
    with Bench(manual(tick=lambda self, tup: self.ack(tup))) as bench:
        bench.tick()
        assert str(bench.died) == "ValueError: invalid literal for int() with base 10: '__tick'"


def test_an_ack_of_an_id_stops_the_instance(caplog):
    class ById(Bolt):
        def process(self, tup: Any) -> None:
            self.ack(tup.id)

    with Bench(ById) as bench:
        delivery = bench.feed("a")
        assert caplog.messages == ["Only HeronTuple type is supported in ack()"]
        assert bench.verdict(delivery) is Verdict.OPEN


def test_an_exception_stops_the_instance():
    class Broken(Bolt):
        def process(self, tup: Any) -> None:
            raise ValueError("no")

    with Bench(Broken) as bench:
        bench.feed("a")
        assert str(bench.died) == "ValueError: no"
        with pytest.raises(InstanceDiedError, match="ValueError: no"):
            bench.feed("b")


def test_an_exception_at_the_start_stops_the_instance():
    class Unready(Bolt):
        def initialize(self, config: Any, context: Any) -> None:
            raise ValueError("no")

    with Bench(Unready) as bench:
        assert str(bench.died) == "ValueError: no"


def test_print_is_harmless(capsys):
    class Prints(Bolt):
        def process(self, tup: Any) -> None:
            print("hello")  # noqa: T201
            self.ack(tup)

    with Bench(Prints) as bench:
        bench.feed("a")
        assert bench.died is None
        assert capsys.readouterr().out == "hello\n"


def test_the_wrong_number_of_values_stops_the_instance():
    with Bench(manual("emit"), outputs=("a", "b")) as bench:
        bench.feed("a")
        assert str(bench.died).endswith("Expected: 2, Observed: 1")


def test_a_payload_that_cannot_be_pickled_stops_the_instance():
    class Opaque(Bolt):
        def process(self, tup: Any) -> None:
            self.emit([threading.Lock()])

    with Bench(Opaque) as bench:
        bench.feed("a")
        assert str(bench.died).startswith("TypeError: cannot pickle '_thread.lock' object")


class Tumbling(window.TumblingWindowBolt):
    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802 - heronpy's name
        self.emit([len(tuples)])


class Sliding(window.SlidingWindowBolt):
    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        self.emit([len(tuples), window_info.end - window_info.start])


def test_a_tumbling_window_is_acked_after_its_processing():
    with Bench(Tumbling, conf={"tumblingwindowbolt_duration_secs": 10}, tick_secs=10) as bench:
        bench.feed("a")
        bench.feed("b")
        bench.advance(10)
        assert messages(bench) == ["emit [2]", "ack 1", "ack 2"]


def test_a_sliding_window_acks_tuples_that_leave_it():
    with Bench(Sliding, conf={"slidingwindowbolt_duration_secs": 10}, tick_secs=5) as bench:
        delivery = bench.feed("a")
        bench.advance(10)
        assert bench.verdict(delivery) is Verdict.OPEN
        bench.advance(5)
        assert bench.emitted[0] == Emitted([1, 10])
        assert bench.verdict(delivery) is Verdict.COMPLETE


class Spout(spouts.Spout):
    def initialize(self, config: Any, context: Any) -> None:
        self.heard: list[object] = []

    def next_tuple(self) -> None:
        self.emit(["a"], tup_id="m")

    def ack(self, tup_id: object) -> None:
        self.heard.append(("ack", tup_id))

    def fail(self, tup_id: object) -> None:
        self.heard.append(("fail", tup_id))

    def activate(self) -> None:
        pass

    def deactivate(self) -> None:
        pass

    def close(self) -> None:
        pass


class TestSpout(ReceivesAnswers):
    spout = Spout
