"""What the linter foretells of a topology, and what its run under the tracer shows."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ackdoctor.lab.shell.frameworks import descent
from ackdoctor.model.dialect import Kind
from ackdoctor.model.finding import Finding
from ackdoctor.pytest_plugin.fixture import Fixture
from ackdoctor.tracer.instrument.install import install
from ackdoctor.tracer.judge.findings import findings
from ackdoctor.tracer.judge.place import Places
from ackdoctor.tracer.ledger.ledger import Ledger
from ackdoctor.tracer.levels import Level
from tests.agreement.scenes import Scene, Take, dies

__all__ = ["Defect", "foretold", "shown"]


class Defect(NamedTuple):
    """What both witnesses say of a defect."""

    path: str
    line: int
    code: str
    where: str  # "SplitBolt.process"

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.code} {self.where}"


def foretold(report: str) -> set[Defect]:
    """The defects in a JSON report of `ackdoctor lint`."""
    return {
        Defect(row["path"], row["line"], row["code"], f"{row['component']}.{row['handler']}")
        for row in json.loads(report)["findings"]
    }


def shown(
    folder: Path, modules: Mapping[str, ModuleType], scene: Scene, takes: Iterable[Take]
) -> set[Defect]:
    """The defects that a component's takes show."""
    module, _, name = scene.component.partition(" ")
    component = getattr(modules[module], name)
    ledger = Ledger(Level.SITES)
    installation = install(ledger)
    try:
        return {
            Defect(f.site.path, f.site.span.line, f.code, f"{f.component}.{f.handler}")
            for take in takes
            for f in _play(folder, ledger, component, scene, take)
        }
    finally:
        installation.undo()


def _play(folder: Path, ledger: Ledger, component: type, scene: Scene, take: Take) -> Iterable[Finding]:
    play = Fixture(ledger, tuple, "")
    bench = play.bench(component, conf=scene.conf, arguments=scene.arguments, **_ticks(component, scene))
    for act in take:
        act(bench)
    bench.close()
    settlement = ledger.settle()
    raised = f" left {component.__name__}."  # an exception is in the scene, or a finding
    notes = [note for note in settlement.notes if raised not in note]
    assert (notes, settlement.unobserved, settlement.dropped) == ([], (), 0)
    violations, trees = play.linked(settlement.violations)
    found = findings(violations, trees, profile=bench.profile, places=Places(folder=str(folder)))
    assert found or not bench.died or dies in take, bench.died
    return found


def _ticks(component: type, scene: Scene) -> dict[str, Any]:
    return {"tick_secs": scene.tick_secs} if descent(component)[1].kind is Kind.BOLT else {}
