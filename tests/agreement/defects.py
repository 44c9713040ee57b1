"""The defects that lint reports for a topology, those that its run shows, and the known differences (DIFFERENCES.md)."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ackdoctor.lab.frameworks import descent
from ackdoctor.model.dialect import Kind
from ackdoctor.model.finding import Finding
from ackdoctor.pytest_plugin.fixture import Fixture
from ackdoctor.tracer.findings import findings
from ackdoctor.tracer.install import install
from ackdoctor.tracer.ledger import Ledger, Level
from ackdoctor.tracer.sites import Places
from tests.agreement.scenarios import Scenario, Steps, dies

__all__ = ["Defect", "Difference", "differences", "lint_defects", "run_defects"]


class Defect(NamedTuple):
    """A defect as both lint and a run report it."""

    path: str
    line: int
    code: str
    where: str  # "SplitBolt.process"

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.code} {self.where}"


def lint_defects(report: str) -> set[Defect]:
    """The defects in a JSON report of `ackdoctor lint`, without those of the wiring and the configuration."""
    return {
        Defect(row["path"], row["line"], row["code"], f"{row['component']}.{row['handler']}")
        for row in json.loads(report)["findings"]
        if not row["code"].startswith("ACK5")
    }


def run_defects(
    folder: Path, modules: Mapping[str, ModuleType], scenario: Scenario, runs: Iterable[Steps]
) -> set[Defect]:
    """The defects that the runs of a component show."""
    module, _, name = scenario.component.partition(" ")
    component = getattr(modules[module], name)
    ledger = Ledger(Level.SITES)
    installation = install(ledger)
    try:
        return {
            Defect(f.site.path, f.site.span.line, f.code, f"{f.component}.{f.handler}")
            for steps in runs
            for f in _run(folder, ledger, component, scenario, steps)
        }
    finally:
        installation.undo()


def _run(
    folder: Path, ledger: Ledger, component: type, scenario: Scenario, steps: Steps
) -> Iterable[Finding]:
    fixture = Fixture(ledger, tuple, "")
    bench = fixture.bench(
        component, conf=scenario.conf, arguments=scenario.arguments, **_ticks(component, scenario)
    )
    for step in steps:
        step(bench)
    bench.close()
    settlement = ledger.settle()
    raised = f" left {component.__name__}."  # an exception is in the scenario, or a finding
    notes = [note for note in settlement.notes if raised not in note]
    assert (notes, settlement.unobserved, settlement.dropped) == ([], (), 0)
    violations, trees = fixture.linked(settlement.violations)
    found = findings(violations, trees, profile=bench.profile, places=Places(folder=str(folder)))
    assert found or not bench.died or dies in steps, bench.died
    return found


def _ticks(component: type, scenario: Scenario) -> dict[str, Any]:
    return {"tick_secs": scenario.tick_secs} if descent(component)[1].kind is Kind.BOLT else {}


class Difference(NamedTuple):
    """One row; '' if lint or the run reports nothing."""

    by_lint: str
    by_run: str
    reason: str


def differences(page: Path) -> dict[str, list[Difference]]:
    """The rows of each topology."""
    tables: dict[str, list[Difference]] = {}
    topology = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            topology = line.removeprefix("## ")
            tables[topology] = []
        elif line.startswith("| ") and not line.startswith(("| lint", "| ---")):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            tables[topology].append(Difference(*cells))
    return tables
