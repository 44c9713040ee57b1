"""The replay on Spark is that of the acker's model: entry by entry, root by root."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ackdoctor.acker.replay import replay
from ackdoctor.acker.runtime import acker_index
from ackdoctor.acker.versions import profile
from ackdoctor.model.trace import Event, EventKind
from ackdoctor.tracer.replay import judge_trace
from tests.sampled import sampled
from tests.spark import drawn_traces
from tests.spark.configured import COMPILED, configured
from tests.spark.model_entries import COLUMNS, Model, rows, stream

pytest.importorskip("pyspark")

from ackdoctor.spark.replay import acker_version, messages, replay_all
from ackdoctor.spark.replay import replay as replay_on_spark
from ackdoctor.spark.schema import EVENTS, MESSAGES
from ackdoctor.spark.verdicts import verdicts

ENGINES = ("0.9.0-rc2", "1.1.0", "1.2.4", "2.8.8", "jstorm", "heron")
TRACES = 24
WILD = 400


@pytest.fixture(scope="module")
def table(spark, tmp_path_factory):
    """Return rows as a table read from disk, so that plans are those of real input."""

    def write(sent: list[tuple[Any, ...]], schema=MESSAGES):
        place = tmp_path_factory.mktemp("rows") / "rows.json"
        place.write_text(
            "".join(json.dumps(dict(zip(schema.names, row, strict=True))) + "\n" for row in sent)
        )
        return spark.read.schema(schema).json(str(place)).coalesce(1).persist()

    return write


@pytest.fixture(scope="module")
def drawn(table):
    """Traces as lists, and as one table; for all versions, and for Heron."""
    traces = drawn_traces.traces(WILD)
    return {
        heron: (
            chosen,
            table([row for at, trace in enumerate(chosen) for row in drawn_traces.rows(f"run{at}", trace)]),
        )
        for heron, chosen in ((False, traces), (True, [*map(drawn_traces.once, traces)]))
    }


@pytest.fixture
def compiled(spark):
    """Compile plans, as for a large input."""
    with configured(spark, {**COMPILED, "spark.sql.adaptive.enabled": "true"}):
        yield


def difference(found, expected):
    """Return the smallest trace whose entries differ, with both results."""
    both = {key: (found.get(key, []), expected.get(key, [])) for key in {*found, *expected}}
    wrong = [
        key for key, (ours, theirs) in both.items() if sorted(ours, key=repr) != sorted(theirs, key=repr)
    ]
    return {key: both[key] for key in sorted(wrong, key=lambda key: len(both[key][1]))[:1]}


def by_run(rows_: Any) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for run, *rest in rows_:
        found.setdefault(run, []).append(tuple(rest))
    return found


def entries_by_proof(frame, name, keep, **timeout):
    return replay_on_spark(frame, acker_version(name), persist=keep, **timeout).entries


def entries_without_proof(frame, name, _, **timeout):
    return replay_all(frame, acker_version(name), **timeout)


WAYS = sampled([entries_by_proof, entries_without_proof], [entries_by_proof])


@pytest.mark.parametrize("entries", WAYS)
@pytest.mark.parametrize("name", sampled(ENGINES, ["heron"]))
def test_every_entry_of_a_drawn_trace_is_that_of_the_model(name, entries, drawn, keep):
    traces, frame = drawn[name == "heron"]
    rows_ = entries(frame, name, keep).select("run", "acker", "incarnation", *COLUMNS).collect()
    known = {f"run{at}": drawn_traces.entries(trace, profile(name)) for at, trace in enumerate(traces)}
    assert difference(by_run(rows_), {run: its for run, its in known.items() if its}) == {}


@pytest.mark.minutes
@pytest.mark.parametrize("name", ["2.8.8", "heron"])
@pytest.mark.usefixtures("compiled")
def test_compiled_plans_replay_as_interpreted_ones(name, drawn, keep):
    test_every_entry_of_a_drawn_trace_is_that_of_the_model(name, entries_by_proof, drawn, keep)


@pytest.mark.minutes
@pytest.mark.parametrize("entries", [entries_by_proof, entries_without_proof])
def test_a_session_in_ansi_mode_replays_alike(entries, spark, drawn, keep):
    with configured(spark, {"spark.sql.ansi.enabled": "true"}):
        test_every_entry_of_a_drawn_trace_is_that_of_the_model("2.8.8", entries, drawn, keep)


@pytest.mark.minutes
def test_if_few_roots_are_plain_all_are_replayed(drawn, keep, monkeypatch):
    monkeypatch.setattr("ackdoctor.spark.replay._MOST_BROADCAST", 0)
    test_every_entry_of_a_drawn_trace_is_that_of_the_model("2.8.8", entries_by_proof, drawn, keep)


def test_a_root_with_too_many_messages_is_counted_and_not_replayed(table, keep, monkeypatch):
    monkeypatch.setattr("ackdoctor.spark.replay.MOST_MESSAGES", 3)
    kinds = [(10, 3), (11, None), (11, None), (11, None), (10, 3)]
    sent = [
        ("run", 0, 0, root, kind, 1, task, "bolt", 7, "", 1, pos, pos, "")
        for root, count in ((1, 4), (2, 2), (3, 3))
        for pos, (kind, task) in enumerate(kinds[:count], start=10 * root)
    ]
    found = replay_on_spark(table(sent), acker_version("2.8"), persist=keep)
    assert {row.root for row in found.entries.collect()} == {2, 3}
    assert found.too_large == 1


def trees(name: str) -> Iterator[tuple[str, list[Any]]]:
    """Runs of trees with every defect, their messages shuffled by time."""
    for seed in range(TRACES):
        yield f"run{seed}", stream(seed, profile(name), bits=(3, 6, 64)[seed % 3])


@pytest.mark.parametrize("name", sampled(ENGINES, ["2.8.8"]))
def test_every_entry_is_that_of_the_model(name, table, keep):
    sent = [row for run, messages_ in trees(name) for row in rows(run, messages_)]
    found = by_run(entries_by_proof(table(sent), name, keep).select("run", *COLUMNS).collect())
    expected = {
        run: [
            tuple(getattr(entry, column) for column in COLUMNS)
            for entry in Model(profile(name)).run(messages_)
        ]
        for run, messages_ in trees(name)
    }
    assert difference(found, expected) == {}


@pytest.mark.parametrize("entries", WAYS)
@pytest.mark.parametrize(
    "name", sampled(["1.1.0", "1.2.4", "2.8.8", "2.8.8-no-timeouts", "jstorm", "heron"], ["2.8.8"])
)
def test_with_a_timeout_the_map_rotates_as_in_the_model(name, entries, table, keep):
    sent = {run: sorted(rows(run, messages_), key=lambda row: row[11]) for run, messages_ in trees(name)}
    frame = table([row for own in sent.values() for row in own])
    replayed = entries(frame, name, keep, message_timeout_s=10)
    found = by_run(replayed.select("run", "outcome", "root", "value", "failed", "spout_task").collect())
    for run, own in sent.items():
        known = replay(
            [(row[4], row[3], row[5], row[6] or 0, row[12] // 10**6) for row in own],
            profile(name),
            message_timeout_s=10,
        )
        left = [
            (tree.root, tree.entry.value, tree.entry.failed, tree.entry.task)
            for tree in known.trees
            if tree.entry
        ]
        kept = [tuple(rest) for outcome, *rest in found[run] if outcome in {"expired", "pending"}]
        assert sum(outcome == "acked" for outcome, *_ in found[run]) == known.completed
        assert sorted(kept, key=repr) == sorted(left, key=repr)


def lived(name: str, seed: int) -> list[Event]:
    """A run of two ackers: their messages, the timeouts of the spouts, and the deaths."""
    dice = random.Random(seed)
    sent = list(rows("", stream(seed, profile(name), bits=(3, 6, 64)[seed % 3])))
    events = [
        Event(EventKind(row[4]), row[12], task=row[6] or 0, root=row[3], value=row[5], component="bolt")
        for row in sent
    ]
    events += [
        event._replace(kind=EventKind.TIMED_OUT, value=0, time_ns=event.time_ns + 1)
        for event in dice.sample(events, 6)
        if event.root
    ]
    events += [Event(EventKind.DIED, dice.randrange(10**11), note="exit code 1") for _ in range(2)]
    events.sort(key=lambda event: event.time_ns)
    return [event._replace(seq=seq, pid=1, run=f"run{seed}") for seq, event in enumerate(events, 1)]


@pytest.mark.parametrize("name", sampled(["1.2.4", "2.8.8", "jstorm", "heron"], ["2.8.8"]))
def test_the_verdict_on_every_root_is_that_of_the_tracer(name, table, keep):
    events = [event for seed in range(TRACES) for event in lived(name, seed)]
    expected: dict[tuple[str, int, int], tuple[Any, ...]] = {}
    for seed in range(TRACES):
        for acker in (0, 1):
            own = [
                event
                for event in lived(name, seed)
                if event.kind is EventKind.ROTATED or acker_index(event.root, 2) == acker
            ]
            judged = judge_trace(own.__iter__, profile(name))
            for tree in judged.tally.trees:
                outcome = (tree.verdict.name, tree.residue.name, tree.entry.value if tree.entry else None)
                expected[f"run{seed}", acker, tree.root] = outcome
    names = [field for field in EVENTS.names if field in Event._fields]
    event_rows = [(*(getattr(event, field) for field in names), None, None) for event in events]
    sent = keep(messages(table([(int(kind), *rest) for kind, *rest in event_rows], EVENTS), ackers=2))
    found_rows = verdicts(replay_on_spark(sent, acker_version(name), persist=keep)).collect()
    found = {(row.run, row.acker, row.root): (row.verdict, row.residue, row.value) for row in found_rows}
    assert len(found) == len(found_rows)
    omitted = {key: what for key, what in expected.items() if key not in found}
    assert {what[1:] for what in omitted.values()} <= {("NONE", None)}  # of roots that made no entry
    assert not omitted or name in {"jstorm", "heron"}
    well = ("COMPLETE", "NONE", None)
    assert {
        key: (what, expected.get(key, well)) for key, what in found.items() if what != expected.get(key, well)
    } == {}


@pytest.mark.minutes
def test_without_broadcasts_the_verdicts_are_the_same(table, keep, monkeypatch):
    monkeypatch.setattr("ackdoctor.spark.replay._MOST_BROADCAST", 0)
    test_the_verdict_on_every_root_is_that_of_the_tracer("2.8.8", table, keep)


@pytest.mark.minutes
def test_the_messages_that_the_proof_leaves_over_are_all_that_verdicts_need(table, keep):
    events = [event for seed in range(TRACES) for event in lived("2.8.8", seed)]
    names = [field for field in EVENTS.names if field in Event._fields]
    event_rows = [(*(getattr(event, field) for field in names), None, None) for event in events]
    sent = keep(messages(table([(int(kind), *rest) for kind, *rest in event_rows], EVENTS)))
    replayed = replay_on_spark(sent, acker_version("2.8.8"), persist=keep)
    found = sorted(verdicts(replayed).collect())
    assert found == sorted(verdicts(replace(replayed, messages=sent)).collect())
    assert any(row.culprits for row in found)
    assert any(row.verdict == "EXPIRED" and row.residue == "NONE" for row in found)
    assert replayed.messages.count() < sent.count()


@pytest.mark.minutes
def test_clocks_that_disagree_do_not_change_what_needs_no_order(table, keep):
    """Healthy roots, roots without acks and roots without an init have the same entry by any clock."""
    dice = random.Random(7)
    straight: list[tuple[Any, ...]] = []
    skewed: list[tuple[Any, ...]] = []
    ahead_ms = [dice.gauss(0, 2_000) for _ in range(8)]
    for root in range(1, 600):
        edges = [dice.getrandbits(64) - (1 << 63) for _ in range(dice.randrange(1, 8))]
        total = 0
        for edge in edges:
            total ^= edge
        messages = [(EventKind.INIT, total)] + [(EventKind.ACK, edge) for edge in edges]
        del messages[{0: 0, 1: -1}.get(root % 5, len(messages)) :][:1]
        for at, (kind, value) in enumerate(messages):
            source, time_ms = dice.randrange(8), root * 50 + at * 3
            task = 3 if kind is EventKind.INIT else None
            known = ("run", 0, 0, root, int(kind), value, task, "bolt", 7, "")
            straight.append((*known, 1, len(straight), time_ms * 10**6, ""))
            skewed.append((*known, source, len(straight), int((time_ms + ahead_ms[source]) * 10**6), ""))

    def judged(sent: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        frame = keep(table(sent))
        found = verdicts(replay_on_spark(frame, acker_version("2.8.8"), persist=keep))
        return sorted(map(tuple, found.select("root", "verdict", "residue", "value", "tracked").collect()))

    assert judged(skewed) == judged(straight)
