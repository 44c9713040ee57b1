"""Writing a trace: rows are collected, appended as JSON lines in small batches, and finished as parts.

A killed process loses at most its last batch. The recorder starts no thread: pystorm leaves by `os._exit` while a
thread of another kind runs (component.py:488@v3.1.4). Threads and signal handlers only append to a deque; a lock
protects the file.
"""

import atexit
import json
import os
import platform
import signal
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from functools import partial
from pathlib import Path
from threading import RLock
from typing import TypeAlias

from ackdoctor import __version__
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.trace import SCHEMA, Event, EventKind
from ackdoctor.tracer.trace_files import (
    JSON_LINES,
    PARQUET,
    ROWS_PER_PART,
    FaultError,
    Stem,
    create,
    line,
    live_files,
    lock,
    partition,
    parts,
    printable,
    quoted,
    read_lines,
    worker_folder,
)
from ackdoctor.tracer.trace_reader import deaths, parquet_module

BATCH = 256  # rows of one write, at most
LIMIT = 4 << 30  # bytes of parts in one worker's folder; the recorder deletes the oldest
_BATCH_NS = (
    1_000_000  # the age at which a batch is written although it is not full: 1,000 writes a second at most
)
_RETRY_NS = 5_000_000_000  # until a full disk is tried again
_DRAFT_AGE_S = 60  # after which an unfinished draft is deleted
_MAX_TEXT = 4_096  # characters
_INT, _LONG = 1 << 31, 1 << 63


Template: TypeAlias = str
"""What many rows have in common: the beginning of the line, up to the time."""


class Recorder:
    """Writes the rows of this process, and of its forks, into a worker's folder of a trace.

    The first row creates the files. Rows that cannot be written (a full disk, a closed recorder) are counted in
    `dropped`; a DROPPED row says how many are missing once there is room.
    """

    def __init__(
        self,
        directory: Path,
        *,
        run: str,
        worker: str = "main",
        level: str = "trace",
        clock: Callable[[], int] = time.time_ns,
        events: int = ROWS_PER_PART,
        seconds: float = 5,
        limit: int = LIMIT,
    ) -> None:
        """`events` and `seconds`: when a part is finished. `limit`: bytes of all parts of the worker."""
        if not 0 < events <= ROWS_PER_PART:
            raise ValueError(f"a part has 1 to {ROWS_PER_PART} rows, not {events}")
        self.folder = worker_folder(Path(directory), run, worker)
        self.run, self.worker, self.level = run, worker, level
        self.dropped = 0
        self._clock = clock
        self._events, self._age_ns, self._limit = events, int(seconds * 1e9), limit
        self._test = ""
        self._closed = False
        self._rows: deque[tuple[Template, int, str]] = deque()  # template, time, delivery as JSON
        self._reset()
        self.put = self._make_put()
        os.register_at_fork(after_in_child=partial(_restart, weakref.ref(self)))
        self._at_exit = at_exit(self.close)

    def _reset(self) -> None:
        self._rows.clear()
        self._lock = RLock()
        self._is_busy = False  # a signal handler interrupts the thread that holds the lock
        self._file: _LiveFile | None = None
        self._next_seq = -1  # not known before the first file of this process
        self._batch_due = self._part_due = self._retry_at = 0
        self._unreported = 0

    @property
    def test(self) -> str:
        """The node id of the running test."""
        return self._test

    @test.setter
    def test(self, node_id: str) -> None:
        if node_id != self._test:
            self.flush()
            self._test = node_id

    # ---- rows ----

    def _make_put(self) -> Callable[[Template, str], None]:
        """`put`. A closure: it takes half the time of a method, a twentieth of a bolt's own (benchmarks/tracer.py)."""
        rows, clock = self._rows, self._clock

        def put(template: Template, delivery: str) -> None:
            """Write a row that has only a delivery; `delivery` is JSON. Writes the batch if it is full or old."""
            now = clock()
            rows.append((template, now, delivery))
            if now >= self._batch_due or len(rows) >= BATCH:
                self.flush()

        return put

    def write(
        self,
        kind: int,
        component: str = "",
        task: int = 0,
        stream: str = "",
        delivery: str = "",
        root: int = 0,
        value: int = 0,
        site: str = "",
        flags: int = 0,
        thread: str = "",
        note: str = "",
    ) -> None:
        """Write one row with the next batch; a number that fits no column drops the row."""
        if not (-_INT <= task < _INT and -_LONG <= root < _LONG and -_LONG <= value < _LONG):
            self._drop(1)
            return
        template = self.template(kind, component, task, stream, site, flags, thread, root, value, note)
        self._rows.append((template, self._clock(), quoted(printable(delivery))))
        if len(self._rows) >= BATCH:
            self.flush()

    @staticmethod
    def template(
        kind: int,
        component: str,
        task: int,
        stream: str,
        site: str = "",
        flags: int = 0,
        thread: str = "",
        root: int = 0,
        value: int = 0,
        note: str = "",
    ) -> Template:
        """The text of a row without its time, seq, delivery, test and pid."""
        component, stream, site, thread, note = (
            quoted(_cut(text)) for text in (component, stream, site, thread, note)
        )
        return (
            f'{{"schema":{SCHEMA},"kind":{kind:d},"component":{component},"task":{task},"stream":{stream},'
            f'"root":{root},"value":{value},"site":{site},"thread":{thread},"flags":{flags:d},"note":{note},"time_ns":'
        )

    # ---- files ----

    def flush(self) -> None:
        """Append the collected rows to the live file, and finish the part if it is full or old."""
        with self._lock:
            if self._is_busy:
                return
            self._is_busy = True
            try:
                while self._rows:
                    self._write_batch(self._rows[-1][1])
            finally:
                self._is_busy = False

    def roll(self) -> None:
        """Finish the part: its rows become readable by Spark."""
        with self._lock:
            self.flush()
            self._finish()

    def discard(self) -> None:
        """Delete the unfinished part and the rows that are not written yet."""
        with self._lock:
            self._rows.clear()
            if self._file is not None:
                self._file.delete()
                self._file = None

    def close(self) -> None:
        """Finish the part; later rows are dropped."""
        with self._lock:
            self.roll()
            if self._unreported and not self._closed and self._open(self._clock()):
                self.flush()
                self._finish(is_last=True)
            self._closed = True
        atexit.unregister(self._at_exit)

    def _write_batch(self, now: int) -> None:
        """Write the rows at hand, at most as many as the part has room for; count them if they cannot be written."""
        if self._file is None and not self._open(now):
            for _ in range(len(self._rows)):  # other threads may add rows meanwhile
                self._rows.popleft()
                self._drop(1)
            return
        file = self._file
        assert file is not None
        batch = [self._rows.popleft() for _ in range(min(len(self._rows), self._events - file.rows))]
        end = f',"test":{quoted(_cut(self._test))},"pid":{os.getpid()}}}\n'
        lines = [
            f'{template}{time_ns},"seq":{seq},"delivery":{delivery}{end}'
            for seq, (template, time_ns, delivery) in enumerate(batch, self._next_seq)
        ]
        self._batch_due = now + _BATCH_NS
        try:
            file.append("".join(lines).encode("ascii"), len(lines))
        except OSError:
            self._drop(len(lines))
            self._retry_at = now + _RETRY_NS
            self._finish()
            return
        self._next_seq += len(lines)
        if file.rows >= self._events or now >= self._part_due:
            self._finish()

    def _open(self, now: int) -> bool:
        """Open the next live file; False if the rows must be dropped."""
        if self._closed or now < self._retry_at:
            return False
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _write_meta(self)
            self._file = _LiveFile(self.folder, self._next_seq)
        except OSError:
            self._retry_at = now + _RETRY_NS
            return False
        self._next_seq = self._file.stem.first
        self._part_due = now + self._age_ns
        if self._unreported:
            template = self.template(EventKind.DROPPED, "", 0, "", value=self._unreported)
            self._rows.appendleft((template, now, '""'))
            self._unreported = 0
        return True

    def _finish(self, *, is_last: bool = False) -> None:
        if self._file is None:
            return
        file, self._file = self._file, None
        with suppress(OSError):  # the folder was removed
            file.finish()
        if not is_last:
            self._drop(self._delete_oldest(file.stem))

    def _delete_oldest(self, newest: Stem) -> int:
        """Delete the oldest parts beyond the limit, but not the newest; returns the number of rows in them."""
        found = []
        for stem, path in parts(self.folder):
            with suppress(FileNotFoundError):  # another process deletes as well
                status = path.stat()
                found.append((stem == newest, status.st_mtime_ns, path, status.st_size))
        excess = sum(size for *_, size in found) - self._limit
        lost = 0
        for is_newest, _, path, size in sorted(found):
            if excess <= 0 or is_newest:
                break
            lost += _row_count(path)
            path.unlink(missing_ok=True)
            excess -= size
        return lost

    def _drop(self, rows: int) -> None:
        self.dropped += rows
        self._unreported += rows

    def restart(self) -> None:
        """In a fork: leave the parent's file and rows to the parent."""
        if self._file is not None:
            self._file.close()
        self.dropped = 0
        self._reset()


class _LiveFile:
    """The file that this process appends to, locked as long as the process runs."""

    def __init__(self, folder: Path, first: int) -> None:
        """`first` is the seq of the first row, -1 for a process that has not written yet. OSError: no room."""
        self.rows = self._size = 0
        self._folder = folder
        draft = folder / f".draft-{os.getpid()}-{os.urandom(8).hex()}"
        self._descriptor = create(draft)
        try:
            with suppress(OSError):  # a file system without locks: the file always counts as live
                flock(self._descriptor, LOCK_EX | LOCK_NB)
            self.stem = _free_stem(folder, first)
            draft.rename(self.stem.live(folder))
        except OSError:
            self.close()
            draft.unlink(missing_ok=True)
            raise

    def append(self, data: bytes, rows: int) -> None:
        """Append whole lines, or nothing: OSError."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(data)
        self.rows += rows

    def finish(self) -> None:
        """Turn the file into a part; delete it if it is empty."""
        try:
            if self.rows:
                _publish(self._folder, self.stem)
            else:
                self.stem.live(self._folder).unlink(missing_ok=True)
        finally:
            self.close()

    def delete(self) -> None:
        """Delete the file."""
        self.stem.live(self._folder).unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Close the file, which releases its lock."""
        os.close(self._descriptor)


def _free_stem(folder: Path, first: int) -> Stem:
    """A stem after every file of our pid: an earlier process, or one in another container, may have had the same pid."""
    pid = os.getpid()
    taken = {stem.first for found in (parts, live_files) for stem, _ in found(folder) if stem.pid == pid}
    if first < 0:
        first = max(taken, default=-ROWS_PER_PART) + ROWS_PER_PART
    while first in taken:
        first += ROWS_PER_PART
    return Stem(pid, first)


def _publish(folder: Path, stem: Stem) -> Path:
    """Rename a live file to its part; as Parquet if pyarrow is there and the disk has room."""
    live = stem.live(folder)
    parquet = parquet_module()
    if parquet is not None:
        draft = folder / f".draft-{stem}-{os.urandom(8).hex()}"  # a link cannot exist under a random name
        try:
            os.close(create(draft))
            parquet.convert(live, draft)
            part = draft.replace(stem.part(folder, PARQUET))
        except Exception:  # noqa: BLE001 - pyarrow may raise anything; the JSON lines are good
            draft.unlink(missing_ok=True)
        else:
            live.unlink(missing_ok=True)
            return part
    return live.replace(stem.part(folder, JSON_LINES))


def finish_killed(directory: Path) -> list[Unreadable]:
    """Turn the live files of killed processes below `directory` into parts; return those that are damaged and stay.

    Safe beside running processes: they hold the locks of their files.
    """
    unreadable: list[Unreadable] = []
    for folder in [directory, *(path for path in sorted(directory.rglob("worker=*")) if path.is_dir())]:
        for stem, path in live_files(folder):
            line_number, reason = 0, ""
            with lock(path) as was_killed:
                try:
                    if was_killed:
                        _finish_killed(folder, stem)
                except FaultError as fault:
                    line_number, reason = fault.line, str(fault)
                except OSError as error:  # a full disk, or a folder that cannot be written
                    reason = error.strerror or str(error)
            if reason:
                unreadable.append(Unreadable(path=str(path), line=line_number, column=0, reason=reason))
        for draft in folder.glob(".draft-*"):  # of killed processes
            with suppress(OSError):
                if time.time() - draft.stat().st_mtime > _DRAFT_AGE_S:
                    draft.unlink()
    return unreadable


def _finish_killed(folder: Path, stem: Stem) -> None:
    """FaultError: the file is damaged, and stays."""
    live = stem.live(folder)
    rows: list[Event] = []
    is_torn = False
    if stem.finished(folder) is None:  # else the process was killed after it had finished the part
        try:
            rows.extend(read_lines(live, "", ""))
        except FaultError as fault:
            is_torn = fault.torn
            if not is_torn:
                raise
    if rows:
        _complete(live, deaths(live, rows), is_torn=is_torn)
        _publish(folder, stem)
    else:
        live.unlink(missing_ok=True)


def _complete(live: Path, died: list[Event], *, is_torn: bool) -> None:
    """Remove an unfinished last line and append the rows of the deaths."""
    descriptor = os.open(live, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "r+b") as file:  # noqa: PTH123 - a descriptor
        data = file.read()
        end = data.rfind(b"\n") + 1 if is_torn else len(data)
        file.truncate(end)
        file.seek(end)
        if not data[:end].endswith(b"\n"):
            file.write(b"\n")
        file.write("".join(f"{line(row)}\n" for row in died).encode("ascii"))


def _write_meta(recorder: Recorder) -> None:
    """Write `_meta.json`, unless another process has."""
    path = recorder.folder / "_meta.json"
    if path.exists():
        return
    meta = {
        "schema": SCHEMA,
        "run": recorder.run,
        "worker": recorder.worker,
        "level": recorder.level,
        "ackdoctor": __version__,
        "python": platform.python_version(),
        "time_ns": time.time_ns(),
        "monotonic_ns": time.monotonic_ns(),
    }
    draft = path.with_name(f".draft-meta-{os.urandom(8).hex()}")
    try:
        with open(create(draft), "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
            file.write(json.dumps(meta, indent=1) + "\n")
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _restart(recorder: "weakref.ref[Recorder]") -> None:
    if (alive := recorder()) is not None:
        alive.restart()


def _row_count(path: Path) -> int:
    """How many rows a part has; 0 if it cannot be read."""
    try:
        if path.suffix == JSON_LINES:
            return sum(1 for _ in read_lines(path, *partition(path)))
        parquet = parquet_module()
        return int(parquet.row_count(path)) if parquet is not None else 0
    except (OSError, ValueError, FaultError):
        return 0


def _cut(text: str) -> str:
    return printable(text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "...")


# ---- the end of the process ----


def at_exit(work: Callable[[], None]) -> Callable[[], None]:
    """Register work for the end of the process; `atexit.unregister` takes the returned function.

    A second Ctrl-C does not interrupt the work.
    """

    def ending() -> None:
        with ignoring_interrupts():
            work()
        if getattr(sys, "last_type", None) is KeyboardInterrupt and not hasattr(sys, "ps1"):
            _die_of_interrupt()

    return atexit.register(ending)


@contextmanager
def ignoring_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C, if it would raise in this thread."""
    before = signal.getsignal(signal.SIGINT)
    with suppress(ValueError):  # only the main thread may set handlers
        if callable(before):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        with suppress(ValueError):
            if callable(before):
                signal.signal(signal.SIGINT, before)


def _die_of_interrupt() -> None:
    """Let the interpreter die of SIGINT, as it does after an uncaught KeyboardInterrupt.

    The interpreter forgets the interrupt when code is evaluated, such as a namedtuple (pythonrun.c,
    run_eval_code_obj@v3.11.7).
    """
    with suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")  # noqa: S102
