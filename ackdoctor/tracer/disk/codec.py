"""The fixed record of a live segment, and a batch of them on the way to a part.

A process writes its rows as records of 32 bytes into a mapped file, so that what it wrote survives its
death without a system call per row.  What many rows have in common is a stamp, packed once into the table
in front of the records; texts are named once, in a side file, and stand in stamps by their position
there.  A record ends with `WHOLE`, which is written last.  A row's `seq` is the seq of the segment's
first row plus the number of its record.
"""

from array import array
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from struct import Struct, calcsize
from sys import byteorder
from typing import Literal, TypeAlias

from ackdoctor.model.event import SCHEMA, Event, EventKind

__all__ = [
    "BARE",
    "COLUMNS",
    "HEADER",
    "NUMBER",
    "PAIRED",
    "PRESSED",
    "RECORD",
    "RECORDS",
    "STAMP",
    "STAMPS",
    "WHOLE",
    "WORD",
    "Batch",
    "FaultError",
    "number_of",
    "printable",
    "too_new",
]

# time_ns, first, second, stamp, test, form, WHOLE
RECORD = Struct("<qqqHHHH")

# the record of a delivery that is a number: time_ns, first, stamp, test, form and WHOLE in one.  Each value
# costs as much as a dict's lookup, and a native long is packed faster than any other
_NATIVE = byteorder == "little" and calcsize("@l") == 8  # noqa: PLR2004 - bytes
PRESSED = Struct("@ll8xHHI" if _NATIVE else "<qq8xHHI")

# kind, flags, component, task, stream, site, thread, note
STAMP = Struct("<BBHiHHHH")
STAMPS = 65_536  # room in the table; number 0 is nobody's

HEADER = 4096  # bytes of a segment before its stamps: a line of JSON, then more line ends
RECORDS = HEADER + STAMPS * STAMP.size  # bytes of a segment before the first record

WHOLE = 0xACED

# forms of a record: `first` is the number that its delivery is, or, of a word, the position in `words`.  Without
# a delivery, `first` and `second` are root and value; with one, the position in `words` is added to PAIRED
NUMBER, BARE, WORD, PAIRED = 0, 1, 2, 3

_Format: TypeAlias = Literal["H", "q"]
COLUMNS: dict[str, tuple[int, _Format]] = {  # name: offset, memoryview format
    "time_ns": (0, "q"),
    "first": (8, "q"),
    "second": (16, "q"),
    "stamp": (24, "H"),
    "test": (26, "H"),
    "form": (28, "H"),
    "whole": (30, "H"),
}
_SIZES = {"H": 2, "q": 8}
_KINDS: dict[int, EventKind] = {int(kind): kind for kind in EventKind}
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1  # what is a number on disk


class FaultError(Exception):
    """A file of a trace that cannot be read, or not from here on; says why.

    `line` counts from 1, 0 where there are no lines; `torn` if it is the last and was not finished.
    """

    def __init__(self, reason: str, *, line: int = 0, torn: bool = False) -> None:
        super().__init__(reason)
        self.line, self.torn = line, torn


def too_new(schema: int, *, line: int = 0) -> FaultError:
    """What is said of rows that a later version wrote."""
    return FaultError(
        f"written by a newer ackdoctor: schema {schema}, this one reads up to {SCHEMA}", line=line
    )


def number_of(delivery: Hashable) -> int | None:
    """The number that a delivery is on disk: a decimal that fits 64 bits; None for other texts."""
    if delivery.__class__ is str:
        try:
            number = int(delivery)
        except ValueError:
            return None
        if str(number) != delivery:
            return None
    elif isinstance(delivery, int):
        number = int(delivery)
    else:
        return None
    return number if _LEAST <= number <= _MOST else None


def printable(text: str) -> str:
    """Text that every file format can hold: a lone surrogate is spelt out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(slots=True, kw_only=True)
class Batch:
    """Whole records, in order.

    `first` is the seq of slot 0, and `slots` says where each record stood; `stamps`, `texts` and `words` are what
    their numbers stand for.  `torn` slots were begun and never finished.
    """

    first: int
    pid: int
    records: bytes
    slots: Sequence[int]
    stamps: bytes
    texts: Sequence[str]
    words: Sequence[str]
    torn: int = 0
    cut: bool = False  # the file is shorter than its segment was

    @property
    def damage(self) -> str:
        """What is wrong with the segment, '' if nothing is: a process that was killed leaves one torn record at most."""
        if self.cut:
            return f"cut off: {len(self):,} rows are left"
        return f"damaged: {self.torn:,} of its records cannot be read" if self.torn > 1 else ""

    def __len__(self) -> int:
        return len(self.slots)

    def column(self, name: str) -> bytes:
        """One field of every record, gathered, of the width in `COLUMNS`."""
        offset, code = COLUMNS[name]
        width = _SIZES[code]
        fields: memoryview[int] = memoryview(self.records).cast(code)
        return fields[offset // width :: RECORD.size // width].tobytes()

    def is_uniform(self, name: str, value: int) -> bool:
        """Whether a field of 16 bits has this value in every record."""
        return self.column(name) == array("H", [value]).tobytes() * len(self)

    def legend(self) -> list[tuple[int, int, str, int, str, str, str, str]]:
        """What each stamp says: kind, flags, component, task, stream, site, thread, note.

        A text that the side file does not know reads as ''.
        """
        texts = dict(enumerate(self.texts))
        return [
            (kind, flags, texts.get(who, ""), task, *(texts.get(code, "") for code in codes))
            for kind, flags, who, task, *codes in STAMP.iter_unpack(self.stamps)
        ]

    @classmethod
    def of(
        cls,
        records: bytes,
        *,
        first: int,
        pid: int,
        stamps: bytes,
        texts: Sequence[str],
        words: Sequence[str],
    ) -> "Batch":
        """What is whole in the records of a segment, which may have been left at any moment."""
        slots = range(len(records) // RECORD.size)
        batch = cls(
            first=first, pid=pid, records=records, slots=slots, stamps=stamps, texts=texts, words=words
        )
        if not batch.is_uniform("whole", WHOLE):
            batch._keep([end == WHOLE for end in array("H", batch.column("whole"))])
        return batch

    def forget_unstamped(self) -> None:
        """Leaves out records whose stamp has not reached the disk, or is damaged there."""
        known = {number for number, (kind, *_) in enumerate(STAMP.iter_unpack(self.stamps)) if kind in _KINDS}
        used = array("H", self.column("stamp"))
        if not known.issuperset(used):
            self._keep([stamp in known for stamp in used])

    def _keep(self, right: Sequence[bool]) -> None:
        """Leaves out the other records; those in which something stands are torn."""
        size, slots = RECORD.size, self.slots
        parts = [self.records[place : place + size] for place in range(0, len(self.records), size)]
        self.torn += sum(any(part) for part, is_right in zip(parts, right, strict=True) if not is_right)
        self.slots = [slot for slot, is_right in zip(slots, right, strict=True) if is_right]
        self.records = b"".join(part for part, is_right in zip(parts, right, strict=True) if is_right)

    def rows(self) -> Iterator[tuple[int, int, int, str, int, int, int]]:
        """Of each record: seq, time_ns, stamp, delivery, root, value, test."""
        words = dict(enumerate(self.words))
        first = self.first
        for slot, record in zip(self.slots, RECORD.iter_unpack(self.records), strict=True):
            time_ns, one, other, stamp, test, form, _ = record
            if form == NUMBER:
                yield first + slot, time_ns, stamp, str(one), 0, 0, test
            elif form == WORD:
                yield first + slot, time_ns, stamp, words.get(one, ""), 0, 0, test
            else:
                delivery = words.get(form - PAIRED, "") if form >= PAIRED else ""
                yield first + slot, time_ns, stamp, delivery, one, other, test

    def events(self, run: str = "", worker: str = "") -> Iterator[Event]:
        """The rows; a code that the side file does not know reads as ''."""
        legend = self.legend()
        texts = dict(enumerate(self.texts))
        for seq, time_ns, stamp, delivery, root, value, test in self.rows():
            kind, flags, component, task, stream, site, thread, note = legend[stamp]
            yield Event(
                kind=_KINDS[kind],
                time_ns=time_ns,
                seq=seq,
                component=component,
                task=task,
                stream=stream,
                delivery=delivery,
                root=root,
                value=value,
                site=site,
                thread=thread,
                flags=flags,
                test=texts.get(test, ""),
                note=note,
                run=run,
                worker=worker,
                pid=self.pid,
            )
