"""Runs with failures show the guarantee that `ackdoctor topology` gives to each Python topology of the fixtures.

The lab runs the topology as it is wired.  A dead bolt or acker, or a lost tuple, must not lose a message of a topology
that is at least once; of one that is at most once, some failure must.  The death of the spout shows the qualifier.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from ackdoctor.config import Settings as LintSettings
from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Tup
from ackdoctor.lab.frameworks import HeronBolt, HeronSpout
from ackdoctor.lab.messages import Setup
from ackdoctor.lab.multilang import ShellBolt, ShellSpout
from ackdoctor.lab.runtime import LossModel, Parcel
from ackdoctor.lab.topology import ACKER, Settings, TopologyBuilder, assign, fields_of
from ackdoctor.lab.topology import Topology as LabTopology
from ackdoctor.lint.run import lint
from ackdoctor.model.topology import Judged, Word
from tests.agreement.fixture_modules import import_fixture
from tests.agreement.test_topologies import FOLDERS, MODULES, name, topology
from tests.agreement.verdict_worlds import MESSAGES, WORLDS, World
from tests.frameworks import framework

pytestmark = pytest.mark.slow

TICKS = {"tick_freq_secs", "topology.tick.tuple.freq.secs", "window.duration.secs"}
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
OPTIONS = ("--options", json.dumps({"log_file": "", "database": ""}))
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
    """Wire the components in the lab as the files wire them."""
    builder = TopologyBuilder()
    facts = judged.facts
    heron = judged.topology.framework.startswith("heron")
    streams = {node.id: dict(node.streams or facts[node.id].streams or {}) for node in judged.topology.nodes}
    named = {source: {s: tuple(f or ()) for s, f in fields.items()} for source, fields in streams.items()}
    conf = {**CONF, "tumblingwindowbolt_duration_secs": window_secs(judged)}
    setup = Setup(conf=conf, input_fields=named, arguments=OPTIONS)
    for node in judged.topology.nodes:
        cls = component_class(facts[node.id].cls, modules)
        outputs = {stream: fields or () for stream, fields in streams[node.id].items()}
        if node.role == "spout":
            spout = HeronSpout if heron else ShellSpout
            builder.set_spout(node.id, partial(spout, cls, setup=setup), outputs=outputs)
            continue
        bolt = HeronBolt if heron else ShellBolt
        spec = builder.set_bolt(
            node.id, partial(bolt, cls, setup=setup), outputs=outputs, tick_secs=_ticks(judged, node.id)
        )
        for edge in judged.topology.edges:
            if edge.target == node.id:
                fields = re.fullmatch(r"fields\((.*)\)", edge.grouping)
                if fields:
                    spec.grouping(edge.source, fields_of(*re.split(r",\s*", fields[1])), edge.stream)
                else:
                    spec.shuffle_grouping(edge.source, edge.stream)
    return builder.build(Settings(max_spout_pending=MESSAGES, message_timeout_secs=timeout_secs(judged)))


def timeout_secs(judged: Judged) -> int:
    """The message timeout of a topology."""
    found = [
        s.value
        for s in judged.topology.settings
        if s.key.endswith(("message.timeout.secs", "message_timeout_secs"))
    ]
    return found[-1] if found and isinstance(found[-1], int) else 30


def window_secs(judged: Judged) -> int | None:
    """The length of the window of heronpy's bolt, which its timer ends."""
    found = [s.value for s in judged.topology.settings if s.key == "window.duration.secs"]
    return found[0] if found and isinstance(found[0], int) else None


def _ticks(judged: Judged, component: str) -> int | None:
    own = [*judged.topology.settings, *judged.facts[component].settings]
    found = [s.value for s in own if s.key in TICKS and s.component in {"", component}]
    value = found[-1] if found else None
    return value if isinstance(value, int) else None


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
    patience_s = 30 * timeout_secs(judged) + 2 * (window_secs(judged) or 0)
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
