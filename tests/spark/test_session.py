"""In what surroundings a JVM is launched, and what it is told."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ackdoctor.spark.session import _QUICK, _SPARING, _names_as_here, _to_its_end

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
made.stop()
"""


@pytest.mark.skipif(not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="there is no Java")
@pytest.mark.parametrize("extensions", [[], ["asked for"]])
def test_what_mllib_brings_is_loaded_only_for_whoever_asks_for_extensions(extensions, tmp_path):
    pytest.importorskip("pyspark")
    said = tmp_path / "classes"
    command = [sys.executable, "-c", STARTED, str(said), *extensions]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("org.apache.spark.sql.ml.InternalFunctionRegistration" in said.read_text()) == bool(extensions)
