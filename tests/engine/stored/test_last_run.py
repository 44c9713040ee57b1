"""When the result of the last run stands for this one, and all that keeps it from doing so."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ackdoctor.config import Settings
from ackdoctor.engine.clusters.outcome import Whole
from ackdoctor.engine.files.discover import discover
from ackdoctor.engine.stored.last_run import LastRun
from ackdoctor.engine.stored.store import run_key
from tests.engine.project import (
    BASE,
    BOLT,
    CLEAN,
    HEIR,
    JAVA_BOLT,
    age,
    lines,
    linted,
    printed,
    refused,
    write,
)

SILENT = CLEAN + "        self.ack(tup)  # ackdoctor: ignore[ACK103] so be it\n"
QUIET_BASE = BASE.replace("auto_ack = False", "auto_ack = True ")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Bolts that are linted, and beside them a base class that is not."""
    root = tmp_path / "project"
    files = {
        "bolts/a.py": BOLT,
        "bolts/b.py": CLEAN,
        "bolts/heir.py": HEIR,
        "bolts/silent.py": SILENT,
        "bolts/CountBolt.java": JAVA_BOLT,
        "bolts/broken.py": "from streamparse import Bolt\nx = (\n",
        "bolts/plain.py": "x = 1\n",
        "bolts/Main.kt": "import org.apache.storm.topology\n",
        "shared/base.py": BASE,
    }
    write(root, files)
    (root / ".ackdoctor_cache").mkdir()  # or the first run makes it, and changes what the folder holds
    settle(root)
    return root


@pytest.fixture
def folder(project: Path) -> Path:
    return project / ".ackdoctor_cache"


def settle(root: Path) -> None:
    """Makes all look as old as it must be to be trusted."""
    age(root)
    for path in (root, *root.rglob("*")):
        if path.is_dir() or path.suffix == ".kt":
            os.utime(path, (1_000_000_000, 1_000_000_000))


def remembered(
    root: Path, folder: Path, *, settings: Settings | None = None, start: Path | None = None
) -> Whole | None:
    """What a run on the bolts would find in the cache."""
    settings = settings or Settings()
    found = discover([root / "bolts"], settings, start or root)
    files = (*found.files, *found.foreign)
    known = LastRun(folder, run_key(settings), files, str(start or root)).recall()
    return known and known[0]


def test_where_nothing_has_changed_the_last_result_stands(project, folder):
    first = linted(project, "bolts", cache=folder)
    assert lines(first) == ["bolts/CountBolt.java:20 ACK103", "bolts/a.py:9 ACK103", "bolts/heir.py:9 ACK103"]
    assert (first.suppressed, refused(first)) == (
        1,
        ["bolts/broken.py:2:5 syntax error: '(' was never closed"],
    )
    assert remembered(project, folder) is not None
    for _ in range(2):
        assert linted(project, "bolts", cache=folder) == first == linted(project, "bolts")


def test_it_costs_no_look_into_a_file(project, folder):
    linted(project, "bolts", cache=folder)
    script = (
        "r = lint([root / 'bolts'], Settings(), root=root, cache=root / '.ackdoctor_cache');"
        "ours = {name.rpartition('.')[2] for name in sys.modules if name.startswith('ackdoctor.engine.')};"
        "print(len(r.findings), sorted(ours & {'cache', 'hierarchy', 'index', 'lexicon', 'survey', 'whole'}))"
    )
    assert printed(project, script) == "3 []\n"


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file says something else": lambda root: write(root, {"bolts/b.py": BOLT}),
    "a file of the same size was written": lambda root: write(root, {"bolts/plain.py": "x = 2\n"}),
    "a file was touched": lambda root: os.utime(root / "bolts/a.py", (1_000_000_000, 1_000_000_000)),
    "a file was added": lambda root: write(root, {"bolts/c.py": BOLT}),
    "a file was removed": lambda root: (root / "bolts/a.py").unlink(),
    "a file was renamed": lambda root: (root / "bolts/a.py").rename(root / "bolts/z.py"),
    "a file in a language that nobody reads was added": lambda root: write(
        root, {"bolts/Other.scala": "import org.apache.storm.Config\n"}
    ),
    "a file is left out by git": lambda root: write(root, {".git/HEAD": "", ".gitignore": "a.py\n"}),
    "a base class that was not listed has changed": lambda root: write(root, {"shared/base.py": QUIET_BASE}),
    "a base class that was not listed is gone": lambda root: (root / "shared/base.py").unlink(),
    "a nearer base class has appeared": lambda root: write(
        root, {"bolts/shared/base.py": "class Base: pass\n"}
    ),
    "another file hides the base class": lambda root: write(root, {"src/shared/base.py": QUIET_BASE}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_where_something_has_changed_it_is_looked_at_again(project, folder, change):
    linted(project, "bolts", cache=folder)
    assert remembered(project, folder) is not None
    change(project)
    assert remembered(project, folder) is None
    assert linted(project, "bolts", cache=folder) == linted(project, "bolts")


def test_a_base_class_that_appears_in_a_neighbouring_source_tree_is_seen(tmp_path, folder):
    root = tmp_path / "build"
    heir = JAVA_BOLT.replace("extends BaseRichBolt", "extends Base").replace(
        "import java.util.Map;", "import java.util.Map;\nimport shared.Base;"
    )
    base = "package shared;\nimport org.apache.storm.topology.base.BaseRichBolt;\npublic abstract class Base extends BaseRichBolt {\n}\n"
    write(
        root,
        {"app/src/main/java/bolts/CountBolt.java": heir, "lib/src/main/java/other/X.java": "class X {}\n"},
    )
    settle(root)
    assert lines(linted(root, "app", cache=folder)) == []
    found = discover([root / "app"], Settings(), root)
    last = LastRun(folder, run_key(Settings()), found.files, str(root))
    assert last.recall() is not None
    write(root, {"lib/src/main/java/shared/Base.java": base})
    assert last.recall() is None
    path = "app/src/main/java/bolts/CountBolt.java"
    assert lines(linted(root, "app", cache=folder)) == [f"{path}:21 ACK103"]


@pytest.mark.parametrize(
    "settings",
    [
        Settings(extra_bases={"x.Y": "streamparse.Bolt"}),
        Settings(dialect_version={"streamparse": "0.0"}),
        Settings(ignore=("ACK103",)),
        Settings(per_file_ignores={"a.py": ("ACK103",)}),
    ],
)
def test_under_other_settings_it_is_looked_at_again(project, folder, settings):
    linted(project, "bolts", cache=folder)
    assert remembered(project, folder, settings=settings) is None
    report = linted(project, "bolts", cache=folder, settings=settings)
    assert report == linted(project, "bolts", settings=settings)


def test_other_versions_look_again(project, folder, monkeypatch, tmp_path):
    linted(project, "bolts", cache=folder)
    with monkeypatch.context() as patch:
        patch.setattr("ackdoctor.__version__", "9.9")
        assert remembered(project, folder) is None
    assert remembered(project, folder) is not None
    (tmp_path / "site" / "libcst-99.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert remembered(project, folder) is None


def test_a_run_from_elsewhere_looks_again(project, folder):
    """The same files go by other names there."""
    linted(project, "bolts", cache=folder)
    assert remembered(project, folder, start=project / "bolts") is None


def test_another_choice_of_files_looks_again(project, folder):
    linted(project, "bolts", cache=folder)
    assert lines(linted(project, "bolts/a.py", cache=folder)) == ["bolts/a.py:9 ACK103"]
    assert remembered(project, folder) is None


def test_what_came_by_standard_input_is_neither_remembered_nor_recalled(project, folder):
    linted(project, "bolts", cache=folder)
    text = CLEAN.encode()
    assert lines(linted(project, "bolts", stdin=("bolts/a.py", text), cache=folder)) == [
        "bolts/CountBolt.java:20 ACK103",
        "bolts/heir.py:9 ACK103",
    ]
    assert "bolts/a.py:9 ACK103" in lines(linted(project, "bolts", cache=folder))


@pytest.mark.parametrize("path", ["bolts/plain.py", "bolts/Main.kt", "shared/base.py"])
def test_what_was_written_a_moment_ago_is_not_trusted(project, folder, path):
    """It may be written again without a new time."""
    soon = time.time_ns() + 10_000_000_000  # or a slow machine takes longer than that moment
    os.utime(project / path, ns=(soon, soon))
    linted(project, "bolts", cache=folder)
    assert remembered(project, folder) is None


@pytest.mark.parametrize("module", ["clusters.examine", "files.survey"])
def test_what_the_system_refused_is_not_remembered(project, folder, monkeypatch, module):
    def refuse(path: str, limit: int) -> bytes:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(f"ackdoctor.engine.{module}.read_file", refuse)
        linted(project, "bolts", cache=folder)
    assert remembered(project, folder) is None
    assert linted(project, "bolts", cache=folder) == linted(project, "bolts")


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"around":{', '"around":[],"x":{'),
        lambda text: text.replace('"around":{', '"around":{"here":[1],'),
        lambda text: text.replace('"outcome":[', '"outcome":[[],'),
        lambda text: text.replace('"marked"', '"market"'),
        lambda text: text.replace('"code":', '"cod":'),
    ],
)
def test_a_damaged_result_is_none(project, folder, damage):
    first = linted(project, "bolts", cache=folder)
    file = folder / "run.json"
    damaged = damage(file.read_text())
    assert damaged != file.read_text()
    file.write_text(damaged)
    assert remembered(project, folder) is None
    assert linted(project, "bolts", cache=folder) == first
