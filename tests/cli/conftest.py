"""A shell in an empty folder."""

import pytest

from ackdoctor.model import UsageError
from tests.cli.running import Shell


@pytest.fixture
def shell(shell: Shell, monkeypatch, tmp_path) -> Shell:
    monkeypatch.chdir(tmp_path)
    return shell


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Record how Spark would be started, and raise `ackdoctor: enough` instead."""
    pytest.importorskip("pyspark")
    requested: list[dict[str, object]] = []

    def started(**how: object) -> None:
        requested.append(how)
        raise UsageError("enough")

    monkeypatch.setattr("ackdoctor.spark.session.session", started)
    return requested
