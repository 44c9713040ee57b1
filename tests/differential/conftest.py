"""Real Storm, and a real HDFS, from their published artefacts, resolved by Maven when the tests run and kept in pytest's cache."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

JAVA = Path(__file__).parent / "java"
Ask = Callable[[str, str, str, list[str]], list[str]]
Topology = Callable[[str, str, str], Path]
OPEN = tuple(
    f"--add-opens=java.base/{each}=ALL-UNNAMED"
    for each in ("java.lang", "java.nio", "sun.nio.ch", "java.util")
)
WORKER_LAYOUT = "%d{yyyy-MM-dd HH:mm:ss.SSS} %c{1.} %t [%p] %msg%n"


@pytest.fixture(scope="session")
def ask(pytestconfig, tmp_path_factory) -> Ask:
    """`ask("storm-client", "2.8.3", "AckerDriver", lines)` gives the lines that a driver answers."""
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)} on the path")
    scratch = tmp_path_factory.mktemp("java")

    def answers(artifact: str, version: str, driver: str, lines: list[str]) -> list[str]:
        jars = _jars(pytestconfig, artifact, version)
        ran = subprocess.run(
            ["java", f"-Djava.io.tmpdir={scratch}", "-cp", f"{jars}/*", str(JAVA / f"{driver}.java")],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert ran.returncode == 0, ran.stderr[-2000:]
        return ran.stdout.splitlines()

    return answers


@pytest.fixture(scope="session")
def misuse(pytestconfig, tmp_path_factory) -> Topology:
    """`misuse("storm-server", "2.8.3", layout)`: a folder with `heard.txt`, the logs of a worker, and `local.log`.

    Of one run of MisuseTopology in a real LocalCluster.
    """
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)} on the path")

    def run(artifact: str, version: str, layout: str = WORKER_LAYOUT) -> Path:
        jars = _jars(pytestconfig, artifact, version)
        folder: Path = tmp_path_factory.mktemp(f"storm-{version}-")
        source = (JAVA / "MisuseTopology.java").read_text(encoding="utf-8")
        if version.startswith("0."):
            source = source.replace("org.apache.storm", "backtype.storm")
        (folder / "MisuseTopology.java").write_text(source, encoding="utf-8")
        # the ZooKeeper client of old versions takes an address apart that Java 14 and later print otherwise
        hosts = f"127.0.0.1 localhost localhost/<unresolved> {socket.gethostname()}\n"
        (folder / "hosts").write_text(hosts, encoding="utf-8")
        _ran(["javac", "-nowarn", "-cp", f"{jars}/*", "-d", ".", "MisuseTopology.java"], folder)
        heard = _ran(
            [
                "java", *OPEN, "-Djava.io.tmpdir=.", "-cp", f".:{jars}/*", "-Djdk.net.hosts.file=hosts", "-Dzookeeper.sasl.client=false",
                f"-Dlog4j.configurationFile={JAVA / 'log4j2.xml'}", "-Dlog.dir=.", "-Dlog.size=250KB",
                f"-Dlog.pattern={layout}", "MisuseTopology",
            ],
            folder,
        )  # fmt: skip
        (folder / "heard.txt").write_text(heard, encoding="utf-8")
        return folder

    return run


@pytest.fixture(scope="session")
def hdfs(pytestconfig, tmp_path_factory) -> Iterator[Callable[..., str]]:
    """`hdfs(folder, ...)`: the address of a new file system that has those folders in /data."""
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)} on the path")
    with ExitStack() as running:

        def started(*folders: Path) -> str:
            jars = _jars(pytestconfig, "hadoop-minicluster", "3.4.1", whose="hdfs")
            base = tmp_path_factory.mktemp("hdfs")
            command = ["java", f"-Djava.io.tmpdir={base}", "-cp", f"{jars}/*", str(JAVA / "HdfsDriver.java")]
            said = running.enter_context((base / "said.txt").open("w+", encoding="utf-8"))
            server = running.enter_context(
                subprocess.Popen(
                    [*command, str(base), *map(str, folders)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    text=True,
                )
            )  # that ends when its input does
            address = server.stdout.readline().strip() if server.stdout else ""
            said.seek(0)
            assert address, said.read()[-2000:]
            return address

        yield started


def _ran(command: list[str], folder: Path) -> str:
    ran = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False, timeout=300
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout


def _jars(config: pytest.Config, artifact: str, version: str, *, whose: str = "storm") -> Path:
    """The folder with an artefact and all it needs; `whose` names the POM that asks for it."""
    home = config.cache.mkdir(whose)
    folder = home / f"{artifact}-{version}"
    if folder.is_dir():
        return folder
    arriving = Path(tempfile.mkdtemp(dir=home)) / folder.name
    ran = subprocess.run(
        [
            "mvn", "-q", "-B", "-f", str(JAVA / f"{whose}.xml"),
            f"-Dasked.artifact={artifact}", f"-Dasked.version={version}",
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
