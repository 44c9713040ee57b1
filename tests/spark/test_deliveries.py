"""Completions by component and stream, and the shapes of violations."""

from typing import Any

import pytest

from ackdoctor.model.finding import Finding
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.trace import RELIABLE, TICK, Event, EventKind
from ackdoctor.tracer.findings import findings
from ackdoctor.tracer.replay import judge_trace
from ackdoctor.tracer.sites import Places

pytest.importorskip("pyspark")

from ackdoctor.spark.analysis import frames
from ackdoctor.spark.deliveries import (
    completions,
    deaths,
    deliveries,
    irregular,
    last_rows,
    mark_in_hand,
    shapes,
    shapes_of_bare_emits,
    violations,
    without_dead,
    without_unobserved,
    without_waiting,
    worker_process,
)
from ackdoctor.spark.judge import Request, examine
from tests.spark.event_tables import events

RECEIVED, EMITTED, ACKED, FAILED, NAMED = (
    EventKind.RECEIVED,
    EventKind.EMITTED,
    EventKind.ACKED,
    EventKind.FAILED,
    EventKind.NAMED,
)
BOLT = Event(NAMED, 0, component="count", task=4, site="count.py:3 Count", note="storm IRichBolt", pid=7)


def trace_rows(*steps: tuple[Any, ...]) -> list[Event]:
    """Return rows of one bolt, a millisecond apart, from (kind, delivery) or (kind, delivery, site or flags)."""
    rows = [BOLT]
    for seq, (kind, delivery, *more) in enumerate(steps, start=1):
        site = next((one for one in more if isinstance(one, str)), "")
        flags = next((one for one in more if isinstance(one, int)), 0)
        rows.append(
            Event(
                kind,
                seq * 1_000_000,
                seq=seq,
                component="count",
                task=4,
                stream="words" if kind is RECEIVED else "",
                delivery=delivery,
                site=site,
                flags=flags,
                pid=7,
            )
        )
    return rows


def by_spark(spark, rows: list[Event]) -> tuple[Finding, ...]:
    table = events(spark, rows)
    odd_ones = shapes(table, irregular(deliveries(table))).collect()
    found = violations(spark, table, odd_ones, shapes_of_bare_emits(table).collect())
    return findings(found, places=Places(nowhere="trace"), nowhere=Site("trace", NOWHERE))


def by_tracer(rows: list[Event]) -> tuple[Finding, ...]:
    from ackdoctor.acker.versions import NEWEST

    return judge_trace(
        lambda: iter(rows), NEWEST, places=Places(nowhere="trace"), nowhere=Site("trace", NOWHERE)
    ).findings


def test_completions_are_counted_per_delivery(spark):
    rows = trace_rows(
        (RECEIVED, "1"),
        (ACKED, "1"),
        (RECEIVED, "2"),
        (RECEIVED, "3"),
        (ACKED, "3"),
        (ACKED, "3"),
        (RECEIVED, "4"),
        (FAILED, "4"),
        (ACKED, "4"),
        (RECEIVED, "5", TICK),
        (ACKED, "5"),
    )
    (row,) = completions(deliveries(events(spark, rows))).collect()
    assert row.asDict() == {
        "component": "count",
        "stream": "words",
        "delivered": 4,
        "never": 1,
        "once": 1,
        "more": 2,
        "mixed": 1,
        "acked": 4,
        "failed": 1,
        "p50_ms": 1.0,
        "p90_ms": 1.0,
        "p99_ms": 1.0,
        "max_ms": 1.0,
        "oldest_ns": 3_000_000,
    }


def test_a_delivery_id_is_unique_only_within_its_process(spark):
    rows = trace_rows((RECEIVED, "1"), (ACKED, "1"))
    rows += [row._replace(pid=8) for row in rows]
    assert [row["acked"] for row in deliveries(events(spark, rows)).collect()] == [1, 1]
    assert irregular(deliveries(events(spark, rows))).collect() == []


TWICE = ((RECEIVED, "1"), (ACKED, "1", "count.py:9 Count.execute"), (ACKED, "1", "count.py:11 Count.execute"))
LATER = (
    (RECEIVED, "1"),
    (ACKED, "1", "count.py:9 Count.execute"),
    (RECEIVED, "2"),
    (ACKED, "2", "count.py:9 Count.execute"),
    (ACKED, "1", "count.py:9 Count.execute"),
)
LOOP = ((RECEIVED, "1"), *((ACKED, "1", "count.py:9 Count.execute"),) * 3)
BOTH = ((RECEIVED, "1"), (FAILED, "1", "count.py:9 Count.execute"), (ACKED, "1", "count.py:11 Count.execute"))
LATE = (
    (RECEIVED, "1"),
    (ACKED, "1", "count.py:9 Count.execute"),
    (EMITTED, "1", RELIABLE, "count.py:10 Count.execute"),
)
NEVER = ((RECEIVED, "1"), (RECEIVED, "2"), (ACKED, "2"))
WELL = ((RECEIVED, "1"), (EMITTED, "1", RELIABLE), (ACKED, "1"))


@pytest.mark.parametrize(
    ("steps", "codes"),
    [
        (TWICE, ["ACK103"]),
        pytest.param(LATER, ["ACK103"], marks=pytest.mark.minutes),
        pytest.param(LOOP, ["ACK104"], marks=pytest.mark.minutes),
        pytest.param(BOTH, ["ACK106"], marks=pytest.mark.minutes),
        pytest.param(LATE, ["ACK202"], marks=pytest.mark.minutes),
        (NEVER, ["ACK101"]),
        pytest.param(WELL, [], marks=pytest.mark.minutes),
    ],
    ids=["twice", "later", "loop", "both", "late", "never", "well"],
)
def test_a_shape_is_judged_as_by_the_tracer(spark, steps, codes):
    rows = trace_rows(*steps)
    found = by_spark(spark, rows)
    assert [finding.code for finding in found] == codes
    assert found == by_tracer(rows)


@pytest.mark.parametrize(
    ("steps", "codes"),
    [
        pytest.param(((RECEIVED, "1"), (ACKED, "1"), (RECEIVED, "2")), [], marks=pytest.mark.minutes),
        (((RECEIVED, "1"), (RECEIVED, "2"), (ACKED, "2"), (RECEIVED, "3")), ["ACK101"]),
        pytest.param(
            ((RECEIVED, "1"), (RECEIVED, "2"), (ACKED, "1"), (RECEIVED, "3"), (RECEIVED, "4")),
            [],
            marks=pytest.mark.minutes,
        ),
    ],
    ids=["the last in hand", "one before", "kept"],
)
def test_tuples_in_hand_of_a_killed_component_are_no_violation(spark, steps, codes):
    rows = trace_rows(*steps)
    rows.append(rows[-1]._replace(kind=EventKind.DIED, seq=99, delivery="", note="killed by SIGKILL"))
    table = events(spark, rows)
    alive = without_dead(deliveries(table), deaths(table))
    found = violations(
        spark, table, shapes(table, irregular(alive)).collect(), shapes_of_bare_emits(table).collect()
    )
    mine = findings(found, places=Places(nowhere="trace"), nowhere=Site("trace", NOWHERE))
    assert [finding.code for finding in mine] == codes
    assert [finding.code for finding in by_tracer(rows)] == codes


KEEPS = ((RECEIVED, "1"), (RECEIVED, "2"), (RECEIVED, "3"), (ACKED, "2"), (RECEIVED, "4"))


@pytest.mark.parametrize(
    ("steps", "later_s", "codes"),
    [
        pytest.param(((RECEIVED, "1"), (ACKED, "1"), (RECEIVED, "2")), 1, [], marks=pytest.mark.minutes),
        (((RECEIVED, "1"), (RECEIVED, "2"), (ACKED, "2"), (RECEIVED, "3")), 1, ["ACK101"]),
        (((RECEIVED, "1"), (ACKED, "1"), (RECEIVED, "2"), (RECEIVED, "3")), 1, []),
        pytest.param(((RECEIVED, "1"), (RECEIVED, "2")), 1, [], marks=pytest.mark.minutes),
        pytest.param(((RECEIVED, "1"), (RECEIVED, "2")), 31, ["ACK101"], marks=pytest.mark.minutes),
        pytest.param(KEEPS, 1, [], marks=pytest.mark.minutes),
        pytest.param(((RECEIVED, "1"), (ACKED, "1"), (RECEIVED, "2")), 31, ["ACK101"], marks=pytest.mark.minutes),
        pytest.param(KEEPS, 31, ["ACK101"], marks=pytest.mark.minutes),
        pytest.param(((RECEIVED, "1"), (ACKED, "1"), (ACKED, "1")), 1, ["ACK103"], marks=pytest.mark.minutes),
    ],
    ids=["the last", "one before", "all since an ack", "no ack yet", "never acks", "kept", "old", "kept for long", "twice"],
)  # fmt: skip
def test_tuples_in_hand_where_a_log_ends_are_no_violation(spark, steps, later_s, codes):
    rows = [row._replace(pid=0, site="") for row in trace_rows(*steps)[1:]]
    last = Event(EventKind.INIT, rows[-1].time_ns + later_s * 10**9, component="spout", task=1, root=7)
    table = events(spark, [*rows, last._replace(seq=99)])
    marked = mark_in_hand(
        deliveries(table), {worker_process(row): row["end_ns"] for row in last_rows(table).collect()}, 30
    ).where("not in_hand")
    found = violations(spark, table, shapes(table, irregular(marked)).collect(), ())
    mine = findings(found, places=Places(nowhere="log"), nowhere=Site("log", NOWHERE))
    assert [finding.code for finding in mine] == codes


@pytest.mark.parametrize(
    ("steps", "codes"),
    [(NEVER, []), (TWICE, ["ACK103"]), ((*NEVER, (RECEIVED, "2")), ["ACK101"])],
    ids=["waits", "twice", "another"],
)
def test_a_tuple_that_waits_for_a_batch_is_not_missing(spark, steps, codes):
    rows = trace_rows(*steps)
    rows.append(rows[1]._replace(seq=99, kind=EventKind.WAITS, delivery="1", flags=0, site=""))
    table = events(spark, rows)
    found = violations(
        spark, table, shapes(table, irregular(without_waiting(deliveries(table), table))).collect(), ()
    )
    mine = findings(found, places=Places(nowhere="trace"), nowhere=Site("trace", NOWHERE))
    assert [finding.code for finding in mine] == codes
    assert [finding.code for finding in by_tracer(rows)] == codes


@pytest.mark.parametrize(
    ("steps", "codes"),
    [
        (NEVER, []),
        pytest.param(TWICE, ["ACK103"], marks=pytest.mark.minutes),
        pytest.param((*TWICE, (RECEIVED, "2")), ["ACK103"], marks=pytest.mark.minutes),
    ],
    ids=["never", "twice", "both"],
)
def test_a_component_behind_a_mock_has_no_missing_acks(spark, steps, codes):
    rows = trace_rows(*steps)
    rows.append(BOLT._replace(seq=99, time_ns=10**9, note=f"{BOLT.note} unobserved: ack is replaced"))
    table = events(spark, rows)
    found = violations(
        spark,
        table,
        shapes(table, irregular(without_unobserved(deliveries(table), table))).collect(),
        shapes_of_bare_emits(table).collect(),
    )
    mine = findings(found, places=Places(nowhere="trace"), nowhere=Site("trace", NOWHERE))
    assert [finding.code for finding in mine] == codes
    assert [finding.code for finding in by_tracer(rows)] == codes


@pytest.mark.minutes
def test_a_component_behind_a_mock_is_not_observed(spark):
    hidden = BOLT._replace(seq=99, time_ns=10**9, note=f"{BOLT.note} unobserved: ack is replaced")
    request = Request()
    with frames(events(spark, [*trace_rows(*NEVER), hidden]), request) as tables:
        found = examine(spark, tables, request)
    assert (found.findings, found.unjudged) == ((), ("count",))
    assert found.notes == ("not observed: count: ack is replaced",)


def test_one_shape_is_one_finding(spark):
    rows = [BOLT]
    for number in range(1, 31):
        rows += [
            row._replace(
                delivery=str(number), seq=row.seq + number * 10, time_ns=row.time_ns + number * 10**8
            )
            for row in trace_rows(*TWICE)[1:]
        ]
    (finding,) = by_spark(spark, rows)
    assert finding.evidence.seen == 30
    assert finding.evidence.delivery == "1"


def test_many_shapes_of_one_component_hide_no_other(spark):
    ways = {"often": (TWICE, TWICE, TWICE, BOTH, BOTH), "seldom": (LATE,)}
    rows = [
        row._replace(component=name, delivery=f"{name} {number}", seq=row.seq + number * 10)
        for name, its in ways.items()
        for number, steps in enumerate(its)
        for row in trace_rows(*steps)[1:]
    ]
    table = events(spark, rows)
    found = shapes(table, irregular(deliveries(table))).collect()
    assert [(row["component"], row["deliveries"]) for row in found] == [
        ("often", 3),
        ("seldom", 1),
        ("often", 2),
    ]


def test_java_bolts_in_a_log_are_judged(spark):
    rows = [row._replace(pid=0, site="") for row in trace_rows(*TWICE)[1:]]
    (finding,) = by_spark(spark, rows)
    assert finding.message == (
        "the tuple is acked a second time: Storm does not notice, and the acker keeps an entry that can never complete"
    )
