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
from collections.abc import Callable
from functools import partial
from pathlib import Path
from struct import error as StructError  # noqa: N812 - a class that struct spells as a word
from threading import RLock

from ackdoctor import __version__
from ackdoctor.model.event import SCHEMA, EventKind
from ackdoctor.tracer.disk.codec import BARE, NUMBER, RECORD, STAMPED, WORD, Stamp, printable, stamp_of
from ackdoctor.tracer.disk.segments import CAPACITY, Stem, home, parts
from ackdoctor.tracer.disk.storing import rows_of, store
from ackdoctor.tracer.disk.wal import Segment

__all__ = ["LIMIT", "Recorder"]

LIMIT = 4 << 30  # bytes of parts in one worker's folder; the oldest go first
_TEXTS = 65_536  # texts kept for the whole run; later ones read as _TOO_MANY
_LONGEST = 4_096  # characters of a text
_TOO_MANY = "(more texts than a trace keeps)"
_AGAIN = 5_000_000_000  # ns until a full disk is tried again
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1  # what is a number on disk
_pack_into = STAMPED.pack_into


class Recorder:
    """Writes the rows of this process, and of its forks, into a worker's folder of a trace.

    Files are opened with the first row, so a process that has nothing to say leaves nothing.  What
    cannot be written (a full disk, a closed recorder) is counted in `dropped` and said in a DROPPED
    row as soon as there is room.  `test` is the code of the test that runs.
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
        self._lock = RLock()
        self._segment: Segment | None = None
        self._turning = self._closed = False
        self._next_try = 0
        self._unsaid = 0
        os.register_at_fork(after_in_child=partial(_forked, weakref.ref(self)))
        atexit.register(self.close)

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
            stamp = stamp_of(kind, component, task, stream, root, value, site, flags, thread)
        except StructError:  # a number that fits no column: a row is lost, the component goes on
            self._drop(1)
            return
        self.press(stamp, delivery, note)

    def press(self, stamp: Stamp, delivery: int | str, note: int = 0) -> None:
        """`write`, of a row whose other fields are packed already."""
        segment, clock = self._segment, self._clock
        now = clock()
        if segment is None or now >= segment.due or (place := next(segment.free, None)) is None:
            if self._turn(segment, now):
                self.press(stamp, delivery, note)
            else:
                self._drop(1)
            return
        number, form = segment.numbers.get(delivery), NUMBER
        if number is None:
            number, form = self._name_delivery(segment, delivery)
        try:
            _pack_into(
                segment.view, place, place, stamp[0], form, now, number, stamp[1], self.test, note, place
            )
        except StructError:  # as above
            segment.view[place : place + RECORD.size] = bytes(RECORD.size)
            self._drop(1)
            return
        if segment.sealed:  # somebody turned it over meanwhile, and may have missed this row
            with self._lock:
                seen = segment.holds(place)
            if not seen:
                self.press(stamp, delivery, note)

    def _name_delivery(self, segment: Segment, delivery: int | str) -> tuple[int, int]:
        if isinstance(delivery, int):
            return delivery, NUMBER
        if not delivery:
            return 0, BARE
        try:
            number = int(delivery)
        except ValueError:
            number = None
        if number is not None and str(number) == delivery and _LEAST <= number <= _MOST:
            segment.numbers[delivery] = number
            return number, NUMBER
        with self._lock:
            return segment.name_word(delivery), WORD

    def roll(self) -> None:
        """Make a part of what is there: a test has ended."""
        with self._lock:
            segment, self._segment = self._segment, None
            if segment is not None:
                self._finish(segment)
                self._drop(self._rotate(segment.stem))

    def close(self) -> None:
        """Make a part of what is there; rows that come later are dropped."""
        with self._lock:
            self.roll()
            if self._unsaid and not self._closed and self._turn(None, self._clock()):
                assert self._segment is not None
                self._finish(self._segment)
                self._segment = None
            self._closed = True
        atexit.unregister(self.close)

    def start_anew(self) -> None:
        """In a fork: its own files and its own rows; the parent's mapping must not be written any more."""
        if self._segment is not None:
            self._segment.let_go()
        self._segment, self._lock = None, RLock()
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
                self._segment = self._open(now)
                if full is not None:
                    self._finish(full)
                    self._drop(self._rotate(full.stem))
            except OSError:
                self._segment, self._next_try = None, now + _AGAIN
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
        return Segment(self.folder, due=now + self._age, texts=self._texts, room=self._events)

    def _finish(self, segment: Segment) -> None:
        """Part for segment; where that fails the segment stays, and `recover` will try again."""
        batch = segment.finish(self._texts)
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
    draft = path.with_name(f"_meta.{os.getpid()}.tmp")
    try:
        draft.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
