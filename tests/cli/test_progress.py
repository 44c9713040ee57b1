"""Progress is one line on a terminal's standard error, and gone at the end."""

import io
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from ackdoctor.cli import output as module
from ackdoctor.cli.analyze import _stages
from ackdoctor.cli.output import progress
from tests.cli.running import BOLT

ROOT = Path(__file__).parent.parent.parent
_CLEAR = "\x1b[2K"


class _Terminal(io.StringIO):
    """What a terminal would get; `encoding` is asked for by rich."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    @property
    def last(self) -> str:
        """What is left on the line."""
        return self.getvalue().rsplit(_CLEAR, 1)[-1].replace("\x1b[?25h", "").strip("\r")


@pytest.fixture
def terminal(monkeypatch) -> _Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(module, "_DELAY_S", 0)
    monkeypatch.setattr(module, "_INTERVAL_S", 0)
    made = _Terminal()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=made))  # pytest replaces that of sys
    return made


def test_the_line_shows_the_work_and_is_cleared(terminal):
    with progress("linting") as line:
        assert line is not None
        line(1_200, 5_000)
        assert "linting: 1,200 of 5,000" in terminal.getvalue()
    assert _CLEAR in terminal.getvalue()
    assert terminal.last == ""


def test_bytes_have_a_unit(terminal):
    with progress("reading a.hprof", in_bytes=True) as line:
        assert line is not None
        line(300_000_000, 1_500_000_000)
        line(2_000, 0)
    assert "reading a.hprof: 0.3 of 1.5 GB" in terminal.getvalue()
    assert "reading a.hprof: 2.0 kB" in terminal.getvalue()


def test_a_short_run_shows_nothing(terminal, monkeypatch):
    monkeypatch.setattr(module, "_DELAY_S", 3_600)
    with progress("linting") as line:
        assert line is not None
        line(1, 2)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_terminal_that_cannot_clear_a_line_shows_nothing(term, terminal, monkeypatch):
    monkeypatch.setenv("TERM", term)
    with progress("linting") as line:
        assert line is None


def test_no_color_leaves_the_line_without_colours(terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    with progress("linting") as line:
        assert line is not None
        line(1, 2)
    assert "linting: 1 of 2" in terminal.getvalue()
    assert "\x1b[3" not in terminal.getvalue()


def test_quiet_and_a_pipe_show_nothing(terminal, monkeypatch):
    with progress("linting", quiet=True) as line:
        assert line is None
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    with progress("linting") as line:
        assert line is None


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("lint --no-cache a.py", "linting: 1 of 1"),
        ("topology --no-cache {root}/fixtures/topologies/storm_java", "judging topologies: "),
        ("heap dump {root}/fixtures/heaps/kinds-2.8.3.hprof", "reading kinds-2.8.3.hprof: "),
        ("heap hist long.log", "reading histograms: "),
        ("diagnose long.log", "reading logs: "),
    ],
)
def test_each_command_shows_it(command, shown, terminal, shell, monkeypatch):
    Path("a.py").write_text(BOLT, encoding="utf-8")
    Path("long.log").write_text("a line\n" * 1_001, encoding="utf-8")
    outcome = shell(*command.format(root=ROOT).split())
    assert shown in terminal.getvalue()
    assert shown not in outcome.out


def test_the_stages_of_spark_are_followed_from_another_thread(terminal, monkeypatch):
    monkeypatch.setattr("ackdoctor.cli.analyze._LOOK_S", 0.001)
    looks = threading.Semaphore(0)

    def count() -> tuple[int, int]:
        looks.release()
        return 3, 40

    with _stages(quiet=False) as follow:
        follow(count)
        assert all(looks.acquire(timeout=30) for _ in range(2))
    assert "Spark is at work, tasks: 3 of 40" in terminal.getvalue()
    assert terminal.last == ""
