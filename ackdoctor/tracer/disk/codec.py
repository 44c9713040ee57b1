"""The fixed record of a live segment, and a batch of them on the way to a part.

A process writes its rows as records of 72 bytes into a mapped file, so that what it wrote survives
its death without a system call per row.  Texts are named once, in a side file, and stand in the
record as their position there.  `head` and `tail` hold the record's own place in the file and are
written first and last: a record is whole if both are right.  A row's `seq` is the seq of the segment's
first row plus the number of the record.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import Literal, TypeAlias

from ackdoctor.model.event import SCHEMA, Event, EventKind

__all__ = [
    "BARE",
    "COLUMNS",
    "HEADER",
    "NUMBER",
    "RECORD",
    "STAMPED",
    "WORD",
    "Batch",
    "FaultError",
    "Stamp",
    "of_form",
    "printable",
    "stamp_of",
    "too_new",
]

# head, kind, flags, form of delivery, time_ns, delivery, root, value, task,
# component, stream, site, thread, note, test, tail
RECORD = Struct("<IBBHqqqqiIIIIIII")

# the same record, what many rows have in common packed beforehand, since every field costs as much as a dict's
# lookup: head, kind to form of delivery, time_ns, delivery, root to note, test, tail
STAMPED = Struct("<I4sqq40sII")
_BEGINNING = Struct("<BBH")  # kind, flags, form of delivery
_MIDDLE = Struct("<qqiIIIII")  # root, value, task, component, stream, site, thread, note

Stamp: TypeAlias = tuple[bytes, bytes]
"""A packed `_BEGINNING` and a packed `_MIDDLE`."""

HEADER = 4096  # bytes of a segment before the first record: a line of JSON, then more line ends

BARE, NUMBER, WORD = 0, 1, 2  # forms of a delivery: none, the decimal id itself, a position in `words`

_Format: TypeAlias = Literal["B", "H", "I", "i", "q"]
COLUMNS: dict[str, tuple[int, _Format]] = {  # name: offset, memoryview format
    "head": (0, "I"),
    "kind": (4, "B"),
    "flags": (5, "B"),
    "form": (6, "H"),
    "time_ns": (8, "q"),
    "delivery": (16, "q"),
    "root": (24, "q"),
    "value": (32, "q"),
    "task": (40, "i"),
    "component": (44, "I"),
    "stream": (48, "I"),
    "site": (52, "I"),
    "thread": (56, "I"),
    "note": (60, "I"),
    "test": (64, "I"),
    "tail": (68, "I"),
}
_SIZES = {"B": 1, "H": 2, "I": 4, "i": 4, "q": 8}
_KINDS: dict[int, EventKind] = {int(kind): kind for kind in EventKind}


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


def stamp_of(
    kind: int,
    component: int,
    task: int,
    stream: int,
    root: int = 0,
    value: int = 0,
    site: int = 0,
    flags: int = 0,
    thread: int = 0,
    note: int = 0,
) -> Stamp:
    """What rows have in common, for `Recorder.press`; struct.error for a number that fits no column."""
    beginning = _BEGINNING.pack(kind, flags, NUMBER)
    return beginning, _MIDDLE.pack(root, value, task, component, stream, site, thread, note)


def of_form(stamp: Stamp, form: int) -> Stamp:
    """The stamp of a row whose delivery is no decimal number."""
    return stamp[0][:2] + form.to_bytes(2, "little"), stamp[1]


@lru_cache(maxsize=1)
def _straight(count: int) -> bytes:
    return array("I", range(HEADER, HEADER + count * RECORD.size, RECORD.size)).tobytes()


def printable(text: str) -> str:
    """Text that every file format can hold: a lone surrogate is spelt out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(slots=True, kw_only=True)
class Batch:
    """Whole records, in order.

    `first` is the seq of slot 0; `texts` and `words` are what the codes of the records, and the
    deliveries that are no decimal numbers, stand for.  `torn` slots were begun and never finished.
    """

    first: int
    pid: int
    records: memoryview | bytes
    texts: Sequence[str]
    words: Sequence[str]
    torn: int = 0

    def __len__(self) -> int:
        return len(self.records) // RECORD.size

    def column(self, name: str) -> bytes:
        """One field of every record, gathered; little-endian, of the width in `COLUMNS`."""
        offset, code = COLUMNS[name]
        width = _SIZES[code]
        fields: memoryview[int] = memoryview(self.records).cast("B").cast(code)
        return fields[offset // width :: RECORD.size // width].tobytes()

    @classmethod
    def of(
        cls, slots: bytes | memoryview, *, first: int, pid: int, texts: Sequence[str], words: Sequence[str]
    ) -> "Batch":
        """What is whole in the slots of a segment, which may have been left at any moment."""
        every = cls(first=first, pid=pid, records=slots, texts=texts, words=words)
        heads, tails, kinds = every.column("head"), every.column("tail"), every.column("kind")
        if heads == tails == _straight(len(every)) and _KINDS.keys() >= set(kinds):
            return every
        size, right, ends = RECORD.size, array("I", _straight(len(every))), array("I", tails)
        begun = [slot for slot, head in enumerate(array("I", heads)) if head]
        whole = [slot for slot in begun if ends[slot] == right[slot] and kinds[slot] in _KINDS]
        every.records = b"".join(slots[slot * size : (slot + 1) * size] for slot in whole)
        every.torn = len(begun) - len(whole)
        return every

    def events(self, run: str = "", worker: str = "") -> Iterator[Event]:
        """The rows; a code that the side file does not know reads as ''."""
        texts = dict(enumerate(self.texts))
        words = dict(enumerate(self.words))
        first, size = self.first, RECORD.size
        for record in RECORD.iter_unpack(self.records):
            head, kind, flags, form, time_ns, delivery, root, value, task, *codes, _ = record
            component, stream, site, thread, note, test = (texts.get(code, "") for code in codes)
            name = str(delivery) if form == NUMBER else words.get(delivery, "") if form == WORD else ""
            yield Event(
                kind=_KINDS[kind],
                time_ns=time_ns,
                seq=first + (head - HEADER) // size,
                component=component,
                task=task,
                stream=stream,
                delivery=name,
                root=root,
                value=value,
                site=site,
                thread=thread,
                flags=flags,
                test=test,
                note=note,
                run=run,
                worker=worker,
                pid=self.pid,
            )
