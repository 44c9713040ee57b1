"""The topologies in fixtures/: the sick ones have exactly the findings of findings.txt, the healthy ones none."""

import re
from pathlib import Path

import pytest

TOPOLOGIES = Path(__file__).parent.parent / "fixtures" / "topologies"
SICK = sorted(TOPOLOGIES.glob("*/*-sick"))
HEALTHY = sorted(TOPOLOGIES.glob("*/*-healthy"))
LINT = ("lint", "--isolated", "--no-cache", "--output-format", "concise", "--quiet")


def _name(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


@pytest.mark.parametrize("folder", SICK, ids=_name)
def test_a_sick_topology_has_its_listed_findings(folder, shell, monkeypatch, request):
    monkeypatch.chdir(folder)
    outcome = shell(*LINT, ".")
    golden = folder / "findings.txt"
    if request.config.getoption("--golden"):
        golden.write_text(outcome.out, encoding="utf-8", newline="\n")
    assert outcome.out == golden.read_text(encoding="utf-8")
    assert (outcome.code, outcome.err) == (1, "")


@pytest.mark.parametrize("folder", HEALTHY, ids=_name)
def test_a_healthy_topology_has_no_finding(folder, shell, monkeypatch):
    monkeypatch.chdir(folder)
    assert shell(*LINT, ".") == (0, "", "")


def test_the_tutorial_has_findings_in_its_spout_only(shell, monkeypatch):
    monkeypatch.chdir(TOPOLOGIES / "storm_java" / "word-count-sick")
    places = [line.split(" ")[:2] for line in shell(*LINT, ".").out.splitlines()]
    spout = "src/main/java/com/acme/words/SentenceSpout.java"
    assert places == [[f"{spout}:49:9:", "ACK303"], [f"{spout}:50:9:", "ACK304"]]
    monkeypatch.chdir(TOPOLOGIES / "storm_java" / "word-count-healthy")
    assert shell(*LINT, "--min-severity", "info", ".") == (0, "", "")


def test_every_sick_topology_has_a_healthy_twin_with_the_same_files():
    def files(folder: Path) -> set[str]:
        found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        return found - {"findings.txt"}

    twins = {folder: folder.with_name(folder.name.replace("-sick", "-healthy")) for folder in SICK}
    assert sorted(twins.values()) == HEALTHY
    assert [_name(sick) for sick, healthy in twins.items() if files(sick) != files(healthy)] == []


def test_topologies_have_the_same_findings_in_one_run(shell, monkeypatch):
    monkeypatch.chdir(TOPOLOGIES)
    of_each = [
        f"{_name(folder)}/{line}"
        for folder in SICK
        for line in (folder / "findings.txt").read_text(encoding="utf-8").splitlines()
    ]
    of_all = shell(*LINT, ".").out.splitlines()
    assert sorted(of_all) == sorted(of_each)


@pytest.mark.parametrize("folder", [*SICK, *HEALTHY], ids=_name)
def test_every_topology_has_a_readme(folder):
    assert (folder / "README.md").read_text(encoding="utf-8").startswith("# ")


def test_the_fixtures_page_names_every_pair():
    page = (TOPOLOGIES.parent / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| \[.*?\]\(topologies/(.*?)\)", page, re.MULTILINE)) == [
        _name(pair) for pair in SICK
    ]


def test_every_dialect_has_a_topology():
    from ackdoctor.dialects import load

    assert {folder.parent.name for folder in SICK} == {dialect.name for dialect in load()}
