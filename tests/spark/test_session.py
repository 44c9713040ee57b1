"""In what surroundings a JVM is launched, and what it is told."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ackdoctor.spark.session import _QUICK, _SPARING, _names_as_here, _to_its_end, first_jars

NAMES = ("LC_ALL", "LC_CTYPE", "LANG")


@pytest.mark.parametrize(
    ("said", "encoding", "launched"),
    [
        ({"LC_ALL": "C"}, "utf-8", "C.UTF-8"),
        ({"LC_ALL": "", "LANG": "POSIX"}, "utf-8", "C.UTF-8"),
        ({}, "utf-8", "C.UTF-8"),
        ({"LANG": "de_DE.utf8"}, "utf-8", None),
        ({"LC_ALL": "C", "LC_CTYPE": "C.UTF-8"}, "utf-8", "C.UTF-8"),
        ({"LC_ALL": "de_DE.ISO-8859-1"}, "iso8859-1", "de_DE.ISO-8859-1"),
    ],
)
def test_a_jvm_reads_names_as_python_does(monkeypatch, said, encoding, launched):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: encoding)
    with _names_as_here():
        inside = os.environ.get("LC_ALL")
    after = {name: os.environ[name] for name in NAMES if name in os.environ}
    assert (inside, after) == (launched, said)


@pytest.mark.skipif(not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="there is no Java")
@pytest.mark.parametrize(("options", "said"), [(_QUICK, ""), (_SPARING, "1 compiler directives added")])
def test_a_jvm_takes_its_options(options, said):
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    command = [java, *shlex.split(options), "-version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, said), done.stderr
    assert "warning" not in done.stderr.lower()


def launched_in_spite_of_ctrl_c(steps):
    with _to_its_end():
        signal.raise_signal(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as Spark sets one of its own
        steps.append("launched")


def test_ctrl_c_waits_for_the_jvm_and_means_then_what_it_did_before():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    steps: list[str] = []
    try:
        with pytest.raises(KeyboardInterrupt):
            launched_in_spite_of_ctrl_c(steps)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert steps == ["launched"]


STARTED = """
import sys
from ackdoctor.spark.session import session
with_extensions = {"spark.sql.extensions": "nobody.has.it"} if sys.argv[2:] else {}
made = session(
    master="local[1]",
    settings={"spark.sql.shuffle.partitions": "3", **with_extensions},
    java=f"-Xlog:class+load:file={sys.argv[1]}",
)
assert made.conf.get("spark.sql.shuffle.partitions") == "3"
assert made.conf.get("spark.sql.caseSensitive") == "true"
assert made.range(7).count() == 7
print(made._jvm.System.getProperty("java.class.path"))
made.stop()
"""


@pytest.mark.minutes
@pytest.mark.skipif(not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="there is no Java")
@pytest.mark.parametrize(
    ("extensions", "defaults", "first", "with_mllib"),
    [
        ([], "", "spark-catalyst_", False),
        (["asked for"], "", "spark-catalyst_", True),
        ([], "spark.driver.extraClassPath /opt/ours", "ours", True),
    ],
    ids=["usual", "asked for", "class path of their own"],
)
def test_what_mllib_brings_is_loaded_only_for_whoever_may_have_extensions(
    extensions, defaults, first, with_mllib, tmp_path
):
    pytest.importorskip("pyspark")
    said = tmp_path / "classes"
    tmp_path.joinpath("spark-defaults.conf").write_text(defaults)
    command = [sys.executable, "-c", STARTED, str(said), *extensions]
    environment = {**os.environ, "SPARK_CONF_DIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    loaded = "org.apache.spark.sql.ml.InternalFunctionRegistration" in said.read_text()
    assert (Path(done.stdout.split(os.pathsep)[0]).name.startswith(first), loaded) == (True, with_mllib)


@pytest.mark.parametrize(
    ("defaults", "ours"),
    [
        (None, True),
        ("spark.driver.memory 1g\n", True),
        ("spark.driver.extraClassPath=/opt/ours\n", False),
    ],
)
@pytest.mark.parametrize("folder", ["spark/conf", "elsewhere"])
def test_the_jars_with_most_classes_come_first_but_for_a_class_path_of_their_own(
    defaults, ours, folder, tmp_path, monkeypatch
):
    jars = tmp_path / "spark" / "jars"
    jars.mkdir(parents=True)
    for name in ("aircompressor-2.jar", "scala-library-2.13.jar", "spark-catalyst_2.13-4.jar", "zstd-1.jar"):
        jars.joinpath(name).touch()
    conf = tmp_path / folder
    conf.mkdir()
    if defaults is not None:
        conf.joinpath("spark-defaults.conf").write_text(defaults)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    if folder == "elsewhere":
        monkeypatch.setenv("SPARK_CONF_DIR", str(conf))
    wanted = [str(jars / "spark-catalyst_2.13-4.jar"), str(jars / "scala-library-2.13.jar")]
    assert first_jars() == (os.pathsep.join(wanted) if ours else "")


def test_where_a_class_path_cannot_name_the_folder_it_names_none(tmp_path, monkeypatch):
    jars = tmp_path / f"a{os.pathsep}b" / "jars"
    jars.mkdir(parents=True)
    jars.joinpath("spark-core_2.13-4.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(jars.parent))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    assert first_jars() == ""
