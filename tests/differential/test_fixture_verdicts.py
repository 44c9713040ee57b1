"""Runs on a LocalCluster show the guarantee that `ackdoctor topology` gives to each Java topology of the fixtures.

What only the cluster has is real: acker, executors, network, workers that die.  The services around the topologies are
small stand-ins.  Heron's topology and that of Storm 0.9 run with the classes of Storm 2.8.3.  A failure must not lose a
message of a topology that is at least once, and some failure must repeat one; of one that is at most once, some must lose
one.  No fixture is exactly once: two small Trident topologies, which differ in their state, show that word.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ackdoctor.config import Settings
from ackdoctor.lint.run import lint
from ackdoctor.model.topology import Verdict
from tests.differential.conftest import JAVA
from tests.fixes.java_bench import write_sources

pytestmark = [pytest.mark.java, pytest.mark.minutes]

TOPOLOGIES = Path(__file__).parents[2] / "fixtures" / "topologies"
MESSAGES = 6
HERON = (  # what Heron's classes name differently
    ("conf.setTopologyReliabilityMode(Config.TopologyReliabilityMode.ATLEAST_ONCE)", "conf.setNumAckers(1)"),
    ("import java.time.Duration", "import org.apache.storm.topology.base.BaseWindowedBolt.Duration"),
    ("Duration.ofSeconds", "Duration.seconds"),
)
Runs = dict[str, dict[str, object]]


@dataclass(frozen=True)
class Fixture:
    """How a topology runs: its main class, its components in order, the effects of a message, and how much faster it runs.

    `executes` and `emits` are the bolts without a service.  With `together`, all bolts die in one run; a spout that gives
    up after some failures would not survive that.
    """

    main: str
    edges: tuple[str, ...]
    kinds: str
    divide: int
    executes: str = ""
    emits: str = ""
    services: str = ""
    together: bool = False

    @property
    def spouts(self) -> list[str]:
        """The components that send and do not receive."""
        targets = {edge.split()[1] for edge in self.edges}
        return sorted({edge.split()[0] for edge in self.edges} - targets)

    @property
    def common(self) -> dict[str, object]:
        return {
            "messages": MESSAGES,
            "kinds": self.kinds,
            "divide": self.divide,
            "executes": self.executes,
            "emits": self.emits,
            "spouts": len(self.spouts),
            "patience": 300,  # a run that loses nothing ends before
        }

    def faults(self) -> Runs:
        """Return the failures of the guarantee's failure model: a lost message, a dead bolt, a dead acker, a failing service."""
        bolts = sorted({edge.split()[1] for edge in self.edges})
        first = self.edges[0].split()[1]
        runs: Runs = {
            "each edge loses a tuple": {"faults": ",".join(f"lose {edge}" for edge in self.edges)},
            "the acker dies": {"faults": f"kill __acker {first} 3"},
        }
        deaths = [f"kill {bolt} {bolt} 3" for bolt in bolts]
        for death in [",".join(deaths)] if self.together else deaths:
            runs[death] = {"faults": death}
        if self.services:
            runs["each service fails once"] = {
                "faults": ",".join(f"refuse {service}" for service in self.services.split(","))
            }
        return runs


FIXTURES = {
    "storm_java/word-count": Fixture(
        main="com.acme.words.WordCountTopology",
        edges=("sentences split", "split count", "count report"),
        kinds="reporta,reportb",
        divide=3,
        executes="report",
    ),
    "storm_java/orders": Fixture(
        main="com.acme.orders.OrderTopology",
        edges=(
            "orders validate", "validate lines", "lines reserve", "validate charge", "validate notify", "orders pair",
            "payments pair", "payments totals",
        ),
        kinds="reserve/1,reserve/2,charge,mail,pair,totals",
        divide=6,
        emits="pair,totals",
        services="reserve,charge,mail",
        together=True,
    ),
    "backtype_storm/page-views": Fixture(
        main="com.acme.views.PageViewTopology",
        edges=("views lookup", "lookup count", "count store"),
        kinds="store",
        divide=3,
        services="store",
    ),
    "heron_java/sensors": Fixture(
        main="com.acme.sensors.SensorTopology",
        edges=("readings clean", "clean last", "clean hourly"),
        kinds="last,hourly",
        divide=3,
        executes="last",
        emits="hourly",
    ),
}  # fmt: skip
SICK: dict[str, Runs] = {  # each run shows one reason of the verdict
    "storm_java/orders": {
        "lines emits without an anchor": {"faults": "lose lines reserve"},
        "notify swallows a failure": {"faults": "refuse mail"},
        "charge acks before the pool is done": {"faults": "refuse charge"},
    },
    "backtype_storm/page-views": {"views does not replay": {"faults": "lose views lookup"}},
    "heron_java/sensors": {
        "clean emits without an anchor": {"faults": "lose clean last"},
        "the same to the window": {"faults": "lose clean hourly"},
    },
}
SIZES: dict[str, dict[str, object]] = {
    "storm_java/orders": {
        "divide": 2
    },  # no order expires before its payment comes, which would replay what is lost
    "backtype_storm/page-views": {"messages": 1000},  # the bolt stores nothing before its batch is full
}


def sources(folder: Path, to: Path) -> list[Path]:
    """Write the files of a fixture, with the names of Storm 2, beside the stand-ins for its services."""
    package = next(folder.rglob("*Topology.java")).parent
    texts = {}
    for file in folder.rglob("*.java"):
        text = file.read_text(encoding="utf-8")
        for heron, storm in HERON:
            text = text.replace(heron, storm)
        texts[file.relative_to(folder).as_posix()] = text
    imports = {
        each
        for text in texts.values()
        for each in re.findall(r"^import (com\.acme\.\w+)\.", text, re.MULTILINE)
    }
    imports.add(f"com.acme.{package.name}")
    standins = JAVA / "standins"
    services = [standins / name.replace(".", "/") for name in imports]
    return [write_sources(to, texts), standins / "org", *filter(Path.is_dir, services)]


def verdict(folder: Path) -> Verdict:
    (judged,) = lint([folder], Settings(directory=folder), root=folder).topologies
    return judged.verdict


def play(faulty_cluster: Any, name: str, twin: str, runs: Runs, to: Path) -> dict[str, dict[str, str]]:
    """Run a fixture."""
    return answers(faulty_cluster, FIXTURES[name], sources(TOPOLOGIES / f"{name}-{twin}", to), runs)


def answers(
    faulty_cluster: Any, fixture: Fixture, folders: list[Path], runs: Runs
) -> dict[str, dict[str, str]]:
    """Run all at the same time; return the pairs that FixtureRuns prints for each."""
    lines = [fixture.main]
    for number, run in enumerate(runs.values()):
        pairs = {"name": f"run{number}", **fixture.common, **run}
        lines.append("\t".join(f"{key}={value}" for key, value in pairs.items()))
    printed = faulty_cluster("FixtureRuns", lines, folders)
    return {
        label: dict(pair.rsplit("=", 1) for pair in line.split("\t"))
        for label, line in zip(runs, printed, strict=True)
    }


def missing(ledger: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in ledger.items() if key.startswith("missing") and value != "[]"}


def extra(ledger: Mapping[str, str]) -> int:
    return sum(int(value) for key, value in ledger.items() if key.startswith("extra"))


_ATTEMPTS = 3  # whether a fault meets work that is already counted depends on the cluster's threads
AT_LEAST_ONCE = [*((name, "healthy") for name in FIXTURES), ("storm_java/word-count", "sick")]


@pytest.mark.parametrize(("name", "twin"), AT_LEAST_ONCE)
def test_at_least_once_loses_nothing_and_repeats(faulty_cluster, tmp_path, name, twin) -> None:
    found = verdict(TOPOLOGIES / f"{name}-{twin}")
    assert found.word == "at-least-once"
    runs = FIXTURES[name].faults()
    if found.death == "also when the spout dies":
        bolt = FIXTURES[name].edges[0].split()[1]
        runs["each spout dies"] = {
            "faults": ",".join(f"kill {spout} {bolt} 3" for spout in FIXTURES[name].spouts)
        }
    for attempt in range(_ATTEMPTS):
        ledgers = play(faulty_cluster, name, twin, runs, tmp_path / str(attempt))
        assert {label: ledger["faults_left"] for label, ledger in ledgers.items()} == dict.fromkeys(runs, "0")
        assert {label: missing(ledger) for label, ledger in ledgers.items() if missing(ledger)} == {}
        if sum(map(extra, ledgers.values())) > 0:
            return
    pytest.fail(f"nothing was counted twice in {_ATTEMPTS} attempts")


@pytest.mark.parametrize("name", SICK)
def test_at_most_once_loses_a_message(faulty_cluster, tmp_path, name) -> None:
    assert verdict(TOPOLOGIES / f"{name}-sick").word == "at-most-once"
    size = SIZES.get(name, {})
    losses = {label: {**run, **size, "patience": 90} for label, run in SICK[name].items()}
    runs: Runs = {"no fault": size, **losses}
    ledgers = play(faulty_cluster, name, "sick", runs, tmp_path)
    assert {label: ledger["faults_left"] for label, ledger in ledgers.items()} == dict.fromkeys(runs, "0")
    assert {label: bool(missing(ledger)) for label, ledger in ledgers.items()} == {
        label: label != "no fault" for label in runs
    }


NUMBERS = 10_000
TRIDENT = Fixture(main="TotalsTopology", edges=("spout-numbers b-1", "b-1 b-0"), kinds="count", divide=3)
STATE = "b-0"  # the bolt that writes the state
BATCHES: Runs = {
    "the state fails three times": {"faults": "refuse write@20,refuse answer@40,refuse answer@60"},
    "its worker dies": {"faults": f"kill {STATE} {STATE} 3000"},
    "the acker dies": {"faults": f"kill __acker {STATE} 3000"},
    "the coordinator dies": {"faults": f"kill $mastercoord-bg0 {STATE} 3000"},
    "each edge loses a tuple": {"faults": ",".join(f"lose {edge}" for edge in TRIDENT.edges)},
}


@pytest.mark.parametrize(("kind", "word"), [("exact", "exactly-once"), ("plain", "at-least-once")])
def test_trident_counts_each_number_once_with_a_transactional_state(
    faulty_cluster, tmp_path, kind, word
) -> None:
    for file in [*(JAVA / "trident").glob("*.java"), JAVA / "trident" / kind / "Table.java"]:
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert verdict(tmp_path).word == word
    runs = {label: {**run, "messages": NUMBERS} for label, run in BATCHES.items()}
    ledgers = answers(faulty_cluster, TRIDENT, [tmp_path, JAVA / "standins" / "org"], runs)
    assert {label: ledger["faults_left"] for label, ledger in ledgers.items()} == dict.fromkeys(runs, "0")
    assert {label: missing(ledger) for label, ledger in ledgers.items() if missing(ledger)} == {}
    sums = {label: int(ledger["sum count"]) - sum(range(NUMBERS + 1)) for label, ledger in ledgers.items()}
    if kind == "exact":
        assert sums == dict.fromkeys(runs, 0)
    else:
        assert sums["the state fails three times"] > 0


def test_every_java_fixture_runs() -> None:
    folders = {
        f"{folder.parent.name}/{folder.name}"
        for folder in TOPOLOGIES.glob("*/*")
        if any(folder.rglob("*.java"))
    }
    covered = {f"{name}-{twin}" for name, twin in AT_LEAST_ONCE} | {f"{name}-sick" for name in SICK}
    assert folders == covered
