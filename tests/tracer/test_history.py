"""The timeline of one root."""

from ackdoctor.acker.versions import profile
from ackdoctor.model.trace import Event, EventKind
from ackdoctor.tracer.replay import Timeline, timeline_of_delivery, timeline_of_root
from tests.trace_rows import events_of

OLD, NEW = profile("storm-1.1.0"), profile("storm-2.8.8")


def timeline(*lines: str, version: str = "storm-1.1.0", root: int = 66) -> Timeline:
    events = events_of(list(lines))
    found = timeline_of_root(lambda: events, root, profile(version))
    assert found is not None
    return found


def drawn(found: Timeline) -> list[str]:
    return [f"{moment.what} | {moment.state} | {moment.answer}".rstrip(" |") for moment in found.moments]


def test_seed_000_has_its_known_history():
    found = timeline("init 66 8", "ack 66 11 by bolt1", "ack 66 4 by bolt2", "ack 66 7 by bolt3")
    assert drawn(found) == [
        "init 8 | {66 {11 8}}",
        "ack 11 | {66 {11 3}}",
        "ack 4 | {66 {11 7}}",
        "ack 7 | {} | ACK to task 11",
    ]
    assert found.verdict == "acker: root 66 is gone; the spout got ack"
    assert found.law == "law L1: every tuple was acked an odd number of times, so the value came to zero"


def test_a_second_ack_makes_an_orphan_and_the_value_names_its_sender():
    found = timeline("init 66 1", "ack 66 1 by sql", "ack 66 1 by sql")
    assert drawn(found) == ["init 1 | {66 {11 1}}", "ack 1 | {} | ACK to task 11", "ack 1 | {66 {- 1}}"]
    assert found.verdict == (
        "acker: root 66 leaves an orphan, value 1; the spout got ack; "
        "it stays until the acker's worker restarts: storm-1.1.0 never drops one"
    )
    assert found.law == (
        "law L1: what is left is what the tuples acked an even number of times send: "
        "1 = sql[0] delivery sql-1, acked twice"
    )


def test_a_fail_that_beats_the_other_branch():
    found = timeline("init 66 3", "fail 66", "ack 66 2 by right", version="storm-2.8.8")
    assert drawn(found) == ["init 3 | {66 {11 3}}", "fail | {} | FAIL to task 11", "ack 2 | {66 {- 2}}"]
    assert found.verdict.startswith("acker: root 66 leaves an orphan, value 2; the spout got fail")


def test_a_root_that_rotation_drops():
    found = timeline("init 66 3", "tick", "tick", version="storm-1.2.4")
    assert drawn(found) == ["init 3 | {66 {11 3}}", "rotated away | {}"]
    assert found.verdict == (
        "acker: root 66 leaves a tracked entry, value 3; the spout timed out and replays; rotation has dropped it"
    )


def test_an_init_that_comes_after_its_ack_answers_its_task():
    found = timeline("ack 66 1", "init 66 1")
    assert drawn(found) == ["ack 1 | {66 {- 1}}", "init 1 | {} | ACK to task 11"]


def test_rows_of_components_are_between_the_messages_that_they_caused():
    linked = Event(kind=EventKind.LINKED, time_ns=1, component="sql", delivery="7", root=66, value=1)
    acked = Event(
        kind=EventKind.ACKED,
        time_ns=2,
        component="sql",
        delivery="7",
        site="/srv/topology/sql.py:9 SqlBolt.process",
    )
    other = acked._replace(delivery="8")
    events = [linked, acked, other, *events_of(["ack 66 1"])]
    found = timeline_of_root(lambda: events, 66, NEW)
    assert found is not None
    assert [(m.what, m.delivery, m.site) for m in found.moments] == [
        ("linked 1", "7", ""),
        ("acked", "7", "/srv/topology/sql.py:9 SqlBolt.process"),
        ("ack 1", "", ""),
    ]


def test_a_root_outside_the_trace_has_no_history():
    assert timeline_of_root(list, 66, OLD) is None


def delivery(*kinds: EventKind) -> str:
    events = [Event(kind=kind, time_ns=n, component="sql", delivery="7") for n, kind in enumerate(kinds)]
    found = timeline_of_delivery(lambda: events, "7")
    assert found is not None
    return found.verdict


def test_the_history_of_a_delivery_has_its_completions():
    received, acked, failed = EventKind.RECEIVED, EventKind.ACKED, EventKind.FAILED
    assert delivery(received, acked) == "sql[0] acked it once"
    assert delivery(received, failed) == "sql[0] failed it"
    owed = ", and owed exactly one ack or one fail"
    assert delivery(received) == f"sql[0] never acked it{owed}"
    assert delivery(received, acked, acked) == f"sql[0] acked it twice{owed}"
    assert delivery(received, acked, failed) == f"sql[0] acked it once and failed it{owed}"


def test_one_id_in_two_components_is_two_tuples():
    received = Event(kind=EventKind.RECEIVED, time_ns=1, component="sql", delivery="7")
    acked = received._replace(kind=EventKind.ACKED)
    other = received._replace(component="store", task=2)
    found = timeline_of_delivery(lambda: [received, acked, other], "7")
    assert found is not None
    assert found.verdict == (
        "sql[0] acked it once; store[2] never acked it, and owed exactly one ack or one fail"
    )


def test_one_id_in_two_tests_has_two_histories():
    received = Event(kind=EventKind.RECEIVED, time_ns=1, component="sql", delivery="7", test="t.py::a")
    acked = received._replace(kind=EventKind.ACKED)
    found = timeline_of_delivery(lambda: [received, acked, received._replace(test="t.py::b")], "7")
    assert found is not None
    assert [moment.test for moment in found.moments] == ["t.py::a", "t.py::a", "t.py::b"]
    assert found.verdict == (
        "in t.py::a sql[0] acked it once; in t.py::b sql[0] never acked it, and owed exactly one ack or one fail"
    )


def test_a_tuple_that_waits_for_a_batch_is_not_called_pending():
    found = delivery(EventKind.RECEIVED, EventKind.WAITS)
    assert found == "sql[0] kept it for a batch that had not come when the run ended"
    assert delivery(EventKind.RECEIVED, EventKind.WAITS, EventKind.ACKED) == "sql[0] acked it once"


def test_a_delivery_of_an_unobserved_component_is_not_called_never_completed():
    received = Event(EventKind.RECEIVED, 0, component="count", task=4, delivery="7")
    hidden = Event(
        EventKind.NAMED, 9, component="count", task=4, note="pystorm Bolt unobserved: ack is replaced"
    )
    found = timeline_of_delivery(lambda: [received, hidden], "7")
    assert found is not None
    assert found.verdict == "count[4] was not observed: ack is replaced"
