"""Which results come from the cache, and which never do."""

import json
import os
import random
import shutil
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

import ackdoctor
from ackdoctor.cache_folder import CacheFolder
from ackdoctor.config import Settings
from ackdoctor.model.finding import Report
from ackdoctor.model.source import read_file
from ackdoctor.rulebook import locate
from tests.lint.project import (
    BASE,
    BOLT,
    CLEAN,
    HEIR,
    JAVA_BOLT,
    lines,
    lint_project,
    unreadable_lines,
    write,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there is no cache on this system")

FIXTURES = Path(__file__).parents[2] / "fixtures" / "topologies"
SILENT = CLEAN + "        self.ack(tup)  # ackdoctor: ignore[ACK103] so be it\n"
QUIET_BASE = BASE.replace("auto_ack = False", "auto_ack = True ")
CHILD = "from shared.base import Base\n\n\nclass ChildBolt(Base):\n    def process(self, tup):\n        self.ack(tup)\n"
STRANGER = "# streamparse\nfrom ours import Base\n\n\nclass OursBolt(Base):\n    def process(self, tup):\n        self.ack(tup)\n"
CLUSTERS = 8


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Bolts that lint reads, and a base class beside them that it does not name."""
    root = tmp_path / "project"
    files = {
        "bolts/a.py": BOLT,
        "bolts/b.py": CLEAN,
        "bolts/heir.py": HEIR,
        "bolts/child.py": CHILD,
        "bolts/silent.py": SILENT,
        "bolts/CountBolt.java": JAVA_BOLT,
        "bolts/broken.py": "from streamparse import Bolt\nx = (\n",
        "bolts/plain.py": "x = 1\n",
        "bolts/stranger.py": STRANGER,
        "bolts/Main.kt": "import org.apache.storm.topology\n",
        "shared/base.py": BASE,
    }
    write(root, files)
    return root


class Runs:
    """Runs with a cache, and how many clusters the last of them analysed."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.analysed = 0

    def __call__(self, *paths: str, **more: Any) -> Report:
        self.analysed = 0
        cache = CacheFolder("lint")
        return lint_project(self.project, *(paths or ("bolts",)), cache=cache, progress=self._count, **more)

    def _count(self, done: int, _total: int) -> None:
        self.analysed = done


@pytest.fixture
def run(project: Path, cache: Path) -> Runs:
    return Runs(project)


def test_an_unchanged_run_analyses_nothing_and_reports_the_same(run, project):
    first = run()
    assert run.analysed == CLUSTERS
    assert lines(first) == ["bolts/CountBolt.java:20 ACK103", "bolts/a.py:9 ACK103", "bolts/heir.py:9 ACK103"]
    assert unreadable_lines(first) == ["bolts/broken.py:2:5 syntax error: '(' was never closed"]
    assert first.suppressed == 1
    assert [item.name for item in first.unknown_bases] == ["OursBolt"]
    for _ in range(2):
        assert run() == first == lint_project(project, "bolts")
        assert run.analysed == 0


def test_a_change_costs_one_cluster(run, project):
    run()
    write(project, {"bolts/b.py": BOLT})
    assert "bolts/b.py:9 ACK103" in lines(run())
    assert run.analysed == 1
    write(project, {"shared/base.py": BASE + "\n"})
    run()
    assert run.analysed == 2  # its two heirs


def test_a_fresh_checkout_costs_no_analysis(run, project, tmp_path):
    first = run()
    shutil.copytree(project, tmp_path / "clone")
    shutil.rmtree(project)
    run.project = tmp_path / "clone"
    assert run() == first
    assert run.analysed == 0


def write_keeping_time(path: Path, text: str) -> None:
    """Write as many other bytes, and keep the time of the file."""
    before = path.stat()
    path.write_text(text)
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file has other content": lambda root: write(root, {"bolts/b.py": BOLT}),
    "a file has other content, its old size and time": lambda root: write_keeping_time(
        root / "bolts/a.py", BOLT.replace("self.ack(tup)\n", "self.log(tup)\n", 1)
    ),
    "a file was added": lambda root: write(root, {"bolts/c.py": BOLT}),
    "a file was removed": lambda root: (root / "bolts/a.py").unlink(),
    "a file was renamed": lambda root: (root / "bolts/a.py").rename(root / "bolts/z.py"),
    "two files were exchanged": lambda root: write(root, {"bolts/a.py": CLEAN, "bolts/b.py": BOLT}),
    "a file in a language that is not read was added": lambda root: write(
        root, {"bolts/Other.scala": "import org.apache.storm.Config\n"}
    ),
    "a file is left out by git": lambda root: write(root, {".git/HEAD": "", ".gitignore": "a.py\n"}),
    "a base class has changed": lambda root: write(root, {"shared/base.py": QUIET_BASE}),
    "a base class has changed, not its size and time": lambda root: write_keeping_time(
        root / "shared/base.py", BASE.replace("auto_ack = False", "auto_ack = 1    ")
    ),
    "a base class is gone": lambda root: (root / "shared/base.py").unlink(),
    "a base class is none any more": lambda root: write(root, {"shared/base.py": "class Base: pass\n"}),
    "a nearer base class has appeared": lambda root: write(
        root, {"bolts/shared/base.py": "class Base: pass\n"}
    ),
    "another file hides the base class": lambda root: write(root, {"bolts/src/shared/base.py": QUIET_BASE}),
    "a comment silences a finding": lambda root: write(
        root, {"bolts/a.py": BOLT.rstrip() + "  # ackdoctor: ignore[ACK103] so be it\n"}
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_after_a_change_the_report_is_that_of_a_run_without_a_cache(run, project, change):
    first = run()
    change(project)
    again = run()
    assert again == lint_project(project, "bolts") != first
    assert run() == again


def test_a_new_base_class_in_a_neighbouring_source_tree_is_found(run, project):
    heir = JAVA_BOLT.replace("extends BaseRichBolt", "extends Base").replace(
        "import java.util.Map;", "import java.util.Map;\nimport shared.Base;"
    )
    base = "package shared;\nimport org.apache.storm.topology.base.BaseRichBolt;\npublic abstract class Base extends BaseRichBolt {\n}\n"
    path = "app/src/main/java/bolts/CountBolt.java"
    write(project, {path: heir, "lib/src/main/java/other/X.java": "class X {}\n"})
    assert lines(run("app")) == []
    write(project, {"lib/src/main/java/shared/Base.java": base})
    assert lines(run("app")) == [f"{path}:21 ACK103"]


@pytest.mark.parametrize(
    ("settings", "analysed"),
    [
        (Settings(extra_bases={"x.Y": "streamparse.Bolt"}), CLUSTERS),
        (Settings(dialect_version={"streamparse": "0.0"}), CLUSTERS),
        (Settings(ignore=("ACK103",)), 0),
        (Settings(per_file_ignores={"a.py": ("ACK103",)}), 0),
    ],
)
def test_other_settings_have_their_own_results(run, project, settings, analysed):
    run()
    assert run(settings=settings) == lint_project(project, "bolts", settings=settings)
    assert run.analysed == analysed


def other_code(patch: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "ackdoctor").mkdir()
    (folder / "ackdoctor" / "flow.py").write_text("x = 1\n")
    patch.setattr(ackdoctor, "__file__", str(folder / "ackdoctor" / "__init__.py"))


def other_messages(patch: pytest.MonkeyPatch, folder: Path) -> None:
    rules = Path(shutil.copytree(locate(), folder / "rules"))
    with (rules / "ACK103-double-ack.md").open("a") as page:
        page.write("\n")
    patch.setattr("ackdoctor.rulebook.locate", lambda: rules)


OTHERS: dict[str, Callable[[pytest.MonkeyPatch, Path], object]] = {
    "version": lambda patch, _: patch.setattr("ackdoctor.__version__", "9.9"),
    "Python": lambda patch, _: patch.setattr("sys.version", "4.0"),
    "parser": lambda patch, _: patch.setattr("importlib.metadata.version", str.upper),
    "own code": other_code,
    "messages": other_messages,
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS.keys())
def test_another_version_analyses_again(run, monkeypatch, tmp_path, change):
    run()
    change(monkeypatch, tmp_path)
    run()
    assert run.analysed == CLUSTERS


def test_changed_code_of_the_same_size_and_time_analyses_again(run, monkeypatch, tmp_path):
    other_code(monkeypatch, tmp_path)
    run()
    run()
    assert run.analysed == 0
    write_keeping_time(tmp_path / "ackdoctor" / "flow.py", "x = 2\n")
    run()
    assert run.analysed == CLUSTERS


def test_a_run_from_another_folder_has_its_own_results(run, project):
    """The same files have other names there."""
    run()
    run.project = project / "bolts"
    assert run(".") == lint_project(project / "bolts")


def test_a_refused_file_is_not_cached(run, project, monkeypatch):
    def refuse(path: str, limit: int) -> bytes:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("ackdoctor.lint.analysis.read_file", refuse)
        assert "bolts/a.py:0:0 permission denied" in unreadable_lines(run())
    assert run() == lint_project(project, "bolts")


def test_a_file_that_cannot_be_read_does_not_count_as_empty(run, project, monkeypatch):
    write(project, {"shared/base.py": ""})
    run()
    write(project, {"shared/base.py": BASE})
    base = str(project / "shared/base.py")

    def refuse(path: str, limit: int) -> bytes:
        if path == base:
            raise PermissionError(13, "Permission denied")
        return read_file(path, limit)

    for module in ("ackdoctor.lint.files", "ackdoctor.lint.analysis"):
        monkeypatch.setattr(f"{module}.read_file", refuse)
    assert run() == lint_project(project, "bolts")


def test_a_file_that_changes_during_the_run_is_not_cached(run, project, monkeypatch):
    def other(path: str, limit: int) -> bytes:
        return CLEAN.encode()

    with monkeypatch.context() as patch:
        patch.setattr("ackdoctor.lint.analysis.read_file", other)
        assert lines(run("bolts/a.py")) == []
    assert lines(run("bolts/a.py")) == ["bolts/a.py:9 ACK103"]


def test_standard_input_has_its_own_results(run):
    run()
    text = CLEAN.encode()
    assert "bolts/a.py:9 ACK103" not in lines(run(stdin=("bolts/a.py", text)))
    assert "bolts/a.py:9 ACK103" in lines(run())


# ---- invalid entries ----


def entries(cache: Path) -> list[Path]:
    return sorted(cache.iterdir())


def entry_with(key: str, content: object) -> bytes:
    """Return an entry with the right checksum."""
    text = json.dumps(content).encode()
    return blake2b(text, key=key.encode(), digest_size=20).hexdigest().encode() + b"\n" + text


@pytest.mark.parametrize(
    "content",
    [None, 3, [], {}, [1, 2], [1, [], [], [{}]], [1, [[]], [], []], [1, [], [{}], []], ["x", 3, 4], [1, [], [], [[]]], [1, [], [], [{"code": "ACK101"}]]],
)  # fmt: skip
def test_an_entry_of_another_shape_is_ignored_and_replaced(run, project, cache, content):
    first = run()
    before = {path: path.read_bytes() for path in entries(cache)}
    for path in before:
        path.write_bytes(entry_with(path.name, content))
    assert run() == first
    assert {path: path.read_bytes() for path in entries(cache)} == before


def test_a_result_under_the_name_of_another_is_ignored(run, project, cache):
    first = run()
    for path in entries(cache):
        path.unlink()
    write(project, {"bolts/clean.py": CLEAN})
    run("bolts/clean.py")
    (clean,) = entries(cache)
    run()
    for path in entries(cache):
        if path != clean:
            path.write_bytes(clean.read_bytes())
    (project / "bolts/clean.py").unlink()
    assert run() == first
    assert run.analysed == CLUSTERS


def test_links_and_pipes_in_the_place_of_entries_are_replaced(run, project, cache, tmp_path):
    first = run()
    (tmp_path / "precious").write_text("mine")
    for number, path in enumerate(entries(cache)):
        path.unlink()
        if number % 3 == 0:
            os.mkfifo(path)
        else:
            path.symlink_to(tmp_path / ("precious", "dangling")[number % 2])
    assert run() == first
    assert run.analysed == CLUSTERS
    assert all(path.is_file() and not path.is_symlink() for path in entries(cache))
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (tmp_path / "dangling").exists()


def test_a_full_disk_costs_the_cache_only(run, cache, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        first = run()
    assert entries(cache) == []
    assert run() == first
    assert run.analysed == CLUSTERS


def damage(data: bytes, dice: random.Random) -> bytes:
    """Return the bytes with some of them changed, deleted, doubled or cut off."""
    at = dice.randrange(len(data) + 1)
    end = min(len(data), at + dice.choice((1, 8, 100)))
    match dice.randrange(6):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[end:]
        case 2:
            return data[:end] + data[at:]
        case 3:
            return data[:at] + dice.randbytes(end - at) + data[end:]
        case 4:
            flipped = bytearray(data)
            for _ in range(dice.choice((1, 5))):
                flipped[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            return bytes(flipped)
        case _:
            return dice.choice((b"", b"\0" * 100, b"[" * 100_000, dice.randbytes(1000)))


def fuzz(root: Path, cache: Path, seed: int, rounds: int) -> None:
    """Damage every entry repeatedly; the report is always that of a run without a cache."""
    dice = random.Random(seed)
    want = lint_project(root)
    assert lint_project(root, cache=CacheFolder("lint")) == want
    good = {path: path.read_bytes() for path in entries(cache)}
    assert good
    for _ in range(rounds):
        chosen = dice.sample(sorted(good), dice.randint(1, len(good)))
        for path in chosen:
            path.write_bytes(damage(good[path], dice))
        assert lint_project(root, cache=CacheFolder("lint")) == want
        assert {path: path.read_bytes() for path in entries(cache)} == good


def test_damaged_entries_change_nothing(project, cache):
    fuzz(project, cache, seed=27, rounds=15)


@pytest.mark.minutes
@pytest.mark.parametrize("seed", range(4))
def test_damaged_entries_of_whole_topologies_change_nothing(cache, seed):
    fuzz(FIXTURES / "streamparse", cache, seed=seed, rounds=60)
