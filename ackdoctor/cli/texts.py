"""Texts that a user names: a log, a histogram; zipped, from PowerShell, or out of a pipe."""

import io
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from ackdoctor.cli.given import STDIN
from ackdoctor.tracer.disk.workerlog import log_text, open_log

__all__ = ["lines_of", "standard_input"]


def lines_of(path: Path, faults: list[str]) -> Iterator[str]:
    """The lines of a file, of standard input if it is called `-`; why they end too early is added to `faults`."""
    try:
        with log_text(standard_input()) if str(path) == STDIN else open_log(path) as lines:
            yield from lines
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        faults.append(f"cannot be read: {reason}")


def standard_input() -> io.BufferedReader:
    """Its bytes: what the locale says of them is not what a log is written in."""
    raw = sys.stdin.buffer
    return raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(io.BytesIO(raw.read()))
