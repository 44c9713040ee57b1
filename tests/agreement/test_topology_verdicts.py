"""Runs with failures show the guarantee that `ackdoctor topology` gives to each Python topology of the fixtures.

The lab runs the topology as it is wired.  A dead bolt or acker, or a lost tuple, must not lose a message of a topology
that is at least once; of one that is at most once, some failure must.  The death of the spout shows the qualifier.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from ackdoctor.acker.versions import NEWEST
from ackdoctor.config import Settings as LintSettings
from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Tup
from ackdoctor.lab.frameworks import HeronBolt, HeronSpout, command_line
from ackdoctor.lab.multilang import ShellBolt, ShellSpout
from ackdoctor.lab.runtime import LossModel, Parcel
from ackdoctor.lab.topology import ACKER, assign
from ackdoctor.lab.topology import Topology as LabTopology
from ackdoctor.lab.wired import Surroundings, timeout_of
from ackdoctor.lab.wired import build as wire
from ackdoctor.lint.run import lint
from ackdoctor.model.topology import Judged, Word
from tests.agreement.fixture_modules import import_fixture
from tests.agreement.test_topologies import FOLDERS, MODULES, name, topology
from tests.agreement.verdict_worlds import MESSAGES, WORLDS, World
from tests.frameworks import framework

pytestmark = pytest.mark.slow

CONF = {
    "database.url": "",
    "orders.queue": "",
    "ledger.url": "",
    "access.log": "",
    "gateway.host": "",
    "offsets.file": "",
    "orders.mailbox": "",
    "vault.path": "",
    "archive.url": "",
    "broker.url": "",
}
OPTIONS = {"log_file": "", "database": ""}
MANY = 8 * MESSAGES  # more than any spout that gives up emits
DEATHS = {"also when the spout dies": False, "only while the spout lives": True}
"""Whether the death of the spout loses a message."""


@contextmanager
def running(
    folder: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Mapping[str, ModuleType]]:
    """The modules of a topology, which talk to this world."""
    module: Any = framework(MODULES[folder.parent.name])
    scripts: list[type] = []
    if folder.parent.name == "storm_py":
        scripts = [module.Bolt, module.BasicBolt, module.Spout]
        monkeypatch.setattr(module, "json_decode", json.loads)
    root = folder / "src"
    with import_fixture(
        root if root.exists() else folder, WORLDS[topology(folder)](world), scripts
    ) as modules:
        yield modules


def judged_topology(folder: Path) -> Judged:
    found = lint([folder], LintSettings(directory=folder), root=folder).topologies
    assert len(found) == 1
    return found[0]


def build(judged: Judged, modules: Mapping[str, ModuleType]) -> LabTopology:
    """Wire the components in the lab as the files wire them, each with one task."""
    nodes = tuple(replace(node, parallelism=None) for node in judged.topology.nodes)
    judged = replace(judged, topology=replace(judged.topology, nodes=nodes))
    classes = {node.id: component_class(judged.facts[node.id].cls, modules) for node in judged.topology.nodes}
    heron = judged.topology.framework.startswith("heron")
    arguments = {name: command_line(cls, OPTIONS) for name, cls in classes.items()}
    return wire(
        judged,
        Surroundings(conf=CONF, arguments=arguments, profile=NEWEST.name),
        lambda node, setup: partial(HeronSpout if heron else ShellSpout, classes[node.id], setup=setup),
        lambda node, setup: partial(HeronBolt if heron else ShellBolt, classes[node.id], setup=setup),
        max_spout_pending=MESSAGES,
    )


def window_secs(judged: Judged) -> int | None:
    """The length of the window of heronpy's bolt, which its timer ends."""
    found = [s.value for s in judged.topology.settings if s.key == "window.duration.secs"]
    return found[0] if found and isinstance(found[0], int) else None


def component_class(qualified: str, modules: Mapping[str, ModuleType]) -> type:
    last = qualified.rpartition(".")[2]
    (found,) = {vars(module)[last] for module in modules.values() if last in vars(module)}
    assert isinstance(found, type)
    return found


# ---- failures ----

Fault = Callable[[Cluster], None]


def lose(lab: LabTopology, source: str, target: str, times: int) -> LossModel:
    """Lose the first tuples of an edge."""
    components = assign(lab).components
    left = [times]

    def lost(parcel: Parcel, _random: Random) -> bool:
        hit = (
            isinstance(parcel.content, Tup)
            and not parcel.content.is_tick
            and (parcel.content.component, components[parcel.receiver]) == (source, target)
            and left[0] > 0
        )
        left[0] -= hit
        return hit

    return lost


def kill_after(component: str, steps: int, seconds: float) -> Fault:
    """Kill a component after some steps, or when all is quiet and some seconds have passed."""

    def fault(cluster: Cluster) -> None:
        if seconds:
            cluster.advance(seconds)
        for _ in range(steps):
            cluster.step()
        cluster.kill(component)

    return fault


def run(
    lab: LabTopology,
    world: World,
    fault: Fault | None = None,
    loss: LossModel | None = None,
    patience_s: int = 0,
) -> bool:
    """Run all messages through the topology; return whether the spouts wait for some at the end."""
    world.restart()
    cluster = Cluster(lab, seed=1, loss=loss)
    spouts = list(lab.spouts)

    def quiet() -> bool:
        return not world.waiting

    def pause() -> None:
        """Sources that never end must not be asked for more than they have."""
        if quiet():
            cluster.deactivate()

    cluster.settle(quiet)
    pause()
    if fault is not None:
        fault(cluster)
    pace_s = max(5, patience_s // 180)
    for _ in range(patience_s // pace_s):
        if world.waiting:
            cluster.activate()
            cluster.settle(quiet)
        pause()
        cluster.advance(pace_s, lambda: bool(world.waiting))
    waits = any(cluster.spout_pending(spout) for spout in spouts)
    cluster.shutdown()
    return waits


def faults(components: Sequence[str]) -> Iterator[tuple[str, Fault]]:
    for component in components:
        for steps in range(12):
            yield f"{component} dies after {steps} steps", kill_after(component, steps, 0)
        for seconds in (1, 7):
            yield f"{component} dies after {seconds} s", kill_after(component, 0, seconds)


def losses(judged: Judged, lab: LabTopology, attempt: Callable[..., str]) -> Iterator[str]:
    """Yield the failures, other than the death of a spout, that lose a message or keep it waiting for ever."""
    for edge in judged.topology.edges:
        for times in (1, MANY):
            if shown := attempt(loss=lose(lab, edge.source, edge.target, times)):
                yield f"{times} tuples from {edge.source} to {edge.target} are lost: {shown}"
    bolts = [node.id for node in judged.topology.nodes if node.role == "bolt"]
    for text, fault in faults([*bolts, ACKER]):
        if shown := attempt(fault):
            yield f"{text}: {shown}"


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_failures_show_the_guarantee(folder, monkeypatch):
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)
    judged, world = judged_topology(folder), World()
    patience_s = 30 * timeout_of(judged) + 2 * (window_secs(judged) or 0)
    with running(folder, world, monkeypatch) as modules:
        lab = build(judged, modules)

        def attempt(fault: Fault | None = None, loss: LossModel | None = None) -> str:
            waits = run(lab, world, fault, loss, patience_s)
            return f"no effect of {sorted(world.missing())}" if world.missing() else "waits" if waits else ""

        shown = losses(judged, lab, attempt)
        assert judged.verdict.word != "unknown", judged.verdict.gaps
        if judged.verdict.lower is Word.AT_MOST_ONCE:
            assert next(shown, None) is not None, "no failure loses a message"
        else:
            assert list(shown) == []
            dead = [text for text, fault in faults(list(lab.spouts)) if attempt(fault)]
            assert DEATHS.get(judged.verdict.death, bool(dead)) == bool(dead), dead
