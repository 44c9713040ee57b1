"""What a JVM says on its way, and what of that a user gets to read."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.trouble import _innermost, hushed

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
            "the java it found is too new for this version of Spark: set JAVA_HOME to Java 17 or 21",
        ),
        ("java.net.UnknownHostException: namenode", "no such host: namenode"),
        ("java.io.EOFException: Reached the end of stream", "Reached the end of stream"),
    ],
)
def test_what_only_a_developer_of_spark_understands_is_said_otherwise(thrown, said):
    assert _innermost(Thrown("org.apache.spark.SparkException: Job aborted", Thrown(thrown))) == said
