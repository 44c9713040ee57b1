"""Real Storm and a real HDFS: Maven downloads the published artifacts into pytest's cache."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

JAVA = Path(__file__).parent / "java"
Ask = Callable[[str, str, str, list[str]], list[str]]
Topology = Callable[[str, str, str], Path]
Cluster = Callable[..., list[str]]
OPEN = tuple(
    f"--add-opens=java.base/{each}=ALL-UNNAMED"
    for each in ("java.lang", "java.nio", "sun.nio.ch", "java.util")
)
WORKER_LAYOUT = "%d{yyyy-MM-dd HH:mm:ss.SSS} %c{1.} %t [%p] %msg%n"


@pytest.fixture(scope="session")
def ask(pytestconfig, tmp_path_factory) -> Ask:
    """`ask("storm-client", "2.8.3", "AckerDriver", lines)` returns the answers of a Java driver."""
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)} on the path")
    scratch = tmp_path_factory.mktemp("java")

    def answers(artifact: str, version: str, driver: str, lines: list[str]) -> list[str]:
        jars = jars_of(pytestconfig, artifact, version)
        done = subprocess.run(
            ["java", f"-Djava.io.tmpdir={scratch}", "-cp", f"{jars}/*", str(JAVA / f"{driver}.java")],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout.splitlines()

    return answers


@pytest.fixture(scope="session")
def misuse(pytestconfig, tmp_path_factory) -> Topology:
    """`misuse("storm-server", "2.8.3", layout)` runs MisuseTopology in a real LocalCluster.

    It returns a folder with `heard.txt`, the logs of a worker, and `local.log`.
    """
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)} on the path")

    def run(artifact: str, version: str, layout: str = WORKER_LAYOUT) -> Path:
        jars = jars_of(pytestconfig, artifact, version)
        folder: Path = tmp_path_factory.mktemp(f"storm-{version}-")
        source = (JAVA / "MisuseTopology.java").read_text(encoding="utf-8")
        if version.startswith("0."):
            source = source.replace("org.apache.storm", "backtype.storm")
        (folder / "MisuseTopology.java").write_text(source, encoding="utf-8")
        _run(["javac", "-nowarn", "-cp", f"{jars}/*", "-d", ".", "MisuseTopology.java"], folder)
        log = [f"-Dlog4j.configurationFile={JAVA / 'log4j2.xml'}", "-Dlog.dir=.", "-Dlog.size=250KB"]
        heard = _run([*_storm(jars, folder), *log, f"-Dlog.pattern={layout}", "MisuseTopology"], folder)
        (folder / "heard.txt").write_text(heard, encoding="utf-8")
        return folder

    return run


@pytest.fixture(scope="session")
def faulty_cluster(pytestconfig, tmp_path_factory) -> Cluster:
    """`faulty_cluster("StudyRuns", lines)` runs a main class of java/cluster, which lets workers of a LocalCluster die.

    It passes the lines, and returns those of the answer.  The class is compiled with the sources in `folders`.
    """
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)} on the path")

    def run(main: str, lines: Sequence[str], folders: Sequence[Path] = ()) -> list[str]:
        jars = jars_of(pytestconfig, "storm-server", "2.8.3")
        folder: Path = tmp_path_factory.mktemp(main)
        sources = [str(file) for each in folders for file in sorted(each.rglob("*.java"))]
        path = ["-sourcepath", str(JAVA / "cluster"), "-cp", f"{jars}/*", "-d", "."]
        _run(["javac", "-nowarn", *path, str(JAVA / "cluster" / f"{main}.java"), *sources], folder)
        port = 10_000 + os.getpid() * 128 % 20_000  # below those that the system gives to clients
        return _run([*_storm(jars, folder), main, str(port)], folder, "\n".join(lines)).splitlines()

    return run


def _storm(jars: Path, folder: Path) -> list[str]:
    """Return the start of a command that runs a LocalCluster with the classes in a folder."""
    # old ZooKeeper clients parse an address that Java 14 and later print differently
    hosts = f"127.0.0.1 localhost localhost/<unresolved> {socket.gethostname()}\n"
    (folder / "hosts").write_text(hosts, encoding="utf-8")
    settings = ["-Djava.io.tmpdir=.", "-Djdk.net.hosts.file=hosts", "-Dzookeeper.sasl.client=false"]
    settings += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]  # it waits more than it computes
    return ["java", *OPEN, *settings, "-cp", f".:{jars}/*"]


@pytest.fixture(scope="session")
def hdfs(pytestconfig, tmp_path_factory) -> Iterator[Callable[..., str]]:
    """`hdfs(folder, ...)` starts a file system with these folders in /data and returns its address."""
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)} on the path")
    with ExitStack() as running:

        def start(*folders: Path) -> str:
            jars = jars_of(pytestconfig, "hadoop-minicluster", "3.4.1", pom="hdfs")
            base = tmp_path_factory.mktemp("hdfs")
            command = ["java", f"-Djava.io.tmpdir={base}", "-cp", f"{jars}/*", str(JAVA / "HdfsDriver.java")]
            stderr = running.enter_context((base / "stderr.txt").open("w+", encoding="utf-8"))
            server = running.enter_context(
                subprocess.Popen(
                    [*command, str(base), *map(str, folders)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    text=True,
                )
            )  # it ends with its input
            address = server.stdout.readline().strip() if server.stdout else ""
            stderr.seek(0)
            assert address, stderr.read()[-2000:]
            return address

        yield start


def _run(command: list[str], folder: Path, text: str = "") -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=1200,  # a busy machine is slow
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def jars_of(config: pytest.Config, artifact: str, version: str, *, pom: str = "storm") -> Path:
    """Return the folder with an artifact and its dependencies; `pom` names the POM."""
    home = config.cache.mkdir(pom)
    folder = home / f"{artifact}-{version}"
    if folder.is_dir():
        return folder
    download = Path(tempfile.mkdtemp(dir=home)) / folder.name
    done = subprocess.run(
        [
            "mvn", "-q", "-B", "-f", str(JAVA / f"{pom}.xml"),
            f"-Dasked.artifact={artifact}", f"-Dasked.version={version}",
            "dependency:copy-dependencies", f"-DoutputDirectory={download}",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"Maven cannot resolve {artifact} {version}: {_reason(done.stdout)}")
    try:
        download.rename(folder)
    except OSError:  # another worker has finished first
        assert folder.is_dir()
    return folder


def _reason(output: str) -> str:
    return next((line for line in output.splitlines() if "ERROR" in line), "no reason given")[:200]
