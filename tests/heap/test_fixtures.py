"""The entries of the committed heaps."""

from pathlib import Path

import pytest

from ackdoctor.heap.dump import held_bytes, read_dump
from ackdoctor.heap.entries import Kind
from ackdoctor.heap.objects import COMPRESSED, SPLIT

HEAPS = Path(__file__).parents[2] / "fixtures" / "heaps"
NEW = {Kind.WAITING: 6}


def kinds(bucket):
    return {kind: amount for kind, amount in bucket.kinds.items() if amount}


@pytest.mark.parametrize("file", ["kinds-2.8.3.hprof", "wide-2.8.3.hprof.gz"])
def test_every_kind_of_entry_of_storm_2_is_distinguished(file):
    [acker] = read_dump(HEAPS / file).ackers
    assert acker.path == "Acker.pending.buckets"
    assert [kinds(bucket) for bucket in acker.tally.buckets] == [
        NEW,
        {Kind.WAITING: 1, Kind.ORPHAN: 6, Kind.ZERO: 5, Kind.FAILED: 1},
        {},
    ]


def test_every_kind_of_entry_of_storm_1_is_distinguished():
    [acker] = read_dump(HEAPS / "kinds-1.1.0.hprof.gz").ackers
    assert acker.path == "acker$mk_acker_bolt$reify__972.pending.o._buckets"
    assert [kinds(bucket) for bucket in acker.tally.buckets] == [
        NEW,
        {Kind.WAITING: 1, Kind.ORPHAN: 6, Kind.ZERO: 4, Kind.FAILED: 1, Kind.NIL: 1},
    ]


def test_an_entry_is_read_in_full():
    [acker] = read_dump(HEAPS / "kinds-1.1.0.hprof.gz", samples=20).ackers
    known = {entry.root: entry for kept in acker.tally.samples.values() for entry in kept}
    assert [(known[root].value, known[root].task, known[root].failed) for root in (11, 12, 13, 14)] == [
        (5, 7, False),
        (9, None, False),
        (None, None, True),
        (None, None, False),
    ]


def test_the_jvm_s_references_are_measured():
    narrow, wide = read_dump(HEAPS / "kinds-2.8.3.hprof"), read_dump(HEAPS / "wide-2.8.3.hprof.gz")
    assert (narrow.oops, wide.oops) == (COMPRESSED, SPLIT)
    assert [held_bytes(dump.ackers[0], dump.oops) for dump in (narrow, wide)] == [19 * 104, 19 * 120]


@pytest.mark.parametrize(
    ("file", "paths"),
    [
        ("kinds-2.8.3.hprof", ["ShellBolt.inputs", "SpoutExecutor.pending.buckets"]),
        (
            "kinds-1.1.0.hprof.gz",
            ["ShellBolt._inputs", "executor$fn__4976$fn__4991$fn__5022.pending._buckets"],
        ),
    ],
)
def test_the_other_maps_that_hold_tuples_are_found(file, paths):
    shell, spout = read_dump(HEAPS / file, samples=2).buffers
    assert [shell.path, spout.path] == paths
    assert (shell.entries, shell.owner, shell.groups) == (
        13,
        "python3 count.py",
        {"default": 10, "__tick": 3},
    )
    assert (spout.entries, len(spout.roots)) == (8, 2)


def test_old_entries_are_distinguished_from_those_under_way():
    [acker] = read_dump(HEAPS / "statements-1.1.0.hprof").ackers
    assert acker.tally.old[Kind.WAITING] == acker.tally.kinds[Kind.WAITING] == 3
    [patient] = read_dump(HEAPS / "statements-1.1.0.hprof", timeout_s=200).ackers
    assert patient.tally.old[Kind.WAITING] == 0
