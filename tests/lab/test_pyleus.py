"""pyleus on the wire (pyleus 0.3.0)."""

from typing import Any

from ackdoctor.lab.bench import Bench, SpoutBench
from tests.frameworks import framework
from tests.lab.wire import NO_JSON, OLD, TWICE, ByHand, ReceivesAnswers, wire

storm: Any = framework("pyleus.storm")
fields: Any = framework("pyleus.json_fields_bolt")


def manual(*steps: str) -> type:
    """Return a Bolt that takes these steps with each tuple."""

    def process_tuple(self: Any, tup: Any) -> None:
        for step in steps:
            if step == "emit":
                self.emit(("a",), anchors=[tup])
            else:
                getattr(self, step.partition(" ")[0])(tup)

    return type("Manual", (storm.Bolt,), {"process_tuple": process_tuple})


def simple(process_tuple: Any) -> type:
    return type("Simple", (storm.SimpleBolt,), {"process_tuple": process_tuple})


class TestByHand(ByHand):
    manual = staticmethod(manual)


def test_a_simple_bolt_acks_data_and_ticks_and_anchors_nothing():
    class Ticks(storm.SimpleBolt):
        def process_tuple(self, tup: Any) -> None:
            self.answer = self.emit(tup.values)

        def process_tick(self) -> None:
            self.emit(("tick",))

    with Bench(Ticks) as bench:
        bench.feed("a")
        bench.tick()
        assert wire(bench) == ["emit ['a']", "ack 1", "emit ['tick']", "ack 2"]
        assert bench.component.answer == [3]


def test_an_ack_in_a_simple_bolt_kills_the_worker():
    with Bench(simple(lambda self, tup: self.ack(tup))) as bench:
        bench.feed("a")
        assert str(bench.died) == TWICE


def test_an_exception_is_reported_and_ends_the_process_without_a_fail():
    def broken(self: Any, tup: Any) -> None:
        raise ValueError("no")

    with Bench(simple(broken)) as bench:
        bench.feed("a")
        assert wire(bench) == ["error"]
        assert bench.inputs == ("1",)
        assert "Pipe to subprocess seems to be broken! No output read.\n" in bench.died.message


def test_print_breaks_the_protocol():
    with Bench(simple(lambda self, tup: print("hello"))) as bench:  # noqa: T201
        bench.feed("a")
        assert str(bench.died) == NO_JSON


def test_a_payload_that_is_not_a_list_is_an_assertion_error():
    with Bench(simple(lambda self, tup: self.emit("text"))) as bench:
        bench.feed("a")
        assert "AssertionError" in bench.bolt.transcript.errors[0]


def test_a_direct_emit_waits_for_task_ids_that_never_arrive():
    with Bench(simple(lambda self, tup: self.emit(("a",), direct_task=9)), profile=OLD) as bench:
        bench.feed("a")
        bench.feed("b")
        assert (bench.inputs, bench.died) == (("1", "2"), None)
        bench.heartbeat()
        bench.advance(31)
        bench.heartbeat()
        assert str(bench.died) == "java.lang.RuntimeException: subprocess heartbeat timeout"


def test_options_are_on_the_command_line():
    class Limit(storm.Bolt):
        def process_tuple(self, tup: Any) -> None:
            self.emit((self.options["limit"],), anchors=[tup])
            self.ack(tup)

    with Bench(Limit, arguments=("--options", '{"limit": 5}')) as bench:
        bench.feed("a")
        assert wire(bench) == ["emit [5] <- 1", "ack 1"]


def test_json_fields_are_anchored_to_their_tuple():
    class Fields(fields.JSONFieldsBolt):
        def extract_fields(self, json_dict: Any) -> list[object]:
            return [json_dict["a"]]

    with Bench(Fields) as bench:
        bench.feed('{"a": 5}')
        assert wire(bench) == ["emit [5] <- 1", "ack 1"]


def test_an_exception_at_the_start_ends_the_process():
    class Stillborn(storm.Bolt):
        def __init__(self) -> None:
            raise ValueError("no")

    class Unready(storm.Bolt):
        def initialize(self) -> None:
            raise ValueError("no")

    with Bench(Stillborn) as bench:
        assert bench.died.exit_code == 1
    with Bench(Unready) as bench:
        assert (wire(bench), bench.died.exit_code) == (["error"], 11)


class Spout(storm.Spout):
    def initialize(self) -> None:
        self.heard: list[object] = []

    def next_tuple(self) -> None:
        self.emit(("a",), tup_id="m")

    def ack(self, tup_id: object) -> None:
        self.heard.append(("ack", tup_id))

    def fail(self, tup_id: object) -> None:
        self.heard.append(("fail", tup_id))


class TestSpout(ReceivesAnswers):
    spout = Spout


def test_a_spout_that_emits_directly_hangs():
    class Direct(Spout):
        def next_tuple(self) -> None:
            self.emit(("a",), direct_task=9)

    with SpoutBench(Direct, profile=OLD) as bench:
        bench.next_tuple()
        assert str(bench.died) == "java.lang.RuntimeException: subprocess heartbeat timeout"
