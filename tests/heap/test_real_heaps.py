"""Heaps of the real ackers: every count equals that of the live map."""

import re

import pytest

from ackdoctor.heap.dump import read_dump
from ackdoctor.heap.entries import Kind
from ackdoctor.heap.growth import parse

pytestmark = [pytest.mark.java, pytest.mark.slow]
MESSAGES = [
    "many tracked 600 1",
    "many twice 600 2",
    "tick",
    "many thrice 400 3",
    "many failed 100 4",
    "many strayed 60 5",
    "init 1 2 3",
    "tick",
    "many tracked 140 6",
    "ack 77 88",
]


@pytest.mark.parametrize(
    ("version", "options"),
    [
        pytest.param("1.1.0", (), marks=pytest.mark.minutes),
        pytest.param("1.2.4", ("-XX:-UseCompressedOops",), marks=pytest.mark.minutes),
        ("2.8.3", ()),
        pytest.param("2.8.3", ("-XX:+UseParallelGC",), marks=pytest.mark.minutes),
    ],
)
def test_every_entry_is_counted_as_the_live_map_has_it(version, options, worker, tmp_path):
    file = tmp_path / "worker.hprof"
    answers = worker(version, [*MESSAGES, "state", "each", f"dump {file}"], *options)
    half = len(answers) // 2
    states = [list(map(int, line.split())) for line in answers[:half]]
    [acker] = read_dump(file, samples=10_000).ackers
    counts = []
    for bucket in acker.tally.buckets:
        kinds = bucket.kinds
        zero = kinds[Kind.ZERO] + (kinds[Kind.FAILED] if version.startswith("2") else 0)
        orphans = sum(kinds[kind] for kind in (Kind.ORPHAN, Kind.ZERO, Kind.FAILED, Kind.NIL))
        counts.append([bucket.size, kinds[Kind.WAITING], orphans, zero, kinds[Kind.FAILED]])
    assert counts == [state[:5] for state in states]
    assert acker.tally.lost == 0
    live = {entry for line in answers[half:] for entry in line.split()}
    assert live == {_said(entry) for kept in acker.tally.samples.values() for entry in kept}


def _said(entry):
    value = "-" if entry.value is None else entry.value
    task = "-" if entry.task is None else entry.task
    return f"{entry.root},{value},{task},{str(entry.failed).lower()}"


def test_classes_are_counted_as_the_jvm_counts_them(worker, tmp_path):
    file = tmp_path / "worker.hprof"
    answers = worker("2.8.3", ["many twice 5000 1", "histogram", f"dump {file}"])
    [histogram] = parse(answers)
    mine = {row.name: (row.instances, row.size) for row in read_dump(file).classes}
    names = [
        "org.apache.storm.daemon.Acker$AckObject",
        "java.util.HashMap$Node",
        "java.lang.Long",
        "java.util.concurrent.ConcurrentHashMap$Node",
    ]
    for name in names:
        amount, size = mine[name]
        # the JVM goes on between the two, and makes some of thousands
        assert abs(amount - histogram.instances(name)) <= 300, name
        assert size / amount == histogram.classes[name][1] / histogram.instances(name), name
    assert mine[names[0]] == histogram.classes[names[0]]


def test_a_histogram_says_when_it_was_taken(worker):
    [first, second] = parse(worker("2.8.3", ["histogram", "wait 300", "histogram"]))
    assert first.whole
    assert second.whole
    assert first.time_ms is not None
    assert second.time_ms is not None
    assert second.time_ms - first.time_ms >= 300
    assert not [name for name in first.classes if re.match(r"^\[|;$", name)]
