"""Where the full tables go.  A place is looked at before anything is analysed: nothing is overwritten but such tables."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from pyspark.sql import SparkSession

from ackdoctor.model.errors import UsageError
from ackdoctor.spark.read.inputs import Inputs
from ackdoctor.spark.read.remote import file_system
from ackdoctor.spark.session import spark_errors

__all__ = ["TABLES", "need_place", "place"]

TABLES = ("verdicts", "entries", "deliveries", "completions", "growth", "ackers")
_TRIED = "_ackdoctor"  # a folder that is made and taken away
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PART = rf"part-\d{{5,}}-{_UUID}\S*\.parquet"  # a part of a trace has no such number, and no UUID
_WRITTEN = re.compile(rf"_temporary|_SUCCESS|\._SUCCESS\.crc|{_PART}|\.{_PART}\.crc")


def place(directory: str, table: str) -> str:
    """The folder of one table."""
    return f"{directory.rstrip('/')}/{table}"


def need_place(session: SparkSession, inputs: Inputs, directory: str) -> None:
    """UsageError where a table would overwrite an input, or anything that Spark did not write, or cannot be written."""
    read = tuple(chain.from_iterable(inputs.files.values()))
    for table in TABLES:
        folder = _Folder.of(session, place(directory, table))
        for name in read:
            if f"{name}/".startswith(f"{folder.whole}/"):
                raise UsageError(f"--output-dir: the table {folder.said} would overwrite an input: {name}")
        for name in folder.foreign():
            raise UsageError(
                f"--output-dir: the table {folder.said} would overwrite what is no table of ours: {name}"
            )
    refused = f"--output-dir {directory} cannot be written: "
    with spark_errors(refused):
        made = _Folder.of(session, place(directory, _TRIED)).is_made()
    if not made:
        raise UsageError(f"{refused}no folder can be made there")


@dataclass(slots=True, kw_only=True)
class _Folder:
    """A place of Hadoop's: as said, and as the inputs are named."""

    said: str
    whole: str
    system: Any
    path: Any

    @classmethod
    def of(cls, session: SparkSession, said: str) -> "_Folder":
        system, path = file_system(session, said)
        whole = system.makeQualified(path)
        local = whole.toUri().getScheme() == "file"
        name = os.path.realpath(whole.toUri().getPath()) if local else str(whole.toString())
        return cls(said=said, whole=name, system=system, path=path)

    def is_made(self) -> bool:
        """Whether the folder can be made; it is taken away again, with all that it lies in and that was not there.

        Some systems have an error of Java's for it.
        """
        new = [self.path]
        while (around := new[-1].getParent()) is not None and not self.system.exists(around):
            new.append(around)
        made = bool(self.system.mkdirs(self.path))
        for path in new:
            self.system.delete(path, False)
        return made

    def foreign(self) -> Iterator[str]:
        """What Spark did not write: the file that stands there instead of a folder, or files in it."""
        if not self.system.exists(self.path):
            return
        if not self.system.getFileStatus(self.path).isDirectory():
            yield "a file"
            return
        for status in self.system.listStatus(self.path):
            name = str(status.getPath().getName())
            if not _WRITTEN.fullmatch(name):
                yield name
