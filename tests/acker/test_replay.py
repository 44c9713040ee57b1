"""The replay of a stored stream in a Storm version."""

import random
from collections.abc import Iterable
from dataclasses import replace

import pytest

from ackdoctor.acker.acker import make_acker
from ackdoctor.acker.replay import Row, replay, rows
from ackdoctor.acker.runtime import JavaRandom, VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.model.acker import AckAck, AckFail, AckInit, AnswerKind, Message, ResetTimeout, Tick
from ackdoctor.model.trace import (
    Culprit,
    Event,
    EventKind,
    GrowthPoint,
    PendingEntry,
    Residue,
    RunTally,
    TupleTree,
    Verdict,
)
from tests.trace_rows import with_culprits

K = EventKind


def entry(root: int, value: int | None, *, task: int | None = None, **rest) -> PendingEntry:
    return PendingEntry(root=root, value=value, task=task, **rest)


def trees(stream: Iterable[Row], version: str = "1.1.0", **settings) -> tuple[TupleTree, ...]:
    return replay(stream, profile(version), **settings).trees


def test_a_root_that_completes_is_only_counted():
    tally = replay([(K.INIT, 1, 8, 11, 0), (K.ACK, 1, 8, 3, 10)], profile("1.1.0"))
    assert tally == RunTally(
        growth=(GrowthPoint(time_ms=10, pending=0, started=1),), completed=1, high_water=1
    )


def test_a_root_is_judged_by_its_number_of_acks():
    stream = [
        *((K.INIT, root, 8, 11, 0) for root in (1, 2, 3)),
        *((K.ACK, 2, 8, 3, 0) for _ in range(2)),
        *((K.ACK, 3, 8, 3, 0) for _ in range(3)),
    ]
    assert trees(stream) == (
        TupleTree(root=1, verdict=Verdict.OPEN, entry=entry(1, 8, task=11), residue=Residue.EVEN),
        TupleTree(root=2, verdict=Verdict.ORPHAN, entry=entry(2, 8), residue=Residue.EVEN),
        TupleTree(root=3, verdict=Verdict.ORPHAN, entry=entry(3, 0), residue=Residue.ODD),
    )


def test_a_failed_tree_and_a_late_ack():
    stream = [
        (K.INIT, 1, 8 ^ 4, 11, 0),
        (K.FAIL, 1, 0, 3, 0),
        (K.ACK, 1, 4, 3, 0),
        (K.INIT, 2, 8, 11, 0),
        (K.FAIL, 2, 0, 3, 0),
    ]
    assert trees(stream) == (
        TupleTree(root=1, verdict=Verdict.ORPHAN, entry=entry(1, 4), residue=Residue.FAILED),
        TupleTree(root=2, verdict=Verdict.FAILED),
    )


def test_a_reset_after_completion_leaves_an_entry_without_residue():
    stream = [(K.INIT, 1, 8, 11, 0), (K.ACK, 1, 8, 3, 0), (K.RESET, 1, 0, 3, 0)]
    assert trees(stream) == (
        TupleTree(root=1, verdict=Verdict.ORPHAN, entry=entry(1, None), residue=Residue.NONE),
    )


def test_a_root_that_timed_out_at_its_spout_is_expired():
    stream = [(K.INIT, 1, 8, 11, 0), (K.TIMED_OUT, 1, 0, 11, 60_000)]
    (replayed,) = trees(stream)
    assert (replayed.verdict, replayed.residue) == (Verdict.EXPIRED, Residue.EVEN)


def test_rotations_come_from_the_trace_or_from_the_version():
    stream = [
        (K.INIT, 1, 8, 11, 0),
        *((K.ROTATED, 0, 0, 0, at) for at in (30_000, 60_000)),
        (K.INIT, 2, 8, 11, 61_000),
    ]
    assert [tree.verdict for tree in trees(stream, "1.2")] == [Verdict.EXPIRED, Verdict.OPEN]
    assert [tree.verdict for tree in trees(stream, "2.8")] == [Verdict.OPEN, Verdict.OPEN]
    assert [tree.verdict for tree in trees(stream, "1.2", message_timeout_s=60)] == [
        Verdict.OPEN,
        Verdict.OPEN,
    ]
    assert [tree.verdict for tree in trees(stream, "1.2", message_timeout_s=10)] == [
        Verdict.EXPIRED,
        Verdict.OPEN,
    ]
    assert [tree.verdict for tree in trees(stream, "1.1.0", message_timeout_s=10)] == [
        Verdict.OPEN,
        Verdict.OPEN,
    ]


def test_growth_has_one_point_per_window_with_messages():
    stream = [(K.INIT, root, 8, 11, at) for root, at in ((1, 0), (2, 400), (3, 1100), (4, 10**15))]
    assert replay(stream, profile("2.8")).growth == (
        GrowthPoint(time_ms=1000, pending=2, started=2),
        GrowthPoint(time_ms=2000, pending=3, started=1),
        GrowthPoint(time_ms=10**15, pending=4, started=1),
    )


def test_a_gap_of_thousands_of_years_is_cheap():
    stream = [(K.INIT, 1, 8, 11, 0), (K.INIT, 2, 8, 11, 10**15)]
    tally = replay(stream, profile("2.8"), message_timeout_s=1)
    assert [tree.verdict for tree in tally.trees] == [Verdict.EXPIRED, Verdict.OPEN]


def test_trees_beyond_the_cap_are_counted():
    stream = [(K.INIT, root, 8, 11, 0) for root in range(1, 6)]
    tally = replay(stream, profile("1.1.0"), most_trees=2)
    assert ([tree.root for tree in tally.trees], tally.dropped, tally.pending) == ([1, 2], 3, 5)


def random_stream(seed: int) -> list[Row]:
    dice, ids = random.Random(seed), JavaRandom(seed)
    stream: list[Row] = []
    for number in range(200):
        root, edges, at = number + 1, [ids.next_long(), ids.next_long()], number * 100
        stream.append((K.INIT, root, edges[0] ^ edges[1], 11, at + dice.randrange(300)))
        for edge in edges:
            acks = dice.choice([0, 1, 1, 1, 1, 1, 1, 2, 3])
            stream += [(K.ACK, root, edge, 3, at + dice.randrange(300)) for _ in range(acks)]
        if dice.random() < 0.1:
            stream.append((dice.choice([K.FAIL, K.RESET]), root, 0, 3, at + dice.randrange(300)))
    return sorted(stream, key=lambda row: row[4])


def message(kind: int, root: int, value: int, task: int) -> Message:
    match kind:
        case K.INIT:
            return AckInit(root, value, task)
        case K.ACK:
            return AckAck(root, value)
        case K.FAIL:
            return AckFail(root)
        case K.ROTATED:
            return Tick()
    return ResetTimeout(root)


@pytest.mark.parametrize("version", ["0.9.7", "1.1.0", "1.2.4", "2.8.8", "jstorm", "heron"])
@pytest.mark.parametrize("seed", range(10))
def test_a_replay_ends_with_the_entries_of_the_acker(version, seed):
    read = profile(version)
    rotations: list[Row] = [(K.ROTATED, 0, 0, 0, at) for at in range(3000, 20_000, 3000)]
    if version == "jstorm":
        rotations = []  # JStorm rotates by its own clock
    stream = sorted(
        [row for row in random_stream(seed) if row[0] != K.RESET or read.resets] + rotations,
        key=lambda row: row[4],
    )
    acker, answers = make_acker(read, VirtualClock()), []
    for kind, root, value, task, _ in stream:
        answers.append(acker.receive(message(kind, root, value, task)))
    tally = replay(stream, read)
    assert tally.completed == sum(answer is not None and answer.kind is AnswerKind.ACK for answer in answers)
    assert tally.pending == len(acker)
    pending = {entry.root: replace(entry, age_ms=0) for entry in acker.pending()}
    replayed = {tree.root: replace(tree.entry, age_ms=0) for tree in tally.trees if tree.entry}
    assert {root: replayed[root] for root in pending} == pending
    dropped = {tree.root for tree in tally.trees if tree.entry and tree.entry.bucket == read.acker_buckets}
    assert set(replayed) == set(pending) | dropped


def test_a_second_pass_names_the_culprits():
    events = [
        Event(K.INIT, 0, task=11, root=1, value=8),
        Event(K.ACK, 1, component="sql", task=3, delivery="t", root=1, value=8, site="sql.py:7 process"),
        Event(K.ACK, 2, component="sql", task=3, delivery="t", root=1, value=8, site="sql.py:7 process"),
    ]
    tally = with_culprits(replay(rows(events), profile("1.1.0")), events)
    assert tally.trees == (
        TupleTree(
            root=1,
            verdict=Verdict.ORPHAN,
            entry=entry(1, 8),
            residue=Residue.EVEN,
            culprits=(
                Culprit(
                    delivery="t",
                    component="sql",
                    task=3,
                    value=8,
                    acks=2,
                    sites=("sql.py:7 process", "sql.py:7 process"),
                ),
            ),
        ),
    )
