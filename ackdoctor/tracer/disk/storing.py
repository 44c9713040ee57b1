"""From a batch of records to a part, in the best format that this process has."""

import os
from pathlib import Path
from types import ModuleType

from ackdoctor.tracer.disk import jsonlines
from ackdoctor.tracer.disk.codec import Batch
from ackdoctor.tracer.disk.segments import Stem, begin

__all__ = ["columnar", "rows_of", "store"]


def columnar() -> ModuleType | None:
    """The Parquet door, or None where pyarrow is absent or does not load."""
    try:
        from ackdoctor.tracer.disk import parquet
    except Exception:  # noqa: BLE001 - a broken build of pyarrow raises what it likes
        return None
    return parquet


def store(batch: Batch, folder: Path, stem: Stem) -> Path:
    """Write the part and put it in place under its name, whole or not at all; OSError if there is no room."""
    draft = folder / f".part-{stem}.{os.urandom(8).hex()}"  # no link can wait under that name
    door = columnar()
    begin(draft)
    try:
        if door is None:
            suffix = jsonlines.SUFFIX
            jsonlines.store(batch, draft)
        else:
            suffix = door.SUFFIX
            door.write(batch, draft)
        return draft.replace(stem.part(folder, suffix))
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def rows_of(path: Path) -> int:
    """How many rows a part has; 0 if it cannot be read, or is gone."""
    door = columnar() if path.suffix != jsonlines.SUFFIX else jsonlines
    try:
        return int(door.rows(path)) if door is not None else 0
    except (OSError, ValueError):
        return 0
