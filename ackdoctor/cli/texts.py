"""Texts that a user names: a log, a histogram; zipped, from PowerShell, or out of a pipe.

Their size is bounded, and so is the memory that a line takes.
"""

import errno
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, TextIO

from ackdoctor.cli.given import STDIN
from ackdoctor.heap.jvm.hprof import open_file
from ackdoctor.tracer.trace.worker_log import log_text

__all__ = ["MOST_OF_HISTOGRAMS", "lines_of", "standard_input"]

MOST_OF_HISTOGRAMS = 256 << 20  # characters
_LONGEST_PART = 1 << 16  # characters of a line; the rest of it is passed over
_LONGEST_LINE = 16 << 20
_SHORTEST = 32  # characters that a line counts for, at least
_LOOK = 4 << 20  # characters between two looks at what a compressed text expands to
_BOMB_FROM, _MOST_TIMES = 16 << 20, 200  # a log is packed to a tenth, histograms of one worker to a thirtieth


def lines_of(path: Path, faults: list[str], *, most: int | None = None) -> Iterator[str]:
    """The lines of a file, of standard input if it is called `-`; why they end too early is added to `faults`.

    `most` is how many characters are read.
    """
    try:
        with ExitStack() as opened:
            raw = standard_input() if str(path) == STDIN else _buffered(opened.enter_context(open_file(path)))
            lines = opened.enter_context(log_text(raw))
            yield from _bounded(lines, raw, most)
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        faults.append(f"cannot be read: {reason}")


def _bounded(lines: TextIO, raw: BinaryIO, most: int | None) -> Iterator[str]:
    read = looked = number = 0
    while line := lines.readline(_LONGEST_PART):
        number += 1
        read += max(_SHORTEST, len(line))
        yield line
        if len(line) == _LONGEST_PART and not line.endswith("\n"):
            read += _passed_over(lines, number)
        if most is not None and read > most:
            raise OSError(
                errno.EFBIG,
                f"not all of it: more than {most >> 20} MB of text, or of lines; line {number:,} is the last that was "
                "read: give the part that counts",
            )
        if read - looked > _LOOK:
            looked = read
            _no_bomb(read, raw)


def _passed_over(lines: TextIO, number: int) -> int:
    """The characters of the rest of a long line."""
    passed = 0
    while part := lines.readline(_LONGEST_PART):
        passed += len(part)
        if part.endswith("\n"):
            break
        if passed > _LONGEST_LINE:
            raise OSError(
                errno.EFBIG, f"line {number:,} is longer than {_LONGEST_LINE >> 20} MB: this is no text"
            )
    return passed


def _no_bomb(read: int, raw: BinaryIO) -> None:
    """OSError for what expands as no text does; a pipe does not say how much of it was read."""
    size = raw.tell() if raw.seekable() else 0
    if size and read > max(_BOMB_FROM, _MOST_TIMES * size):
        raise OSError(
            errno.EFBIG,
            f"not all of it: {size:,} compressed bytes expand to more than {read >> 20} MB, which no text does",
        )


def standard_input() -> io.BufferedReader:
    """The bytes of standard input: a log is not written in the encoding of the locale."""
    return _buffered(sys.stdin.buffer)


def _buffered(raw: BinaryIO) -> io.BufferedReader:
    return raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(io.BytesIO(raw.read()))
