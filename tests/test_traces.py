"""The traces in fixtures/: the lab records them again, and their reports are unchanged."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from ackdoctor.lab.cluster import Cluster
from ackdoctor.model.trace import Event
from ackdoctor.tracer import trace_files
from tests.cli.running import Shell

ROOT = Path(__file__).parent.parent
TRACES = ROOT / "fixtures" / "traces"
STATEMENTS = TRACES / "statements"
PART = STATEMENTS / "v1" / "run=lab" / "worker=main" / "part-1-000000000000.jsonl"
TRACE = "fixtures/traces/statements/v1"
DOUBLE_ACKED = "1364359304281529739"
FORGOTTEN = "-1138701488754717430"


@pytest.fixture
def shell(shell: Shell, monkeypatch) -> Shell:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    return shell


def lab_rows(monkeypatch) -> list[str]:
    """Run the topology for 155 virtual seconds in Storm 1.1.0 and return its rows."""
    spec = spec_from_file_location("topology", STATEMENTS / "topology.py")
    assert spec is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "topology", module)  # inspect reads the source of the classes
    assert spec.loader is not None
    spec.loader.exec_module(module)
    rows: list[Event] = []
    cluster = Cluster(module.topology(), profile="storm-1.1.0", seed=7, record=rows.append)
    cluster.advance(155)
    return [trace_files.line(row._replace(site=row.site.removeprefix(f"{ROOT}/"), pid=1)) for row in rows]


def compare(golden: Path, text: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--golden"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8", newline="\n")
    assert text == golden.read_text(encoding="utf-8")


def test_the_lab_records_the_same_trace(monkeypatch, request):
    compare(PART, "".join(f"{line}\n" for line in lab_rows(monkeypatch)), request)


def test_the_report_is_unchanged(shell, request):
    outcome = shell("trace", "report", TRACE, "--acker-version", "1.1.0", "--isolated")
    compare(STATEMENTS / "report.txt", outcome.out, request)
    assert (outcome.code, outcome.err) == (1, "")


@pytest.mark.parametrize(("name", "root"), [("acked-twice", DOUBLE_ACKED), ("never-acked", FORGOTTEN)])
def test_the_life_of_a_root_is_unchanged(name, root, shell, request):
    outcome = shell("explain", root, "--trace", TRACE, "--acker-version", "1.1.0")
    compare(STATEMENTS / f"{name}.txt", outcome.out, request)
    assert (outcome.code, outcome.err) == (0, "")


def test_later_versions_drop_the_entries(shell):
    outcome = shell(
        "trace", "report", TRACE, "--acker-version", "2.8.8", "--message-timeout", "30", "--isolated"
    )
    assert "ACK603" not in outcome.out
    assert "such an entry stays for two to three message timeouts" in outcome.out
