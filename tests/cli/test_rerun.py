"""`ackdoctor lint --watch` runs again after each change, and ends with Ctrl-C."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ackdoctor.cli.rerun import rerun
from tests.cli.running import BOLT, CLEAN

END = "ackdoctor: watching; Ctrl-C ends it\n"
BASE = "from streamparse import Bolt\n\n\nclass Base(Bolt):\n    auto_ack = False\n"


@pytest.fixture
def edits(monkeypatch) -> Callable[..., None]:
    """Make the edits, one in each wait for a change; then press Ctrl-C."""

    def schedule(*edits: Callable[[], object]) -> None:
        left: Iterator[Callable[[], object]] = iter(edits)

        def sleep(_seconds: float) -> None:
            edit = next(left, None)
            if edit is None:
                raise KeyboardInterrupt
            edit()

        monkeypatch.setattr("ackdoctor.cli.rerun.sleep", sleep)

    return schedule


def _write(name: str, text: str) -> Callable[[], object]:
    return lambda: Path(name).write_text(text, encoding="utf-8")


def test_each_change_is_linted(shell, edits):
    _write("bolt.py", BOLT)()
    edits(
        lambda: None,  # a look without a change
        _write("bolt.py", CLEAN),
        _write("more.py", BOLT),
        lambda: Path("more.py").unlink(),
    )
    outcome = shell("lint", "--watch", "--output-format", "concise")
    assert outcome.code == 130
    shown = [line for line in outcome.out.splitlines() if "finding" in line]
    assert shown == [
        "1 finding (1 error) in 1 file, 1 component",
        "no findings in 1 file, 1 component",
        "1 finding (1 error) in 2 files, 2 components",
        "no findings in 1 file, 1 component",
    ]
    assert outcome.err == END * 4


def test_a_base_class_in_another_directory_is_watched(shell, edits):
    Path("src").mkdir()
    Path("common").mkdir()
    _write("common/__init__.py", "")()
    _write("common/base.py", BASE)()
    _write("src/bolt.py", BOLT.replace("streamparse import Bolt", "common.base import Base as Bolt"))()
    edits(_write("common/base.py", BASE.replace("False", "True")))
    outcome = shell("lint", "--watch", "--output-format", "concise", "src")
    assert outcome.err == END * 2


def test_broken_settings_are_shown_and_watched(shell, edits):
    _write("bolt.py", BOLT)()
    _write("ackdoctor.toml", "ignore = [")()
    edits(
        _write("ackdoctor.toml", 'ignore = ["ACK101"]\n'),
        _write("ackdoctor.toml", 'ignoer = ["ACK101"]\n'),
        lambda: Path("ackdoctor.toml").unlink(),
        lambda: Path("bolt.py").unlink(),
    )
    outcome = shell("lint", "--watch", "--output-format", "concise")
    assert outcome.code == 130
    first, second, third, fourth, fifth, _ = outcome.err.split(END)
    assert first.startswith("ackdoctor: ackdoctor.toml: not TOML")
    assert (second, fourth) == ("", "")
    assert third == "ackdoctor: ackdoctor.toml:1: unknown key `ignoer`; did you mean `ignore`?\n"
    assert fifth == "ackdoctor: no Python or Java file and no topology under .\n"
    assert [line for line in outcome.out.splitlines() if "finding" in line] == [
        "no findings in 1 file, 1 component",
        "1 finding (1 error) in 1 file, 1 component",
    ]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["nowhere"], "nowhere: no such file or directory"),
        (["--select", "ACK99"], "--select: no rule is called `ACK99`"),
        (["-"], "--watch cannot watch - (standard input)"),
        (["--fix"], "--watch and --fix exclude each other"),
    ],
)
def test_a_wrong_argument_ends_it(arguments, error, shell, edits):
    _write("bolt.py", BOLT)()
    edits()
    outcome = shell("lint", "--watch", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"ackdoctor: {error}")


def test_a_terminal_is_cleared_before_each_run(monkeypatch, capsys):
    monkeypatch.setattr("ackdoctor.cli.rerun.sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")

    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ackdoctor.cli.rerun.sleep", interrupt)
    looks = iter([1, 2, 2, 2])
    runs = rerun(lambda _read: print("run"), lambda: {"a.py": (next(looks), 0, 0)}, quiet=True)  # noqa: T201
    assert runs == 130
    assert capsys.readouterr() == ("\x1b[2J\x1b[Hrun\n" * 2, "")
