"""Inner runs without needless plugins: hypothesis alone would take a second for each."""

import pytest

from tests.pytest_plugin.inner import write


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The fixture of pytest, which has just cleared the environment."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:cacheprovider")
    return pytester


@pytest.fixture
def run(pytester):
    def run(source, *arguments):
        write(pytester, source)
        return pytester.runpytest_inprocess("--ackdoctor", *arguments)

    return run
