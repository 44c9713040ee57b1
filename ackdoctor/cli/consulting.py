"""What `ackdoctor diagnose` does: from a text to a screen and an exit code."""

import errno
import io
import os
import re
import select
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from ackdoctor.cli.given import STDIN, known_word
from ackdoctor.cli.manual import names
from ackdoctor.cli.streams import chatter, palette_for, tolerant, until_reader_leaves
from ackdoctor.cli.texts import standard_input
from ackdoctor.diagnose.deaths import Places
from ackdoctor.diagnose.diagnosis import diagnose
from ackdoctor.diagnose.log_lines import lines_in
from ackdoctor.model.errors import UsageError
from ackdoctor.reporters.context import counted
from ackdoctor.reporters.diagnosis import document, screen
from ackdoctor.tracer.trace.worker_log import open_log

__all__ = ["show_diagnosis"]

_FORMS = ("full", "json")
_LOGS = frozenset({".log", ".err", ".out"})  # of a rotated one, not the last
_SUFFIXES = _LOGS | {".txt", ".gz"}
_DATED = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)")
_OF_A_SHELL = ("/dev/fd/", "/proc/")  # a pipe of `<(kubectl logs POD)`, which has a writer
_PATIENCE = 10  # seconds
_OF_A_DATABASE = re.compile(r"\d{6}\.log")
_HEAD_LINES = 200
_NO_NAME = {errno.ENAMETOOLONG, errno.ENOENT, errno.EINVAL, errno.ENOTDIR}


def show_diagnosis(words: Sequence[str], form: str) -> int:
    """Everything the command does; the result is the exit code."""
    known_word("--output-format", form, _FORMS)
    faults: list[str] = []
    logs = _logs(words, faults)
    text = " ".join(words)
    places = Places(tuple(map(str, logs)))
    given = _chained(logs, places, faults) if logs else [] if faults else text.splitlines()
    found = diagnose(given, places.files, begins=places.begins)
    for fault in faults:
        chatter(fault, prefix="")
    if found.other and not (found.signs or found.innermost):
        chatter(f"{logs[0] if logs else 'this'}: {found.other}", prefix="")
        return 2
    if faults and not found.lines:
        return 2
    with until_reader_leaves():
        stream = tolerant(sys.stdout)
        if form == "json":
            document(found, stream, places)
        else:
            screen(found, stream, palette_for(stream), names(), places)
    if not (logs or found.signs) and _is_one_word(text):
        chatter(f"no file is called `{text}`: it was taken for the words of an error")
    return 2 if faults else 1 if found.signs else 0


def _logs(words: Sequence[str], faults: list[str]) -> list[Path]:
    """The logs that are named, and those below folders, the oldest first; none where the words are those of an error, given with or without quotes.

    UsageError for what looks like a file and is none, and for a folder without logs; `faults` gets the folders that cannot be read.
    """
    if len(words) == 1:
        if words[0] == STDIN:
            return [Path(STDIN)]
        if not _is_there(words[0], Path(words[0])):
            return []
    elif not (any(map(_is_file, words)) or _is_folder(words[0]) or all(map(_is_named_as_one, words))):
        return []
    found: dict[Path, None] = {}
    for word in words:
        if _is_folder(word):
            found |= dict.fromkeys(_below(word, faults))
        elif _is_file(word) or len(words) == 1:
            found[Path(word)] = None
        else:
            raise UsageError(f"{word}: no such file")
    return sorted(found, key=_begun) if len(found) > 1 else list(found)


def _below(folder: str, faults: list[str]) -> list[Path]:
    """What is called a log in a folder; UsageError if nothing is."""
    refused = lambda error: faults.append(f"{error.filename}: cannot be read: {error.strerror}")  # noqa: E731
    files = [Path(at, name) for at, _, names in os.walk(folder, onerror=refused) for name in names]
    found = [
        path
        for path in files
        if not _LOGS.isdisjoint(path.suffixes) and path.is_file() and not _is_of_a_database(path)
    ]
    if not (found or faults):
        names = ", ".join(f"*{suffix}" for suffix in sorted(_LOGS))
        raise UsageError(f"{folder}: no file in it is called a log: {names}")
    if len(found) < len(files):
        chatter(
            f"{folder}: {counted(len(files) - len(found), 'file')} not called a log: passed over", prefix=""
        )
    return found


def _is_of_a_database(path: Path) -> bool:
    """Whether it is a log of RocksDB's or LevelDB's, as Storm 2 keeps its metrics beside the logs: binary, and no log of a process."""
    if not _OF_A_DATABASE.fullmatch(path.name):
        return False
    try:
        with open_log(path) as lines:
            next(lines, None)
    except (OSError, EOFError, zlib.error):
        return True
    return False


def _begun(log: Path) -> str:
    """When the log begins, as far as one of its first lines says so, else when it was written last; as text in the order of time."""
    written = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(log.stat().st_mtime))
    if log.is_fifo():
        return written  # what is read here is gone
    with suppress(OSError, EOFError, zlib.error), open_log(log) as lines:
        for line in islice(lines, _HEAD_LINES):
            if found := _DATED.search(line):
                return " ".join(found.groups())
    return written


def _chained(logs: Sequence[Path], places: Places, faults: list[str]) -> Iterator[str]:
    """The lines of all logs; where each begins goes into `places`, what cannot be read into `faults`."""
    number = 0
    for log in logs:
        places.begins.append(number)
        try:
            with _opened(log) as raw:
                for line in lines_in(raw):
                    number += 1
                    yield line
        except (OSError, EOFError, zlib.error) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            faults.append(f"{log}: cannot be read: {reason}")


@contextmanager
def _opened(log: Path) -> Iterator[io.BufferedReader]:
    """Its bytes; OSError for a named pipe that is not written into, which would be waited for without an end."""
    if str(log) == STDIN:
        yield standard_input()
    elif _is_fifo(log) and not str(log).startswith(_OF_A_SHELL):
        # without O_NONBLOCK the opening itself would wait for a writer
        waiting = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
        try:
            if not select.select([waiting], [], [], _PATIENCE)[0]:
                raise OSError(errno.ETIMEDOUT, f"a pipe into which nothing was written for {_PATIENCE} s")
            with log.open("rb") as raw:
                yield raw
        finally:
            os.close(waiting)
    else:
        with log.open("rb") as raw:
            yield raw


def _is_fifo(log: Path) -> bool:
    try:
        return log.is_fifo()
    except OSError:
        return False


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file() or Path(word).is_fifo()
    except (OSError, ValueError):  # too long for a name, or a null character
        return False


def _is_folder(word: str) -> bool:
    try:
        return Path(word).is_dir()
    except (OSError, ValueError):
        return False


def _is_there(text: str, path: Path) -> bool:
    """UsageError for what looks like a file and is none, and for no words at all."""
    if not text.strip():
        raise UsageError("diagnose: give a log, the words of an error, or - for standard input")
    try:
        path.stat()
    except OSError as error:
        if error.errno not in _NO_NAME:
            return True  # and cannot be read
        if _is_named_as_one(text):
            raise UsageError(f"{text}: no such file") from None
        return False
    except ValueError:  # a null character
        return False
    return True


def _is_named_as_one(text: str) -> bool:
    """Whether it can only be meant for a file."""
    return _is_one_word(text) and (os.sep in text or not _SUFFIXES.isdisjoint(Path(text).suffixes))


def _is_one_word(text: str) -> bool:
    return not any(map(str.isspace, text))
