"""Every screen fits the terminal: only a word that is wider than the screen, such as a path, is not broken."""

from pathlib import Path

import pytest

from ackdoctor.reporters import columns
from tests.cli.running import Shell

ROOT = Path(__file__).parent.parent.parent
COMMANDS = [
    "lint fixtures/topologies/streamparse",
    "lint --statistics fixtures/topologies/storm_java",
    "rules",
    "explain ACK101",
    "explain ACK302",
    "topology fixtures/topologies/storm_java",
    "heap dump fixtures/heaps/kinds-1.1.0.hprof.gz",
    "heap dump fixtures/heaps/statements-1.1.0.hprof --trace fixtures/traces/statements/v1",
    "heap dump fixtures/heaps/wide-2.8.3.hprof.gz",
    "heap hist fixtures/heaps/histograms/growing-2.8.3.txt",
    "diagnose fixtures/logs",
    "trace report fixtures/traces/statements/v1",
    "explain --trace fixtures/traces/statements/v1 1364359304281529739",
    *(
        f"{command} --help"
        for command in (
            "", "lint", "init", "topology", "rules", "explain", "trace", "trace run", "trace report", "analyze",
            "watch", "heap", "heap dump", "heap hist", "diagnose",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("width", [60, 80, 100, 200])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_screen_fits(command, width, shell: Shell, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", str(width))
    lines = shell(*command.split()).out.splitlines()
    assert len(lines) > 2
    # what precedes a long word may share its line
    assert [
        line
        for line in lines
        if columns(line) > width and not any(columns(word) > width - 16 for word in line.split())
    ] == []


def test_a_pipe_gets_each_message_on_one_line(shell: Shell, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = shell("lint", "fixtures/topologies/streamparse/first-steps-sick").out.splitlines()
    assert any("ACK106" in line and line.endswith("the worker exits") for line in shown)
