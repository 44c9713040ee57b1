"""The table at the end, line by line."""

from ackdoctor.model.trace import ComponentTally
from ackdoctor.pytest_plugin.outcome import Row, read_row, summary, totals


def counts(
    delivered=0, emitted=0, acked=0, failed=0, pending=0, component="SplitBolt"
) -> dict[str, dict[str, int]]:
    return {
        component: {
            "delivered": delivered, "emitted": emitted, "acked": acked, "failed": failed, "pending": pending,
        }
    }  # fmt: skip


FORGETS = Row(level="sites", findings={"ACK101": 2}, components=counts(delivered=2, pending=2))
DOUBLE = Row(level="sites", findings={"ACK103": 1}, components=counts(delivered=1, emitted=3, acked=2))
CLEAN = Row(level="sites", components=counts(delivered=5, emitted=5, acked=4, failed=1))
SILENT = Row(level="sites")
MOCKED = Row(level="sites", asked=True)


def lines(rows, verbosity=0) -> list[str]:
    return list(summary(rows, verbosity))


def test_the_test_with_most_findings_comes_first_and_clean_ones_are_summed_up():
    rows = {"t.py::test_double": DOUBLE, "t.py::test_clean": CLEAN, "t.py::test_forgets": FORGETS}
    assert lines(rows) == [
        "test                delivered  emitted    ack   fail  pending  findings",
        "t.py::test_forgets          2        0      0      0        2  ACK101 x2",
        "t.py::test_double           1        3      2      0        0  ACK103",
        "3 tests                     8        8      6      1        2",
        "2 of 3 tests broke the protocol: ACK101 x2, ACK103 · ackdoctor explain ACK101",
    ]


def test_quiet_prints_one_sentence():
    rows = {"t.py::test_double": DOUBLE, "t.py::test_clean": CLEAN}
    assert lines(rows, -1) == ["1 of 2 tests broke the protocol: ACK103 · ackdoctor explain ACK103"]


def test_verbose_shows_clean_tests_and_twice_verbose_their_components():
    rows = {"t.py::test_clean": CLEAN}
    assert lines(rows) == ["1 test: every tuple completed exactly once"]
    assert lines(rows, 1) == [
        "test              delivered  emitted    ack   fail  pending  findings",
        "t.py::test_clean          5        5      4      1        0",
        "1 test                    5        5      4      1        0",
        "1 test: every tuple completed exactly once",
    ]
    assert lines(rows, 2)[2] == "  SplitBolt               5        5      4      1        0"


def test_a_test_without_tuples_is_not_called_clean():
    rows = {"t.py::test_plain": SILENT, "t.py::test_mocked": MOCKED}
    assert lines(rows) == [
        "test               delivered  emitted    ack   fail  pending  findings",
        "t.py::test_mocked          0        0      0      0        0  observed 0 events",
        "2 tests                    0        0      0      0        0",
        "2 tests observed 0 events: the tracer saw no component run",
    ]


def test_a_mock_that_hides_acks_is_named():
    row = Row(level="sites", components=counts(delivered=1), unobserved=["SplitBolt: send_message is a mock"])
    assert lines({"t.py::test": row})[1].endswith("0  not observed: SplitBolt: send_message is a mock")
    assert lines({"t.py::test": row, "t.py::test_plain": SILENT, "t.py::test_clean": CLEAN}, -1) == [
        "1 test: every tuple completed exactly once",
        "1 test not observed: a mock or an unknown transport hides the component's calls",
        "1 test observed 0 events: the tracer saw no component run",
    ]


def test_accepted_tuples_are_not_called_completed():
    row = Row(level="sites", accepted={"ACK101": 1}, components=counts(delivered=1, pending=1))
    assert lines({"t.py::test": row}) == [
        "test        delivered  emitted    ack   fail  pending  findings",
        "t.py::test          1        0      0      0        1  (ACK101 accepted)",
        "1 test              1        0      0      0        1",
        "1 test: all findings are accepted",
    ]


def test_a_tracer_at_its_limit_says_so():
    row = Row(level="sites", dropped=1200, findings={"ACK103": 1}, components=counts(delivered=1, acked=2))
    assert lines({"t.py::test": row})[1].endswith("0  ACK103 1,200 events not kept")


def test_ten_rows_are_shown_by_default():
    rows = {f"t.py::test_{n:02}": FORGETS for n in range(12)}
    assert lines(rows)[10:12] == [
        "t.py::test_09          2        0      0      0        2  ACK101 x2",
        "... and 2 tests more; -v shows all",
    ]
    assert len(lines(rows, 1)) == len(lines(rows)) + 1


def test_a_row_survives_a_round_trip():
    row = Row(level="trace", verdict="failed", ticks=1, findings={"ACK103": 1}, components=counts(acked=2))
    assert read_row(row.dump()) == row


def test_a_property_of_another_plugin_is_no_row():
    assert read_row("yes") is None
    assert read_row("[1]") is None
    assert read_row("{}") is None


def test_tasks_of_one_component_are_added_up():
    tallies = [
        ComponentTally(component="SplitBolt", dialect="pystorm", delivered=2, acked=1, pending=1),
        ComponentTally(component="SplitBolt", dialect="pystorm", delivered=1, acked=1),
    ]
    assert totals(tallies) == counts(delivered=3, acked=2, pending=1)
