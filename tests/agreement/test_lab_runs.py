"""`lab run` on the Python fixture topologies: healthy ones lose nothing under faults, sick ones are blamed."""

import pytest

from ackdoctor.lab.faults import plan
from benchmarks.lab_plans import attempt, expected_codes, run_fixture
from tests.agreement.test_topologies import FOLDERS, name, topology

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
    "streamparse/orders-sick": {"ACK101", "ACK104", "ACK202"},
    "pystorm/page-views-sick": {"ACK205"},
    "pyleus/page-views-sick": {"ACK105", "ACK301"},
    "petrel/orders-sick": {"ACK101", "ACK201", "ACK401"},
    "heronpy/sensors-sick": {"ACK101", "ACK201"},
    "storm_py/sensors-sick": {"ACK101", "ACK109"},
}
BLAMED_FOR_BAD_RECORDS = {
    "streamparse/first-steps-sick": {"ACK105", "ACK106", "ACK301"},
    "streamparse/orders-sick": {"ACK104", "ACK106", "ACK202"},
    "storm_py/sensors-sick": {"ACK109", "ACK202"},
}
ON_EVERY_MACHINE = {
    "streamparse/orders-sick",
    "streamparse/first-steps-healthy",
    "pyleus/page-views-healthy",
    "petrel/orders-sick",
    "storm_py/sensors-healthy",
}
LONG = {
    "storm_py/sensors-sick",
    "heronpy/sensors-healthy",
    "heronpy/sensors-sick",
    "pystorm/page-views-healthy",
}


def marked(names):
    return [
        pytest.param(folder, id=name(folder), marks=[pytest.mark.minutes] if name(folder) in LONG else [])
        for folder in FOLDERS
        if name(folder) in names
    ]


@pytest.mark.parametrize("folder", marked({f"{each}-healthy" for each in FAULTS}))
def test_a_healthy_topology_loses_nothing(folder):
    found = run_fixture(folder, plan(**FAULTS[topology(folder)]), seconds=1)
    assert (found.losses, found.findings, found.stopped, found.unobserved) == (False, (), "", ())
    assert all(fate.messages == fate.completed > 0 for fate in found.fates)
    assert any(death.planned for death in found.deaths)


@pytest.mark.parametrize("folder", marked(BLAMED))
def test_a_sick_topology_is_blamed(folder):
    found = run_fixture(folder, plan(), seconds=1)
    assert {finding.code for finding in found.findings} == BLAMED[name(folder)]
    assert {finding.code for finding in found.findings} <= expected_codes(folder)


@pytest.mark.parametrize("folder", marked(BLAMED_FOR_BAD_RECORDS))
def test_bad_records_show_the_defects_of_error_paths(folder):
    found = run_fixture(folder, plan(), seed=1, seconds=1)
    assert {finding.code for finding in found.findings} == BLAMED_FOR_BAD_RECORDS[name(folder)]


def test_work_in_a_thread_of_a_dead_bolt_is_not_judged():
    (folder,) = (each for each in FOLDERS if name(each) == "streamparse/orders-sick")
    found = run_fixture(folder, plan(kills=["ledger@5"]), seconds=0.3)
    places = [(each.component, each.place) for each in found.unjudged if each.place]
    assert places == [("ledger", "src/bolts/base.py:10")]


@pytest.mark.parametrize("folder", marked(ON_EVERY_MACHINE))
def test_a_run_is_the_same_on_every_machine(folder, golden):
    found = run_fixture(folder, plan(**FAULTS[topology(folder)]), seed=7, seconds=0.3)
    codes = [(finding.code, finding.site.path, finding.site.span.line) for finding in found.findings]
    parts = (*found.fates, *found.deaths, *codes, *found.growth[::10])
    golden(f"lab-{name(folder).replace('/', '-')}", "".join(f"{part!r}\n" for part in parts))


@pytest.mark.parametrize(
    "folder", marked({f"{each}-{state}" for each in FAULTS for state in ("healthy", "sick")})
)
def test_random_plans_are_judged_rightly(folder):
    tried = attempt(folder, 5, seconds=0.3)
    assert tried.fails == folder.name.endswith("-sick"), tried
    assert expected_codes(folder).issuperset(tried.codes), tried
