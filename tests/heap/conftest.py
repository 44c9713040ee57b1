"""Fixtures with heaps of the real acker, ShellBolt and spout executor."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.differential.conftest import jars_of

JAVA = Path(__file__).parent / "java"
ARTIFACTS = {"1.1.0": "storm-core", "1.2.4": "storm-core", "2.8.3": "storm-client"}
Worker = Callable[..., list[str]]


@pytest.fixture(scope="session")
def worker(pytestconfig, tmp_path_factory) -> Worker:
    """`worker("2.8.3", lines)`: what HeapDriver answers; further words are options of the JVM."""
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)} on the path")
    compiled: dict[str, Path] = {}

    def answers(version: str, lines: Sequence[str], *options: str) -> list[str]:
        jars = jars_of(pytestconfig, ARTIFACTS[version], version)
        if version not in compiled:
            folder = compiled[version] = tmp_path_factory.mktemp(f"driver-{version}-")
            _run(
                ["javac", "-nowarn", "-cp", f"{jars}/*", "-d", str(folder), str(JAVA / "HeapDriver.java")], ""
            )
        command = ["java", *options, "-cp", f"{compiled[version]}:{jars}/*", "HeapDriver"]
        return _run(command, "".join(f"{line}\n" for line in lines)).splitlines()

    return answers


def _run(command: list[str], text: str) -> str:
    ran = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout
