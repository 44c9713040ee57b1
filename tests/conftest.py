"""Fixtures for all tests: golden files (`pytest --golden` rewrites them), a shell, the cache; and time limits."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.cli.running import Shell

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="rewrite the golden files instead of comparing")


def pytest_configure() -> None:
    settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy machine")
    os.environ["XDG_CACHE_HOME"] = os.devnull


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of the Spark session first: with xdist's worksteal, one worker then runs most of them in one JVM.

    With loadgroup, one worker runs all tests of a JVM, one after the other; xdist reads the group in its own hook.
    """
    items.sort(key=lambda item: "a_session" not in getattr(item, "fixturenames", ()))
    for item in items:
        if item.get_closest_marker("minutes"):
            item.add_marker(pytest.mark.timeout(3600))
        if item.get_closest_marker("java"):
            item.add_marker(pytest.mark.xdist_group("java"))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden("cfg-loops", text)` compares a text with tests/golden/cfg-loops.txt."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / f"{name}.txt"
        if request.config.getoption("--golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        assert path.exists(), f"no {path.name}: run pytest --golden"
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """A shell without colours and with the default width, also in a worker of xdist."""
    for name in (
        "NO_COLOR",
        "FORCE_COLOR",
        "COLUMNS",
        "GITHUB_WORKSPACE",
        "GITHUB_STEP_SUMMARY",
        "CI_PROJECT_DIR",
        "ACKDOCTOR_TRACEBACK",
    ):
        monkeypatch.delenv(name, raising=False)
    return Shell(monkeypatch, capsys)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache folder of lint in this test; the first run creates it."""
    root = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(root))
    return root / "ackdoctor" / "lint"
