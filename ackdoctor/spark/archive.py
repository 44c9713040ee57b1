"""An archive of the classes that Spark is made of (AppCDS): a JVM that has one maps them and does not read them anew.

A JVM takes only what one of the same build wrote for the same class path, and goes without if that is not so; here each
such surrounding has a file of its own in a folder.  Where nobody names one it is kept in the user's cache, if it was
missed there an hour ago: a machine that forgets everything after a job never writes it.
"""

import hashlib
import os
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkContext

from ackdoctor.cache_folder import CacheFolder, NoCacheError
from ackdoctor.model.errors import UsageError
from ackdoctor.spark.session import first_jars, java_here, spark_jars

__all__ = ["ClassArchive", "usual"]

_PATIENCE_S = 300  # some 10 s are usual
_REMEMBERS_S = 3_600  # after which a machine that knows what was missed is worth an archive
_UNUSED_S = 30 * 86_400  # after which one in the user's cache goes
_SILENT = "-Xlog:cds=off -Xlog:cds+dynamic=off"


class ClassArchive:
    """The archive of a folder that this Java and this Spark can use.

    Where there is none, the JVM that is launched in here writes it as it ends; not if something goes wrong in here.
    `is_new` says that there was none, and `file` is then where it has been written, or None.
    """

    def __init__(self, folder: Path) -> None:
        """UsageError where nothing can be written to the folder; ConfigError where there is no Java."""
        java = java_here()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder}: no folder for an archive of classes: {error.strerror}") from error
        self._stem = folder.resolve() / f"spark-{pyspark.__version__}-{_surroundings(java)}"
        self.file = self._whole()
        self.is_new = self.file is None
        self._is_ours = SparkContext._active_spark_context is None  # noqa: SLF001 - the JVM that will be launched
        if self.is_new and not os.access(folder, os.W_OK):
            raise UsageError(f"{folder}: an archive of classes cannot be written there: Permission denied")

    @property
    def options(self) -> str:
        """What the JVM is told."""
        if self.is_new:
            return shlex.quote(f"-XX:ArchiveClassesAtExit={self._unfinished}")
        return f"{shlex.quote(f'-XX:SharedArchiveFile={self.file}')} {_SILENT}"

    def __enter__(self) -> "ClassArchive":  # noqa: PYI034 - Python 3.10 has no Self
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        context, gateway = SparkContext._active_spark_context, SparkContext._gateway  # noqa: SLF001 - they have no other names
        if not (self.is_new and self._is_ours) or context is None or gateway is None:
            return
        process: subprocess.Popen[bytes] = gateway.proc
        try:
            if kind is None:
                context.stop()
                gateway.shutdown()
                SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - the next session launches its own
                process.communicate(timeout=_PATIENCE_S)  # it ends with what it reads from
                size = self._unfinished.stat().st_size
                self._unfinished.replace(f"{self._stem}-{size}.jsa")
        except (OSError, Py4JError, subprocess.TimeoutExpired):  # as `file` tells
            pass
        finally:
            process.kill()
            process.wait()
            self._unfinished.unlink(missing_ok=True)
        self.file = self._whole()

    def missed_before(self) -> bool:
        """Whether that is noted, and long ago; it is noted anew then, so that of two runs one writes, and a JVM that makes none is not asked each time.  OSError where nothing can be noted."""
        mark = Path(f"{self._stem}.missed")
        noted = mark.exists()
        long_ago = noted and time.time() - mark.stat().st_mtime > _REMEMBERS_S
        if long_ago or not noted:
            mark.touch()
        return long_ago

    @property
    def _unfinished(self) -> Path:
        return Path(f"{self._stem}.{os.getpid()}")

    def _whole(self) -> Path | None:
        """The archive that has the size which its name says: of one that was cut short a JVM would die."""
        for file in self._stem.parent.glob(f"{self._stem.name}-*.jsa"):
            if file.stem.rpartition("-")[2] == str(file.stat().st_size):
                return file
        return None


def usual() -> ClassArchive | None:
    """The one in the user's cache, if it is there or was missed long ago; None too where nothing can be kept.  ConfigError where there is no Java.

    Those of a Java or a Spark that is not used any more go after a month.
    """
    try:
        folder = CacheFolder(outside=[Path.cwd()]).path  # a JVM runs what is in an archive
        archive = ClassArchive(folder)
        if archive.file is None:
            return archive if archive.missed_before() else None
        archive.file.touch()
        for other in folder.glob("spark-*"):
            if time.time() - other.stat().st_mtime > _UNUSED_S:
                other.unlink()
    except (OSError, UsageError, NoCacheError):
        return None
    return archive


def _surroundings(java: Path) -> str:
    """A word for that Java and the jars that a JVM of ours would be launched with: what a JVM compares."""
    digest = hashlib.sha256()
    for file in _files(java):
        found = file.stat()
        digest.update(f"{file}\0{found.st_size}\0{found.st_mtime_ns}\0".encode(errors="surrogateescape"))
    for told in (os.environ.get("SPARK_CONF_DIR", ""), first_jars()):
        digest.update(f"{told}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()[:12]


def _files(java: Path) -> Iterator[Path]:
    java = java.resolve()
    yield java
    yield from sorted(java.parents[1].glob("lib/server/*jvm*"))
    yield from spark_jars()
