"""What `ackdoctor diagnose` does: from a text to a screen and an exit code."""

import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from ackdoctor.cli.given import STDIN, known_word
from ackdoctor.cli.manual import names
from ackdoctor.cli.streams import chatter, palette_for, tolerant, until_reader_leaves
from ackdoctor.cli.texts import lines_of
from ackdoctor.heap.diagnosis import diagnose
from ackdoctor.model.errors import UsageError
from ackdoctor.reporters.diagnosis import document, screen

__all__ = ["show_diagnosis"]

_FORMS = ("full", "json")
_SUFFIXES = frozenset({".log", ".err", ".txt", ".gz", ".out"})  # of a rotated one, not the last
_NO_NAME = {errno.ENAMETOOLONG, errno.ENOENT, errno.EINVAL, errno.ENOTDIR}


def show_diagnosis(words: Sequence[str], form: str) -> int:
    """Everything the command does; the result is the exit code."""
    known_word("--output-format", form, _FORMS)
    text = words[0] if len(words) == 1 else _joined(words)
    path = Path(text)
    faults: list[str] = []
    is_file = text == STDIN or _is_there(text, path)
    found = diagnose(lines_of(path, faults) if is_file else text.splitlines())
    for fault in faults:
        chatter(f"{path}: {fault}", prefix="")
    if found.other and not (found.signs or found.innermost):
        chatter(f"{path if is_file else 'this'}: {found.other}", prefix="")
        return 2
    if faults and not found.lines:
        return 2
    with until_reader_leaves():
        stream = tolerant(sys.stdout)
        if form == "json":
            document(found, stream)
        else:
            screen(found, stream, palette_for(stream), names())
    if not (is_file or found.signs) and _is_one_word(text):
        chatter(f"no file is called `{text}`: it was taken for the words of an error")
    return 2 if faults else 1 if found.signs else 0


def _joined(words: Sequence[str]) -> str:
    """The words of an error, given without quotes; UsageError for several logs."""
    if any(map(_is_file, words)):
        one = f"zcat -f {' '.join(map(quote, words))} | ackdoctor diagnose -"
        raise UsageError(f"diagnose: one log at a time; to read several as one, the oldest first: {one}")
    if all(map(_is_named_as_one, words)):
        raise UsageError(f"{words[0]}: no such file")
    return " ".join(words)


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except (OSError, ValueError):  # too long for a name, or a null character
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
