"""Inner runs without other plugins; hypothesis alone would take a second per run."""

import pytest

from tests.pytest_plugin.inner import write


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Prepare pytest's own fixture for inner runs."""
    monkeypatch.setenv(
        "PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:asyncio -p no:pytest-lsp -p no:cacheprovider"
    )
    return pytester


@pytest.fixture
def run(pytester):
    def run(source, *arguments):
        write(pytester, source)
        return pytester.runpytest_inprocess("--ackdoctor", *arguments)

    return run
