"""A bolt that calls functions of storm.py, in tests that replace these functions."""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from pystorm import Bolt, Tuple

from ackdoctor.model.dialect import Misuse
from tests.frameworks import framework
from tests.tracer.driven import build, summaries, traced

SOURCE = """
import storm
from storm import ack, emit

class Split(storm.Bolt):
    def process(self, tup):
        for word in tup.values:
            emit([word], anchors=[tup])
            ack(tup)

class Qualified(storm.Bolt):
    def process(self, tup):
        storm.emit(tup.values, anchors=[tup])
        storm.ack(tup)

class Forgets(storm.Bolt):
    def process(self, tup):
        emit(tup.values, anchors=[tup])
"""


@pytest.fixture
def bolts() -> Iterator[Any]:
    """A module that has functions of storm.py under other names."""
    framework("storm")
    module = ModuleType("splitting")
    sys.modules[module.__name__] = module
    exec(SOURCE, vars(module))
    yield module
    del sys.modules[module.__name__]


def tup(*values: str) -> Any:
    return framework("storm").Tuple("7", "lines", "default", 4, list(values))


@pytest.mark.parametrize(
    ("words", "expected"), [(["one"], []), (["one", "two"], ["completed twice: 7: received; acked; acked"])]
)
def test_mocked_names_of_the_bolts_own_module_are_read(bolts, words, expected):
    with traced() as run, mock.patch("splitting.emit") as emit, mock.patch("splitting.ack"):
        bolts.Split().process(tup(*words))
    assert emit.call_count == len(words)
    assert summaries(run.settlement.violations) == expected
    (tally,) = run.settlement.tallies
    assert (tally.delivered, tally.emitted, tally.acked) == (1, len(words), len(words))


def test_a_mock_of_the_whole_module_is_read(bolts):
    with traced() as run, mock.patch("splitting.storm"):
        bolts.Qualified().process(tup("one"))
    assert run.settlement.violations == ()
    assert [tally.acked for tally in run.settlement.tallies] == [1]


def test_a_list_in_place_of_ack_hides_it(bolts, monkeypatch):
    acked: list[Any] = []
    with traced() as run, mock.patch("splitting.emit"):
        monkeypatch.setattr(bolts, "ack", acked.append)
        bolts.Split().process(tup("one"))
    assert [one.values for one in acked] == [["one"]]
    assert run.settlement.unobserved == ("Split: ack is replaced",)
    assert run.settlement.violations == ()


def test_a_list_in_place_of_the_wire_hides_it(bolts):
    sent: list[Any] = []
    wire = mock.patch.object(bolts.storm, "sendMsgToParent", sent.append)
    with traced() as run, mock.patch.object(bolts.storm, "emit"), wire:
        bolts.Qualified().process(tup("one"))
    assert sent == [{"command": "ack", "id": "7"}]
    assert run.settlement.unobserved == ("Qualified: sendMsgToParent is replaced",)
    assert run.settlement.violations == ()


def test_a_replaced_emit_hides_no_missing_ack(bolts, monkeypatch):
    with traced() as run:
        monkeypatch.setattr(bolts, "emit", lambda values, anchors: None)
        bolts.Forgets().process(tup("one"))
    assert run.settlement.unobserved == ()
    assert summaries(run.settlement.violations) == ["never completed: 7: received; end of the run"]


class Acks(Bolt):
    auto_ack = False

    def process(self, tup):
        self.emit(["done"])
        self.ack(tup)
        if tup.values:
            self.ack(tup)


@pytest.mark.parametrize(
    ("values", "expected"), [([], []), (["twice"], ["completed twice: 7: received; acked; acked"])]
)
def test_two_bolts_that_share_a_mock_are_distinguished(values, expected):
    with traced() as run, mock.patch.object(Acks, "ack"), mock.patch.object(Acks, "emit"):
        build(Acks).process(Tuple("7", "lines", "default", 4, []))
        build(Acks).process(Tuple("7", "lines", "default", 4, values))
    assert summaries(run.settlement.violations) == expected
    assert run.settlement.notes == ()
    (tally,) = run.settlement.tallies
    assert (tally.delivered, tally.emitted, tally.acked) == (2, 2, 2 + len(values))


class Lossy(Bolt):
    auto_ack = False

    def process(self, tup):
        if tup.values:
            self.ack(tup)


def line(*values: str) -> Tuple:
    return Tuple("7", "lines", "default", 4, list(values))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (["kept"], ["kept"], []),
        ([], ["kept"], ["never completed: 7: received; end of the run"]),
        (["kept"], [], ["never completed: 7: received; end of the run"]),
    ],
)
@pytest.mark.parametrize("known", [False, True], ids=["met under the mock", "known before"])
def test_the_calls_of_one_bolt_are_not_attributed_to_another(known, first, second, expected):
    bolts = [build(Lossy), build(Lossy)]
    with traced() as run:
        for bolt in bolts[: 2 * known]:
            bolt.process(line("real"))
        with mock.patch.object(Lossy, "ack"):
            bolts[0].process(line(*first))
            bolts[1].process(line(*second))
    assert summaries(run.settlement.violations) == expected
    assert run.settlement.notes == ()


@pytest.mark.parametrize("acks", [True, False])
def test_a_bolt_that_runs_another_is_distinguished_from_it(acks):
    class Runs(Bolt):
        auto_ack = False

        def process(self, tup):
            build(Lossy).process(tup)
            if acks:
                self.ack(tup)

    with traced() as run, mock.patch.object(Bolt, "ack"):
        build(Runs).process(line("kept"))
    expected = [] if acks else [(Misuse.NEVER, Runs.__qualname__)]
    assert [(one.misuse, one.traced.name) for one in run.settlement.violations] == expected
