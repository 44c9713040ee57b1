"""The records alone, fed with plain data as from a stored trace."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackdoctor.dialects import pystorm, storm_py
from ackdoctor.model.dialect import Misuse, Role
from ackdoctor.model.protocol import TABLE, Breach, Op, Stage
from ackdoctor.model.trace import AccessKind, CallSite, GrowthPoint, TracedComponent
from ackdoctor.tracer.ledger import POINTS, Ledger, Level, Windows
from ackdoctor.tracer.record import BREACHES, ComponentRecord, Delivery, Mark, PendingTuple
from tests.tracer.driven import summaries

COMPONENT = TracedComponent(name="Bolt", dialect="pystorm", role="Bolt", path="bolt.py", line=1)
DELIVERIES = ["1", "2", "3"]
OPS = [Op.ANCHOR, Op.ACK, Op.AUTO_ACK, Op.FAIL, Op.AUTO_FAIL]


def ledger_and_book(role: Role = pystorm.BOLT, **options) -> tuple[Ledger, ComponentRecord]:
    ledger = Ledger(now=lambda: 0, **options)
    return ledger, ledger.open(COMPONENT, role)


def perform(record: ComponentRecord, op: Op, delivery: str, mark: Mark | None = None) -> None:
    match op:
        case Op.ANCHOR:
            record.emitted([delivery], mark=mark)
        case Op.ACK | Op.AUTO_ACK:
            record.acked(delivery, mark=mark)
        case _:
            record.failed(delivery, mark=mark)


def fold(steps: list[tuple[str, Op]]) -> tuple[Counter[Misuse], int]:
    """Return the deliveries of each misuse and the number of violations, by the protocol table alone."""
    states = dict.fromkeys(DELIVERIES, Stage.OWED)
    found: set[tuple[Misuse, Stage, str, str]] = set()
    breaches = 0
    for delivery, op in [*steps, *((delivery, Op.END) for delivery in DELIVERIES)]:
        state = states[delivery]
        states[delivery], breach = TABLE[state, op]
        if breach is not None:
            breaches += 1
            found.add((BREACHES[breach], state, op.value.removeprefix("auto-"), delivery))
    return Counter(misuse for misuse, *_ in found), breaches


@given(st.lists(st.tuples(st.sampled_from(DELIVERIES), st.sampled_from(OPS), st.booleans()), max_size=30))
def test_the_verdict_is_that_of_the_protocol_table(steps):
    ledger, record = ledger_and_book()
    for delivery in DELIVERIES:
        record.received(delivery)
    for delivery, op, marked in steps:
        perform(record, op, delivery, Mark(in_except=True) if marked else None)
    found = ledger.settle().violations
    expected, breaches = fold([(delivery, op) for delivery, op, _ in steps])
    counted: Counter[Misuse] = Counter()
    for violation in found:
        counted[violation.misuse] += violation.count
    assert counted == expected
    assert sum(violation.count + violation.discarded for violation in found) == breaches


def test_every_violation_has_its_misuse():
    assert set(BREACHES) == set(Breach)


def test_a_stored_trace_has_its_own_sites():
    ledger, record = ledger_and_book()
    line = ledger.sites.named(CallSite("bolt.py", 7, "Bolt.process"))
    framework = ledger.sites.named(CallSite("pystorm/bolt.py", 199, "Bolt._run", framework=True))
    record.received("17", 5)
    record.acked("17", line)
    record.acked("17", framework)
    (violation,) = ledger.settle().violations
    assert [(touch.kind, str(touch.site), touch.time_ns, touch.entry) for touch in violation.history] == [
        (AccessKind.RECEIVED, "None", 5, 1),
        (AccessKind.ACKED, "bolt.py:7 Bolt.process", 0, 1),
        (AccessKind.ACKED, "pystorm/bolt.py:199 Bolt._run", 0, 1),
    ]


def test_a_repeated_id_that_is_open_is_due_twice():
    ledger, record = ledger_and_book()
    for _ in range(3):
        record.received("14")
    record.acked("14")
    record.acked("14")
    assert summaries(ledger.settle().violations) == ["never completed: 14: received; end of the run"]


def test_a_repeated_id_after_its_ack_is_another_tuple():
    ledger, record = ledger_and_book()
    for _ in range(2):
        record.received("14")
        record.acked("14")
    assert ledger.settle().violations == ()


def test_an_ack_of_an_unknown_tuple_is_a_note():
    ledger, record = ledger_and_book()
    record.acked("99")
    settlement = ledger.settle()
    assert settlement.violations == ()
    assert settlement.notes == ("Bolt: 1 completion of tuples that no input was seen to bring",)


class Shared(dict[Delivery, PendingTuple]):
    """Open deliveries; another thread acks each one as soon as it is removed."""

    def __init__(self, record: ComponentRecord) -> None:
        super().__init__()
        self.record = record

    def pop(self, delivery: Delivery, *default: Any) -> Any:
        taken = super().pop(delivery, *default)
        if taken is not None:
            self.record.acked(delivery)
        return taken


def test_an_ack_within_the_ack_of_another_thread_is_a_second_one():
    ledger, record = ledger_and_book()
    record.open = Shared(record)
    for delivery in DELIVERIES:
        record.received(delivery)
        record.acked(delivery)
    assert summaries(ledger.settle().violations) == ["completed twice x3: 1: received; acked; acked"]


def test_an_ack_before_its_tuple_arrives_is_no_second_ack():
    ledger, record = ledger_and_book()
    record.acked("1")
    record.received("1")
    record.acked("1")
    settled = ledger.settle()
    assert (settled.violations, len(settled.notes)) == ((), 1)


def test_a_completion_from_another_thread_is_a_violation_without_a_lock():
    for role, expected in ((pystorm.BOLT, []), (storm_py.DIALECTS[0].roles[0], [Misuse.OFF_THREAD])):
        ledger, record = ledger_and_book(role)
        record.received("1")
        record.acked("1", mark=Mark(thread="worker"))
        assert [violation.misuse for violation in ledger.settle().violations] == expected


def test_completed_deliveries_are_forgotten_by_generations():
    ledger, record = ledger_and_book(cap=1024)
    for number in range(5000):
        record.received(str(number))
        record.acked(str(number))
    assert "4999" in record
    assert "1" not in record
    assert len(record.done) <= 2048
    assert ledger.settle().dropped == 0


def test_a_settled_ledger_starts_empty():
    ledger, record = ledger_and_book(test="test_one")
    record.received("1")
    first = ledger.settle()
    assert [violation.test for violation in first.violations] == ["test_one"]
    second = ledger.settle()
    assert (second.violations, second.tallies, second.growth, second.notes) == ((), (), (), ())


def test_the_oldest_book_is_closed_for_the_next(monkeypatch):
    monkeypatch.setattr("ackdoctor.tracer.ledger.RECORDS", 2)
    ledger = Ledger(now=lambda: 3_000_000)
    for number in range(3):
        ledger.open(COMPONENT, pystorm.BOLT).received(str(number))
    assert len(ledger.records) == 2
    settlement = ledger.settle()
    assert [violation.delivery for violation in settlement.violations] == ["0", "1", "2"]
    assert [(tally.delivered, tally.pending, tally.oldest_ms) for tally in settlement.tallies] == [(3, 3, 3)]


def test_growth_is_open_deliveries_at_the_end_of_each_window():
    ledger, record = ledger_and_book()
    record.received("1")
    ledger.grow(1_000_000_000)
    record.received("2")
    record.received("3")
    record.acked("1")
    ledger.grow(2_000_000_000)
    assert ledger.settle().growth[:2] == (
        GrowthPoint(time_ms=1000, pending=1, started=1),
        GrowthPoint(time_ms=2000, pending=2, started=2),
    )


def test_windows_become_longer_and_lose_no_load():
    windows = Windows()
    for second in range(1, 2 * POINTS + 1):
        windows.close(second * 1_000_000_000, pending=second, started=second)
    assert len(windows.points) <= POINTS
    assert sum(point.started for point in windows.points) == windows.points[-1].pending


@pytest.mark.parametrize(("name", "level"), [("off", Level.OFF), ("TRACE", Level.TRACE)])
def test_levels_have_names(name, level):
    assert Level.named(name) is level
    assert str(level) == name.lower()


def test_an_unknown_level_names_the_known():
    with pytest.raises(ValueError, match="unknown level 'all'; the levels are off, sites, trace"):
        Level.named("all")
