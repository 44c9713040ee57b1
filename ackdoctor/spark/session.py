"""The Spark session that an analysis runs in."""

import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from ackdoctor.model.errors import ConfigError

__all__ = [
    "LARGE_BYTES",
    "SMALL_BYTES",
    "TINY_BYTES",
    "SparkSession",
    "first_jars",
    "java_here",
    "session",
    "spark_jars",
]

TINY_BYTES = 2_000_000  # of input; below, planning costs more than all that is planned

SMALL_BYTES = 30_000_000  # of input; below, one partition is enough

LARGE_BYTES = 100_000_000  # of input; below, the JVM's quick compiler alone costs less than both

_ROOM = "-XX:MetaspaceSize=192m"  # for Spark's classes, or the whole heap is collected five times until they are in
_QUICK = f"{_ROOM} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
_BEFORE_OURS = "spark.driver.defaultJavaOptions"  # what stands before `extraJavaOptions`
_PLANNING = Path(__file__).with_name("planning.json")
_SPARING = (  # most of what a minute compiles makes plans, which is not worth optimizing: it is left to the quick compiler; for all else thirty times the usual thresholds hold, but for what Spark makes of a plan
    f'{_ROOM} -XX:+UnlockDiagnosticVMOptions "-XX:CompilerDirectivesFile={_PLANNING}" -XX:+UseParallelGC '
    "-XX:Tier4InvocationThreshold=150000 -XX:Tier4MinInvocationThreshold=20000 "
    "-XX:Tier4CompileThreshold=500000 -XX:Tier4BackEdgeThreshold=1500000 -XX:CompileCommand=quiet "
    "-XX:CompileCommand=CompileThresholdScaling,org.apache.spark.sql.catalyst.expressions.GeneratedClass*::*,0.1"
)
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "10",  # for a page that nobody sees; plans among them, a watch would gather them for days
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.ansi.enabled": "false",  # with it each sum of two numbers is a call of a closure, and its handler; no sum of ours relies on it
    "spark.sql.types.framework.enabled": "false",  # of Spark 4.2: else whatever is not compiled asks the environment for each value that it reads
    "spark.sql.legacy.sizeOfNull": "false",  # which it implies: the size of null is null
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "localhost",
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # asks the JVM twice more for every column
}
_INTERPRETED = {  # no class is compiled, and no plan made again, for a handful of rows
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_CLASS_PATH = "spark.driver.extraClassPath"  # what stands before Spark's jars
_BRINGS_EXTENSIONS = ("spark.sql.extensions", "spark.jars", "spark.jars.packages", _CLASS_PATH)
_MOST_CLASSES = (  # of those that a run loads; by their number
    "spark-catalyst_",
    "spark-core_",
    "scala-library-",
    "spark-sql_",
    "spark-sql-api_",
    "log4j-core-",
    "jackson-databind-",
    "hadoop-client-api-",
    "parquet-jackson-",
    "janino-",
    "parquet-encoding-",
    "parquet-column-",
    "spark-network-common_",
    "commons-compiler-",
    "hadoop-client-runtime-",
    "netty-common-",
    "parquet-format-structures-",
    "antlr4-runtime-",
    "netty-transport-",
    "jackson-module-scala_",
    "log4j-api-",
    "jackson-core-",
    "parquet-hadoop-",
    "spark-common-utils_",
)
_NO_JAVA = (
    "Spark needs Java 17 or 21, or with pyspark 4.2 or newer 25, and there is none: install one (Debian: apt install "
    "openjdk-17-jre-headless; macOS: brew install openjdk@17), or set JAVA_HOME to one"
)


def session(
    *,
    master: str = "local[*]",
    input_bytes: int = 0,
    settings: Mapping[str, str] | None = None,
    java: str = "",
) -> SparkSession:
    """A session for so much input; `settings` win over ours, and `java` is told to the JVM besides.  ConfigError if there is no Java.

    A session that is active already is given back as it is: it belongs to somebody else.
    """
    if (active := SparkSession.getActiveSession()) is not None:
        return active
    java_here()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    chosen = {**_SETTINGS, **_sized(master, input_bytes), **(settings or {})}
    ours = first_jars()
    if ours:
        chosen.setdefault(_CLASS_PATH, ours)
    if java:
        chosen[_BEFORE_OURS] = f"{chosen.get(_BEFORE_OURS, '')} {java}".strip()
    conf = SparkConf().setAppName("ackdoctor").setMaster(master).setAll(list(chosen.items()))
    with _names_as_here(), _to_its_end():
        context = SparkContext.getOrCreate(conf)
    _without_mllib(context, ours)
    made = SparkSession.builder.config(conf=conf).getOrCreate()
    context.setLogLevel("ERROR")
    for name, value in (settings or {}).items():  # else the first file that is read would be to blame
        if made.conf.isModifiable(name):
            made.conf.set(name, value)
    return made


def _without_mllib(context: SparkContext, class_path: str) -> None:
    """Gives the JVM a session without extensions, which Spark's builder then takes.

    Else it looks for them on the class path, finds those of MLlib, and for their sake loads Scala's reflection: a quarter of
    the start.  Where somebody may have brought extensions they are looked for, and where Spark's constructor is another one;
    the `class_path` that is ours brings none.
    """
    jvm, java_context = context._jvm, context._jsc  # noqa: SLF001 - they have no other names
    told = dict(context.getConf().getAll())
    brought = [told[name] for name in _BRINGS_EXTENSIONS if told.get(name) and told[name] != class_path]
    if jvm is None or java_context is None or brought:
        return
    with suppress(Py4JError, TypeError):  # as py4j calls it where there is no such class
        java_session = jvm.org.apache.spark.sql.classic.SparkSession
        if java_session.getDefaultSession().isDefined():
            return
        nobody = getattr(getattr(jvm.scala, "None$"), "MODULE$")
        nothing = jvm.scala.collection.immutable.HashMap()
        extensions = jvm.org.apache.spark.sql.SparkSessionExtensions()
        made = java_session(java_context.sc(), nobody, nobody, extensions, nothing, nothing)
        java_session.setDefaultSession(made)


@contextmanager
def _to_its_end() -> Iterator[None]:
    """Ctrl-C waits for the JVM that is launched in here: one that loses its parent before it could say its port never ends.

    Afterwards it means what it did before.  Spark's own handler asks the JVM to cancel its jobs, in the middle of an answer.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if heard:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def _names_as_here() -> Iterator[None]:
    """A JVM that is launched in here reads names of files as this process does, to which the locale C is UTF-8."""
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


def _sized(master: str, input_bytes: int) -> dict[str, str]:
    """What depends on how much there is to read."""
    if not master.startswith("local"):
        return {}
    if input_bytes < SMALL_BYTES:
        quick = {"spark.driver.extraJavaOptions": _QUICK, "spark.sql.shuffle.partitions": "1"}
        return quick | _INTERPRETED if input_bytes < TINY_BYTES else quick
    cores = os.cpu_count() or 1
    return {
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": _QUICK if input_bytes < LARGE_BYTES else _SPARING,
        "spark.sql.files.maxPartitionBytes": "32m",  # a root is short, so the less a task reads the fewer sums it holds at once; those of 128 MB go to disk and back
        "spark.sql.codegen.aggregate.splitAggregateFunc.enabled": "false",  # the sums of a row are one method: it is short enough to be compiled (tests/spark/test_plans.py), and fifteen calls are not
        "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",  # a first map of 65,536 keys: of roots it is soon full, and every other row asks it in vain
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "20000",  # roots whose messages are gathered before all are sorted instead: 128 by default
        "spark.sql.inMemoryColumnarStorage.compressed": "false",  # ids and times do not shrink, and each value is counted for it
        "spark.sql.shuffle.partitions": str(4 * cores),
    }


def java_here() -> Path:
    """The java that Spark would launch.  ConfigError, which says what to do, where there is none."""
    if home := os.environ.get("JAVA_HOME"):
        java = Path(home, "bin", "java")
        if not java.exists():
            raise ConfigError(f"JAVA_HOME is {home}, which has no bin/java: {_NO_JAVA}")
        return java
    if (found := shutil.which("java")) is None:
        raise ConfigError(_NO_JAVA)
    return Path(found)


def spark_jars() -> list[Path]:
    """The jars of the Spark that pyspark finds."""
    return sorted(_spark_home().glob("jars/*.jar"))


def first_jars() -> str:
    """Spark's jars with most of its classes, as the beginning of a class path: a JVM looks for a class in one jar after the other, and there are 270.

    Empty where the defaults of Spark's own folder, or of SPARK_CONF_DIR, may name another beginning, or a class path cannot name the folder.
    """
    home = _spark_home()
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or home / "conf", "spark-defaults.conf")
    try:
        named = _CLASS_PATH in defaults.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        named = False
    except OSError:  # nobody knows what it names
        named = True
    if named or os.pathsep in str(home):
        return ""
    jars = spark_jars()
    return os.pathsep.join(str(jar) for name in _MOST_CLASSES for jar in jars if jar.name.startswith(name))


def _spark_home() -> Path:
    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
