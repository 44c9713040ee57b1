"""The root ledger holds the same entries as the acker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackdoctor.acker.acker import make_acker
from ackdoctor.acker.replay import RootLedger
from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.model.acker import AckAck, AckFail, AckInit, AnswerKind, Engine, ResetTimeout, Tick
from ackdoctor.model.trace import GrowthPoint, PendingEntry

ROOTS = st.sampled_from([5, -6, 7, 2**63 - 1])
VALUES = st.sampled_from([0, 1, 2, 3, -1, -2, 2**63 - 1, -(2**63)])
TASKS = st.sampled_from([0, 1, 3, 2**31 - 1])
MESSAGES = st.one_of(
    st.builds(AckInit, ROOTS, VALUES, TASKS),
    st.builds(AckAck, ROOTS, VALUES),
    st.builds(AckAck, ROOTS, VALUES),
    st.builds(AckFail, ROOTS),
    st.builds(ResetTimeout, ROOTS),
    st.builds(Tick),
)


def state(entries) -> list[PendingEntry]:
    return sorted(entries, key=lambda entry: entry.root)


@pytest.mark.parametrize("version", ["0.8.2", "0.9.7", "1.1.0", "1.2.4", "2.7.1", "2.8.8", "jstorm", "heron"])
@given(messages=st.lists(MESSAGES, max_size=60))
def test_the_ledger_equals_the_acker_after_every_message(version, messages):
    read, clock = profile(version), VirtualClock()
    acker, ledger, high = make_acker(read, clock), RootLedger(read), 0
    for message in messages:
        if isinstance(message, ResetTimeout) and not read.resets:
            continue
        if isinstance(message, Tick) and read.engine is Engine.JSTORM:
            continue  # JStorm rotates by its own clock
        if isinstance(message, AckInit) and read.engine is Engine.HERON and ledger.get(message.root):
            continue  # Heron creates a root once
        answer = acker.receive(message)
        assert ledger.receive(message) is (answer.kind if answer else None)
        assert state(ledger.entries()) == state(acker.pending())
        orphans = sum(entry.task is None for entry in acker.pending())
        point = ledger.window(0)
        assert (point.pending, point.orphans) == (len(acker), orphans)
        high = max(high, len(acker))
        assert ledger.high_water >= high


def test_a_window_counts_pending_and_started_roots():
    ledger = RootLedger(profile("1.1.0"))
    ledger.receive(AckInit(1, 8, 11))
    ledger.receive(AckInit(2, 8, 11))
    assert ledger.receive(AckAck(1, 8)) is AnswerKind.ACK
    ledger.receive(AckAck(1, 8))
    assert ledger.window(1000) == GrowthPoint(time_ms=1000, pending=2, orphans=1, started=2)
    ledger.receive(AckInit(3, 8, 11))
    ledger.receive(AckFail(3))
    assert ledger.window(2000) == GrowthPoint(time_ms=2000, pending=2, orphans=1, started=1)
    assert (ledger.completed, ledger.high_water) == (1, 3)


def test_ages_start_at_the_begin_of_the_window():
    ledger = RootLedger(profile("2.8"))
    ledger.window(500)
    ledger.receive(AckInit(1, 8, 11))
    ledger.window(1500)
    ledger.receive(AckInit(2, 8, 11))
    ledger.window(2500)
    assert {entry.root: entry.age_ms for entry in ledger.entries()} == {1: 2000, 2: 1000}


def test_roots_beyond_the_cap_are_dropped_and_counted():
    ledger = RootLedger(profile("2.8"), most=2)
    for root in range(1, 5):
        ledger.receive(AckInit(root, 8, 11))
    ledger.receive(AckFail(9))
    assert [entry.root for entry in ledger.entries()] == [1, 2]
    assert (ledger.dropped, len(ledger)) == (3, 2)


def test_a_rotation_returns_the_dropped_entries():
    ledger = RootLedger(profile("1.2"))
    ledger.receive(AckInit(1, 8, 11))
    ledger.receive(AckAck(2, 4))
    assert ledger.rotate() == ()
    ledger.receive(AckAck(2, 1))
    assert [entry.root for entry in ledger.rotate()] == [1]
    assert [(entry.root, entry.value, entry.bucket) for entry in ledger.entries()] == [(2, 5, 1)]
    assert ledger.get(1) is None
