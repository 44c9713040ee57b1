"""If a component passes a tuple to a mock, the component is not observed."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any
from unittest import mock

import pytest
from pystorm import Bolt

from ackdoctor.model.dialect import Misuse
from tests.tracer.driven import build, drive, frame, traced
from tests.tracer.styles import tup


def store(bolt: Any, tup: Any) -> None:
    bolt.ack(tup)


class Gives(Bolt):
    """Pass the tuple on, in the way that its first value names."""

    auto_ack = False
    log: Any = None
    pool: Any = None

    def process(self, tup):
        ways = {
            "helper": lambda: self.work(tup),
            "function": lambda: store(self, tup),
            "pool": lambda: self.pool.submit(self.work, tup),
            "lambda": lambda: self.pool.submit(lambda: self.work(tup)),
            "partial": lambda: self.pool.submit(partial(self.work, tup=tup)),
            "list": lambda: self.pool.map(self.work, [tup]),
            "log": lambda: self.log.warning("%s is odd", tup),
            "id": lambda: self.pool.submit(tup.id, tup.values),
            "twice": lambda: [self.pool.submit(tup), self.ack(tup), self.ack(tup)],
            "nothing": lambda: None,
        }
        ways[tup.values[0]]()

    def work(self, tup):
        self.ack(tup)


MODULE = sys.modules[__name__]
HANDED = {
    "helper": "work",
    "function": "store",
    "pool": "pool",
    "lambda": "pool",
    "partial": "pool",
    "list": "pool",
}


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize(("way", "name"), HANDED.items(), ids=list(HANDED))
def test_a_mock_that_gets_a_tuple_may_complete_it(way, name, driven):
    with (
        traced() as run,
        mock.patch.object(MODULE if way == "function" else Gives, name),
    ):
        drive(Gives, frame("7", way)) if driven else build(Gives).process(tup("7", way))
    assert run.settlement.violations == ()
    assert run.settlement.unobserved == (f"Gives: {name} is a mock",)


def test_a_name_in_a_module_that_is_imported_may_be_a_mock():
    class Starts(Gives):
        def process(self, tup):
            threading.Thread(target=self.work, args=(tup,)).start()

    with traced() as run, mock.patch("threading.Thread"):
        build(Starts).process(tup())
    assert run.settlement.violations == ()
    assert run.settlement.unobserved == (f"{Starts.__qualname__}: Thread is a mock",)


def test_a_proxy_without_a_target_is_not_read():
    class Proxy:
        @property
        def __dict__(self):  # type: ignore[override]
            raise RuntimeError

    with traced() as run:
        bolt = build(Gives)
        bolt.pool, bolt.session = mock.Mock(), Proxy()
        bolt.process(tup("7", "pool"))
    assert run.settlement.unobserved == ("Gives: pool is a mock",)


def test_a_method_of_a_field_may_be_a_mock():
    with traced() as run, ThreadPoolExecutor() as pool, mock.patch.object(pool, "submit"):
        bolt = build(Gives)
        bolt.pool = pool
        bolt.process(tup("7", "pool"))
    assert run.settlement.violations == ()
    assert run.settlement.unobserved == ("Gives: submit is a mock",)


@pytest.mark.parametrize("way", ["log", "id", "nothing"])
def test_a_mock_that_gets_no_tuple_or_only_logs_it_hides_no_violation(way):
    with traced() as run:
        bolt = build(Gives)
        bolt.log, bolt.pool = mock.Mock(), mock.Mock()
        bolt.pool.submit(tup("7", "by the test itself"))
        bolt.process(tup("7", way))
    assert [violation.misuse for violation in run.settlement.violations] == [Misuse.NEVER]
    assert run.settlement.unobserved == ()


RAISES = {"raises": {"side_effect": KeyError}, "raises this": {"side_effect": KeyError()}}
ANSWERS = {"answers in turn": {"side_effect": [1]}, "answers": {"return_value": False}}
IDLE = [
    *(("pool", does) for does in (RAISES | ANSWERS).values()),
    *(("helper", does) for does in RAISES.values()),  # a mock that returns a value has acked before
]


@pytest.mark.parametrize(("way", "does"), IDLE)
def test_a_mock_that_raises_or_returns_a_value_does_not_complete(way, does):
    class Forgives(Gives):
        def process(self, tup):
            with suppress(KeyError):
                super().process(tup)

    with traced() as run:
        bolt = build(Forgives)
        if way == "helper":
            bolt.work = mock.Mock(**does)
        bolt.pool = mock.Mock(**{f"submit.{name}": value for name, value in does.items()})
        bolt.process(tup("7", way))
    assert [violation.misuse for violation in run.settlement.violations] == [Misuse.NEVER]
    assert run.settlement.unobserved == ()


@pytest.mark.parametrize("answer", [None, True])
def test_a_function_that_gets_the_component_may_complete(answer):
    with traced() as run, mock.patch.object(MODULE, "store", return_value=answer):
        build(Gives).process(tup("7", "function"))
    assert run.settlement.violations == ()
    assert run.settlement.unobserved == ("Gives: store is a mock",)


def test_a_mock_that_returns_none_may_complete_the_tuple():
    with traced() as run:
        bolt = build(Gives)
        bolt.pool = mock.Mock(**{"submit.return_value": None})
        bolt.process(tup("7", "pool"))
    assert run.settlement.unobserved == ("Gives: pool is a mock",)


def test_a_method_that_tests_the_tuple_does_not_complete():
    class Asks(Gives):
        def process(self, tup):
            if self.is_wanted(tup):
                self.ack(tup)

        def is_wanted(self, tup):
            return True

    with traced() as run, mock.patch.object(Asks, "is_wanted", autospec=True, return_value=False):
        build(Asks).process(tup("7"))
    assert [violation.misuse for violation in run.settlement.violations] == [Misuse.NEVER]


def test_completions_beside_a_mock_are_judged():
    with traced() as run:
        bolt = build(Gives)
        bolt.pool = mock.Mock()
        bolt.process(tup("7", "twice"))
    assert [violation.misuse for violation in run.settlement.violations] == [Misuse.TWICE]
    assert run.settlement.unobserved == ()


def test_a_completion_in_place_of_the_mock_is_seen():
    with traced() as run:
        bolt = build(Gives)
        bolt.pool = mock.Mock()
        bolt.pool.submit.side_effect = lambda work, given: work(given)
        bolt.process(tup("7", "pool"))
    assert run.settlement.violations == ()
    assert run.settlement.unobserved == ()
