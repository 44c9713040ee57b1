"""`ackdoctor lint` in a repository with several projects, links and settings."""

import io
import sys
from pathlib import Path

import pytest

from tests.lint.project import BOLT, JAVA_BOLT, write


def test_settings_apply_to_a_project_behind_a_link(shell):
    settings = 'extend-exclude = ["gen/**"]\n[per-file-ignores]\n"old/**" = ["ACK103"]\n'
    write(Path("real"), {"ackdoctor.toml": settings, "gen/a.py": BOLT, "old/b.py": BOLT, "c.py": BOLT})
    Path("link").symlink_to("real")
    for name in ("real", "link"):
        outcome = shell("lint", "--output-format", "concise", name)
        assert [line.split()[0] for line in outcome.out.splitlines()] == [f"{name}/c.py:9:9:", "1"]
        assert outcome.err == ""


def test_a_baseline_in_the_settings_applies_to_a_project_behind_a_link(shell):
    write(Path("real"), {"ackdoctor.toml": 'baseline = "known.json"\n', "a.py": BOLT})
    Path("link").symlink_to("real")
    assert (
        shell("lint", "--write-baseline", "real").err
        == "ackdoctor: known.json: 1 accepted, 1 of them new, 0 fixed\n"
    )
    assert shell("lint", "link") == (0, "no findings in 1 file, 1 component · 1 in the baseline\n", "")


def test_unused_settings_files_are_named(shell):
    write(Path(), {"a/ackdoctor.toml": 'ignore = ["ACK1"]\n', "a/src/a.py": BOLT, "b/src/b.py": BOLT})
    why = "not used, since a run has the settings of the directory that its paths share: lint"
    one = f"ackdoctor: a/ackdoctor.toml is {why} its directory by itself\n"
    for paths in ([], ["a", "b"], ["a/src", "b/src"], ["a/src/a.py", "b/src/b.py"]):
        outcome = shell("lint", "--output-format", "concise", *paths)
        assert (outcome.code, outcome.err, len(outcome.out.splitlines())) == (1, one, 3)
    for arguments in (
        ["a"],
        ["a/src"],
        ["a/src/a.py"],
        ["b"],
        ["--isolated"],
        ["--config", "a/ackdoctor.toml"],
    ):
        assert shell("lint", *arguments).err == ""
    write(
        Path(),
        {"pyproject.toml": "[tool.ackdoctor]\n", "b/pyproject.toml": '[project]\nname = "ackdoctor-b"\n'},
    )
    assert shell("lint").err == one
    write(Path(), {"b/pyproject.toml": "[tool.ackdoctor.per-file-ignores]\n"})
    assert (
        shell("lint").err
        == f"ackdoctor: a/ackdoctor.toml, b/pyproject.toml are {why} each of their directories by itself\n"
    )


@pytest.mark.parametrize("head", ["", "\ufeff", "/*\n * Licensed ** to you.\n */\n// generated\n\n"])
def test_java_without_a_name_is_rejected(shell, monkeypatch, head):
    def typed(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    typed(head + JAVA_BOLT)
    outcome = shell("lint", "-")
    assert outcome == (2, "", "ackdoctor: standard input is Java; name it with --stdin-filename NAME.java\n")
    typed(head + JAVA_BOLT)
    assert shell("lint", "-", "--stdin-filename", "CountBolt.java").code == 1
    typed(f'import os; import sys\n"""\n{JAVA_BOLT}"""\n{BOLT}')
    assert shell("lint", "-").code == 1


def test_a_long_line_of_slashes_is_checked_for_java_fast(shell, monkeypatch):
    text = f"{'/' * 78}\n// one // two\n{'/' * 78}\nfinal class Made {{}}\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    assert shell("lint", "-").code == 2  # read as Python; with backtracking it would take years


def test_annotations_start_at_the_workspace(shell, monkeypatch):
    write(Path(), {"services/a/a.py": BOLT, "services/a/b.py": "import streamparse\nx = (\n", "c.py": BOLT})
    workspace = Path.cwd()
    monkeypatch.setenv("GITHUB_WORKSPACE", str(workspace))
    monkeypatch.chdir("services/a")
    files = [
        line.partition(",")[0]
        for line in shell("lint", "--output-format", "github", ".", "../../c.py").out.splitlines()
    ]
    assert files == ["::error file=services/a/b.py", "::error file=c.py", "::error file=services/a/a.py"]
    monkeypatch.setenv("GITHUB_WORKSPACE", str(workspace / "serv"))
    assert shell("lint", "--output-format", "github", "a.py").out.startswith("::error file=a.py,")
