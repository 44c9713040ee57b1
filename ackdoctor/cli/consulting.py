"""What `ackdoctor diagnose` does: from a text to a screen and an exit code."""

import errno
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ackdoctor.cli.given import known_word
from ackdoctor.cli.manual import names
from ackdoctor.cli.streams import chatter, palette_for, standard_input, tolerant, until_reader_leaves
from ackdoctor.heap.diagnosis import Diagnosis, diagnose
from ackdoctor.model.errors import UsageError
from ackdoctor.reporters.diagnosis import document, screen
from ackdoctor.tracer.disk.workerlog import open_log

__all__ = ["show_diagnosis"]

_FORMS = ("full", "json")
_NO_NAME = {errno.ENAMETOOLONG, errno.ENOENT, errno.EINVAL, errno.ENOTDIR}


def show_diagnosis(text: str, path: Path, form: str) -> int:
    """Everything the command does; the result is the exit code."""
    known_word("--output-format", form, _FORMS)
    try:
        with _lines(text, path) as lines:
            found = diagnose(lines)
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        chatter(f"{path}: cannot be read: {reason}", prefix="")
        return 2
    with until_reader_leaves():
        stream = tolerant(sys.stdout)
        if form == "json":
            document(found, stream)
        else:
            screen(found, stream, palette_for(stream), names())
    return _code(found)


def _code(found: Diagnosis) -> int:
    return 1 if found.signs else 0


@contextmanager
def _lines(text: str, path: Path) -> Iterator[Iterator[str]]:
    """Of standard input, of the file if there is one, else of the text itself."""
    if text == "-":
        yield iter(standard_input())
        return
    if not _is_there(text, path):
        yield iter(text.splitlines())
        return
    with open_log(path) as lines:
        yield iter(lines)


def _is_there(text: str, path: Path) -> bool:
    """UsageError for what looks like a file and is none, and for no words at all."""
    if not text.strip():
        raise UsageError("diagnose: give a log, the words of an error, or - for standard input")
    try:
        path.stat()
    except OSError as error:
        if error.errno not in _NO_NAME:
            raise
        looks_like_a_file = not any(char.isspace() for char in text) and path.suffix in {
            ".log",
            ".err",
            ".txt",
            ".gz",
            ".out",
        }
        if looks_like_a_file:
            raise UsageError(f"{text}: no such file") from None
        return False
    except ValueError:  # a null character
        return False
    return True
