"""Turns what dead processes have left into parts; safe beside live writers and other recoveries."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from ackdoctor.model.event import IN_HAND, EventKind
from ackdoctor.model.finding import Unreadable
from ackdoctor.tracer.disk.codec import BARE, RECORD, STAMP, STAMPS, WHOLE, Batch, FaultError
from ackdoctor.tracer.disk.reading import read
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
            if why := _tried(folder, stem, recovery):
                recovery.unreadable.append(_unreadable(path, why))
    _sweep(directory)
    return recovery


def _tried(folder: Path, stem: Stem, recovery: Recovery) -> str:
    """Recover one segment; why that failed, '' if it did not: the others are recovered all the same."""
    path = stem.wal(folder)
    try:
        with possess(path) as dead:
            if dead:
                _salvage(folder, stem, recovery)
            elif path.exists():
                recovery.live.append(path)
    except FaultError as fault:
        return str(fault)
    except OSError as error:
        return error.strerror or str(error)
    except Exception as error:  # noqa: BLE001 - what it is, the report says
        return f"internal error: {type(error).__name__}: {error}"
    return ""


def _folders(directory: Path, recovery: Recovery) -> list[Path]:
    def closed(error: OSError) -> None:
        recovery.unreadable.append(_unreadable(Path(error.filename), error.strerror or str(error)))

    return sorted(Path(place) for place, _, _ in os.walk(directory, onerror=closed))


def _salvage(folder: Path, stem: Stem, recovery: Recovery) -> None:
    """One segment of which we hold the lock."""
    part = stem.finished(folder)
    if part is not None:  # its process died between the part and the clean-up
        _need_whole(part)
    else:
        batch = load(folder, stem)
        if len(batch):
            recovery.parts.append(store(_ended(batch, folder, stem), folder, stem))
            recovery.rows += len(batch)
        if batch.damage:
            kept = _put_aside(folder, stem)
            recovery.unreadable.append(
                _unreadable(kept, f"{batch.damage}; the segment is kept under this name")
            )
            return
        recovery.torn += batch.torn
    stem.wal(folder).unlink(missing_ok=True)
    stem.codes(folder).unlink(missing_ok=True)


def _need_whole(part: Path) -> None:
    """FaultError for a part that cannot be read to its end: its segment is all that is left."""
    reading = read([part])
    for _ in reading.events():
        pass
    for fault in reading.unreadable:
        raise FaultError(f"the segment is kept, since {part.name} cannot be read: {fault.reason}")


def _put_aside(folder: Path, stem: Stem) -> Path:
    """Keep a damaged segment and its texts under names that no reader and no recovery takes for a segment."""
    kept = next(
        place for n in count() if not (place := folder / f".damaged-{stem}{f'.{n}' if n else ''}").exists()
    )
    stem.wal(folder).rename(kept)
    if stem.codes(folder).exists():
        stem.codes(folder).rename(kept.with_name(f"{kept.name}.codes"))
    return kept


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
            with suppress(OSError, ValueError):  # swept by another, or nothing of ours
                pid, first = path.name.split(".")[1].split("-")[1:]
                segment = Stem(int(pid), int(first)).wal(path.parent)
                if not segment.exists() and time.time() - path.stat().st_mtime > _OLD:
                    path.unlink()


def _unreadable(path: Path, reason: str) -> Unreadable:
    return Unreadable(path=str(path), line=0, column=0, reason=reason)
