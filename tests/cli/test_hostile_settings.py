"""Hostile settings, baselines and lists cause one clear line and exit code 2, and never a hang."""

import os
import time
from pathlib import Path

import pytest

from ackdoctor.lint.discover import Patterns, matches_glob
from tests.cli.running import BOLT

STARS = "*a*a*a*a*a*a*a*a*a*a*a*b"
LONG = "a" * 200 + ".py"
LIMIT = 20  # seconds; with backtracking it would be years

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a POSIX file system")


@pytest.fixture(autouse=True)
def bolt(shell):
    Path("bolt.py").write_text(BOLT)


def put(kind: str, name: str) -> None:
    if kind == "fifo":
        os.mkfifo(name)
    elif kind == "zero":
        Path(name).symlink_to("/dev/zero")
    elif kind == "link to fifo":
        os.mkfifo("pipe")
        Path(name).symlink_to("pipe")
    else:
        Path(name).write_bytes(b"#" * 60_000_000)


@pytest.mark.parametrize("name", ["ackdoctor.toml", "pyproject.toml"])
@pytest.mark.parametrize("kind", ["fifo", "zero", "link to fifo", "huge"])
def test_settings_that_are_no_file_are_named(shell, kind, name):
    put(kind, name)
    outcome = shell("lint", "--no-cache", ".")
    why = "larger than 1,000,000 bytes" if kind == "huge" else "not a file"
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.endswith(f"{name}: cannot be read: {why}\n")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("kind", ["fifo", "zero", "huge"])
@pytest.mark.parametrize("write", [[], ["--write-baseline"]])
def test_a_baseline_that_is_no_file_is_named(shell, kind, write):
    put(kind, "known.json")
    outcome = shell("lint", "--no-cache", "--baseline", "known.json", *write, ".")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("ackdoctor: known.json: the baseline cannot be read: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x=" + "[" * 100_000, "ackdoctor.toml: not TOML: nested too deeply\n"),
        ("x=" + "{a=" * 100_000, "ackdoctor.toml: not TOML: nested too deeply\n"),
        ("a." * 100_000 + "a=1", "ackdoctor.toml:1: more than 500 dots in one line\n"),
        ("\n[" + "a." * 100_000 + "a]", "ackdoctor.toml:2: more than 500 dots in one line\n"),
        ('baseline = "a\\u0000b"', "ackdoctor.toml:1: `baseline` must be the path of a file\n"),
    ],
    ids=["lists", "tables", "key", "heading", "nul"],
)
def test_settings_too_deep_for_their_parser_are_named(shell, text, message):
    Path("ackdoctor.toml").write_text(text)
    outcome = shell("lint", "--no-cache", ".")
    assert (outcome.code, outcome.err) == (2, f"ackdoctor: {message}")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_a_baseline_too_deep_for_its_parser_is_named(shell, text):
    Path("known.json").write_text(text)
    outcome = shell("lint", "--no-cache", "--baseline", "known.json", ".")
    assert (outcome.code, outcome.err) == (2, "ackdoctor: known.json: not a baseline: nested too deeply\n")


@pytest.mark.parametrize("where", ["gitignore", "exclude", "per-file-ignores"])
@pytest.mark.parametrize("glob", [STARS, f"x/{STARS}", "**/a/" * 20 + "b", f"**/{STARS}/**/{STARS}"])
def test_stars_are_matched_without_backtracking(shell, where, glob):
    deep = Path("x", *"a" * 60)
    deep.mkdir(parents=True)
    for folder in (Path(), Path("x"), deep):
        (folder / LONG).write_text(BOLT)
    text = {
        "gitignore": glob,
        "exclude": f'extend-exclude = ["{glob}"]',
        "per-file-ignores": f'[per-file-ignores]\n"{glob}" = ["ACK1"]',
    }[where]
    Path(".gitignore" if where == "gitignore" else "ackdoctor.toml").write_text(text)
    begun = time.process_time()
    outcome = shell("lint", "--no-cache", "--statistics", ".")
    assert outcome.code == 1
    assert time.process_time() - begun < LIMIT


def test_a_star_matches_in_linear_time():
    name = "a" * 100_000
    assert Patterns([STARS]).verdict(name, folder=False) is None
    assert Patterns([STARS]).verdict(f"{name}b", folder=False) is True
    assert not matches_glob(f"x/{name}", f"x/{STARS}")
    assert matches_glob(f"x/{name}b/y.py", f"x/{STARS}")
    path = "/".join(["a"] * 2_000)
    assert not matches_glob(path, "**/a/" * 20 + "b")
    assert matches_glob(f"{path}/b", "**/a/" * 20 + "b")


def test_a_gitignore_that_is_too_large_is_named_and_not_used(shell):
    Path(".gitignore").write_text("bolt.py\n" + "x\n" * 60_000)
    outcome = shell("lint", "--no-cache", "--statistics", ".")
    assert outcome.code == 1
    assert outcome.err == "ackdoctor: .gitignore: not used: larger than 100,000 bytes\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["x" * 5_000],
        ["x" * 5_000 + ".py", "."],
        ["--config", "x" * 5_000, "."],
        ["--baseline", "x" * 5_000, "."],
        ["--baseline", "x" * 5_000, "--write-baseline", "."],
        ["--output-file", "x" * 5_000, "."],
        ["--output-file", "."],
        ["--config", "/dev/zero"],
        ["\udcff\udcfe", "."],
        ["-bolt.py"],
    ],
    ids=lambda arguments: " ".join(arguments)[:20].encode("ascii", "backslashreplace").decode(),
)
def test_an_argument_that_names_no_file_is_one_sentence(shell, arguments):
    outcome = shell("lint", "--no-cache", "--output-format", "concise", *arguments)
    assert outcome.code == 2
    assert outcome.err
    assert "internal error" not in outcome.err


def test_a_name_with_a_minus_follows_two_dashes(shell):
    Path("-x.py").write_text(BOLT)
    outcome = shell("lint", "--no-cache", "--output-format", "concise", "--", "-x.py")
    assert (outcome.code, outcome.out.partition(" ")[0]) == (1, "-x.py:9:13:")
