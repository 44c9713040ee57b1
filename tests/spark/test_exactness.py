"""What Spark makes of a trace is what the model of the acker makes of it: life by life, root by root."""

from typing import Any

import pytest

from ackdoctor.acker.replay import replay
from ackdoctor.acker.versions import profile
from ackdoctor.model.event import Event, EventKind
from ackdoctor.tracer.judge.inquest import inquest
from tests.spark.lives import COLUMNS, Model, rows, stream

pytest.importorskip("pyspark")

from ackdoctor.spark.schema import MESSAGES
from ackdoctor.spark.trees import Plan, entries
from ackdoctor.spark.verdicts import verdicts
from ackdoctor.spark.versions import version

pytestmark = pytest.mark.minutes

TRACES = range(12)


@pytest.fixture
def table(spark, tmp_path):
    """Messages as a Parquet table, so that plans are those of real input."""

    def write(messages: list[tuple[Any, ...]]):
        spark.createDataFrame(messages, MESSAGES).coalesce(1).write.parquet(str(tmp_path / "messages"))
        return spark.read.schema(MESSAGES).parquet(str(tmp_path / "messages"))

    return write


def lives_of(frame):
    return sorted(map(tuple, frame.select("run", *COLUMNS).collect()), key=repr)


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        *((name, Plan.WINDOWS) for name in ("0.9.0-rc2", "1.1.0", "1.2.4", "2.8.8", "jstorm", "heron")),
        *((name, Plan.PROVE_FIRST) for name in ("2.8.8", "heron")),  # a minute of planning each
    ],
)
def test_every_life_of_every_entry_is_that_of_the_model(name, plan, table):
    messages: list[tuple[Any, ...]] = []
    expected: list[tuple[Any, ...]] = []
    for seed in TRACES:
        sent = stream(seed, profile(name), bits=(3, 6, 64)[seed % 3])
        messages += rows(f"run{seed}", sent)
        expected += [
            (f"run{seed}", *(getattr(life, column) for column in COLUMNS))
            for life in Model(profile(name)).run(sent)
        ]
    assert lives_of(entries(table(messages), version(name), plan=plan)) == sorted(expected, key=repr)


@pytest.mark.parametrize("name", ["1.1.0", "1.2.4", "2.8.8", "2.8.8-no-timeouts", "jstorm", "heron"])
def test_with_a_timeout_the_map_rotates_as_in_a_replay(name, table):
    messages: list[tuple[Any, ...]] = []
    expected: list[tuple[Any, ...]] = []
    for seed in TRACES:
        sent = list(rows(f"run{seed}", stream(seed, profile(name), bits=(3, 6, 64)[seed % 3])))
        sent.sort(key=lambda row: row[11])
        messages += sent
        told = replay(
            [(row[4], row[3], row[5], row[6] or 0, row[12] // 10**6) for row in sent],
            profile(name),
            message_timeout_s=10,
        )
        left = [
            (tree.root, tree.entry.value, tree.entry.failed, tree.entry.task)
            for tree in told.trees
            if tree.entry
        ]
        expected.append((f"run{seed}", told.completed, sorted(left, key=repr)))
    found = entries(table(messages), version(name), message_timeout_s=10).collect()
    lives: list[tuple[Any, ...]] = []
    for run, *_ in expected:
        own = [row for row in found if row.run == run]
        left = [
            (row.root, row.value, row.failed, row.spout_task)
            for row in own
            if row.outcome in {"expired", "pending"}
        ]
        lives.append((run, sum(row.outcome == "acked" for row in own), sorted(left, key=repr)))
    assert lives == expected


@pytest.mark.parametrize("name", ["1.2.4", "2.8.8", "jstorm", "heron"])
def test_the_verdict_on_every_root_is_that_of_the_inquest(name, table):
    messages: list[tuple[Any, ...]] = []
    expected: dict[tuple[str, int], tuple[Any, ...]] = {}
    for seed in TRACES:
        sent = list(rows(f"run{seed}", stream(seed, profile(name), bits=(3, 6, 64)[seed % 3])))
        messages += sent
        events = [
            Event(EventKind(row[4]), row[12], task=row[6] or 0, root=row[3], value=row[5]) for row in sent
        ]
        judged = inquest(events.__iter__, profile(name))
        known = {
            tree.root: (tree.verdict.name, tree.residue.name, tree.entry.value if tree.entry else None)
            for tree in judged.tally.trees
        }
        for root in {row[3] for row in sent} - {0}:
            expected[f"run{seed}", root] = known.get(root, ("COMPLETE", "NONE", None))
    sent_all = table(messages)
    told = verdicts(entries(sent_all, version(name)), sent_all).collect()
    found = {(row.run, row.root): (row.verdict, row.residue, row.value) for row in told}
    assert len(found) == len(told)
    untold = {key: what for key, what in expected.items() if key not in found}
    assert set(untold.values()) <= {
        ("COMPLETE", "NONE", None)
    }  # only of roots that met no entry and made none
    assert found == {key: what for key, what in expected.items() if key in found}
    assert not untold or name in {"jstorm", "heron"}
