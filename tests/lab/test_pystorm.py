"""pystorm's messages on the wire."""

import asyncio
import threading
from typing import Any

import pytest
from pystorm import Bolt

from ackdoctor.lab.bench import Bench, Emitted
from ackdoctor.model.trace import Verdict
from tests.lab.wire import OLD, wire


class Echo(Bolt):
    def process(self, tup: Any) -> None:
        self.emit(list(tup.values))


def test_the_messages_of_a_tuple_end_with_an_ack():
    with Bench(Echo) as bench:
        bench.feed("a")
    assert wire(bench) == ["emit ['a'] <- 1", "ack 1"]


def test_a_tick_is_acked_if_auto_ack_is_on():
    with Bench(Echo) as bench:
        bench.tick()
        assert (wire(bench), bench.inputs) == (["ack 1"], ())


def test_a_tick_is_never_acked_if_auto_ack_is_off():
    class Manual(Echo):
        auto_ack = False

    with Bench(Manual) as bench:
        bench.tick()
        bench.tick()
        assert (wire(bench), bench.inputs) == ([], ("1", "2"))


def test_an_escaping_exception_logs_fails_and_ends_the_process():
    class Broken(Bolt):
        def process(self, tup: Any) -> None:
            raise ValueError("no")

    with Bench(Broken) as bench:
        delivery = bench.feed("a")
        assert [message["command"] for message in bench.messages[1:]] == ["log", "error", "sync", "fail"]
        assert bench.verdict(delivery) is Verdict.FAILED
        assert isinstance(bench.died.__cause__, ValueError)
        assert bench.died.exit_code == 11


def test_without_auto_fail_an_exception_completes_nothing():
    class Broken(Bolt):
        auto_fail = False

        def process(self, tup: Any) -> None:
            raise ValueError("no")

    with Bench(Broken) as bench:
        delivery = bench.feed("a")
        assert wire(bench) == ["error", "sync"]
        bench.advance(60)
        assert bench.verdict(delivery) is Verdict.EXPIRED


def test_without_exit_on_exception_the_bolt_continues():
    class Broken(Bolt):
        exit_on_exception = False

        def process(self, tup: Any) -> None:
            raise ValueError("no")

    with Bench(Broken) as bench:
        bench.feed("a")
        bench.feed("b")
        assert wire(bench) == ["error", "sync", "fail 1", "error", "sync", "fail 2"]
        assert bench.died is None


def test_a_base_exception_sends_nothing_and_ends_the_process():
    class Leaves(Bolt):
        def process(self, tup: Any) -> None:
            raise SystemExit(3)

    with Bench(Leaves) as bench:
        bench.feed("a")
        assert (wire(bench), bench.inputs) == ([], ("1",))
        assert "Pipe to subprocess seems to be broken! No output read.\n" in bench.died.message


def test_an_interrupt_reaches_the_test_runner():
    class Interrupted(Bolt):
        def process(self, tup: Any) -> None:
            raise KeyboardInterrupt

    with Bench(Interrupted) as bench, pytest.raises(KeyboardInterrupt):
        bench.feed("a")


@pytest.mark.parametrize("exits", [True, False])
def test_an_ack_before_an_exception_kills_the_worker(exits):
    class Hasty(Bolt):
        auto_ack = False
        exit_on_exception = exits

        def process(self, tup: Any) -> None:
            self.ack(tup)
            raise ValueError("no")

    with Bench(Hasty) as bench:
        bench.feed("a")
        assert wire(bench) == ["ack 1", "error", "sync", "fail 1"]
        assert str(bench.died) == (
            "java.lang.RuntimeException: Failed a non-existent or already acked/failed id: 1"
        )


def test_an_emit_in_initialize_is_unanchored():
    class Early(Echo):
        def initialize(self, conf: Any, context: Any) -> None:
            self.emit(["early"])

    with Bench(Early) as bench:
        assert bench.emitted == [Emitted(["early"])]


def test_an_emit_from_a_late_thread_is_unanchored():
    class Late(Bolt):
        def process(self, tup: Any) -> None:
            self.later = lambda: self.emit(["late"])

    with Bench(Late) as bench:
        bench.feed("a")
        thread = threading.Thread(target=bench.component.later)
        thread.start()
        thread.join()
        assert wire(bench) == ["ack 1", "emit ['late']"]


def test_a_generator_as_handler_never_runs_and_is_acked():
    class Generates(Bolt):
        def process(self, tup: Any) -> Any:
            self.emit(["never"])
            yield

    with Bench(Generates) as bench:
        bench.feed("a")
        assert wire(bench) == ["ack 1"]


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
def test_an_async_function_as_handler_never_runs_and_is_acked():
    class Awaits(Bolt):
        async def process(self, tup: Any) -> None:
            await asyncio.sleep(0)

    with Bench(Awaits) as bench:
        bench.feed("a")
        assert wire(bench) == ["ack 1"]


def test_an_emit_after_an_ack_kills_the_worker():
    class Late(Bolt):
        auto_ack = False

        def process(self, tup: Any) -> None:
            self.ack(tup)
            self.emit(["late"])

    with Bench(Late) as bench:
        bench.feed("a")
        assert wire(bench) == ["ack 1", "emit ['late'] <- 1"]
        assert str(bench.died) == "java.lang.RuntimeException: Anchored onto 1 after ack/fail"


def test_a_tuple_for_a_list_of_anchors_is_sent_as_its_five_fields():
    class Shape(Bolt):
        def process(self, tup: Any) -> None:
            self.emit(["x"], anchors=tup)

    with Bench(Shape) as bench:
        bench.feed("a")
        assert bench.messages[1]["anchors"] == ["1", "spout", "default", 1, ["a"]]
        assert str(bench.died) == (
            "java.lang.ClassCastException: java.lang.Integer cannot be cast to java.lang.String"
        )


def test_an_id_for_a_list_of_anchors_is_sent_letter_by_letter():
    class Shape(Bolt):
        def process(self, tup: Any) -> None:
            self.emit(["x"], anchors="12")

    with Bench(Shape) as bench:
        bench.feed("a")
        assert str(bench.died) == "java.lang.RuntimeException: Anchored onto 2 after ack/fail"


def test_the_input_tuple_as_payload_is_its_five_fields():
    class Whole(Bolt):
        def process(self, tup: Any) -> None:
            self.emit(tup)

    with Bench(Whole) as bench:
        bench.feed("a")
        assert bench.emitted[0].values == ["1", "spout", "default", 1, ["a"]]


def test_an_unserialisable_emit_is_dropped_and_the_input_acked():
    class Opaque(Bolt):
        def process(self, tup: Any) -> None:
            self.emit([object()])

    with Bench(Opaque) as bench:
        bench.feed("a")
        assert (wire(bench), bench.emitted, bench.died) == (["ack 1"], [], None)


def test_a_payload_that_is_not_a_list_is_a_type_error():
    class Text(Bolt):
        def process(self, tup: Any) -> None:
            self.emit("text")

    with Bench(Text) as bench:
        bench.feed("a")
        assert str(bench.died.__cause__).startswith("All Tuples must be either lists or tuples, received")


def test_an_emit_returns_task_ids():
    class Asks(Bolt):
        def process(self, tup: Any) -> None:
            task_ids = self.emit(["a"], need_task_ids=True)
            direct = self.emit(["b"], direct_task=9, need_task_ids=True)
            self.emit([task_ids, direct])

    with Bench(Asks, profile=OLD) as bench:
        bench.feed("a")
        assert bench.emitted[2] == Emitted([[3], [9]], anchors=("1",))
        assert bench.emitted[1].task == 9
