"""The lines of a log, in bounded memory: what no log has ends the reading with an OSError that says so."""

import errno
from collections.abc import Iterator
from io import BufferedReader

from ackdoctor.tracer.trace.worker_log import log_text

__all__ = ["LONGEST_LINE", "lines_in"]

LONGEST_LINE = 10_000_000  # characters of a line that are kept
_MOST_OF_LINE = 250_000_000  # characters; a line that is longer is no log's
_UNPACKED = 1 << 26  # characters from which on a zipped log may be a bomb
_MOST_TIMES = 200  # as many characters as it has bytes: logs come to 10 to 50
_ASK_EVERY = 1 << 24


def lines_in(raw: BufferedReader) -> Iterator[str]:
    """Each line, cut after `LONGEST_LINE` characters; OSError for what is no text, a line without an end, or a bomb."""
    asked = total = 0
    with log_text(raw) as text:
        while line := text.readline(LONGEST_LINE):
            yield line
            total += len(line)
            length, rest = len(line), line
            while rest and not rest.endswith("\n"):
                rest = text.readline(LONGEST_LINE)
                length += len(rest)
                total += len(rest)
                if length > _MOST_OF_LINE:
                    raise OSError(errno.EINVAL, f"a line of more than {_MOST_OF_LINE:,} characters: no log")
            if total > max(_UNPACKED, asked + _ASK_EVERY):
                asked = total
                _refuse_bomb(raw, total)


def _refuse_bomb(raw: BufferedReader, total: int) -> None:
    try:
        packed = raw.tell()
    except OSError:
        return  # a pipe has no place
    if total > packed * _MOST_TIMES:
        raise OSError(
            errno.EFBIG,
            f"it unpacks to more than {_MOST_TIMES} times its size, which no log does: reading ends here",
        )
