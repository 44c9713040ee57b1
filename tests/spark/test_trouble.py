"""What a JVM says on its way, and what of that a user gets to read."""

import io
import os
import subprocess
import sys

import pytest

pytest.importorskip("pyspark")

from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkRuntimeError

from ackdoctor.model.errors import UsageError
from ackdoctor.spark.trouble import _MUTE, _innermost, hushed, told

TALK = "import sys; print('to stdout'); print('to stderr', file=sys.stderr)"


def test_what_is_launched_while_hushed_says_nothing_on_either_stream(capfd):
    with hushed() as said:
        subprocess.run([sys.executable, "-c", TALK], check=True)
        said.seek(0)
        chatter = said.read().decode()
    os.write(1, b"mine\n")
    assert sorted(chatter.splitlines()) == ["to stderr", "to stdout"]
    assert capfd.readouterr() == ("mine\n", "")


class Thrown:
    """An exception of Java's, as far as it is asked."""

    def __init__(self, text, cause=None):
        self.text, self.cause = text, cause

    def toString(self):  # noqa: N802 - as Java writes it
        return self.text

    def getCause(self):  # noqa: N802
        return self.cause


@pytest.mark.parametrize(
    ("thrown", "said"),
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
def test_what_only_a_developer_of_spark_understands_is_said_otherwise(thrown, said):
    assert _innermost(Thrown("org.apache.spark.SparkException: Job aborted", Thrown(thrown))) == said


def test_a_cause_that_names_several_files_blames_none():
    cut = Thrown("java.io.EOFException: cut")
    assert _innermost(Thrown("split(file:/logs/a.log\x01file:/logs/b.log, 2)", cut)) == "cut"
    assert _innermost(Thrown("while reading file:/logs/a.log.", cut)) == "file:/logs/a.log: cut"


DISK = b"""\
WARNING: Using incubator modules: jdk.incubator.vector
26/11/23 12:00:00 ERROR DiskBlockManager: Failed to create local dir in /full. Ignoring this directory.
26/11/23 12:00:00 ERROR DiskBlockManager: Failed to create any local dir.
"""


STARTED = b"""\
WARNING: Using incubator modules: jdk.incubator.vector
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties
26/11/24 01:45:42 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform... using builtin-java classes where applicable
Setting default log level to "WARN".
To adjust logging level use sc.setLogLevel(newLevel). For SparkR, use setLogLevel(newLevel).
"""


@pytest.mark.parametrize(
    ("raised", "chatter", "said"),
    [
        (
            Py4JNetworkError("Error while sending or receiving"),
            DISK,
            "the JVM has ended: Failed to create any local dir.",
        ),
        (
            ConnectionRefusedError(111, "Connection refused"),
            DISK,
            "the JVM has ended: Failed to create any local dir.",
        ),
        (ConnectionResetError(104, "reset"), b"", f"the JVM has ended: {_MUTE}"),
        (ConnectionResetError(104, "reset"), STARTED, f"the JVM has ended: {_MUTE}"),
        (
            PySparkRuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited"),
            b"Error occurred during initialization of VM\nToo small maximum heap\n",
            "the JVM did not start: Too small maximum heap",
        ),
        (
            PySparkRuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited"),
            b"Invalid maximum heap size: -Xmxlots\nError: Could not create the Java Virtual Machine.\n",
            "the JVM did not start: Invalid maximum heap size: -Xmxlots",
        ),
        (
            PySparkRuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited"),
            b'Exception in thread "main" org.apache.spark.SparkException: Master must either be yarn\n\tat x\n',
            "the JVM did not start: Master must either be yarn",
        ),
    ],
)
def test_a_jvm_that_ends_says_why(raised, chatter, said):
    with pytest.raises(UsageError) as error, told(io.BytesIO(chatter)):
        raise raised
    assert str(error.value) == f"Spark: {said}"
