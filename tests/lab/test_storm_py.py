"""Storm's own storm.py on the wire."""

from typing import Any

from ackdoctor.lab.bench import Bench, Emitted, SpoutBench
from ackdoctor.model.trace import Verdict
from tests.frameworks import framework
from tests.lab.wire import NO_JSON, TWICE, ByHand, ReceivesAnswers, wire

storm: Any = framework("storm")


def manual(*steps: str) -> type:
    """Return a storm.Bolt that takes these steps with each tuple."""

    def process(self: Any, tup: Any) -> None:
        for step in steps:
            if step == "emit":
                storm.emit(["a"], anchors=[tup])
            else:
                getattr(storm, step.partition(" ")[0])(tup)

    return type("Manual", (storm.Bolt,), {"process": process})


class Echo(storm.BasicBolt):
    def process(self, tup: Any) -> None:
        storm.emit(tup.values)


class TestByHand(ByHand):
    manual = staticmethod(manual)


def test_a_forgotten_tuple_leaks_and_times_out():
    with Bench(manual()) as bench:
        delivery = bench.feed("a")
        bench.advance(60)
        assert (bench.inputs, bench.verdict(delivery)) == (("1",), Verdict.EXPIRED)


def test_a_tick_goes_to_process_and_leaks_without_an_ack():
    with Bench(manual()) as bench:
        bench.tick()
        assert bench.inputs == ("1",)
    with Bench(manual("ack")) as bench:
        bench.tick()
        assert bench.inputs == ()


def test_a_basic_bolt_anchors_and_acks():
    class Defies(storm.BasicBolt):
        def process(self, tup: Any) -> None:
            self.tasks = storm.emit(tup.values, anchors=[])

    with Bench(Defies) as bench:
        bench.feed("a")
        bench.tick()
        assert wire(bench) == ["emit ['a'] <- 1", "ack 1", "emit [1] <- 2", "ack 2"]
        assert bench.component.tasks == [3]


def test_an_ack_in_a_basic_bolt_kills_the_worker():
    class Twice(storm.BasicBolt):
        def process(self, tup: Any) -> None:
            storm.ack(tup)

    with Bench(Twice) as bench:
        bench.feed("a")
        assert str(bench.died) == TWICE


def test_a_basic_bolt_fails_the_tuple_of_an_exception_and_continues():
    class Broken(storm.BasicBolt):
        def process(self, tup: Any) -> None:
            raise ValueError("no")

    with Bench(Broken) as bench:
        bench.feed("a")
        bench.feed("b")
        assert wire(bench) == ["error", "fail 1", "error", "fail 2"]
        assert bench.died is None


def test_an_exception_in_a_bolt_is_reported_without_a_fail():
    class Broken(storm.Bolt):
        def process(self, tup: Any) -> None:
            raise ValueError("no")

    with Bench(Broken) as bench:
        bench.feed("a")
        assert wire(bench) == ["error"]
        assert bench.inputs == ("1",)
        assert "Pipe to subprocess seems to be broken! No output read.\n" in bench.died.message


def test_a_constructor_that_raises_is_never_launched():
    class Stillborn(storm.Bolt):
        def __init__(self) -> None:
            raise ValueError("no")

    with Bench(Stillborn) as bench:
        assert bench.died.message.rstrip().endswith("ValueError: no")
        assert bench.died.exit_code == 1


def test_an_exception_in_initialize_is_reported():
    class Unready(storm.Bolt):
        def initialize(self, conf: Any, context: Any) -> None:
            raise ValueError("no")

    with Bench(Unready) as bench:
        assert wire(bench) == ["error"]
        assert bench.died.exit_code == 11


def test_print_breaks_the_protocol():
    class Prints(storm.BasicBolt):
        def process(self, tup: Any) -> None:
            print("hello")  # noqa: T201

    with Bench(Prints) as bench:
        bench.feed("a")
        assert str(bench.died) == NO_JSON


def test_a_wrong_payload_kills_the_worker_or_raises():
    class Text(storm.BasicBolt):
        def process(self, tup: Any) -> None:
            storm.emitBolt(tup.values[0] if tup.values[0] == "text" else [object()])

    with Bench(Text) as bench:
        bench.feed("opaque")
        assert wire(bench) == ["error", "fail 1"]
        bench.feed("text")
        assert str(bench.died) == (
            "java.lang.ClassCastException: java.lang.String cannot be cast to java.util.List"
        )


def test_emit_bolt_leaves_its_task_ids_to_the_next_emit():
    class Stale(storm.BasicBolt):
        def process(self, tup: Any) -> None:
            storm.emitBolt(["unread"])
            storm.emit(["read"])

    with Bench(Stale) as bench:
        bench.feed("a")
        bench.feed("b")
        assert len(bench.emitted) == 4
        assert bench.died is None


def test_a_component_has_its_own_globals():
    with Bench(Echo) as one, Bench(manual("emit", "ack")) as two:
        one.feed("a")
        two.feed("b")
        assert two.emitted == [Emitted(["a"], anchors=("1",))], "one's ANCHOR_TUPLE is not two's"
    assert (storm.MODE, storm.ANCHOR_TUPLE) == (None, None)


def test_heartbeats_are_answered():
    with Bench(Echo) as bench:
        bench.heartbeat()
        assert wire(bench) == ["sync"]


class Spout(storm.Spout):
    def initialize(self, conf: Any, context: Any) -> None:
        self.heard: list[object] = []

    def nextTuple(self) -> None:  # noqa: N802 - storm.py's name
        storm.emit(["a"], id="m")

    def ack(self, id: object) -> None:  # noqa: A002 - storm.py's name
        self.heard.append(("ack", id))

    def fail(self, id: object) -> None:  # noqa: A002
        self.heard.append(("fail", id))


class TestSpout(ReceivesAnswers):
    spout = Spout


def test_an_ack_from_a_spout_kills_the_worker():
    class Acks(Spout):
        def nextTuple(self) -> None:  # noqa: N802
            storm.sendMsgToParent({"command": "ack", "id": "m"})

    with SpoutBench(Acks) as bench:
        bench.next_tuple()
        assert str(bench.died) == "java.lang.RuntimeException: Unknown command received: ack"


def test_an_exception_in_a_spout_ends_the_process():
    class Broken(Spout):
        def nextTuple(self) -> None:  # noqa: N802
            raise ValueError("no")

    with SpoutBench(Broken) as bench:
        bench.next_tuple()
        assert wire(bench) == ["sync", "error"]
        assert bench.died.message.startswith("org.apache.storm.multilang.NoOutputException")
