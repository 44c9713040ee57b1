"""Which files a run reads, and what it reports about the others."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ackdoctor.config import Settings
from ackdoctor.lint.discover import Patterns, discover, matches_glob
from ackdoctor.model import UsageError
from tests.lint.project import write


def found(root: Path, *paths: str, settings: Settings | None = None) -> list[str]:
    chosen = [root / path for path in paths or (".",)]
    return [file.display_path for file in discover(chosen, settings or Settings(), root).files]


def test_the_python_files_of_a_folder_are_sorted_by_path(tmp_path):
    write(tmp_path, {"b.py": "", "a/z.py": "", "a.py": "", "a/b/c.py": "", "notes.txt": "", "stub.pyi": ""})
    assert found(tmp_path) == ["a.py", "a/b/c.py", "a/z.py", "b.py"]


def test_a_walk_finds_java_files(tmp_path):
    write(
        tmp_path,
        {"b.py": "", "a/Z.java": "", "A.java": "", "A.class": "", "K.kt": "", "build.gradle.kts": ""},
    )
    assert found(tmp_path) == ["A.java", "a/Z.java", "b.py"]


def test_files_in_languages_without_a_parser_are_foreign(tmp_path):
    write(tmp_path, {"A.java": "", "K.kt": "", "b/S.scala": "", "build.gradle.kts": "", "gen/L.kt": ""})
    settings = Settings(extend_exclude=("gen/",))
    found = discover([tmp_path], settings, tmp_path)
    assert [file.display_path for file in found.foreign] == ["K.kt", "b/S.scala"]
    assert [file.display_path for file in found.texts] == ["build.gradle.kts"]


@pytest.mark.parametrize(
    ("name", "kind"), [("A.kt", "Kotlin"), ("A.scala", "Scala"), ("a.ipynb", "a notebook")]
)
def test_a_named_file_in_a_language_without_a_parser_is_refused(tmp_path, name, kind):
    write(tmp_path, {name: ""})
    (item,) = discover([tmp_path / name], Settings(), tmp_path).unreadable
    assert (item.path, item.reason) == (name, f"{kind}; only Python and Java source is read")


@pytest.mark.parametrize(
    "name",
    [
        "x.js",
        "x.txt",
        "x.rb",
        "x.php",
        "README.md",
        "storm.jar",
        "A.class",
        "x.py.orig",
        "x.Py.bak",
    ],
)
def test_a_named_file_in_any_other_language_is_refused(tmp_path, name):
    write(tmp_path, {name: "x = 1\n", "good.py": ""})
    paths = [tmp_path / name, tmp_path / "good.py"]
    result = discover(paths, Settings(), tmp_path)
    (item,) = result.unreadable
    assert (item.path, item.reason) == (
        name,
        "neither Python nor Java, nor YAML or Clojure that wires a topology; lint reads only these",
    )
    assert [file.display_path for file in result.files] == ["good.py"]


def test_a_named_file_is_read_although_it_is_excluded_or_has_no_suffix(tmp_path):
    write(tmp_path, {"bolt": "", "build/gen.py": "", ".gitignore": "build/\n", ".git/HEAD": ""})
    write(tmp_path, {"bolt.cgi": "#!/usr/bin/env python3\n", "B.PY": "", "x.pyi": "", ".bolt": ""})
    names = [".bolt", "B.PY", "bolt", "bolt.cgi", "build/gen.py", "x.pyi"]
    assert found(tmp_path, *names) == names


def test_a_file_named_twice_is_read_once(tmp_path):
    write(tmp_path, {"a/b.py": ""})
    assert found(tmp_path, "a", "a/b.py", ".") == ["a/b.py"]


@pytest.mark.parametrize(
    "name", [".venv", "venv", "node_modules", "__pycache__", "site-packages", "build", ".git"]
)
def test_default_excludes_are_skipped_unless_named(tmp_path, name):
    write(tmp_path, {"mine.py": "", f"{name}/theirs.py": ""})
    assert found(tmp_path) == ["mine.py"]
    assert found(tmp_path, name) == [f"{name}/theirs.py"]


def test_excludes_start_at_the_settings_file(tmp_path):
    write(
        tmp_path,
        {"project/gen/a.py": "", "project/src/gen/a.py": "", "project/x_pb2.py": "", "project/b.py": ""},
    )
    settings = Settings(extend_exclude=("/gen", "*_pb2.py"), directory=tmp_path / "project")
    assert found(tmp_path, settings=settings) == ["project/b.py", "project/src/gen/a.py"]


def test_gitignore_files_apply_from_the_top_of_the_repository_down(tmp_path):
    write(
        tmp_path,
        {
            ".git/HEAD": "",
            ".gitignore": "gen/\n/top.py\n*_old.py\n!keep_old.py\n",
            "top.py": "",
            "sub/top.py": "",
            "sub/gen/a.py": "",
            "sub/x_old.py": "",
            "sub/keep_old.py": "",
            "sub/deep/.gitignore": "!x_old.py\nlocal.py\n",
            "sub/deep/x_old.py": "",
            "sub/deep/local.py": "",
            "sub/local.py": "",
        },
    )
    kept = ["sub/deep/x_old.py", "sub/keep_old.py", "sub/local.py", "sub/top.py"]
    assert found(tmp_path) == kept
    assert found(tmp_path, "sub") == kept


def test_a_gitignore_outside_a_repository_does_not_apply(tmp_path):
    write(tmp_path, {".gitignore": "*.py\n", "sub/a.py": ""})
    assert found(tmp_path, "sub") == ["sub/a.py"]


def test_paths_outside_the_root_are_relative_to_it(tmp_path):
    write(tmp_path, {"here/a.py": "", "there/b.py": ""})
    files = discover([tmp_path / "there", tmp_path / "here"], Settings(), tmp_path / "here").files
    assert [file.display_path for file in files] == ["../there/b.py", "a.py"]


def test_a_path_that_does_not_exist_is_a_wrong_command(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere\.py: no such file or directory"):
        discover([tmp_path / "nowhere.py"], Settings(), tmp_path)


def test_a_linked_folder_is_walked_once(tmp_path):
    write(tmp_path, {"p/inside/a.py": "", "outside/b.py": ""})
    (tmp_path / "p/again").symlink_to(tmp_path / "p/inside")
    (tmp_path / "p/one").symlink_to(tmp_path / "outside")
    (tmp_path / "p/two").symlink_to(tmp_path / "outside")
    assert found(tmp_path, "p") == ["p/inside/a.py", "p/one/b.py"]


def test_a_linked_file_is_read_once(tmp_path):
    write(tmp_path, {"p/inside.py": "", "p/b.txt": "", "outside/b.py": ""})
    for name, target in (("again", "p/inside"), ("one", "outside/b"), ("two", "outside/b")):
        (tmp_path / f"p/{name}.py").symlink_to(tmp_path / f"{target}.py")
    (tmp_path / "p/same.py").hardlink_to(tmp_path / "p/inside.py")
    assert found(tmp_path, "p") == ["p/inside.py", "p/one.py", "p/same.py"]
    assert found(tmp_path) == ["outside/b.py", "p/inside.py", "p/same.py"]
    assert found(tmp_path, "p/again.py", "p/inside.py") == ["p/again.py", "p/inside.py"]


PATTERNS = """\
# a comment
plain
/anchored
mid/slash
folder/
*.gen.py
!keep.gen.py
a?c.py
[x-z]*.py
[!a-z]9.py
**/deep/leaf.py
deep2/**
one/**/two.py
\\#odd.py
\\!bang.py
spaced\\\x20
open[bracket.py
"""
PLACES = [
    "plain", "sub/plain", "anchored", "sub/anchored", "mid/slash", "sub/mid/slash", "folder/x.py", "sub/folder/x.py",
    "q.gen.py", "sub/keep.gen.py", "abc.py", "abbc.py", "xx.py", "sub/z.py", "Q9.py", "q9.py", "deep/leaf.py",
    "s/t/deep/leaf.py", "deep2/x/y.py", "sub/deep2/x.py", "one/two.py", "one/1/2/two.py", "#odd.py", "!bang.py",
    "spaced ", "spaced", "open[bracket.py", "a/c.py",
]  # fmt: skip


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge here")
@pytest.mark.parametrize("text", [PATTERNS, "/**\n!/*/\n!/one/*\n", "**\n!sub\n"])
def test_patterns_mean_the_same_as_in_git(tmp_path, text):
    write(tmp_path, {".gitignore": text})
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    asked = subprocess.run(
        ["git", "-C", tmp_path, "check-ignore", "--no-index", "-z", "--stdin"],
        input="\0".join(PLACES).encode(),
        capture_output=True,
        check=False,
    )
    patterns = Patterns(text.splitlines())

    def left_out(place: str) -> bool:
        parts = place.split("/")
        above = ("/".join(parts[:length]) for length in range(1, len(parts)))
        if any(patterns.verdict(folder, folder=True) for folder in above):
            return True
        return bool(patterns.verdict(place, folder=False))

    assert [p for p in PLACES if left_out(p)] == [p for p in PLACES if p in asked.stdout.decode().split("\0")]


@pytest.mark.parametrize(
    ("path", "glob", "matches"),
    [
        ("tests/test_a.py", "tests/**", True),
        ("tests/unit/test_a.py", "tests/*", True),
        ("src/tests/test_a.py", "tests/**", False),
        ("src/tests/test_a.py", "**/tests/**", True),
        ("tests/test_a.py", "**/tests/**", True),
        ("src/tests/test_a.py", "tests", True),
        ("src/a_pb2.py", "*_pb2.py", True),
        ("src/a_pb2.pyi", "*_pb2.py", False),
        ("src/a.py", "src/?.py", True),
        ("src/x/a.py", "src/?.py", False),
        ("src+/a.py", "src+/a.py", True),
        ("src/v2/a.py", "src/v[0-9]/**", True),
        ("src/vx/a.py", "src/v[0-9]/**", False),
        ("src/vx/a.py", "src/v[!0-9]/**", True),
        ("src/v[/a.py", "src/v[[]/**", True),
        ("src/v^]/a.py", "src/v[]^][]]/**", True),
        ("src/v/a.py", "src[!a]v/**", False),
        ("src/[/a.py", "src/[/a.py", True),
        ("src/[z-a]/a.py", "src/[z-a]/a.py", True),
    ],
)
def test_a_glob_matches_as_in_gitignore(path, glob, matches):
    assert matches_glob(path, glob) is matches


def test_a_name_that_is_no_text_is_escaped(tmp_path):
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xff.py")).write_text("")
    except OSError:
        pytest.skip("this file system has no such names")
    assert found(tmp_path) == ["b\\udcff.py"]
