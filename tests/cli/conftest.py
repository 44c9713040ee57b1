"""A shell in an empty folder."""

import pytest

from ackdoctor.model.errors import UsageError
from tests.cli.running import Shell


@pytest.fixture
def shell(shell: Shell, monkeypatch, tmp_path) -> Shell:
    monkeypatch.chdir(tmp_path)
    return shell


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
