"""What is remembered between runs, and what is not."""

import json
import os
import time
from pathlib import Path

import pytest

from ackdoctor.config import Settings
from ackdoctor.model.finding import Report
from tests.engine.project import BOLT, CLEAN, age, lines, linted, printed, refused, write


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    write(
        root,
        {"a.py": BOLT, "b.py": CLEAN, "broken.py": "from streamparse import Bolt\nx = (\n", "other.py": ""},
    )
    age(root)
    return root


@pytest.fixture
def folder(project: Path) -> Path:
    return project / ".ackdoctor_cache"


class Watched:
    """Runs with a cache, and how many clusters each of them really examined."""

    def __init__(self, project: Path, folder: Path) -> None:
        self.project = project
        self.folder = folder
        self.examined = 0

    def run(self, settings: Settings | None = None) -> Report:
        self.examined = 0
        return linted(self.project, settings=settings, cache=self.folder, progress=self._count)

    def _count(self, done: int, _total: int) -> None:
        self.examined = done


@pytest.fixture
def watched(project, folder) -> Watched:
    return Watched(project, folder)


def test_an_unchanged_run_examines_nothing_and_says_the_same(watched):
    first = watched.run()
    assert watched.examined == 3
    assert lines(first) == ["a.py:9 ACK103"]
    assert [item.path for item in first.unreadable] == ["broken.py"]
    for _ in range(2):
        assert watched.run() == first
        assert watched.examined == 0


def test_a_change_costs_its_own_cluster_only(watched):
    tool = {"tool.py": "class Tool:\n    pass\n", "user.py": "from tool import Tool\n" + CLEAN}
    write(watched.project, tool)
    age(watched.project)
    watched.run()
    assert watched.examined == 4
    write(watched.project, {"b.py": BOLT})
    assert lines(watched.run()) == ["a.py:9 ACK103", "b.py:9 ACK103"]
    assert watched.examined == 1
    write(watched.project, {"tool.py": "class Tool:\n    x = 1\n"})
    watched.run()
    assert watched.examined == 1


def test_a_change_within_the_clocks_grain_is_seen(project, folder):
    write(project, {"a.py": BOLT})
    soon = time.time_ns() + 10**9  # on a busy machine the run begins later than the clock's grain
    os.utime(project / "a.py", ns=(soon, soon))
    status = (project / "a.py").stat()
    assert lines(linted(project, cache=folder)) == ["a.py:9 ACK103"]
    write(project, {"a.py": BOLT.replace("self.ack(tup)\n", "self.log(tup)\n", 1)})
    os.utime(project / "a.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (project / "a.py").stat().st_size == status.st_size
    assert lines(linted(project, cache=folder)) == []


def test_a_fresh_checkout_costs_no_analysis(watched):
    first = watched.run()
    age(watched.project, 5)
    assert watched.run() == first
    assert watched.examined == 0


@pytest.mark.parametrize(
    "settings",
    [
        Settings(extra_bases={"x.Y": "streamparse.Bolt"}),
        Settings(dialect_version={"streamparse": "0.0"}),
    ],
)
def test_other_settings_start_anew(watched, settings):
    watched.run()
    watched.run(settings)
    assert watched.examined == 3


def test_a_new_version_starts_anew(watched, monkeypatch):
    watched.run()
    monkeypatch.setattr("ackdoctor.__version__", "9.9")
    watched.run()
    assert watched.examined == 3


@pytest.mark.parametrize("parser", ["libcst", "tree_sitter", "tree_sitter_java"])
def test_another_version_of_a_parser_starts_anew(watched, monkeypatch, tmp_path, parser):
    watched.run()
    (tmp_path / "site" / f"{parser}-99.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "site")
    watched.run()
    assert watched.examined == 3


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[1, 2]",
        lambda text: "[" * 100_000,
        lambda text: json.dumps({**json.loads(text), "records": [], "outcomes": 3}),
        lambda text: json.dumps({**json.loads(text), "records": {"a.py": [1], "b.py": "x"}}),
        lambda text: json.dumps({**json.loads(text), "lexicons": {"python": [["storm"], 3]}}),
        lambda text: json.dumps(
            {**json.loads(text), "outcomes": {key: [1, 2] for key in json.loads(text)["outcomes"]}}
        ),
        lambda text: json.dumps(
            {**json.loads(text), "outcomes": {key: [1, [], [{}]] for key in json.loads(text)["outcomes"]}}
        ),
    ],
)
def test_a_damaged_cache_is_no_cache(project, folder, damage):
    first = linted(project, cache=folder)
    file = folder / "lint.json"
    file.write_text(damage(file.read_text()))
    assert linted(project, cache=folder) == first == linted(project, cache=folder)


def test_a_folder_that_cannot_be_written_caches_nothing(project):
    (project / "file").write_text("")
    assert linted(project, cache=project / "file" / "cache") == linted(project)


def test_the_folder_says_that_it_is_a_cache(project, folder):
    linted(project, cache=folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        ".gitignore",
        "CACHEDIR.TAG",
        "lint.json",
        "run.json",
    ]
    assert (folder / ".gitignore").read_text() == "*\n"
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_deleted_files_are_forgotten_and_others_are_not(project, folder):
    linted(project, cache=folder)
    (project / "b.py").unlink()
    write(project, {"other.py": "x = 1\n"})
    linted(project, "other.py", cache=folder)
    assert sorted(json.loads((folder / "lint.json").read_text())["records"]) == [
        "a.py",
        "broken.py",
        "other.py",
    ]


def test_what_the_system_refused_is_not_remembered(project, folder, monkeypatch):
    def refuse(path: str, limit: int) -> bytes:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("ackdoctor.engine.clusters.examine.read_file", refuse)
        report = linted(project, cache=folder)
    assert refused(report) == [f"{name}:0:0 permission denied" for name in ("a.py", "b.py", "broken.py")]
    assert lines(linted(project, cache=folder)) == ["a.py:9 ACK103"]


def test_standard_input_is_not_remembered(project, folder):
    text = BOLT.replace("ack", "log").encode()
    linted(project, cache=folder)
    assert lines(linted(project, "b.py", stdin=("a.py", text), cache=folder)) == []
    assert lines(linted(project, cache=folder)) == ["a.py:9 ACK103"]


def test_an_unchanged_run_loads_neither_parser_nor_frameworks(project, folder):
    linted(project, cache=folder)
    script = (
        "r = lint([root], Settings(), root=root, cache=root / '.ackdoctor_cache');"
        "heavy = {'libcst', 'ackdoctor.checks', 'ackdoctor.flow', 'ackdoctor.dialects'};"
        "print(len(r.findings), sorted(heavy & set(sys.modules)))"
    )
    assert printed(project, script) == "1 []\n"
