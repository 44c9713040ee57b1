"""Files that only Hadoop reads (`hdfs://...`, `s3a://...`): which there are, and what they hold.

They are found as local ones are (`walking`), those that Spark does not see included.  A look into one takes a moment
each, so what is called like a part of a trace is taken for one; what else there is tells by its first bytes.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from ackdoctor.model.errors import UsageError
from ackdoctor.spark.read.sorts import (
    HEAD,
    MAGIC,
    FaultError,
    Sort,
    need_rows,
    need_version_of,
    sort_of_name,
    sort_of_text,
    text_of,
    unzipped,
)
from ackdoctor.spark.read.stamps import begun_ns, ended_ns
from ackdoctor.spark.read.walking import CHECKPOINT
from ackdoctor.spark.session import spark_errors
from ackdoctor.tracer.trace.files import LOCK, TERMS
from ackdoctor.tracer.trace.worker_log import GZIP

__all__ = ["Remote", "file_system", "remote"]

_LONG_HEAD = 1 << 22  # bytes of a log that begins with stack traces
_GLOB = re.compile(r"[][*?{}]")


@dataclass(slots=True, kw_only=True)
class Remote:
    """A file: its whole address, the names of its folder and of all `beside` it, and whether the user named it."""

    path: str
    name: str
    folder: str
    size: int
    beside: Sequence[str]
    named: bool
    _system: Any
    _path: Any

    def sort(self) -> tuple[Sort, int | None]:
        """What the file holds, and when it begins if it is a log; a FaultError if that is nothing for us."""
        need_rows(self.name, self.size)
        need_version_of(self.path)
        if (called := sort_of_name(self.name)) is not None:
            return called, None
        head = self._head(HEAD)
        if head.startswith(MAGIC):
            return Sort.PARQUET, None
        text = _unzipped(head)
        sort = sort_of_text(self.name, text, zipped=head.startswith(GZIP), stamped_later=self._stamped_later)
        return sort, _begun(text) if sort is Sort.LOG else None

    def ended_ns(self) -> int | None:
        """When the last line was written of a log that is not zipped: of such a one all would have to be fetched."""
        end = self._head(HEAD, max(0, self.size - HEAD))
        return None if self._head(len(GZIP)) == GZIP else ended_ns(text_of(end))

    def _stamped_later(self) -> bool:
        return _begun(_unzipped(self._head(_LONG_HEAD))) is not None

    def _head(self, count: int, begin: int = 0) -> bytes:
        try:
            with spark_errors(""):
                stream = self._system.open(self._path)
                try:
                    if begin:
                        stream.seek(begin)
                    return bytes(stream.readNBytes(count))
                finally:
                    stream.close()
        except UsageError as error:
            raise FaultError(str(error)) from error


def remote(session: SparkSession, address: str, fault: Callable[[str, str], None]) -> Iterator[Remote]:
    """All files of an address, which may be a pattern of Hadoop's; `fault` gets what cannot be looked at, and why."""
    try:
        with spark_errors(""):
            yield from _found(session, address, fault)
    except UsageError as error:
        fault(address, str(error).removeprefix(f"{address}: "))


def file_system(session: SparkSession, address: str) -> tuple[Any, Any]:
    """Hadoop's file system for an address or a path, and its Path."""
    jvm: Any = session._jvm  # noqa: SLF001 - Spark has no other door to Hadoop
    path = jvm.org.apache.hadoop.fs.Path(address)
    return path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration()), path  # noqa: SLF001 - as above


def _found(session: SparkSession, address: str, fault: Callable[[str, str], None]) -> Iterator[Remote]:
    system, path = file_system(session, address)
    there = bool(system.exists(path))
    tops = [system.getFileStatus(path)] if there else list(system.globStatus(path) or ())
    if not tops:
        fault(address, "nothing matches" if _GLOB.search(address) else "no such file or folder")
    for top in tops:
        if not top.isDirectory():
            yield _remote(system, top, (), named=there)
        elif _is_checkpoint(inside := list(system.listStatus(top.getPath()))):
            fault(str(top.getPath().toString()), CHECKPOINT)
        else:
            empty = True
            for file in _below(system, inside, fault):
                empty = False
                yield file
            if empty:
                fault(str(top.getPath().toString()), "the folder is empty")


def _below(system: Any, inside: Sequence[Any], fault: Callable[[str, str], None]) -> Iterator[Remote]:
    names = [str(each.getPath().getName()) for each in inside]
    for _, each in sorted(zip(names, inside, strict=True), key=lambda pair: pair[0]):
        if not each.isDirectory():
            yield _remote(system, each, names, named=False)
            continue
        try:
            with spark_errors(""):
                deeper = list(system.listStatus(each.getPath()))
        except UsageError as error:
            fault(str(each.getPath().toString()), f"this folder cannot be listed: {error}")
            continue
        if not _is_checkpoint(deeper):
            yield from _below(system, deeper, fault)


def _remote(system: Any, status: Any, beside: Sequence[str], *, named: bool) -> Remote:
    path = status.getPath()
    return Remote(
        path=str(path.toString()),
        name=str(path.getName()),
        folder=str(path.getParent().getName()),
        size=int(status.getLen()),
        beside=beside,
        named=named,
        _system=system,
        _path=path,
    )


def _is_checkpoint(inside: Sequence[Any]) -> bool:
    return {LOCK, TERMS} <= {str(each.getPath().getName()) for each in inside}


def _unzipped(head: bytes) -> bytes:
    return unzipped(head, _LONG_HEAD) if head.startswith(GZIP) else head


def _begun(head: bytes) -> int | None:
    return begun_ns(text_of(head))
