"""Real Storm from its published artefacts, resolved by Maven when the tests run and kept in pytest's cache."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

JAVA = Path(__file__).parent / "java"
Ask = Callable[[str, str, str, list[str]], list[str]]


@pytest.fixture(scope="session")
def ask(pytestconfig) -> Ask:
    """`ask("storm-client", "2.8.3", "AckerDriver", lines)` gives the lines that a driver answers."""
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)} on the path")

    def answers(artifact: str, version: str, driver: str, lines: list[str]) -> list[str]:
        jars = _jars(pytestconfig, artifact, version)
        ran = subprocess.run(
            ["java", "-cp", f"{jars}/*", str(JAVA / f"{driver}.java")],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert ran.returncode == 0, ran.stderr[-2000:]
        return ran.stdout.splitlines()

    return answers


def _jars(config: pytest.Config, artifact: str, version: str) -> Path:
    """The folder with an artefact and all it needs."""
    home = config.cache.mkdir("storm")
    folder = home / f"{artifact}-{version}"
    if folder.is_dir():
        return folder
    arriving = Path(tempfile.mkdtemp(dir=home)) / folder.name
    ran = subprocess.run(
        [
            "mvn", "-q", "-B", "-f", str(JAVA / "pom.xml"),
            f"-Dstorm.artifact={artifact}", f"-Dstorm.version={version}",
            "dependency:copy-dependencies", f"-DoutputDirectory={arriving}",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )  # fmt: skip
    if ran.returncode != 0:
        pytest.skip(f"Maven cannot resolve {artifact} {version}: {_reason(ran.stdout)}")
    try:
        arriving.rename(folder)
    except OSError:  # another worker was faster
        assert folder.is_dir()
    return folder


def _reason(output: str) -> str:
    return next((line for line in output.splitlines() if "ERROR" in line), "no reason given")[:200]
