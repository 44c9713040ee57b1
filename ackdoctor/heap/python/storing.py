"""Snapshots on disk, as JSON beside the trace of the process that took them: `_heap-<pid>.json`.

The file is written anew with each snapshot, so that a process that is killed leaves those that it had.
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ackdoctor.heap.python.guppy import Census
from ackdoctor.heap.python.snapshot import AckerMap, Holding, Snapshot

__all__ = ["files", "load", "name_of", "save"]


def name_of(pid: int) -> str:
    """The file of a process; readers of traces look past names that begin with an underscore."""
    return f"_heap-{pid}.json"


def files(folder: Path) -> Iterator[Path]:
    """Those below a folder, in order."""
    yield from sorted(folder.rglob(name_of(0).replace("0", "*")))


def save(snapshots: Sequence[Snapshot], file: Path) -> None:
    """Writes them, whole or not at all; OSError if that cannot be."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(f".{os.urandom(8).hex()}.draft")  # no link can wait under that name
    draft.write_text(json.dumps([asdict(snapshot) for snapshot in snapshots]), encoding="utf-8")
    draft.replace(file)


def load(file: Path) -> tuple[Snapshot, ...]:
    """Reads them; ValueError if the file is none of ours, OSError if it cannot be read."""
    try:
        return tuple(_snapshot(row) for row in json.loads(file.read_text(encoding="utf-8")))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{file}: no heap snapshots: {error}") from None


def _snapshot(row: dict[str, Any]) -> Snapshot:
    return Snapshot(
        label=str(row["label"]),
        census=None if row["census"] is None else _census(row["census"]),
        holdings=tuple(Holding(**each) for each in row["holdings"]),
        ackers=tuple(AckerMap(**{**each, "roots": tuple(each["roots"])}) for each in row["ackers"]),
    )


def _census(row: dict[str, Any]) -> Census:
    types = {name: (count, size) for name, (count, size) in row["types"].items()}
    return Census(objects=row["objects"], size=row["size"], types=types)
