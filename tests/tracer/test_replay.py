"""A stored trace has the findings of the run that wrote it."""

import pytest

from ackdoctor.acker.versions import profile
from ackdoctor.model.finding import Finding, Severity, TreeWitness
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.trace import AUTO, BARE, IN_HAND, TICK, Event, EventKind
from ackdoctor.tracer.components import MULTILANG, recalled
from ackdoctor.tracer.ledger import Ledger
from ackdoctor.tracer.replay import TraceReport, judge_trace
from tests.trace_rows import events_of

SECOND = 1_000_000_000
NAMED, RECEIVED, ACKED, FAILED, EMITTED, ANCHORED = (
    EventKind.NAMED,
    EventKind.RECEIVED,
    EventKind.ACKED,
    EventKind.FAILED,
    EventKind.EMITTED,
    EventKind.ANCHORED,
)
SITE = "/srv/topology/sql.py:9 SqlBolt.process"
OTHER_SITE = "/srv/topology/sql.py:12 SqlBolt.process"
LOOP = "/site/pystorm/bolt.py:199 Bolt._run"


def trace(*rows: Event) -> list[Event]:
    """Return the rows of one component, a second apart."""
    return [
        row._replace(component=row.component or "SqlBolt", time_ns=(n + 1) * SECOND, seq=n)
        for n, row in enumerate(rows)
    ]


def row(kind: EventKind, delivery: str = "7", site: str = "", **more: object) -> Event:
    values: dict[str, object] = {"delivery": delivery, "site": site, **more}
    return Event(kind=kind, time_ns=0, **values)  # type: ignore[arg-type]


def named(note: str) -> Event:
    return row(NAMED, "", "/srv/topology/sql.py:4 SqlBolt", note=note)


def held(
    events: list[Event], version: str = "storm-2.8.8", *, timeout_s: int | None = None, patience_s: int = 0
) -> TraceReport:
    return judge_trace(
        lambda: iter(events), profile(version), message_timeout_s=timeout_s, patience_s=patience_s
    )


def codes(found: TraceReport) -> list[tuple[str, str, str]]:
    return [(f.code, str(f.site), f.message.partition(": ")[0]) for f in found.findings]


BY_HAND = named("pystorm Bolt")
AUTOMATIC = named("pystorm Bolt auto_ack auto_fail auto_anchor")


def test_two_acks_in_one_trace_are_a_double_ack():
    found = held(trace(BY_HAND, row(RECEIVED), row(ACKED, site=SITE), row(ACKED, site=OTHER_SITE)))
    assert codes(found) == [("ACK103", "/srv/topology/sql.py:12:1", "the tuple is acked a second time")]
    (finding,) = found.findings
    assert (finding.dialect, finding.component, finding.handler) == ("pystorm", "SqlBolt", "process")


def test_the_frameworks_ack_is_distinguished_from_the_authors():
    rows = trace(AUTOMATIC, row(RECEIVED), row(ACKED, site=SITE), row(ACKED, site=LOOP, flags=AUTO))
    assert codes(held(rows)) == [
        ("ACK105", "/srv/topology/sql.py:9:1", "the tuple is acked by hand and pystorm acks it as well")
    ]


def test_an_emit_after_the_ack_is_found_by_its_anchor():
    rows = trace(
        BY_HAND,
        row(RECEIVED, "1"),
        row(RECEIVED, "2"),
        row(ACKED, "2", site=SITE),
        row(EMITTED, "1", site=OTHER_SITE),
        row(ANCHORED, "2", site=OTHER_SITE),
        row(ACKED, "1", site=SITE),
    )
    found = held(rows)
    assert codes(found) == [
        ("ACK202", "/srv/topology/sql.py:12:1", "this emit is anchored to the tuple, which was acked")
    ]
    assert found.tally.components[0].emitted == 1


def test_an_emit_that_leaves_its_anchors_to_a_framework_without_any_is_unanchored():
    rows = trace(BY_HAND, row(RECEIVED), row(EMITTED, "", site=SITE, flags=BARE), row(ACKED, site=SITE))
    assert codes(held(rows)) == [
        ("ACK201", "/srv/topology/sql.py:9:1", "this emit is not anchored to the tuple")
    ]


def test_ticks_are_counted_apart():
    tick = row(RECEIVED, "t1", flags=TICK, stream="__tick")
    found = held(trace(AUTOMATIC, tick, row(ACKED, "t1", site=LOOP, flags=AUTO)))
    assert found.findings == ()
    assert (found.tally.components[0].ticks, found.tally.components[0].delivered) == (1, 0)


def test_a_tuple_that_is_open_at_the_end_is_a_missing_ack():
    found = held(trace(BY_HAND, row(RECEIVED, "1"), row(RECEIVED, "2"), row(FAILED, "2", site=SITE)))
    assert [code for code, _, _ in codes(found)] == ["ACK101"]
    assert (found.tally.pending, found.tally.components[0].pending) == (1, 1)


def test_a_component_is_named_once_for_all_tests_of_a_process():
    rows = [BY_HAND, row(RECEIVED), row(ACKED), row(RECEIVED, "8", test="t::b"), row(ACKED, "8", test="t::b")]
    found = held(trace(*rows, row(ACKED, "8", test="t::b")))
    assert [(f.code, f.dialect, f.evidence.test) for f in found.findings] == [("ACK103", "pystorm", "t::b")]


def test_a_tuple_in_a_batch_at_the_end_is_not_called_missing():
    batching = named("pystorm TicklessBatchingBolt auto_ack auto_fail")
    rows = [batching, *(row(RECEIVED, delivery) for delivery in "123")]
    found = held(trace(*rows, row(ACKED, "3"), *(row(EventKind.WAITS, delivery) for delivery in "23")))
    assert [(f.code, f.evidence.delivery) for f in found.findings] == [("ACK101", "1")]
    assert found.tally.pending == 2
    assert found.notes == ("SqlBolt: 1 waited for a batch when the run ended",)


def test_one_id_in_two_processes_or_two_tests_is_two_tuples():
    first = [BY_HAND, row(RECEIVED), row(ACKED, site=SITE)]
    again = [event._replace(pid=2) for event in first]
    tested = [event._replace(test="test_sql.py::test_one") for event in first]
    assert held(trace(*first, *again, *tested)).findings == ()


def test_a_component_without_a_named_row_is_judged_as_multilang():
    found = held(trace(row(RECEIVED), row(ACKED), row(ACKED)))
    (finding,) = found.findings
    assert (finding.code, finding.severity, finding.handler) == ("ACK103", Severity.ERROR, "")
    assert finding.site == Site("<unknown>", NOWHERE)
    assert "ShellBolt answers" in finding.message


def test_the_end_of_a_component_is_noted():
    died = row(EventKind.DIED, "", note="killed by SIGKILL")
    assert held(trace(BY_HAND, died)).notes == ("SqlBolt[0] ended: killed by SIGKILL",)


ENDS = [
    row(EventKind.DIED, "", note="killed by SIGKILL"),
    row(EventKind.DIED, "", note="exit code 1: ValueError: no"),
    row(EventKind.DIED, "", note="exit code 9", flags=IN_HAND),
]


def blamed(found: TraceReport) -> list[tuple[str, str]]:
    return [(f.code, f.evidence.delivery) for f in found.findings]


@pytest.mark.parametrize("died", ENDS)
def test_tuples_in_the_pipe_of_a_dead_component_are_no_violation(died):
    forgotten, acked, in_hand, unread = (row(RECEIVED, delivery) for delivery in "1234")
    found = held(trace(forgotten, acked, row(ACKED, "2"), in_hand, unread, died))
    assert blamed(found) == [("ACK101", "1")]
    assert found.notes == (f"SqlBolt[0] ended: {died.note}, tuples under way: 2",)


def test_an_emit_on_a_pipe_shows_how_far_the_component_had_read():
    rows = [*(row(RECEIVED, delivery) for delivery in "1234"), row(ACKED, "1"), row(EMITTED, "3"), ENDS[0]]
    assert blamed(held(trace(*rows))) == [("ACK101", "2")]


@pytest.mark.parametrize("died", ENDS)
def test_a_component_in_the_process_had_its_last_tuple_in_hand_when_it_died(died):
    acked, forgotten, in_hand = (row(RECEIVED, delivery) for delivery in "123")
    found = held(trace(BY_HAND, acked, row(ACKED, "1"), forgotten, in_hand, died))
    assert blamed(found) == [("ACK101", "2")]
    assert found.notes == (f"SqlBolt[0] ended: {died.note}, tuples under way: 1",)


def test_a_component_that_completed_its_last_tuple_had_none_in_hand():
    forgotten, acked = row(RECEIVED, "1"), row(RECEIVED, "2")
    found = held(trace(BY_HAND, forgotten, acked, row(ACKED, "2"), ENDS[0]))
    assert blamed(found) == [("ACK101", "1")]
    assert found.notes == ("SqlBolt[0] ended: killed by SIGKILL",)


def test_a_buffering_component_had_the_tuples_after_its_last_completion_under_way():
    first, second, third, fourth = (row(RECEIVED, delivery) for delivery in "1234")
    found = held(trace(BY_HAND, first, second, row(ACKED, "1"), row(ACKED, "2"), third, fourth, ENDS[0]))
    assert found.findings == ()


def test_a_batch_that_was_being_flushed_was_under_way():
    batching = named("pystorm BatchingBolt auto_ack auto_fail")
    ticks = [row(RECEIVED, name, flags=TICK, stream="__tick") for name in ("t1", "t2", "t3")]
    acks = [row(ACKED, name, site=LOOP, flags=AUTO) for name in ("t1", "t2")]
    forgotten, acked, in_batch = (row(RECEIVED, delivery) for delivery in "123")
    rows = [batching, forgotten, ticks[0], acks[0], in_batch, ticks[1], acks[1], acked]
    found = held(trace(*rows, ticks[2], row(ACKED, "2", site=LOOP, flags=AUTO), ENDS[0]))
    assert blamed(found) == [("ACK101", "1")]


def test_a_tick_in_hand_is_no_violation():
    tick = row(RECEIVED, "t1", flags=TICK, stream="__tick")
    assert blamed(held(trace(BY_HAND, tick))) == [("ACK109", "t1")]
    assert held(trace(BY_HAND, tick, ENDS[0])).findings == ()


def test_a_component_that_never_acked_had_one_tuple_in_hand():
    died = row(EventKind.DIED, "", note="killed by SIGTERM")
    found = held(trace(BY_HAND, row(RECEIVED, "1"), row(RECEIVED, "2"), died))
    assert [(f.code, f.evidence.delivery) for f in found.findings] == [("ACK101", "1")]


def test_a_tuple_that_is_open_at_a_regular_end_is_a_missing_ack():
    found = held(trace(BY_HAND, row(RECEIVED, "1"), row(EventKind.DIED, "", note="exit code 2")))
    assert [code for code, _, _ in codes(found)] == ["ACK101"]


def test_rows_that_the_recorder_lost_are_counted():
    assert held(trace(BY_HAND, row(EventKind.DROPPED, "", value=12))).tally.dropped == 12


def test_a_stored_trace_has_the_growth_of_the_run_that_wrote_it():
    now = 0
    ledger = Ledger(now=lambda: now)
    record = ledger.open(recalled("SqlBolt", 0), MULTILANG)
    rows = []
    for number in range(1_500):
        now = (number + 1) * SECOND
        record.received(str(number), now)
        rows.append(row(RECEIVED, str(number)))
        if now >= ledger.windows.due:
            ledger.grow(now)
    now += SECOND // 2
    rows.append(row(EventKind.DROPPED, ""))
    rows = [*trace(*rows[:-1]), rows[-1]._replace(time_ns=now)]
    assert held(rows).tally.growth == ledger.settle().growth


def test_open_deliveries_are_counted_without_an_acker():
    found = held(trace(*(row(RECEIVED, str(n)) for n in range(4))))
    assert [point.pending for point in found.tally.growth] == [1, 2, 3, 4]
    assert [point.started for point in found.tally.growth] == [1, 1, 1, 1]


# ---- rows of an acker ----


def test_answers_to_a_spout_are_no_acker_messages():
    spout = row(EventKind.COMPLETED, "m-1", component="jobs")
    rows = trace(BY_HAND, row(RECEIVED), row(RECEIVED, "8"), row(ACKED, "8"), spout, row(RECEIVED, "9"))
    tally = held(rows).tally
    assert [point.pending for point in tally.growth] == [1, 2, 1, 2]
    assert (tally.pending, tally.high_water) == (2, 2)
    assert held(trace(spout)).telling


def place_of(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.message.partition("; ")[0]


def test_the_acker_names_the_tuple_if_no_component_was_traced():
    found = held(events_of(["init 66 1", "ack 66 1 by sql", "ack 66 1 by sql"]), "storm-1.1.0")
    assert [place_of(finding) for finding in found.findings] == [
        (
            "ACK601",
            "the acker keeps an entry that can never become zero: a tuple of sql was acked twice",
        )
    ]
    assert (found.roots, found.tally.completed, found.tally.pending) == (1, 1, 1)


def test_a_traced_component_has_the_only_finding():
    messages = events_of(["init 66 1", "ack 66 1 by sql", "ack 66 1 by sql"])
    messages[1:] = [event._replace(component="SqlBolt", delivery="7") for event in messages[1:]]
    acks = [row(ACKED, site=SITE), row(ACKED, site=OTHER_SITE)]
    rows = trace(BY_HAND, row(RECEIVED), messages[0], acks[0], messages[1], acks[1], messages[2])
    (finding,) = held(rows, "storm-1.1.0").findings
    assert finding.code == "ACK103"
    assert isinstance(finding.evidence, TreeWitness)
    assert (finding.evidence.root, finding.evidence.left) == (
        66,
        (
            "acker: root 66 leaves an orphan, value 1; the spout got ack",
            "acker: such an entry stays until the acker's worker restarts: storm-1.1.0 never drops one",
        ),
    )


@pytest.mark.parametrize(("patience", "expected"), [(0, ["ACK601"]), (30, [])])
def test_a_young_root_is_under_way(patience, expected):
    found = held(events_of(["init 66 3", "ack 66 1 by left"]), patience_s=patience)
    assert [finding.code for finding in found.findings] == expected
    assert found.tally.pending == 1


def test_the_answer_to_the_spout_decides_about_an_orphan():
    after_ack = held(events_of(["init 66 1", "ack 66 1", "fail 66"]))
    after_fail = held(events_of(["init 66 3", "fail 66", "ack 66 2"]))
    assert [(f.code, f.severity) for f in after_ack.findings] == [("ACK602", Severity.WARNING)]
    assert [(f.code, f.severity) for f in after_fail.findings] == [("ACK602", Severity.INFO)]


def test_with_a_message_timeout_the_map_rotates_as_in_that_version():
    lines = ["init 66 1", "ack 66 1 by sql", "ack 66 1 by sql", *("init 70 1" for _ in range(8))]
    rotating = held(events_of(lines), timeout_s=600)
    gone = held(events_of(lines), timeout_s=2)
    assert 66 in {tree.root for tree in rotating.tally.trees}
    assert rotating.tally.pending - gone.tally.pending == 1


def test_a_run_begins_with_its_first_event():
    happened = trace(BY_HAND, row(EventKind.RECEIVED), row(EventKind.ACKED))
    assert held(happened).seconds == 1.0
    assert held(happened[:1]).seconds == 0.0


def test_unobserved_completions_are_noted_and_no_violation():
    hidden = named("pystorm Bolt unobserved: ack is replaced")
    found = held(trace(BY_HAND, row(RECEIVED), row(RECEIVED, "8"), hidden))
    assert (codes(found), found.tally.unobserved) == ([], ("SqlBolt: ack is replaced",))
    assert recalled("SqlBolt", 0, "", hidden.note) == recalled("SqlBolt", 0, "", BY_HAND.note)


def test_observed_violations_of_a_partly_hidden_component_are_reported():
    hidden = named("pystorm Bolt unobserved: fail is replaced")
    found = held(trace(BY_HAND, row(RECEIVED), row(ACKED, site=SITE), row(ACKED, site=OTHER_SITE), hidden))
    assert [code for code, _, _ in codes(found)] == ["ACK103"]


# ---- roots that timed out ----


def timed(*rows: tuple[float, EventKind, dict[str, object]]) -> list[Event]:
    return [
        Event(kind=kind, time_ns=int(at * SECOND), seq=n, **more)  # type: ignore[arg-type]
        for n, (at, kind, more) in enumerate(rows)
    ]


def one_root(held_s: float, *, spout_gives_up_s: float = 15.0, acked: bool = True) -> list[Event]:
    """A root that its spout times out while `store` holds its only tuple."""
    store = {"component": "store", "task": 3, "delivery": "7"}
    end: list[tuple[float, EventKind, dict[str, object]]] = [
        (spout_gives_up_s, EventKind.TIMED_OUT, {"component": "spout", "task": 1, "root": 1})
    ]
    if acked:
        end.append((held_s, ACKED, store))
        end.append((held_s, EventKind.ACK, {"component": "__acker", "task": 2, "root": 1, "value": 5}))
    return timed(
        (0.0, EventKind.INIT, {"component": "__acker", "task": 1, "root": 1, "value": 5}),
        (0.0, EventKind.LINKED, {**store, "root": 1, "value": 5}),
        (0.0, RECEIVED, store),
        *sorted(end, key=lambda row: row[0]),
    )


def test_a_bolt_that_is_slower_than_the_message_timeout_is_named():
    found = held(one_root(25.0), timeout_s=10)
    (slow,) = (finding for finding in found.findings if finding.code == "ACK504")
    assert (slow.component, slow.severity) == ("store", Severity.ERROR)
    assert (
        "it holds tuples for up to 25.0 s (25.0 s in the median), longer than the message timeout of 10 s"
        in slow.message
    )
    assert found.expired == (("completed too late", 1),)


def test_a_root_that_timed_out_for_another_reason_is_counted_and_no_bolt_is_called_slow():
    found = held(one_root(1.0), timeout_s=10)
    assert not [finding for finding in found.findings if finding.code == "ACK504"]
    assert found.expired == (
        ("completed in time, and the acker's answer reached the spout too late or never", 1),
    )
    lost = held(one_root(0.0, acked=False), timeout_s=10)
    assert not [finding for finding in lost.findings if finding.code == "ACK504"]
    assert lost.expired == (("a tuple was never completed", 1),)
