"""The start of the JVM, and the report of Spark's errors."""

import os
import signal

import pytest

pytest.importorskip("pyspark")

from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkRuntimeError

from ackdoctor.model import UsageError
from ackdoctor.spark.session import _delayed_interrupt, _utf8_locale, root_cause, spark_errors

NAMES = ("LC_ALL", "LC_CTYPE", "LANG")


@pytest.mark.parametrize(
    ("environment", "encoding", "started_with"),
    [
        ({"LC_ALL": "C"}, "utf-8", "C.UTF-8"),
        ({"LC_ALL": "", "LANG": "POSIX"}, "utf-8", "C.UTF-8"),
        ({}, "utf-8", "C.UTF-8"),
        ({"LANG": "de_DE.utf8"}, "utf-8", None),
        ({"LC_ALL": "C", "LC_CTYPE": "C.UTF-8"}, "utf-8", "C.UTF-8"),
        ({"LC_ALL": "de_DE.ISO-8859-1"}, "iso8859-1", "de_DE.ISO-8859-1"),
    ],
)
def test_the_jvm_decodes_file_names_as_python_does(monkeypatch, environment, encoding, started_with):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: encoding)
    with _utf8_locale():
        inside = os.environ.get("LC_ALL")
    after = {name: os.environ[name] for name in NAMES if name in os.environ}
    assert (inside, after) == (started_with, environment)


def start_despite_ctrl_c(steps):
    with _delayed_interrupt():
        signal.raise_signal(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Spark sets its own handler
        steps.append("started")


def test_ctrl_c_waits_for_the_jvm_and_then_works_as_before():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    steps: list[str] = []
    try:
        with pytest.raises(KeyboardInterrupt):
            start_despite_ctrl_c(steps)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert steps == ["started"]


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (
            "java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.\nThis was created at:",
            "the master does not answer, or has ended the application: see --master",
        ),
        (
            "org.apache.spark.sql.execution.datasources.SchemaColumnConvertNotSupportedException: "
            "column: [kind], physicalType: INT64, logicalType: tinyint",
            "its column kind holds INT64, and that of a trace tinyint",
        ),
        (
            "java.lang.UnsupportedOperationException: getSubject is not supported",
            "the java it found is too new for this version of Spark: set JAVA_HOME to Java 17 or 21, or install pyspark 4.2 or newer",
        ),
        ("java.net.UnknownHostException: namenode", "no such host: namenode"),
        ("java.io.IOException: FAILED_TO_UNCOMPRESS(5)", "damaged: what was compressed cannot be unpacked"),
        ("java.io.EOFException: Reached the end of stream", "Reached the end of stream"),
    ],
)
def test_the_innermost_cause_is_reported_in_plain_words(cause, reason):
    trace = f"An error occurred while calling o7.save.\n: org.apache.spark.SparkException: Job aborted\n\tat a.B\nCaused by: {cause}\n\tat c.D\n"
    assert root_cause(trace) == reason


def test_a_file_is_named_if_the_trace_names_no_other():
    cut = "\n\tat a.B\nCaused by: java.io.EOFException: cut\n"
    assert root_cause(f"split(file:/logs/a.log\x01file:/logs/b.log, 2){cut}") == "cut"
    assert root_cause(f"while reading file:/logs/a.log.{cut}") == "file:/logs/a.log: cut"


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (Py4JNetworkError("Error while sending or receiving"), "Spark: the JVM has ended"),
        (ConnectionRefusedError(111, "Connection refused"), "Spark: the JVM has ended"),
        (PySparkRuntimeError("[JAVA_GATEWAY_EXITED] exited"), "Spark: the JVM did not start"),
    ],
)
def test_an_error_is_one_line_whether_the_jvm_ended_or_never_started(raised, message):
    with pytest.raises(UsageError, match=message) as error, spark_errors():
        raise raised
    assert "\n" not in str(error.value)
