"""What Spark's own troubles mean: the innermost cause in one line, and a JVM that keeps its chatter to itself."""

import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import CapturedException

from ackdoctor.model.errors import UsageError

__all__ = ["hushed", "told"]

_LOUD = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "py4j")
_MOST_CAUSES = 20
_CLASS = re.compile(r"^(?:[a-z_][\w$]*\.)+([A-Z]\w+): ")
_FILE = re.compile(r"(?:file|hdfs|s3a?|gs|abfss?):/+[^\s\x00-\x1f,;'\"]+")
_JAVA = "the JVM did not start"
_GONE = "the JVM has ended"
_COMPLAINS = re.compile(r"(?i)error|exception|unrecognized|could not|failed|invalid|too small")
_SAYS_NOTHING = re.compile(
    r"Error occurred during initialization of VM|Error: (?:Could not create the Java Virtual Machine|A fatal exception has occurred).*"
)
_LOGGED = re.compile(
    r"^(?:\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?:ERROR|FATAL) \w+: |Exception in thread \"[^\"]*\" )"
)
_STARTS = re.compile(
    r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?:INFO|WARN) |Using Spark's default log4j|Setting (?:default|Spark) log level|To adjust logging level|WARNING: Using incubator modules"
)
_MUTE = "it said nothing, as one that was killed: the kernel does that where memory runs out"
_HINTS = {
    "UnsupportedClassVersionError": "Spark needs Java 17 or newer, and the java it found is older: set JAVA_HOME to Java 17 or 21",
    "FindException": "the java it found lacks modules that Spark needs: install a complete Java 17 or 21",
    "Address already in use": "no free port on this machine",
    "Could not reserve enough space": "not enough memory for the driver: --conf spark.driver.memory=1g",
}
_MEANINGS = {
    r"Cannot call methods on a stopped SparkContext.*": "the master does not answer, or has ended the application: see --master",
    r".*getSubject is not supported.*": "the java it found is too new for this version of Spark: set JAVA_HOME to Java 17 or 21, or install pyspark 4.2 or newer",
    r"\S*UnknownHostException: (\S+).*": r"no such host: \1",
    r".*Class org\.apache\.hadoop\.fs\.\S+ not found": "Spark comes without what reads this: for s3a --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION",
    r"FAILED_TO_UNCOMPRESS.*": "damaged: what was compressed cannot be unpacked",
    r"column: \[(.+)\], physicalType: (\w+), logicalType: (\w+)": r"its column \1 holds \2, and that of a trace \3",
}


@contextmanager
def hushed() -> Iterator[IO[bytes]]:
    """A JVM that is started in here writes its chatter into the file that this yields, as long as it lives."""
    for name in _LOUD:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    streams = {1: sys.stdout, 2: sys.stderr}
    for stream in streams.values():
        stream.flush()
    with tempfile.TemporaryFile() as chatter:
        loud = {number: os.dup(number) for number in streams}
        for number in streams:
            os.dup2(chatter.fileno(), number)
        try:
            yield chatter
        finally:
            for number, kept in loud.items():
                os.dup2(kept, number)
                os.close(kept)


@contextmanager
def told(chatter: IO[bytes] | None = None, *, whose: str = "Spark: ") -> Iterator[None]:
    """Raises what Spark raises in here as a UsageError of one line, which begins with `whose` trouble it is."""
    try:
        yield
    except Py4JJavaError as error:
        raise UsageError(f"{whose}{_innermost(error.java_exception)}") from error
    except CapturedException as error:
        raise UsageError(f"{whose}{_innermost(error._origin) or _first_line(str(error))}") from error  # noqa: SLF001 - it has no other name
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise UsageError(f"{whose}{_reason(error, chatter)}") from error


def _innermost(cause: Any) -> str:
    """The last cause that says something, with the file that an outer one may have named: one that names several blames none."""
    said = file = ""
    for _ in range(_MOST_CAUSES):
        if cause is None:
            break
        text = str(cause.toString())
        said = _first_line(text) or said
        named = {each.rstrip(".:") for each in _FILE.findall(text)}
        file = named.pop() if len(named) == 1 else file
        cause = cause.getCause()
    return said if not file or file in said else f"{file}: {said}"


def _reason(error: Exception, chatter: IO[bytes] | None) -> str:
    text = str(error)
    began = "JAVA_GATEWAY_EXITED" not in text
    if began and not isinstance(error, Py4JNetworkError | ConnectionError):
        return _first_line(text)
    lines: list[str] = []
    if chatter is not None:
        chatter.seek(0)
        lines = chatter.read().decode("utf-8", "replace").splitlines()
    hint = next((hint for word, hint in _HINTS.items() if any(word in line for line in lines)), "")
    spoken = filter(None, map(str.strip, lines))
    said = [line for line in spoken if not (_SAYS_NOTHING.fullmatch(line) or _STARTS.match(line))]
    told_ = [line for line in said if _COMPLAINS.search(line)] or said or [_MUTE]
    return (
        f"{_GONE if began else _JAVA}: {hint or _CLASS.sub('', _LOGGED.sub('', told_[-1 if began else 0]))}"
    )


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    for words, meaning in _MEANINGS.items():
        line = re.sub(words, meaning, line)
    return _CLASS.sub("", line)
