"""Leaks from the lab yield rows and findings."""

import pytest

from ackdoctor.acker.versions import profile
from ackdoctor.heap.python_heap import (
    BOLT,
    SPOUT,
    Census,
    Holding,
    Owner,
    Snapshot,
    load,
    name_of,
    save,
    take,
)
from ackdoctor.heap.python_judge import findings, holding_rows, type_rows, with_heap_evidence
from ackdoctor.model.finding import Confidence, Finding, HeapWitness, Severity, TreeWitness
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.tracer.sites import Places
from tests.heap.leaking import leaked

PLACES = Places(folder="/")
EMPTY = Census(objects=0, size=0, types={})


def holding(path: str, entries: int, **more: object) -> Holding:
    values: dict[str, object] = {
        "component": path.partition(".")[0],
        "kind": SPOUT,
        "size": entries * 100,
        "what": "int: list",
    }
    return Holding(path=path, field="buffer", entries=entries, **{**values, **more})  # type: ignore[arg-type]


def snapshots(*held: Holding) -> list[Snapshot]:
    return [
        Snapshot(label="start", census=EMPTY),
        *(Snapshot(label="end", census=EMPTY, holdings=(each,)) for each in held),
    ]


def codes_of(found: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in found]


def judged(version: str) -> tuple[Finding, ...]:
    """What is found in a run of that version that leaks."""
    return findings(leaked(version), PLACES, profile(version))


def test_tuples_acked_an_even_number_of_times_are_reported_with_path_cost_and_rate():
    shots, found = leaked("storm-1.1.0"), judged("storm-1.1.0")
    assert [shot.label for shot in shots] == [
        "start", "100 pending", "200 pending", "400 pending", "800 pending", "end",
    ]  # fmt: skip
    (row,) = holding_rows(shots)
    assert (row.last.path, row.last.what) == ("acker._pending._buckets[0]", "int: AckObject")
    assert (row.course, row.per_thousand) == ((0, 100, 200, 400, 800, 1_000), 1_000)
    assert [(each.code, each.severity) for each in found] == [
        ("ACK601", Severity.WARNING),
        ("ACK603", Severity.ERROR),
    ]
    witness = found[1].evidence
    assert isinstance(witness, HeapWitness)
    assert (witness.path, witness.entries, len(witness.roots)) == ("acker._pending._buckets[0]", 1_000, 3)
    assert witness.left == (
        f"815 tracked, 185 orphans; {row.last.each} bytes an entry in this process",
        f"the first is {row.last.first}",
        "1,000 entries more per 1,000 tuples over 6 snapshots (R2 1.00)",
    )
    assert found[1].message == (
        "the pending map grows from snapshot to snapshot: an entry stays until the acker's worker restarts: storm-1.1.0 "
        "never drops one"
    )


def test_our_entry_type_is_the_first_of_the_acker_types_that_grew():
    rows = {row.name: row for row in type_rows(leaked("storm-2.8.8"))}
    row = rows["ackdoctor.acker.acker.AckObject"]
    assert (row.gained, row.lately) == (1_000, 200)


def test_an_empty_map_at_the_end_is_not_a_finding():
    assert findings([Snapshot(label="end", census=EMPTY)], PLACES) == ()
    assert findings([], PLACES) == ()


@pytest.mark.parametrize(
    ("held", "codes"),
    [
        (holding("Words.buffer", 200, owed=0, tuples=200), ["ACK303"]),
        (holding("Words.buffer", 200, owed=195, tuples=200), []),  # it waits for them
        (holding("Words.buffer", 600, tuples=1_000), ["ACK303"]),
        (holding("Words.buffer", 400, tuples=1_000), []),  # they may be under way
        (holding("Words.buffer", 600, tuples=999), []),
        (holding("Keeps.buffer", 3, kind=BOLT, open=3), ["ACK401"]),
        (holding("Keeps.buffer", 300, kind=BOLT, open=0), []),  # what is kept was acked
    ],
)
def test_a_buffer_is_judged_by_the_limit_of_its_owner(held, codes):
    assert [found.code for found in findings(snapshots(held), PLACES)] == codes


def test_a_buffer_that_has_shrunk_does_not_leak():
    shots = snapshots(holding("Words.buffer", 300, owed=0), holding("Words.buffer", 200, owed=0))
    assert findings(shots, PLACES) == ()


def test_the_largest_container_of_a_field_is_reported():
    shot = Snapshot(
        label="end",
        census=EMPTY,
        holdings=(
            holding("Keeps.groups['a']", 3, kind=BOLT, open=8),
            holding("Keeps.groups['b']", 5, kind=BOLT, open=8),
        ),
    )
    (found,) = findings([shot], PLACES)
    assert isinstance(found.evidence, HeapWitness)
    assert (found.evidence.path, found.evidence.left) == (
        "Keeps.groups['b']",
        ("100 bytes an entry (int: list)", "8 open tuples in this field"),
    )


# ---- together with findings of the run ----


def run_finding(code: str, component: str, *left: str) -> Finding:
    return Finding(
        code=code, name="", severity=Severity.ERROR, confidence=Confidence.MUST, site=Site("a.py", NOWHERE), message="",
        component=component, handler="", dialect="", evidence=TreeWitness(steps=(), left=left), cause="",
    )  # fmt: skip


def test_a_finding_of_the_run_gets_its_heap_evidence():
    shown = findings(snapshots(holding("Keeps.kept", 5, kind=BOLT, open=5, tuples=10)), PLACES)
    mine, rest = with_heap_evidence(
        [run_finding("ACK401", "bolts.Keeps"), run_finding("ACK401", "bolts.Other")], shown
    )
    assert rest == ()
    assert [each.evidence.left for each in mine] == [
        (
            "heap: Keeps.kept: 5 entries, 500 bytes; 100 bytes an entry (int: list), 500 more per 1,000 tuples",
        ),
        (),
    ]


def test_acker_entries_belong_to_the_component_that_left_them():
    found = judged("storm-2.8.8")
    mine, rest = with_heap_evidence(
        [run_finding("ACK103", "EvenAck", "acker: root 1 leaves a tracked entry")], found
    )
    assert [each.code for each in rest] == ["ACK603"]
    assert mine[0].evidence.left[1].startswith("heap: acker._pending._buckets[0]: 1,000 entries, ")
    assert codes_of(with_heap_evidence([], found)[1]) == codes_of(found)


# ---- on disk ----


def test_snapshots_survive_a_round_trip_through_a_file(tmp_path):
    shots = leaked("storm-2.8.8")
    file = tmp_path / "run" / name_of(7)
    save(shots, file)
    assert load(file) == shots
    assert [each.name for each in file.parent.iterdir()] == ["_heap-7.json"]


@pytest.mark.parametrize("text", ["", "{}}", "[1]", '[{"label": "x"}]', '{"a": 1}'])
def test_a_damaged_file_is_a_value_error(tmp_path, text):
    file = tmp_path / name_of(1)
    file.write_text(text)
    with pytest.raises(ValueError, match=r"."):
        load(file)


# ---- what the look itself does ----


@pytest.mark.minutes
def test_a_snapshot_holds_no_references():
    import weakref

    class Buffer:
        pass

    class Keeper:
        def __init__(self):
            self.kept = [Buffer() for _ in range(20)]

    keeper = Keeper()
    shot = take("end", [Owner(name="Keeper", kind=BOLT, value=keeper, tuples=20)])
    gone = weakref.ref(keeper.kept[0])
    keeper.kept.clear()
    assert gone() is None
    assert shot.entries("Keeper.kept") == 20
    assert shot.entries("Keeper.other") == 0
