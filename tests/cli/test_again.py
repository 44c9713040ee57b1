"""When a command gets its last answer again, and all that keeps it from doing so.  Each run is a process of its own."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ackdoctor.cli.again import VARIABLES
from tests.cli.asking import LINT, run, settle
from tests.engine.project import BASE, BOLT, CLEAN, write

pytestmark = pytest.mark.skipif(os.name != "posix", reason="nothing is repeated there")

ROOT = Path(__file__).parents[2]


def test_the_same_command_gets_the_same_answer(project):
    first = run(project, *LINT)
    assert not first.repeated
    assert first.code == 1
    assert first.out.startswith("bolts/a.py:9:9: ")
    assert first.err == "bolts/broken.py:2:5: syntax error: '(' was never closed\n"
    for _ in range(2):
        assert run(project, *LINT) == first._replace(repeated=True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--verbose",),
        ("--statistics",),
        ("--show-files",),
        ("--output-format", "json"),
        ("--exit-zero",),
        ("--quiet",),
    ],
)
def test_whatever_is_shown(project, arguments):
    first = run(project, "lint", *arguments)
    assert not first.repeated
    assert first.out
    assert run(project, "lint", *arguments) == first._replace(repeated=True)


def test_an_answer_is_found_from_a_folder_below_the_settings(project):
    write(project, {"ackdoctor.toml": ""})
    settle()
    first = run(project / "bolts", "lint")
    assert run(project / "bolts", "lint") == first._replace(repeated=True)


def retime(path: Path, text: str) -> None:
    """Other bytes, as many as before and under the old time."""
    was = path.stat()
    path.write_text(text)
    assert path.stat().st_size == was.st_size
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def through_a_link(root: Path) -> None:
    (root / "bolts").rename(root / "moved")
    (root / "bolts").symlink_to("moved")


def ignoring(root: Path, content: str) -> None:
    write(root, {".git/HEAD": "", ".gitignore": content})


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file says something else": lambda root: write(root, {"bolts/b.py": BOLT}),
    "a file of the same size was written": lambda root: write(root, {"bolts/deep/plain.py": "x = 2\n"}),
    "a file of the same size and time was written": lambda root: retime(root / "bolts/deep/plain.py", "x = 2\n"),
    "a file was touched": lambda root: os.utime(root / "bolts/a.py"),
    "a file may no longer be read": lambda root: (root / "bolts/a.py").chmod(0),
    "a file was added": lambda root: write(root, {"bolts/deep/c.py": BOLT}),
    "a file was added in a folder of its own": lambda root: write(root, {"bolts/new/c.py": BOLT}),
    "a file was removed": lambda root: (root / "bolts/a.py").unlink(),
    "a file was renamed": lambda root: (root / "bolts/a.py").rename(root / "bolts/z.py"),
    "what a link leads to says something else": lambda root: write(root, {"elsewhere/c.py": BOLT}),
    "what a link leads to is gone": lambda root: (root / "elsewhere/c.py").unlink(),
    "a folder is reached through a link": through_a_link,
    "a base class that was not listed has changed": lambda root: write(root, {"shared/base.py": BASE + "\n"}),
    "a nearer base class has appeared": lambda root: write(root, {"bolts/shared/base.py": "class Base: pass\n"}),
    "a file is left out by git": lambda root: ignoring(root, "a.py\n"),
    "settings have appeared": lambda root: write(root, {"ackdoctor.toml": 'ignore = ["ACK103"]\n'}),
    "settings have appeared nearer": lambda root: write(root, {"bolts/ackdoctor.toml": 'ignore = ["ACK1"]\n'}),
    "settings have appeared further up": lambda root: write(root.parent, {"ackdoctor.toml": 'ignore = ["ACK1"]\n'}),
    "the folder is gone": lambda root: shutil.rmtree(root / "bolts"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_where_something_has_changed_it_is_worked_out_again(project, change):
    run(project, *LINT)
    assert run(project, *LINT).repeated
    change(project)
    again = run(project, *LINT)
    assert not again.repeated
    assert again == run(project, *LINT, "--no-cache")


def become_a_folder(root: Path) -> None:
    (root / "notes").unlink()
    write(root, {"notes/c.py": BOLT})


BESIDE: dict[str, Callable[[Path], object]] = {
    "a file was added": lambda root: write(root, {"top.py": BOLT}),
    "a file was removed": lambda root: (root / "main.py").unlink(),
    "a file was renamed over another": lambda root: (root / "bolts/a.py").rename(root / "main.py"),
    "a file has become a folder": become_a_folder,
}


@pytest.mark.parametrize("change", BESIDE.values(), ids=BESIDE.keys())
def test_the_folder_of_the_cache_is_known_by_what_it_holds(project, change):
    write(project, {"main.py": CLEAN, "notes": ""})
    settle()
    run(project, "lint")
    assert run(project, "lint").repeated
    change(project)
    again = run(project, "lint")
    assert not again.repeated
    assert again == run(project, "lint", "--no-cache")


SETTLED: dict[str, tuple[tuple[str, ...], Callable[[Path], object]]] = {
    "the settings were changed": ((), lambda root: write(root, {"pyproject.toml": "[tool.ackdoctor]\n"})),
    "the settings are gone": ((), lambda root: (root / "pyproject.toml").unlink()),
    "nearer settings have appeared": ((), lambda root: write(root, {"ackdoctor.toml": ""})),
    "the list of git was changed": ((), lambda root: write(root, {".gitignore": "b.py\n"})),
    "the repository is none any more": ((), lambda root: shutil.rmtree(root / ".git")),
    "the baseline was changed": (
        ("--baseline", "accepted.json"),
        lambda root: write(root, {"accepted.json": '{"version": 1, "findings": []}'}),
    ),
    "named settings were changed": (
        ("--config", "other/ackdoctor.toml"),
        lambda root: write(root, {"other/ackdoctor.toml": 'ignore = ["ACK1"]\n'}),
    ),
}


@pytest.mark.parametrize(("arguments", "change"), SETTLED.values(), ids=SETTLED.keys())
def test_where_what_governs_the_run_has_changed_it_is_worked_out_again(project, arguments, change):
    ignoring(project, "a.py\n")
    settings = '[tool.ackdoctor]\nignore = ["ACK103"]\n'
    write(project, {"pyproject.toml": settings, "other/ackdoctor.toml": ""})
    run(project, *LINT, "--baseline", "accepted.json", "--write-baseline")
    settle()
    run(project, *LINT, *arguments)
    assert run(project, *LINT, *arguments).repeated
    change(project)
    again = run(project, *LINT, *arguments)
    assert not again.repeated
    assert again == run(project, *LINT, *arguments, "--no-cache")


def test_a_file_that_only_the_baseline_names_is_missed(project):
    write(project, {"elsewhere/d.py": BOLT.replace("Count", "Other")})
    settle()
    accepted = ("--baseline", "accepted.json")
    run(project, "lint", "elsewhere", *accepted, "--write-baseline")
    settle()
    run(project, *LINT, *accepted)
    assert run(project, *LINT, *accepted).repeated
    (project / "elsewhere/d.py").unlink()
    again = run(project, *LINT, *accepted)
    assert "ackdoctor: baseline: no longer occurs: elsewhere/d.py: ACK103 OtherBolt.process\n" in again.err


@pytest.mark.parametrize(
    "variables",
    [
        {"FORCE_COLOR": "1"},
        {"TERM": "dumb"},
        {"COLUMNS": "40"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONPATH": "/"},
    ],
)
def test_who_listens_otherwise_gets_an_answer_of_his_own(project, variables):
    run(project, *LINT)
    assert run(project, *LINT).repeated
    other = run(project, *LINT, **variables)
    assert not other.repeated
    assert run(project, *LINT, **variables) == other._replace(repeated=True)


@pytest.mark.parametrize(
    "arguments", [("bolts",), ("bolts/a.py",), ("bolts", "--exit-zero"), ("bolts", "--select", "ACK1")]
)
def test_another_question_gets_another_answer(project, arguments):
    run(project, *LINT)
    assert not run(project, "lint", *arguments).repeated


def test_a_folder_that_was_copied_or_moved_has_no_answer(project):
    first = run(project, *LINT)
    copy = project.with_name("copy")
    shutil.copytree(project, copy, symlinks=True)
    assert run(copy, *LINT) == first
    project.rename(project.with_name("moved"))
    assert run(project.with_name("moved"), *LINT) == first


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (("-",), BOLT.encode()),
        (("--output-file", "out.txt"), b""),
        (("--baseline", "accepted.json", "--write-baseline"), b""),
        (("--no-cache",), b""),
        (("bolts/notebook.ipynb",), b""),
        (("--select", "ACK999"), b""),
    ],
)
def test_what_does_more_than_to_answer_is_never_repeated(project, arguments, stdin):
    write(project, {"bolts/notebook.ipynb": "{}"})
    settle()
    run(project, "lint", *arguments, stdin=stdin)
    assert not run(project, "lint", *arguments, stdin=stdin).repeated


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cli/streams.py", "rules/ACK103-double-ack.md", "new.py"])
def test_another_ackdoctor_works_it_out_again(project, tmp_path, name):
    site = tmp_path / "site" / "ackdoctor"
    shutil.copytree(ROOT / "ackdoctor", site)  # with what is compiled
    shutil.copytree(ROOT / "rules", site / "rules")
    installed = str(site.parent)
    settle()
    run(project, *LINT, PYTHONPATH=installed, PYTHONDONTWRITEBYTECODE="1")
    assert run(project, *LINT, PYTHONPATH=installed, PYTHONDONTWRITEBYTECODE="1").repeated
    with (site / name).open("a") as file:
        file.write("\n")
    assert not run(project, *LINT, PYTHONPATH=installed, PYTHONDONTWRITEBYTECODE="1").repeated


def test_every_variable_that_lint_reads_is_part_of_the_question():
    others = {"acker", "heap", "lab", "pytest_plugin", "spark", "tracer"}
    modules = [
        path for path in (ROOT / "ackdoctor").rglob("*.py") if path.relative_to(ROOT).parts[1] not in others
    ]
    texts = [path.read_text(encoding="utf-8") for path in modules]
    read = {name for text in texts for name in re.findall(r'environ(?:\.get\(|\[)"(\w+)"', text)}
    assert "NO_COLOR" in read
    assert (
        sum(text.count("environ") + text.count("getenv") for text in texts) == len(read) + 1
    )  # by name, but once
    assert read <= {*VARIABLES, "ACKDOCTOR_TRACEBACK"}  # which only concerns what goes wrong
