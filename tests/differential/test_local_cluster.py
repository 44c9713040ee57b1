"""Rows of the study and scenes of the lab on a real LocalCluster, whose workers die: the ledgers are those of the simulator.

The tolerances are those of the laws; the laws themselves are in `ackdoctor.lab.study` and `ackdoctor.lab.scenes`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from ackdoctor.lab import scenes, stage, study

pytestmark = [pytest.mark.java, pytest.mark.minutes]

NUMBERS = 10_000
TIMEOUT_S = 30  # as in the scenes of the lab
PATIENT_S = 60  # a row of the study may time out later; on a busy machine a window of 2000 tuples waits long


@dataclass(frozen=True)
class Ledger:
    """What a run on the LocalCluster measured: the pairs that StudyRuns prints."""

    pairs: Mapping[str, str]

    def __getitem__(self, key: str) -> int:
        return int(self.pairs[key])

    def list(self, key: str) -> list[int]:
        return [int(each) for each in self.pairs[key].split(",") if each]

    @property
    def times_seen(self) -> dict[int, int]:
        """How many numbers the sink wrote once, how many twice, and so on."""
        pairs = (each.split("=") for each in self.pairs["seen"].strip("{}").split(", "))
        return {int(times): int(count) for times, count in pairs if times != "0"}


def play(faulty_cluster: Any, runs: Mapping[str, Mapping[str, object]]) -> dict[str, Ledger]:
    """Run all at the same time."""
    lines = [
        "\t".join(f"{key}={value}" for key, value in {"name": name, **run}.items())
        for name, run in runs.items()
    ]
    ledgers = [
        Ledger(dict(pair.split("=", 1) for pair in line.split("\t")))
        for line in faulty_cluster("StudyRuns", lines)
    ]
    return {ledger.pairs["name"]: ledger for ledger in ledgers}


# ---- rows of the study ----

STUDY: dict[str, dict[str, object]] = {
    "no-fault-1": {},
    "before-emit-2": {"rate": 1000, "faults": "bolt 200 before bolt 200,bolt 400 before bolt 200"},
    "after-emit-2": {"rate": 1000, "faults": "bolt 200 after bolt 200,bolt 400 after bolt 200"},
    "acker-1": {"bolt_ms": 1, "faults": "bolt 1000 before __acker 10000"},
    "acker-2": {"bolt_ms": 1, "faults": "bolt 1000 before __acker 10000,bolt 5500 before __acker 10000"},
    "acker-unsaturated-10-s": {"rate": 1000, "faults": "bolt 1000 before __acker 10000"},
    "spout-1": {"bolt_ms": 1, "commit_ms": 250, "faults": "bolt 1200 before spout 2000"},
    "at-most-once-1": {"numbers": 40_000, "ackers": 0, "rate": 1000, "bolt_ms": 2, "faults": "bolt 500 before bolt 500"},
}  # fmt: skip
ONE_MORE = {"after-emit", "acker"}  # n + 1 and P x n + 1 are accepted: the study has such rows
QUANTITIES = {
    "lost or repeated": lambda ledger: ledger["lost"] + ledger["repeated"],
    "repeated": lambda ledger: ledger["repeated"],
    "extra deliveries": lambda ledger: ledger["extra"],
    "lost": lambda ledger: ledger["lost"],
}


@pytest.fixture(scope="module")
def rows(faulty_cluster) -> dict[str, Ledger]:
    common = {"numbers": NUMBERS, "window": 2000, "timeout": PATIENT_S}
    return play(faulty_cluster, {name: {**common, **run} for name, run in STUDY.items()})


@pytest.mark.parametrize("name", STUDY)
def test_a_row_of_the_study(rows, name) -> None:
    ledger = rows[name]
    ((experiment, (row,)),) = study.choose([name])
    numbers = int(str(STUDY[name].get("numbers", NUMBERS)))
    assert ledger["distinct"] + ledger["lost"] == numbers
    if experiment.name == "at-most-once":
        check_at_most_once(ledger)
        return
    outcome = row.simulate(study.Setting())
    assert outcome.holds
    assert (ledger["lost"], ledger["sum"]) == (outcome.lost, sum(range(numbers)))
    measured = QUANTITIES[experiment.quantity](ledger)
    if (
        experiment.name == "spout"
    ):  # its law depends on what was pending, and on the time since the last commit
        (pending,) = ledger.list("pending")
        assert pending == outcome.pending[0]
        assert pending <= measured <= pending + 250 + 2
        return
    assert outcome.most is not None
    assert outcome.least <= measured <= outcome.most + (experiment.name in ONE_MORE)
    if measured == outcome.simulated:
        again = {times: count for times, count in outcome.times_seen.items() if times > 1}
        assert {times: count for times, count in ledger.times_seen.items() if times > 1} == again


def check_at_most_once(ledger: Ledger) -> None:
    """Lost is what was in hand, in the queue, and sent while the bolt was away: one block, which starts at number 499."""
    (emitted,) = ledger.list("emitted_at_restart")
    assert ledger["repeated"] == 0
    assert ledger["blocks"] == 1
    seconds = 2  # until the spout's worker has connected again
    assert abs(ledger["lost"] - (emitted - 499)) <= 1000 * seconds


# ---- scenes ----

SCENES: dict[tuple[str, str], dict[str, object]] = {
    ("bolt-death", "the bolt dies"): {"bolt_ms": 1000, "faults": "bolt 4 before bolt 1000"},
    ("acker-death", "1 acker"): {"bolt_ms": 1000, "faults": "bolt 4 before __acker 1000"},
    ("spout-death", "source acked by ack()"): {"bolt_ms": 1000, "faults": "bolt 4 before spout 1000"},
    ("max-spout-pending", "1 spout task"): {"numbers": 12, "window": 4, "bolt_ms": 1000},
    ("max-spout-pending", "control: 0 ackers"): {"numbers": 12, "window": 4, "bolt_ms": 1000, "ackers": 0},
    ("tracking-off", "control: tracked"): {"sink_ms": 1000, "faults": "sink 4 before sink 1000"},
    ("tracking-off", "0 ackers"): {"sink_ms": 1000, "faults": "sink 4 before sink 1000", "ackers": 0},
    ("tracking-off", "no message id"): {"sink_ms": 1000, "faults": "sink 4 before sink 1000", "tracked": 0},
    ("tracking-off", "unanchored"): {"sink_ms": 1000, "faults": "sink 4 before sink 1000", "anchored": 0},
}
MEASURES = {
    "roots of lost tuples that time out": lambda ledger: ledger["fails"],
    "roots of the dead acker that time out": lambda ledger: ledger["fails"],
    "roots in its table": lambda ledger: ledger.list("pending")[0],
    "tuples lost with the worker": lambda ledger: ledger.list("pending")[0],
    "seconds until the timeout": lambda ledger: ledger["first_fail_ms"] / 1000,
    "failed": lambda ledger: ledger["fails"],
    "replayed": lambda ledger: ledger["replays"],
    "redelivered": lambda ledger: ledger["replays"],
    "lost": lambda ledger: ledger["lost"],
    "repeated": lambda ledger: ledger["repeated"],
    "acked": lambda ledger: ledger["acks"],
    "acked before anything is stored": lambda ledger: ledger["early_acks"],
    "most pending roots": lambda ledger: ledger["most_pending"],
}


@pytest.fixture(scope="module")
def played(faulty_cluster) -> dict[str, Ledger]:
    common = {"numbers": 10, "timeout": TIMEOUT_S, "idle_ms": 10}
    runs = {f"{scene}-{place}": run for place, ((scene, _), run) in enumerate(SCENES.items())}
    return play(faulty_cluster, {name: {**common, **run} for name, run in runs.items()})


@pytest.mark.parametrize(("scene", "label"), SCENES)
def test_a_scene(played, scene, label) -> None:
    ledger = played[f"{scene}-{list(SCENES).index((scene, label))}"]
    (found,) = scenes.choose([scene])
    measures = found.runs[label](stage.Setting()).measures
    compared = {measure.name: measure for measure in measures if measure.name in MEASURES}
    assert compared, "the measures of the scene have other names"
    differing = {}
    for name, measure in compared.items():
        value, slack = MEASURES[name](ledger), 1 if name.startswith("seconds") else 0
        if not measure.least - slack <= value <= measure.most + slack:
            differing[name] = (measure, value)
    assert differing == {}
