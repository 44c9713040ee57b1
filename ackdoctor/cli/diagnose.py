"""`ackdoctor diagnose`: what a log, a thread dump or a pasted error means."""

import errno
import os
import re
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from ackdoctor.cli.commands import STDIN, formats_option, lines_of, rule_names
from ackdoctor.cli.output import complain, context_for, destination, progress, write_screen
from ackdoctor.diagnose.diagnosis import Places, diagnose
from ackdoctor.diagnose.stacks import begins_dump
from ackdoctor.model import UsageError
from ackdoctor.model.finding import counted
from ackdoctor.reporters.diagnosis import document, screen
from ackdoctor.tracer.worker_log import open_log

_FORMATS = ("full", "json")
_LOG_SUFFIXES = frozenset({".log", ".err", ".out"})  # not the last suffix of a rotated log
_STREAMS = frozenset({".err", ".out"})  # what a process wrote itself, without times
_SUFFIXES = _LOG_SUFFIXES | {".txt", ".gz", ".json"}
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)")
_DATABASE_LOG = re.compile(r"\d{6}\.log")
_HEAD_LINES = 200
_NOT_A_NAME = {errno.ENAMETOOLONG, errno.ENOENT, errno.EINVAL, errno.ENOTDIR}


@dataclass(slots=True, kw_only=True)
class Diagnose:
    """Show what the errors in logs, or the threads of a dump, mean.

    Shows the innermost cause with its frames, the likely causes in order, the rules, what to do next.

    Exit code: 0 no known symptom; 1 known symptoms; 2 a file could not be read to its end.
    """

    subject: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...|TEXT|-",
            help="Logs and thread dumps (also .gz), directories of logs, the words of an error, or - for standard input.",
        ),
    ]
    output_format: Annotated[str, formats_option(*_FORMATS)] = "full"

    def run(self) -> int:
        """Diagnose the subject, write the report and return the exit code."""
        faults: list[str] = []
        logs = _logs(self.subject, faults)
        text = " ".join(self.subject)
        places = Places([str(log) for log in logs])

        with progress("reading logs", in_bytes=True) as line:
            steps = line.within(logs) if line else {}

            def lines_of_log(log: str) -> Iterator[str]:
                found: list[str] = []
                yield from lines_of(Path(log), found, progress=steps.get(Path(log)))
                faults.extend(f"{log}: {fault}" for fault in found)

            lines = places.lines(lines_of_log) if logs else [] if faults else text.splitlines()
            found = diagnose(lines, places)
        if logs and not (faults or found.lines):
            faults.append(
                f"{'the input' if logs == [Path(STDIN)] else logs[0]}: empty, so nothing can be said of it"
            )
        for fault in faults:
            complain(fault)
        if found.other and not (found.signs or found.innermost):
            complain(f"{logs[0] if logs else 'the text'}: {found.other}")
            return 2
        if faults and not found.lines:
            return 2
        with destination() as stream:
            if self.output_format == "json":
                document(found, stream, places)
            else:
                context = context_for(stream)
                write_screen(stream, context, lambda text: screen(found, text, context, rule_names(), places))
        if not (logs or found.signs) and _is_one_word(text):
            complain(f"no file is called `{text}`, so it was read as the words of an error")
        return 2 if faults else 1 if found.signs else 0


# ---- which logs ----


def _logs(words: Sequence[str], faults: list[str]) -> list[Path]:
    """Return the named logs and those in named directories, the oldest first; none if the words are an error's text.

    Raise UsageError for a file that does not exist and for a directory without logs.  `faults` gets directories that cannot
    be read.
    """
    kinds = [_kind(word) for word in words]
    if len(words) == 1:
        if words[0] == STDIN:
            return [Path(STDIN)]
        if not _exists(words[0]):
            return []
    elif "file" not in kinds and kinds[0] != "directory" and not all(map(_looks_like_a_file, words)):
        return []
    found: dict[Path, None] = {}
    for word, kind in zip(words, kinds, strict=True):
        if kind == "directory":
            found |= dict.fromkeys(_logs_in(word, faults))
        elif kind == "file" or len(words) == 1:
            found[Path(word)] = None
        else:
            raise UsageError(f"{word}: no such file")
    if len(found) == 1:
        return list(found)
    begins = {log: _begin(log) for log in found}
    timeless = [log for log, begin in begins.items() if not begin and log.suffix not in _STREAMS]
    if len(timeless) > 1:
        complain(f"{counted(len(timeless), 'file')} without a time, such as {timeless[0]}: ordered by the times of their last changes")  # fmt: skip
    return sorted(found, key=lambda log: (begins[log] or _changed(log), -_rotation(log)))


def _kind(word: str) -> str:
    """Return `directory`, `file`, or '' for a name without either."""
    try:
        path = Path(word)
        return "directory" if path.is_dir() else "file" if path.is_file() or path.is_fifo() else ""
    except (OSError, ValueError):  # too long for a name, or a null character
        return ""


def _logs_in(directory: str, faults: list[str]) -> list[Path]:
    """Return the logs in a directory; raise UsageError if there are none."""
    on_error = lambda error: faults.append(f"{error.filename}: cannot be read: {error.strerror}")  # noqa: E731
    files = [Path(at, name) for at, _, names in os.walk(directory, onerror=on_error) for name in names]
    found = [
        path
        for path in files
        if path.is_file()
        and (_is_dump(path) if _LOG_SUFFIXES.isdisjoint(path.suffixes) else not _is_database_log(path))
    ]
    if not (found or faults):
        names = ", ".join(f"*{suffix}" for suffix in sorted(_LOG_SUFFIXES))
        raise UsageError(f"{directory}: the directory has no logs: {names}")
    if len(found) < len(files):
        complain(f"{directory}: {counted(len(files) - len(found), 'file')} ignored: not a log")
    return found


def _is_dump(path: Path) -> bool:
    """Return whether a text file begins with a thread dump, as jstack, jcmd or py-spy writes it."""
    if path.suffix not in _SUFFIXES:
        return False
    with suppress(OSError, EOFError, zlib.error), open_log(path) as lines:
        return begins_dump(lines)
    return False


def _is_database_log(path: Path) -> bool:
    """Return whether it is a binary log of RocksDB or LevelDB: Storm 2 keeps metrics beside the logs."""
    if not _DATABASE_LOG.fullmatch(path.name):
        return False
    try:
        with open_log(path) as lines:
            next(lines, None)
    except (OSError, EOFError, zlib.error):
        return True
    return False


def _begin(log: Path) -> str:
    """Return the first time in the log's head as sortable text; '' if it has none."""
    if log.is_fifo():
        return ""  # a pipe can be read only once
    with suppress(OSError, EOFError, zlib.error), open_log(log) as lines:
        for line in islice(lines, _HEAD_LINES):
            if found := _DATE.search(line):
                return " ".join(found.groups())
    return ""


def _rotation(log: Path) -> int:
    """Return the number of a rotated log, which is higher in an older one: 1 of worker.log.1.gz."""
    return next((int(each[1:]) for each in log.suffixes if each[1:].isdecimal()), 0)


def _changed(log: Path) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(log.stat().st_mtime))


def _exists(word: str) -> bool:
    """Return whether the only word is a file or directory.

    Raise UsageError for blank text, and for a word that looks like a file and is none.
    """
    if not word.strip():
        raise UsageError("diagnose: name a log, the words of an error, or - for standard input")
    try:
        Path(word).stat()
    except OSError as error:
        if error.errno not in _NOT_A_NAME:
            return True  # but it cannot be read
        if _looks_like_a_file(word):
            raise UsageError(f"{word}: no such file") from None
        return False
    except ValueError:  # a null character
        return False
    return True


def _looks_like_a_file(text: str) -> bool:
    return _is_one_word(text) and (os.sep in text or not _SUFFIXES.isdisjoint(Path(text).suffixes))


def _is_one_word(text: str) -> bool:
    return not any(map(str.isspace, text))
