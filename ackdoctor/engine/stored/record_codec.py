"""Records and lexicons as plain JSON values and back; a value of another shape raises."""

from typing import Any

from ackdoctor.engine.files.lexicon import Lexicon
from ackdoctor.engine.files.survey import Record
from ackdoctor.engine.languages.outline import Outline

__all__ = ["decode_lexicon", "decode_record", "encode_lexicon", "encode_record"]

_FLAGS = ("named", "marked", "odd", "acts", "shaped")
_UNPACKED = tuple(
    tuple(bool(flags & 1 << bit) for bit in range(len(_FLAGS))) for flags in range(1 << len(_FLAGS))
)


def encode_lexicon(lexicon: Lexicon) -> list[Any]:
    """The words, then every set in its order."""
    return [[word.decode() for word in lexicon.words], *(sorted(names) for names in lexicon[1:])]


def decode_lexicon(raw: Any) -> Lexicon:
    """The lexicon that made this value."""
    words, *sets = raw
    return Lexicon(tuple(word.encode() for word in words), *map(frozenset, sets))


def encode_record(record: Record) -> list[Any]:
    """Short for the thousands of files that concern nobody."""
    flags = sum(1 << bit for bit, name in enumerate(_FLAGS) if getattr(record, name))
    plain: list[Any] = [record.mtime_ns, record.size, flags]
    if record.outline is None and not record.digest:
        return plain
    return [*plain, record.digest, None if record.outline is None else _lists(record.outline)]


def decode_record(raw: list[Any]) -> Record:
    """The record that made this value."""
    mtime_ns, size, flags, *rest = raw
    if not flags and not rest:
        return Record(mtime_ns, size)
    named, marked, odd, acts, shaped = _UNPACKED[flags]
    digest, outline = rest or ("", None)
    known = None if outline is None else Outline(*outline)
    return Record(mtime_ns, size, named, marked, odd, acts, known, digest, shaped)


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple | list) else value
