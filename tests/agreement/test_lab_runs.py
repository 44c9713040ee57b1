"""`lab run` on the Python fixture topologies: healthy ones lose nothing under faults, sick ones are blamed."""

import json
import sys
from collections.abc import Iterator
from itertools import count

import pytest

from ackdoctor.cli.lab_run import observing
from ackdoctor.lab.faults import plan
from ackdoctor.lab.loader import imported
from ackdoctor.lab.run import Options, run
from tests.agreement.test_topologies import FOLDERS, MODULES, name, topology
from tests.agreement.test_topology_verdicts import CONF, judged_topology
from tests.agreement.verdict_worlds import WORLDS, World
from tests.frameworks import framework

FAULTS = {
    "streamparse/first-steps": {"kills": ["validate@10", "store@5", "acker=2"], "drops": ["2%"]},
    "streamparse/orders": {"kills": ["split@10", "acker=1"], "raises": ["validate@15"]},
    "pystorm/page-views": {"kills": ["parse@10"], "drops": ["2%"]},
    "pyleus/page-views": {"kills": ["access-log@0.5s", "acker=1"]},
    "petrel/orders": {"kills": ["orders@20", "archive@10"], "raises": ["customs@15"]},
    "heronpy/sensors": {"kills": ["clean@10"]},
    "storm_py/sensors": {"kills": ["calibrate@10", "acker=1"], "drops": ["2%"]},
}
BLAMED = {
    "streamparse/first-steps-sick": {"ACK301"},
    "pystorm/page-views-sick": {"ACK205"},
    "pyleus/page-views-sick": {"ACK301"},
    "petrel/orders-sick": {"ACK201", "ACK401"},
    "heronpy/sensors-sick": {"ACK201"},
    "storm_py/sensors-sick": {"ACK109"},
}
LONG = {
    "storm_py/sensors-sick",
    "heronpy/sensors-healthy",
    "heronpy/sensors-sick",
    "pystorm/page-views-healthy",
}


class Source(World):
    """A source with fifty messages, or without an end."""

    def follow(self) -> Iterator[int]:
        return count(1)


def run_fixture(folder, monkeypatch, **faults):
    module = framework(MODULES[folder.parent.name])
    if folder.parent.name == "storm_py":
        monkeypatch.setattr(module, "json_decode", json.loads)  # simplejson would reject NaN
    world = Source()
    world.waiting.extend(range(4, 50))
    for stand_in, value in WORLDS[topology(folder)](world).items():
        monkeypatch.setitem(sys.modules, stand_in, value)
    judged = judged_topology(folder)
    given = {node.id: {"log_file": "", "database": ""} for node in judged.topology.nodes}
    options = Options(
        project=folder, plan=plan(**faults), conf=CONF, component_options=given, seconds=1, folder=str(folder)
    )
    with imported(judged, folder) as classes:
        return run(judged, classes, options, observing)


def marked(names):
    return [
        pytest.param(folder, id=name(folder), marks=[pytest.mark.minutes] if name(folder) in LONG else [])
        for folder in FOLDERS
        if name(folder) in names
    ]


@pytest.mark.parametrize("folder", marked({f"{each}-healthy" for each in FAULTS}))
def test_a_healthy_topology_loses_nothing(folder, monkeypatch):
    found = run_fixture(folder, monkeypatch, **FAULTS[topology(folder)])
    assert (found.losses, found.findings, found.stopped, found.unobserved) == (False, (), "", ())
    assert all(fate.messages == fate.completed > 0 for fate in found.fates)
    assert any(death.planned for death in found.deaths)


@pytest.mark.parametrize("folder", marked(BLAMED))
def test_a_sick_topology_is_blamed(folder, monkeypatch):
    faults = {"kills": ["calibrate@10"]} if folder.parent.name == "storm_py" else {}
    found = run_fixture(folder, monkeypatch, **faults)
    assert {finding.code for finding in found.findings} == BLAMED[name(folder)]
