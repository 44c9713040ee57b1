"""The start and the end of a component's process; the test's own process does not change."""

import logging
import signal
import sys
from typing import Any

import pytest
from pystorm import Bolt, TicklessBatchingBolt

from ackdoctor.lab import frameworks
from ackdoctor.lab.bench import Bench, SpoutBench
from ackdoctor.lab.frameworks import NotAComponentError
from tests.lab.wire import wire

GONE = (
    "org.apache.storm.multilang.NoOutputException: Pipe to subprocess seems to be broken! No output read.\n"
)


class Quiet(Bolt):
    def process(self, tup: Any) -> None:
        pass


def test_a_component_that_raises_in_its_constructor_is_never_launched():
    class Stillborn(Quiet):
        def __init__(self) -> None:
            raise ValueError("no")

    with Bench(Stillborn) as bench:
        assert bench.died.message.startswith(GONE)
        assert bench.died.message.rstrip().endswith("ValueError: no")
        assert bench.died.exit_code == 1


def test_a_component_that_raises_in_initialize_has_sent_its_pid():
    class Unready(Quiet):
        def initialize(self, conf: Any, context: Any) -> None:
            raise ValueError("no")

    with Bench(Unready) as bench:
        assert bench.died.message.rstrip().endswith("ValueError: no")
        assert (bench.died.exit_code, wire(bench)) == (11, [])


def test_a_component_that_prints_before_its_pid_is_never_launched():
    class Talks(Quiet):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            print("hello")  # noqa: T201
            super().__init__(*args, **kwargs)

    with Bench(Talks) as bench:
        assert bench.died.message == "Error when launching multilang subprocess\n"


def test_an_unfinished_message_at_the_end_is_reported():
    class Torn(Quiet):
        def process(self, tup: Any) -> None:
            self.serializer.output_stream.write('{"command":')
            self.serializer.output_stream.flush()
            raise SystemExit

    with Bench(Torn) as bench:
        bench.feed("a")
        assert ' Currently read output: {"command":\n' in bench.died.message


def test_the_end_of_the_input_ends_a_component_without_error():
    bench = Bench(Quiet)
    bench.feed("a")
    bench.close()
    assert bench.died is None


def test_a_constructor_without_parameters_is_called_as_in_a_script():
    class Plain(Quiet):
        def __init__(self) -> None:
            super().__init__()
            self.made = True

    with Bench(Plain) as bench:
        bench.feed("a")
        assert bench.component.made
        assert wire(bench) == ["ack 1"]


def test_a_tuple_has_named_fields():
    class Named(Bolt):
        def process(self, tup: Any) -> None:
            self.emit([tup.values.word, tup.component, tup.stream])

    with Bench(Named, fields=("word",)) as bench:
        bench.feed("dog")
        assert bench.emitted[0].values == ["dog", "spout", "default"]


def test_the_process_of_the_test_is_unchanged():
    def state() -> list[object]:
        root = logging.getLogger()
        return [
            *(sys.stdin, sys.stdout, sys.stderr, sys.argv, list(root.handlers)),
            *(logging.getLogger("pystorm").level, signal.getsignal(signal.SIGUSR1)),
            Bolt.__init__.__defaults__,
        ]

    class Timed(TicklessBatchingBolt):
        def process_batch(self, key: object, tups: Any) -> None:
            pass

    before = state()
    with Bench(Quiet) as bench, Bench(Timed) as other:
        bench.feed("a")
        other.feed("a")
        other.advance(2)
        between = state()
        assert between[:5] == before[:5]
    assert state() == before


def test_two_components_run_at_once():
    with Bench(Quiet) as one, Bench(Quiet) as two:
        one.feed("a")
        two.feed("a")
        one.feed("b")
        assert (wire(one), wire(two)) == (["ack 1", "ack 2"], ["ack 1"])


def test_a_log_record_of_another_component_does_not_reach_the_pipe():
    class Logs(Quiet):
        def process(self, tup: Any) -> None:
            self.logger.info("mine %s", tup.values[0])

    with Bench(Logs) as one, Bench(Logs) as two:
        one.feed("one")
        two.feed("two")
        texts = [message["msg"] for message in one.messages if message["command"] == "log"]
        assert texts[-1].endswith("mine one")


def test_a_class_without_framework_is_rejected():
    with pytest.raises(NotAComponentError, match=r"^int is not a bolt or spout of .*Petrel, .* or .+$"):
        Bench(int)


def test_a_framework_without_a_driver_is_rejected(monkeypatch):
    monkeypatch.delitem(frameworks._LAUNCHERS, "pystorm")
    with pytest.raises(
        NotAComponentError, match=r"^Quiet: no bench runs components of pystorm behind a pipe$"
    ):
        Bench(Quiet)


def test_a_bolt_is_rejected_as_a_spout():
    with pytest.raises(NotAComponentError, match=r"^Quiet is a bolt, not a spout$"):
        SpoutBench(Quiet)


def test_streamparse_without_pystorm_is_rejected():
    base = type("Bolt", (), {"__module__": "streamparse.storm.bolt"})  # as in streamparse 2.x
    with pytest.raises(
        NotAComponentError,
        match=r"^Old: no bench runs this streamparse: before 3\.0 its classes are not pystorm's$",
    ):
        Bench(type("Old", (base,), {"__module__": "old"}))
