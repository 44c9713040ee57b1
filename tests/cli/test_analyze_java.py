"""How `ackdoctor analyze` comes by a JVM, and how both end."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

from tests.cli.test_analyze import ROOT, TRACE

NEEDS_JAVA = pytest.mark.skipif(
    not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="there is no Java"
)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java that could be hidden")
@pytest.mark.parametrize("environment", [{"PATH": ""}, {"JAVA_HOME": "/nowhere"}], ids=["no java", "no home"])
def test_without_java_one_line_says_what_to_install(environment):
    pytest.importorskip("pyspark")
    command = [sys.executable, "-m", "ackdoctor", "analyze", TRACE]
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    done = subprocess.run(
        command, cwd=ROOT, env=kept | environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "install one (Debian: apt install openjdk-17-jre-headless" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.java
@pytest.mark.slow
@NEEDS_JAVA
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("spark.driver.memory=1k", ["the JVM did not start: Too small maximum heap"]),
        ("spark.sql.shuffle.partitions=many", ["spark.sql.shuffle.partitions", "int", "many"]),
    ],
)
def test_a_setting_that_cannot_be_is_to_blame_and_no_input(setting, said):
    pytest.importorskip("pyspark")
    command = [sys.executable, "-m", "ackdoctor", "analyze", TRACE, "--conf", setting]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("ackdoctor: Spark: ")
    assert all(word in done.stderr for word in said)  # each Spark says it in its own words


@pytest.mark.java
@pytest.mark.slow
@NEEDS_JAVA
@pytest.mark.parametrize("seconds", [0, 2])
def test_ctrl_c_ends_it_as_the_shell_expects(seconds):
    pytest.importorskip("pyspark")
    # what a shell starts in the background ignores Ctrl-C, and so does what that starts
    listening = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    command = [sys.executable, "-c", listening, "-m", "ackdoctor", "analyze", TRACE]
    with subprocess.Popen(command, cwd=ROOT, stdout=-1, stderr=-1, text=True) as process:
        _wait_for_a_child_of(process.pid)  # the JVM
        sleep(seconds)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)
    assert (process.returncode, *said) == (130, "", "")


def _wait_for_a_child_of(pid: int) -> None:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    if not children.exists():
        sleep(3)
        return
    while not children.read_text():
        sleep(0.02)


MAPPED = "source: shared objects file (top)"  # as the JVM logs a class of an archive of somebody's own


def analyzed(folder: Path, loaded: Path | None = None, **environment: str) -> tuple[str, str]:
    """What is said on both streams; `loaded` is where the JVM logs each class that it loads."""
    if loaded:
        environment["JDK_JAVA_OPTIONS"] = f"-Xlog:class+load:file={loaded}-%p"
    command = [sys.executable, "-m", "ackdoctor", "analyze", TRACE, "--fail-on", "never"]
    surroundings = {**os.environ, "ACKDOCTOR_CLASS_ARCHIVE": str(folder), **environment}
    done = subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


@pytest.mark.minutes
@pytest.mark.java
@pytest.mark.slow
@NEEDS_JAVA
def test_an_archive_of_classes_is_written_once_and_not_taken_if_it_is_cut_short(tmp_path):
    pytest.importorskip("pyspark")
    from ackdoctor.spark.archive import ClassArchive

    folder = tmp_path / "class archive"
    said, told = analyzed(folder)
    (archive,) = folder.iterdir()
    assert told == f"ackdoctor: wrote {archive}\n"
    again = analyzed(folder, tmp_path / "loaded")
    assert again == (said, "")
    assert sum(log.read_text().count(MAPPED) for log in tmp_path.glob("loaded-*")) > 5_000
    cut = tmp_path / "cut"
    cut.write_bytes(archive.read_bytes()[: 1 << 20])
    cut.replace(archive)  # not in its place: a JVM that is about to end may still have it mapped
    assert ClassArchive(folder).file is None  # a JVM would die of it
    with_files = tmp_path / "conf"  # where a JVM finds no archive of its class path any more, and makes none
    with_files.mkdir()
    (with_files / "spark-defaults.conf").touch()
    written, missed = analyzed(folder, SPARK_CONF_DIR=str(with_files))
    assert (written, list(folder.iterdir())) == (said, [archive])
    assert missed.startswith(f"ackdoctor: {folder}: the JVM has not written its archive of classes: ")


@NEEDS_JAVA
def test_an_archive_that_was_missed_an_hour_ago_is_kept_in_the_user_s_cache(tmp_path, monkeypatch):
    pytest.importorskip("pyspark")
    from ackdoctor.spark.archive import usual

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert (usual(), usual()) == (None, None)
    (mark,) = (tmp_path / "ackdoctor").iterdir()
    os.utime(mark, (mark.stat().st_mtime - 3_700,) * 2)
    archive = usual()
    assert archive is not None
    assert archive.is_new
    assert usual() is None  # two runs at once do not both write it
    written = mark.with_name(f"{mark.stem}-3.jsa")
    written.write_bytes(b"jsa")
    unused = mark.with_name("spark-4.0.0-0123456789ab-7.jsa")
    unused.touch()
    os.utime(unused, (mark.stat().st_mtime - 40 * 86_400,) * 2)
    found = usual()
    assert found is not None
    assert (found.file, found.is_new, unused.exists()) == (written, False, False)


@NEEDS_JAVA
@pytest.mark.parametrize(("options", "kept"), [((), 1), (("--no-class-archive",), 0)])
def test_a_run_that_is_the_first_to_miss_an_archive_only_leaves_a_mark(
    shell, starts, tmp_path_factory, monkeypatch, options, kept
):
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.delenv("ACKDOCTOR_NO_CLASS_ARCHIVE")
    assert shell("analyze", str(ROOT / TRACE), *options).err == "ackdoctor: enough\n"
    assert [how["java"] for how in starts] == [""]
    assert len(list(cache.rglob("spark-*"))) == kept


@NEEDS_JAVA
def test_an_archive_in_the_current_folder_is_not_used(shell, starts, tmp_path, monkeypatch):
    """A JVM runs what is in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ACKDOCTOR_NO_CLASS_ARCHIVE")
    assert shell("analyze", str(ROOT / TRACE)).err == "ackdoctor: enough\n"
    assert [how["java"] for how in starts] == [""]
    assert list(tmp_path.rglob("spark-*")) == []


@NEEDS_JAVA
@pytest.mark.parametrize("taken", ["a file", "no home"])
def test_where_the_user_s_cache_cannot_be_used_an_analysis_goes_without(tmp_path, monkeypatch, taken):
    pytest.importorskip("pyspark")
    from ackdoctor.spark.archive import usual

    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file") if taken == "a file" else "")
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    assert usual() is None


@NEEDS_JAVA
def test_where_no_archive_of_classes_can_be_kept_nothing_is_started(shell):
    pytest.importorskip("pyspark")
    Path("archive").touch()
    done = shell("analyze", TRACE, "--class-archive", "archive")
    assert (done.code, done.out) == (2, "")
    assert done.err == "ackdoctor: archive: no folder for an archive of classes: File exists\n"
