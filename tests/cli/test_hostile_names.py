"""File names and source lines steer neither a terminal nor a GitHub runner."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.cli.running import BOLT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs such file names")

BROKEN = "from streamparse import Bolt\nclass (:\n"
NAMES = [
    "::stop-commands::tok.py",
    "::add-mask::bad.py",
    " ::error::x.py",
    "##[add-mask]x.py",
    "a##[group]b.py",
    "a\n::stop-commands::b.py",
    "a\r::warning::c.py",
    "100%25,title=x.py",
    "\x1b]0;owned\x07.py",
    "\x1b[2J\x1b[31m.py",
    "\x9b31m.py",
    "\u202egnp.py",
]
OURS = re.compile(r"::(error|warning|notice) file=[^\n]*")
FORMS = ["full", "concise", "json", "json-lines", "sarif", "github"]


def commands(text: str) -> list[str]:
    """The lines that a runner would read as commands, without those of the github format."""
    lines = re.split(r"[\r\n]", text)
    return [line for line in lines if line.lstrip().startswith("::") and not OURS.fullmatch(line)] + [
        line for line in lines if "##[" in line
    ]


def controls(text: str) -> list[str]:
    return [char for char in text.replace("\n", "") if not char.isprintable()]


@pytest.fixture
def tree(shell):
    for number, name in enumerate(NAMES):
        Path(name).write_text(BROKEN if number % 2 else BOLT)
        Path(f"{number}x").mkdir()
        Path(f"{number}x", name).write_text(BOLT if number % 2 else BROKEN)
    odd = "a = '\x1b]0;owned\x07' \u202e \x9b"
    Path("source.py").write_text(BOLT.replace("            return", f"            return  # ##[group] {odd}"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("more", [[], ["--statistics"], ["--show-files"], ["--verbose"]])
def test_no_name_is_a_command(shell, tree, monkeypatch, form, more):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    if "--statistics" in more and form in ("json-lines", "sarif", "github"):
        return
    outcome = shell("lint", "--no-cache", "--output-format", form, *more, ".")
    assert (outcome.code, commands(outcome.out), commands(outcome.err)) == (1, [], [])
    assert (controls(outcome.out), controls(outcome.err)) == ([], [])
    if form in ("json", "sarif") and "--show-files" not in more:
        json.loads(outcome.out)


def test_the_github_format_is_safe_outside_a_runner_too(shell, tree, monkeypatch):
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    outcome = shell("lint", "--no-cache", "--output-format", "github", ".")
    assert (outcome.code, commands(outcome.out), commands(outcome.err)) == (1, [], [])


def test_a_name_that_looks_like_a_command_still_leads_to_its_file(shell, monkeypatch):
    Path("::add-mask::b.py").write_text(BOLT)
    outcome = shell("lint", "--no-cache", "--output-format", "concise", ".")
    assert outcome.out.startswith("./::add-mask::b.py:9:13: ACK101")


@pytest.mark.parametrize("name", ["\x1b]0;owned\x07", "::stop-commands::x", "a\n::stop-commands::b"])
def test_an_error_about_such_a_name_is_one_harmless_line(shell, name):
    for arguments in (["--config", name], [name], ["--baseline", name], ["--output-file", f"{name}/x"]):
        Path("bolt.py").write_text(BOLT)
        outcome = shell("lint", "--no-cache", *arguments, *([] if name in arguments[:1] else ["."]))
        assert (outcome.code, outcome.out) == (2, "")
        assert (commands(outcome.err), controls(outcome.err), outcome.err.count("\n")) == ([], [], 1)
