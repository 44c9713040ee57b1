"""The tuples and lost messages that explain the value that a root leaves in its entry."""

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import Row

from ackdoctor.model.finding import Confidence, Severity
from ackdoctor.model.trace import (
    Culprit,
    Event,
    EventKind,
    PendingEntry,
    Residue,
    TracedComponent,
    TupleTree,
    Verdict,
)
from ackdoctor.spark.causes import by_messages, by_tasks, explain, name_deliveries
from ackdoctor.tracer.components import STORM, described
from ackdoctor.tracer.findings import findings
from ackdoctor.tracer.ledger import Playback

# spout[5] -> split[6] by edge 1; split -> store[8] by edge 2, and -> audit[3] by edge 4
SPOUT, SPLIT, STORE, AUDIT = ("spout", 5), ("split", 6), ("store", 8), ("audit", 3)
SENT = [("EMITTED", *SPOUT, 1), ("EMITTED", *SPLIT, 2), ("EMITTED", *SPLIT, 4)]
RECEIVED = [("LINKED", *SPLIT, 1), ("LINKED", *STORE, 2), ("LINKED", *AUDIT, 4)]
INIT, OF_SPLIT = ("INIT", *SPOUT, 1), ("ACK", *SPLIT, 1 ^ 2 ^ 4)
OF_STORE, OF_AUDIT = ("ACK", *STORE, 2), ("ACK", *AUDIT, 4)
WHOLE = [*SENT, *RECEIVED, INIT, OF_SPLIT, OF_STORE, OF_AUDIT]
DONE = {SPLIT: (1, 1, 0), STORE: (2, 1, 0), AUDIT: (4, 1, 0)}  # edge, acks, fails
OLD = [("LINKED", "", 0, 1), ("LINKED", "", 0, 2), ("LINKED", "", 0, 4), INIT, OF_SPLIT, OF_STORE, OF_AUDIT]


def rows(*messages):
    """Return the LIVES of one root."""
    return [
        Row(
            kind=int(EventKind[kind]),
            component=who,
            task=task,
            value=value,
            stream=stream[0] if stream else "",
            pid=0,
        )
        for kind, who, task, value, *stream in messages
    ]


def handled(done):
    return [
        Row(
            run="",
            root=77,
            component=who,
            task=task,
            delivery=f"77={edge}",
            value=edge,
            acked=acks,
            failed=fails,
        )
        for (who, task), (edge, acks, fails) in done.items()
    ]


def left_by(messages):
    left = 0
    for kind, _, _, value, *_ in messages:
        left ^= value if kind in {"INIT", "ACK"} else 0
    return left


def without(messages, *rest):
    return [row for row in messages if row not in rest]


def guilty(messages, done=DONE, *, complete=True):
    found = by_tasks(left_by(messages), rows(*messages), handled(DONE | done), complete=complete)
    return [(culprit.component, culprit.acks, culprit.lost, culprit.value) for culprit in found]


@pytest.mark.parametrize(
    ("messages", "done", "found"),
    [
        (without(WHOLE, OF_AUDIT), {AUDIT: (4, 0, 0)}, [("audit", 0, "", 4)]),
        (without(WHOLE, OF_SPLIT), {SPLIT: (1, 0, 0)}, [("split", 0, "", 7)]),
        (without(WHOLE, OF_AUDIT, OF_STORE), {AUDIT: (4, 0, 0), STORE: (2, 0, 0)}, [("audit", 0, "", 4), ("store", 0, "", 2)]),
        ([*WHOLE, OF_STORE], {STORE: (2, 2, 0)}, [("store", 2, "", 2)]),
    ],
    ids=["a leaf", "one with children", "two of them", "acked twice"],
)  # fmt: skip
def test_a_tuple_completed_an_even_number_of_times_is_a_culprit(messages, done, found):
    assert sorted(guilty(messages, done)) == found
    assert sorted(guilty(messages, done, complete=False)) == found


@pytest.mark.parametrize(
    ("messages", "done", "found"),
    [
        (without(WHOLE, OF_AUDIT), {}, [("audit", 1, "ack", 4)]),
        (without(WHOLE, OF_AUDIT), {AUDIT: (4, 0, 1)}, [("audit", 1, "fail", 4)]),
        (without(WHOLE, INIT), {}, [("spout", 1, "init", 1)]),
        (without(WHOLE, RECEIVED[2], OF_AUDIT), {AUDIT: (8, 1, 0)}, [("split", 1, "tuple", 4)]),
    ],
)
def test_a_message_counts_as_lost_only_if_no_log_is_missing(messages, done, found):
    assert guilty(messages, done) == found
    assert guilty(messages, done, complete=False) == []


def test_a_tuple_without_an_ack_and_a_lost_one_are_both_named():
    messages = without(WHOLE, OF_AUDIT, OF_STORE)
    assert guilty(messages, {AUDIT: (4, 0, 0)}) == [("audit", 0, "", 4), ("store", 1, "ack", 2)]


def test_components_are_named_without_threads_in_the_layout():
    bare = [(row[0], "" if row[0] == "LINKED" else row[1], *row[2:]) for row in WHOLE]
    done = {("", task): counts for (_, task), counts in DONE.items()}
    found = by_tasks(4, rows(*without(bare, OF_AUDIT)), handled(done | {("", 3): (4, 0, 0)}), complete=True)
    assert [(culprit.component, culprit.task, culprit.acks) for culprit in found] == [("", 3, 0)]
    found = by_tasks(2, rows(*without(bare, OF_STORE)), handled(done), complete=True)
    assert [(culprit.lost, culprit.task) for culprit in found] == [("ack", 8)]


def test_an_anchor_after_the_ack_is_no_lost_ack():
    late = ("EMITTED", *AUDIT, 64), ("LINKED", *STORE, 64), ("ACK", *STORE, 64)
    assert left_by([*WHOLE, *late]) == 64
    assert guilty([*WHOLE, *late]) == []
    streams = {"INIT": "__ack_init", "ACK": "__ack_ack"}
    messages = [*OLD, ("LINKED", "", 0, 64), ("ACK", *STORE, 64)]
    sent = [("SENT", *row[1:], streams[row[0]]) for row in messages if row[0] in streams]
    assert by_messages(64, rows(*messages, *sent)) == ()


def test_an_unexplained_value_has_no_culprit():
    assert (
        by_tasks(99, rows(*without(WHOLE, OF_AUDIT)), handled(DONE | {AUDIT: (4, 0, 0)}), complete=True) == ()
    )


def old(*gone, sent=()):
    """The same root in a log of Storm 0.9, in which each sent message has a line, and some do not arrive."""
    streams = {"INIT": "__ack_init", "ACK": "__ack_ack"}
    left = [("SENT", who, task, value, streams[kind]) for kind, who, task, value in OLD if kind in streams]
    messages = [*without(OLD, *gone), *without(left, *sent)]
    found = by_messages(left_by(messages), rows(*messages))
    return [(culprit.component, culprit.acks, culprit.lost, culprit.value) for culprit in found]


def test_storm_0_9_sent_messages_are_compared_with_received_ones():
    assert old(OF_STORE) == [("store", 1, "ack", 2)]
    assert old(OF_SPLIT, OF_AUDIT) == [("split", 1, "ack", 7), ("audit", 1, "ack", 4)]
    assert old(INIT) == [("spout", 1, "init", 1)]


def test_storm_0_9_a_tuple_without_an_ack_has_no_name():
    assert old(OF_STORE, sent=[("SENT", *STORE, 2, "__ack_ack")]) == [("", 0, "", 2)]
    assert old(OF_STORE, OF_AUDIT, sent=[("SENT", *STORE, 2, "__ack_ack")]) == [
        ("audit", 1, "ack", 4),
        ("", 0, "", 2),
    ]


def test_storm_0_9_a_lost_fail_explains_a_root_that_stays():
    failed = ("SENT", *STORE, 0, "__ack_fail")
    found = by_messages(2, rows(*without(OLD, OF_STORE), failed, ("SENT", *AUDIT, 4, "__ack_ack")))
    assert [(culprit.component, culprit.lost) for culprit in found] == [("store", "fail")]


def test_a_tree_is_explained_only_if_all_its_rows_are_present():
    messages = without(WHOLE, OF_AUDIT)
    tree = TupleTree(
        root=77,
        verdict=Verdict.EXPIRED,
        entry=PendingEntry(root=77, value=4, task=5),
        residue=Residue.EVEN,
        roots=9,
    )
    found_rows = {"run": "", "root": 77, "count": len(messages), "rows": rows(*messages)}
    (found,) = explain([tree], [Row(**found_rows)], handled(DONE | {AUDIT: (4, 0, 0)}))
    assert found.roots == 1
    assert found.culprits == (Culprit(delivery="77=4", component="audit", task=3, value=4, acks=0),)
    assert explain([tree], [Row(**(found_rows | {"count": 500}))], handled(DONE)) == (tree,)


def test_a_lost_message_is_a_warning_without_a_component():
    culprit = Culprit(delivery="", component="store", task=8, value=2, acks=1, lost="ack")
    entry = PendingEntry(root=77, value=2, task=5)
    tree = TupleTree(root=77, verdict=Verdict.EXPIRED, entry=entry, residue=Residue.EVEN, culprits=(culprit,))
    (found,) = findings((), [tree])
    assert (found.code, found.component, found.severity, found.confidence) == (
        "ACK601",
        "acker",
        Severity.WARNING,
        Confidence.MAY,
    )
    assert found.message.startswith(
        "the acker keeps an entry that is not zero at the end: an ack that store sent never reached the acker (lost"
    )
    assert found.help.startswith("the components did their part: look for messages that Netty dropped")


NOTE = described(TracedComponent(name="", dialect="storm", role=STORM.name, path="", line=0))


def tree_left_by(component: str, acks: int) -> TupleTree:
    culprit = Culprit(delivery="", component=component, task=4, value=9, acks=acks, sites=())
    return TupleTree(
        root=77,
        verdict=Verdict.COMPLETE,
        entry=PendingEntry(root=77, value=9, task=None, failed=False, age_ms=0),
        residue=Residue.EVEN,
        culprits=(culprit,),
        ambiguous=False,
    )


def test_a_double_ack_in_a_log_and_the_entry_that_it_leaves_are_one_finding():
    playback = Playback()
    kinds = (EventKind.NAMED, EventKind.RECEIVED, EventKind.ACKED, EventKind.ACKED)
    for seq, kind in enumerate(kinds):
        delivery = "" if kind is EventKind.NAMED else "5=6"
        note = NOTE if kind is EventKind.NAMED else ""
        playback.feed(Event(kind, seq, seq=seq, component="sql", task=4, delivery=delivery, note=note))
    violations = playback.settle().violations
    codes = [
        [
            found.code
            for found in findings(violations, name_deliveries([tree_left_by(component, acks)], violations))
        ]
        for component, acks in (("sql", 2), ("other", 2))
    ]
    assert codes[0] == ["ACK103"]
    assert sorted(codes[1]) == ["ACK103", "ACK601"]
