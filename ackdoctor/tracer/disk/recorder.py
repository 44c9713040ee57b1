"""The recorder: rows of one process, on disk the moment they are written.

A row is packed into a mapped segment (`wal`); a full or old segment becomes a part.  Nothing runs beside
the caller: a thread of ours would make pystorm leave by `os._exit` (component.py:488@v3.1.4), so the
thread whose row fills a segment turns it over.  Slots are given out by a counter, so threads and signal
handlers write without waiting for each other; the one lock is for texts and for turning over.
"""

import atexit
import json
import os
import platform
import time
import weakref
from collections.abc import Callable, Hashable
from functools import partial
from itertools import count
from pathlib import Path
from struct import error as StructError  # noqa: N812 - a class that struct spells as a word
from threading import RLock
from typing import TypeAlias

from ackdoctor import __version__
from ackdoctor.model.event import SCHEMA, EventKind
from ackdoctor.tracer.disk.codec import (
    BARE,
    NUMBER,
    PAIRED,
    PRESSED,
    RECORD,
    STAMP,
    STAMPS,
    WHOLE,
    WORD,
    number_of,
    printable,
)
from ackdoctor.tracer.disk.segments import CAPACITY, Stem, begin, home, parts
from ackdoctor.tracer.disk.storing import rows_of, store
from ackdoctor.tracer.disk.wal import Segment
from ackdoctor.tracer.ending import at_exit

__all__ = ["LIMIT", "Recorder"]

LIMIT = 4 << 30  # bytes of parts in one worker's folder; the oldest go first
_TEXTS = 65_535  # texts kept for the whole run; later ones read as _TOO_MANY
_COARSE = 60_000  # stamps after which a new one has _TOO_MANY for its texts, but for the component
_LONGEST = 4_096  # characters of a text
_TOO_MANY = "(more texts than a trace keeps)"
_AGAIN = 5_000_000_000  # ns until a full disk is tried again
_END = WHOLE << 16 | NUMBER  # form and end of a pressed record
_pack_into = RECORD.pack_into
_press_into = PRESSED.pack_into

Press: TypeAlias = Callable[[int, int], None]
"""Writes a row by its stamp and the number of its delivery.  Every segment has its own: ask the recorder for each row."""


class Recorder:
    """Writes the rows of this process, and of its forks, into a worker's folder of a trace.

    Files are opened with the first row, so a process that has nothing to say leaves nothing.  What
    cannot be written (a full disk, a closed recorder) is counted in `dropped` and said in a DROPPED
    row as soon as there is room.  `test` is the code of the test that runs; `press` is `write` for a row by its stamp,
    of a delivery that is a number on disk.
    """

    def __init__(
        self,
        directory: Path,
        *,
        run: str,
        worker: str = "main",
        level: str = "trace",
        clock: Callable[[], int] = time.time_ns,
        events: int = CAPACITY,
        seconds: float = 5,
        limit: int = LIMIT,
    ) -> None:
        if not 0 < events <= CAPACITY:
            raise ValueError(f"a part has 1 to {CAPACITY} rows, not {events}")
        self.folder = home(Path(directory), run, worker)
        self.run, self.worker, self.level = run, worker, level
        self.dropped = 0
        self.test = 0
        self._clock = clock
        self._events, self._age, self._limit = events, int(seconds * 1e9), limit
        self._codes: dict[str, int] = {"": 0}
        self._texts = [""]
        self._stamps: dict[bytes, int] = {}
        self._numbers = count(1)
        self._table = bytearray()  # all stamps, by their numbers
        self._lock = RLock()
        self._segment: Segment | None = None
        self.press: Press = self._first
        self._turning = self._closed = False
        self._next_try = 0
        self._unsaid = 0
        self.stamp(EventKind.DROPPED, 0, 0, 0)  # there is room for this one, whatever comes
        os.register_at_fork(after_in_child=partial(_forked, weakref.ref(self)))
        self._ending = at_exit(self.close)

    def code(self, text: str) -> int:
        """The small number that stands for a text in `write`; the same for the life of the process."""
        known = self._codes.get(text)
        return known if known is not None else self._name(text)

    def _name(self, text: str) -> int:
        with self._lock:
            if text in self._codes:
                return self._codes[text]
            if len(self._texts) >= _TEXTS and text != _TOO_MANY:
                return self.code(_TOO_MANY)
            clean = printable(text if len(text) <= _LONGEST else text[:_LONGEST] + "...")
            self._texts.append(clean)
            self._codes[text] = len(self._texts) - 1
            if self._segment is not None:
                self._segment.name_text(clean)
            return self._codes[text]

    def write(
        self,
        kind: int,
        component: int,
        task: int,
        stream: int,
        delivery: int | str,
        root: int = 0,
        value: int = 0,
        site: int = 0,
        flags: int = 0,
        thread: int = 0,
        note: int = 0,
    ) -> None:
        """Write one row; when this returns, only the machine's own death can lose it.

        `component`, `stream`, `site`, `thread` and `note` are codes; `delivery` is an id, as a text or,
        if it is a decimal that fits 64 bits, as that number; "" is none.
        """
        try:
            stamp = self.stamp(kind, component, task, stream, site, flags, thread, note)
        except StructError:  # a row is lost, the component goes on
            self._drop(1)
        else:
            self._put(stamp, delivery, root, value)

    def put(self, stamp: int, delivery: Hashable) -> None:
        """Write a row by its stamp, whatever its delivery is."""
        number = number_of(delivery)
        if number is None:
            self._put(stamp, delivery, 0, 0)
        else:
            self.press(stamp, number)

    def stamp(
        self,
        kind: int,
        component: int,
        task: int,
        stream: int,
        site: int = 0,
        flags: int = 0,
        thread: int = 0,
        note: int = 0,
    ) -> int:
        """The number that stands for what many rows have in common; struct.error for a number that fits no column."""
        packed = STAMP.pack(kind, flags, component, task, stream, site, thread, note)
        known = self._stamps.get(packed)
        return known if known is not None else self._add_stamp(packed)

    def _add_stamp(self, packed: bytes) -> int:
        """A number first, then everything else by it: a signal handler may come and add another."""
        with self._lock:
            known = self._stamps.get(packed)
            if known is not None:
                return known
            if len(self._stamps) >= _COARSE and (coarse := self._coarse(packed)) != packed:
                return self._stamps.get(coarse) or self._add_stamp(coarse)
            number = next(self._numbers)
            if number >= STAMPS:
                raise StructError("more stamps than a trace keeps")
            place, end = number * STAMP.size, (number + 1) * STAMP.size
            self._table += bytes(max(0, end - len(self._table)))
            self._table[place:end] = packed
            if self._segment is not None:
                self._segment.add_stamp(number, packed)
            self._stamps[packed] = number
            return number

    def _coarse(self, packed: bytes) -> bytes:
        kind, flags, component, task, *codes = STAMP.unpack(packed)
        lost = self.code(_TOO_MANY)
        return STAMP.pack(kind, flags, component, task, *(lost if code else 0 for code in codes))

    def _use(self, segment: Segment | None) -> None:
        """Rows go there from now on; where there is no segment, the next row opens one."""
        self._segment = segment
        self.press = self._first if segment is None else self._pen(segment)

    def _pen(self, segment: Segment) -> Press:
        """`press` for one segment.  All it needs are variables of its own, which Python finds fastest."""
        view, free, due, clock = segment.view, segment.free, segment.due, self._clock

        def press(stamp: int, number: int) -> None:
            now = clock()
            if now >= due or (place := next(free, None)) is None:
                if self._has_room(segment, now):
                    self.press(stamp, number)
                return
            _press_into(view, place, now, number, stamp, self.test, _END)
            if segment.sealed and self._missed(segment, place):
                self.press(stamp, number)

        return press

    def _first(self, stamp: int, number: int) -> None:
        if self._has_room(None, self._clock()):
            self.press(stamp, number)

    def _put(self, stamp: int, delivery: Hashable, root: int, value: int) -> None:
        """A row of any form."""
        segment, now = self._segment, self._clock()
        if segment is None or now >= segment.due or (place := next(segment.free, None)) is None:
            if self._has_room(segment, now):
                self._put(stamp, delivery, root, value)
            return
        first, second, form = root, value, BARE  # every row of an acker
        if delivery != "":
            number = number_of(delivery)
            if number is not None and not root and not value:
                first, form = number, NUMBER
            else:
                with self._lock:
                    word = segment.name_word(str(delivery))
                first, form = (root, PAIRED + word) if root or value else (word, WORD)
        try:
            _pack_into(segment.view, place, now, first, second, stamp, self.test, form, WHOLE)
        except StructError:  # as above
            self._drop(1)
            return
        if segment.sealed and self._missed(segment, place):
            self._put(stamp, delivery, root, value)

    def _missed(self, segment: Segment, place: int) -> bool:
        """Whether somebody who turned the segment over meanwhile has not seen a record."""
        with self._lock:
            return not segment.holds(place)

    def _has_room(self, full: Segment | None, now: int) -> bool:
        """Puts the next segment in place of one where a row did not fit; False if the row is dropped."""
        if self._turn(full, now):
            return True
        self._drop(1)
        return False

    def roll(self) -> None:
        """Make a part of what is there: a test has ended."""
        with self._lock:
            segment = self._segment
            self._use(None)
            if segment is not None:
                self._finish(segment)
                self._drop(self._rotate(segment.stem))

    def close(self) -> None:
        """Make a part of what is there; rows that come later are dropped."""
        with self._lock:
            self.roll()
            if self._unsaid and not self._closed and self._turn(None, self._clock()):
                assert self._segment is not None
                last = self._segment
                self._use(None)
                self._finish(last)
            self._closed = True
        atexit.unregister(self._ending)

    def start_anew(self) -> None:
        """In a fork: its own files and its own rows; the parent's mapping must not be written any more."""
        if self._segment is not None:
            self._segment.let_go()
        self._lock = RLock()
        self._use(None)
        self._turning, self._next_try, self.dropped, self._unsaid = False, 0, 0, 0

    def _turn(self, full: Segment | None, now: int) -> bool:
        """Put a new segment in place of a full one; False if the row that asked has to be dropped."""
        with self._lock:
            if self._segment is not full:
                return True  # another thread was faster
            if self._turning or self._closed or now < self._next_try:
                return False
            self._turning = True
            try:
                self._use(self._open(now))
                if full is not None:
                    self._finish(full)
                    self._drop(self._rotate(full.stem))
            except OSError:
                self._use(None)
                self._next_try = now + _AGAIN
                if full is not None:
                    self._finish(full)
                return False
            finally:
                self._turning = False
            self._say_dropped()
            return True

    def _open(self, now: int) -> Segment:
        if not self.folder.is_dir():
            self.folder.mkdir(parents=True, exist_ok=True)
        _introduce(self)
        return Segment(
            self.folder, due=now + self._age, texts=self._texts, stamps=self._table, room=self._events
        )

    def _finish(self, segment: Segment) -> None:
        """Part for segment; where that fails the segment stays, and `recover` will try again."""
        batch = segment.finish(self._texts, bytes(self._table))
        try:
            if len(batch):
                store(batch, self.folder, segment.stem)
        except OSError:
            segment.let_go()
        else:
            segment.remove()

    def _rotate(self, newest: Stem) -> int:
        """Remove the oldest parts beyond the limit, but not this one; how many rows that cost."""
        found = []
        for stem, path in parts(self.folder):
            try:
                status = path.stat()
            except FileNotFoundError:  # another process rotates as well
                continue
            found.append((stem == newest, status.st_mtime_ns, path, status.st_size))
        over = sum(size for *_, size in found) - self._limit
        lost = 0
        for is_newest, _, path, size in sorted(found):
            if over <= 0 or is_newest:
                break
            lost += rows_of(path)
            path.unlink(missing_ok=True)
            over -= size
        return lost

    def _drop(self, rows: int) -> None:
        self.dropped += rows
        self._unsaid += rows

    def _say_dropped(self) -> None:
        if self._unsaid:
            missing, self._unsaid = self._unsaid, 0
            self.write(EventKind.DROPPED, 0, 0, 0, "", value=missing)


def _forked(recorder: "weakref.ref[Recorder]") -> None:
    if (here := recorder()) is not None:
        here.start_anew()


def _introduce(recorder: Recorder) -> None:
    """`_meta.json`, by whoever is first in the folder."""
    path = recorder.folder / "_meta.json"
    if path.exists():
        return
    said = {
        "schema": SCHEMA,
        "run": recorder.run,
        "worker": recorder.worker,
        "level": recorder.level,
        "ackdoctor": __version__,
        "python": platform.python_version(),
        "time_ns": time.time_ns(),
        "monotonic_ns": time.monotonic_ns(),
    }
    draft = path.with_name(f"_meta.{os.urandom(8).hex()}.tmp")  # no link can wait under that name
    try:
        begin(draft)
        draft.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
