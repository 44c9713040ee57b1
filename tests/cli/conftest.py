"""A shell in an empty folder; a project that is linted again and again."""

import compileall
from pathlib import Path

import pytest

import ackdoctor
from ackdoctor.model.errors import UsageError
from tests.cli.asking import settle
from tests.cli.running import Shell
from tests.engine.project import BASE, BOLT, CLEAN, HEIR, write


@pytest.fixture
def shell(shell: Shell, monkeypatch, tmp_path) -> Shell:
    monkeypatch.chdir(tmp_path)
    return shell


@pytest.fixture(scope="session")
def _compiled() -> None:
    """A package that some other test is the first to import gets a `__pycache__`, and its folder a new time."""
    compileall.compile_dir(Path(ackdoctor.__file__).parent, quiet=2)


@pytest.fixture
def project(tmp_path: Path, _compiled: None) -> Path:
    """Bolts that are linted, and beside them what decides about them too."""
    root = tmp_path / "project"
    files = {
        "bolts/a.py": BOLT,
        "bolts/b.py": CLEAN,
        "bolts/deep/plain.py": "x = 1\n",
        "bolts/heir.py": HEIR,
        "bolts/broken.py": "from streamparse import Bolt\nx = (\n",
        "shared/base.py": BASE,
        "elsewhere/c.py": CLEAN,
    }
    write(root, files)
    (root / "bolts/link.py").symlink_to("../elsewhere/c.py")
    settle()
    return root


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """What Spark was to be started with: it is not, and `ackdoctor: enough` is said instead."""
    pytest.importorskip("pyspark")
    asked: list[dict[str, object]] = []

    def started(**how: object) -> None:
        asked.append(how)
        raise UsageError("enough")

    monkeypatch.setattr("ackdoctor.spark.session.session", started)
    return asked
