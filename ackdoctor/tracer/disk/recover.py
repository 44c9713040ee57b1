"""Turns what dead processes have left into parts; safe beside live writers and other recoveries."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ackdoctor.model.event import IN_HAND, EventKind
from ackdoctor.model.finding import Unreadable
from ackdoctor.tracer.disk.codec import BARE, RECORD, STAMP, STAMPS, WHOLE, Batch, FaultError
from ackdoctor.tracer.disk.segments import CAPACITY, Stem, parts, wals
from ackdoctor.tracer.disk.storing import store
from ackdoctor.tracer.disk.wal import load, possess

__all__ = ["Recovery", "recover"]

_LITTER = (".new-*", ".codes-*", ".part-*")
_ENDED = "without closing its trace: killed, or by os._exit"
_OLD = 60  # seconds after which a draft that nobody has finished is litter


@dataclass(slots=True, kw_only=True)
class Recovery:
    """What came of it: the parts made, the rows found for them, the segments that are still being written.

    `torn` rows were begun and never finished.  What is unreadable is left as it stands.
    """

    parts: list[Path] = field(default_factory=list)
    rows: int = 0
    torn: int = 0
    live: list[Path] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)


def recover(directory: Path) -> Recovery:
    """Recover every folder below `directory`; doing it again changes nothing."""
    recovery = Recovery()
    if not directory.is_dir():
        recovery.unreadable.append(_unreadable(directory, "no such folder"))
        return recovery
    for folder in _folders(directory, recovery):
        for stem, path in wals(folder):
            with possess(path) as dead:
                if dead:
                    _salvage(folder, stem, recovery)
                elif path.exists():
                    recovery.live.append(path)
    _sweep(directory)
    return recovery


def _folders(directory: Path, recovery: Recovery) -> list[Path]:
    def closed(error: OSError) -> None:
        recovery.unreadable.append(_unreadable(Path(error.filename), error.strerror or str(error)))

    return sorted(Path(place) for place, _, _ in os.walk(directory, onerror=closed))


def _salvage(folder: Path, stem: Stem, recovery: Recovery) -> None:
    """One segment of which we hold the lock."""
    wal = stem.wal(folder)
    try:
        if stem.finished(folder) is None:  # else its process died between the part and the clean-up
            batch = load(folder, stem)
            recovery.torn += batch.torn
            if len(batch):
                recovery.parts.append(store(_ended(batch, folder, stem), folder, stem))
                recovery.rows += len(batch)
    except FaultError as fault:
        recovery.unreadable.append(_unreadable(wal, str(fault)))
        return
    except OSError as error:
        recovery.unreadable.append(_unreadable(wal, error.strerror or str(error)))
        return
    wal.unlink(missing_ok=True)
    stem.codes(folder).unlink(missing_ok=True)


def _ended(batch: Batch, folder: Path, stem: Stem) -> Batch:
    """The rows, and for each component that has one a DIED row: its process did not live to close the segment."""
    others = (other for found in (parts, wals) for other, _ in found(folder))
    if any(other.pid == stem.pid and other.first > stem.first for other in others):
        return batch  # it lived on: there was no room for the part
    legend = list(STAMP.iter_unpack(batch.stamps))
    last: dict[tuple[int, int, int], int] = {}
    time_ns = named = 0
    for now, _, _, stamp, test, _, _ in RECORD.iter_unpack(batch.records):
        kind, _, component, task, *codes = legend[stamp]
        time_ns, named = max(time_ns, now), max(named, component, test, *codes)
        if component:
            last[component, task, test] = kind
    dead = [who for who, kind in last.items() if kind != EventKind.DIED]
    slots = list(batch.slots)
    note = max(len(batch.texts), named + 1)  # after the names that are lost
    if slots[-1] + len(dead) >= CAPACITY or max(note, len(legend) + len(dead)) >= STAMPS:
        return batch  # no seq is free before the next segment's, or no number for what is to be said
    stamps, records = bytearray(batch.stamps), [batch.records]
    for component, task, test in dead:
        slots.append(slots[-1] + 1)
        died = len(stamps) // STAMP.size
        stamps += STAMP.pack(EventKind.DIED, IN_HAND, component, task, 0, 0, 0, note)
        records.append(RECORD.pack(time_ns, 0, 0, died, test, BARE, WHOLE))
    texts = [*batch.texts, *[""] * (note - len(batch.texts)), _ENDED]
    return replace(batch, records=b"".join(records), slots=slots, stamps=bytes(stamps), texts=texts)


def _sweep(directory: Path) -> None:
    """Drafts of processes that died in the middle of one."""
    for pattern in _LITTER:
        for path in directory.rglob(pattern):
            with suppress(FileNotFoundError, ValueError):  # swept by another, or nothing of ours
                pid, first = path.name.split(".")[1].split("-")[1:]
                segment = Stem(int(pid), int(first)).wal(path.parent)
                if not segment.exists() and time.time() - path.stat().st_mtime > _OLD:
                    path.unlink()


def _unreadable(path: Path, reason: str) -> Unreadable:
    return Unreadable(path=str(path), line=0, column=0, reason=reason)
