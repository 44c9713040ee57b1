"""The Spark session of an analysis, what Spark's errors mean to its user, and small helpers for DataFrames."""

import json
import logging
import os
import re
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TypeAlias

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import StructType

from ackdoctor.model import ConfigError, UsageError

_SMALL_BYTES = 2_000_000  # of input; below, Spark spends more on compiling a plan than on running it
LARGE_BYTES = 100_000_000  # of input; below, the JVM's C1 compiler alone costs less CPU than C1 and C2

_LOGGING = Path(__file__).with_name("log4j2.properties")
_LOUD_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "py4j")
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "10",  # Spark keeps them without its UI too: `watch` would collect them for days
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.ansi.enabled": "false",  # ANSI arithmetic is checked call by call, and no sum here needs it
    "spark.sql.legacy.sizeOfNull": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.pyspark.jvmStacktrace.enabled": "true",  # `root_cause` reads it
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "localhost",
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # costs two calls to the JVM for each column
}
_METASPACE = "-XX:MetaspaceSize=192m"  # for Spark's classes: saves five full collections at the start
_C1_ONLY = f"{_METASPACE} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_INTERPRETED = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_FOR_LARGE_INPUT = {
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": f"{_METASPACE} -XX:+UseParallelGC",
    "spark.sql.files.maxPartitionBytes": "32m",  # the sums of a task then fit in memory
    "spark.sql.codegen.aggregate.splitAggregateFunc.enabled": "false",  # one method: the JVM compiles it (test_plans.py)
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",  # its first map holds 65,536 keys, too few for roots
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "20000",  # roots in memory before Spark sorts all; its default is 128
    "spark.sql.inMemoryColumnarStorage.compressed": "false",  # ids and times do not compress
}
_NO_JAVA = (
    "Spark needs Java 17 or 21, or with pyspark 4.2 or newer 25, and there is none: install one (Debian: apt install "
    "openjdk-17-jre-headless; macOS: brew install openjdk@17), or set JAVA_HOME to one"
)


# ---- session ----


def session(
    *, master: str = "local[*]", input_bytes: int = 0, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return a session for that much input; `settings` override ours.  ConfigError if there is no Java.

    An active session is returned as it is.
    """
    if (active := SparkSession.getActiveSession()) is not None:
        return active
    _need_java()
    for name in _LOUD_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    log_file = shlex.quote(f"-Dlog4j2.configurationFile={_LOGGING}")
    builder = SparkSession.builder.appName("ackdoctor").master(master)
    for name, value in {
        **_SETTINGS,
        "spark.driver.defaultJavaOptions": log_file,
        **_settings_for(master, input_bytes),
        **(settings or {}),
    }.items():
        builder = builder.config(name, value)
    with _utf8_locale(), _delayed_interrupt():
        made = builder.getOrCreate()
    for name, value in (settings or {}).items():  # an invalid value fails here, not at the first file
        if made.conf.isModifiable(name):
            made.conf.set(name, value)
    return made


def tasks(spark: SparkSession) -> tuple[int, int]:
    """Return how many tasks of the running stages are finished, and how many there are; (0, 0) without a stage."""
    try:
        tracker = spark.sparkContext.statusTracker()
        found = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    except (Py4JError, PySparkException, OSError):  # the JVM ended meanwhile, which the analysis reports
        return 0, 0
    stages = [stage for stage in found if stage is not None]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)


def _settings_for(master: str, input_bytes: int) -> dict[str, str]:
    """Return what depends on the size of the input, on one machine."""
    if not master.startswith("local"):
        return {}
    if input_bytes < LARGE_BYTES:
        c1_only = {"spark.driver.extraJavaOptions": _C1_ONLY, "spark.sql.shuffle.partitions": "4"}
        return {**c1_only, **(_INTERPRETED if input_bytes < _SMALL_BYTES else {})}
    return {**_FOR_LARGE_INPUT, "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1))}


def _need_java() -> None:
    """Raise a ConfigError that says what to install if Spark would find no Java."""
    home = os.environ.get("JAVA_HOME")
    if home and not Path(home, "bin", "java").exists():
        raise ConfigError(f"JAVA_HOME is {home}, which has no bin/java: {_NO_JAVA}")
    if not home and shutil.which("java") is None:
        raise ConfigError(_NO_JAVA)


@contextmanager
def _delayed_interrupt() -> Iterator[None]:
    """Delay Ctrl-C until the JVM is up: a JVM that loses its parent while it starts never ends.

    Also restores the handler of Ctrl-C, which Spark replaces.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if received:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def _utf8_locale() -> Iterator[None]:
    """Start the JVM with a UTF-8 locale if Python decodes file names as UTF-8, as it also does in the locale C."""
    name = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "")
    if sys.getfilesystemencoding() != "utf-8" or re.search("(?i)utf-?8", name):
        yield
        return
    before = os.environ.get("LC_ALL")
    os.environ["LC_ALL"] = "C.UTF-8"
    try:
        yield
    finally:
        if before is None:
            del os.environ["LC_ALL"]
        else:
            os.environ["LC_ALL"] = before


# ---- errors ----

_CLASS_NAME = re.compile(r"^(?:[a-z_][\w$]*\.)+([A-Z]\w+): ")
_FILE = re.compile(r"(?:file|hdfs|s3a?|gs|abfss?):/+[^\s\x00-\x1f,;'\"]+")
_CAUSE = re.compile(r"^(?:Caused by: |: (?=[\w.$]+(?:Exception|Error)))(.*)", re.MULTILINE)
_NOT_STARTED = "the JVM did not start: see its message above (Java 17 or 21? enough memory? --conf spark.driver.memory=1g)"
_ENDED = "the JVM has ended: the kernel kills it where memory runs out; --conf spark.log.level=ERROR shows Spark's log"
_MEANINGS = {
    r"Cannot call methods on a stopped SparkContext.*": "the master does not answer, or has ended the application: see --master",
    r".*getSubject is not supported.*": "the java it found is too new for this version of Spark: set JAVA_HOME to Java 17 or 21, or install pyspark 4.2 or newer",
    r"\S*UnknownHostException: (\S+).*": r"no such host: \1",
    r".*Class org\.apache\.hadoop\.fs\.\S+ not found": "Spark comes without what reads this: for s3a --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION",
    r"FAILED_TO_UNCOMPRESS.*": "damaged: what was compressed cannot be unpacked",
    r".*column: \[(.+)\], physicalType: (\w+), logicalType: (\w+)": r"its column \1 holds \2, and that of a trace \3",
}


@contextmanager
def spark_errors(prefix: str = "Spark: ") -> Iterator[None]:
    """Raise errors of Spark and its JVM as a UsageError of one line that begins with the prefix."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        text = str(error)
        if isinstance(error, Py4JNetworkError | ConnectionError):
            reason = _ENDED
        else:
            reason = _NOT_STARTED if "JAVA_GATEWAY_EXITED" in text else root_cause(text)
        raise UsageError(f"{prefix}{reason}") from error


def root_cause(text: str) -> str:
    """Return the innermost cause of a Java stack trace that has a message, after the file if only one is named."""
    first, *_ = text.strip().splitlines() or [""]
    messages = [message for message in (first, *_CAUSE.findall(text)) if message.strip()]
    files = {name.rstrip(".:") for message in messages for name in _FILE.findall(message)}
    cause = messages[-1] if messages else ""
    for pattern, meaning in _MEANINGS.items():
        cause = re.sub(pattern, meaning, cause)
    cause = _CLASS_NAME.sub("", cause)
    file = files.pop() if len(files) == 1 else ""
    return cause if not file or file in cause else f"{file}: {cause}"


# ---- DataFrames ----

Persist: TypeAlias = Callable[[DataFrame], DataFrame]


@dataclass(slots=True)
class Cache:
    """Persists DataFrames in memory and on disk until it exits.

    `small` ones in one process are cut off from their plan, which Spark would otherwise plan again for each query.
    """

    small: bool = False
    frames: list[DataFrame] = field(default_factory=list)

    def __call__(self, frame: DataFrame) -> DataFrame:
        """Return the same rows, which Spark computes once."""
        if self.small and (frame.sparkSession.sparkContext.master or "").split("[")[0] == "local":
            return frame.localCheckpoint(eager=False).toDF(*frame.columns)  # new columns, for self-joins
        self.frames.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        return frame

    def __enter__(self) -> "Cache":  # noqa: PYI034 - Python 3.10 has no Self
        return self

    def __exit__(self, *_: object) -> None:
        for frame in self.frames:
            frame.unpersist()


def uncached(frame: DataFrame) -> DataFrame:
    """Persist nothing."""
    return frame


def expressions(figures: Mapping[str, str]) -> list[Column]:
    """Return named columns from their SQL."""
    return [F.expr(f"{what} as {name}") for name, what in figures.items()]


def as_table(frame: DataFrame, table: StructType, columns: Mapping[str, str]) -> DataFrame:
    """Return the columns of a table: those named here as SQL, the others as they are."""
    return frame.selectExpr(*(f"{columns.get(name, name)} as {name}" for name in table.names))


def literal_table(session: SparkSession, columns: str, rows: Iterable[Mapping[str, object]]) -> DataFrame:
    """Return rows that JSON can express as a table; `columns` are the fields of a struct: `log: int, name: string`.

    `createDataFrame` would start a Python worker for them.
    """
    text = json.dumps(list(rows))
    return session.sql(f"select inline(from_json(:rows, 'array<struct<{columns}>>'))", args={"rows": text})


def quoted(text: str) -> str:
    """Return the text as a literal of SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def collect_together(**tables: DataFrame) -> dict[str, list[Row]]:
    """Collect several small tables, each in its order, in one job: planning one costs more than running it."""
    marked = [frame.selectExpr(f"'{name}' as of", f"struct(*) as {name}") for name, frame in tables.items()]
    rows = reduce(lambda one, next_: one.unionByName(next_, allowMissingColumns=True), marked).collect()
    return {name: [row[name] for row in rows if row["of"] == name] for name in tables}
