"""A shell in an empty folder, without colours."""

import pytest

from tests.cli.running import Shell


@pytest.fixture
def shell(monkeypatch, capsys, tmp_path) -> Shell:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "ACKDOCTOR_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    return Shell(monkeypatch, capsys)
