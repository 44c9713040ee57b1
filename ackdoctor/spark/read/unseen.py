"""What Spark does not read since its name, or that of its folder, begins with a dot or an underscore; and whether somebody misses it."""

from collections.abc import Iterable
from enum import Enum, unique

__all__ = ["HIDDEN", "Unseen", "is_unseen", "unseen"]

HIDDEN = "hidden: Spark reads no name that begins with a dot or an underscore"
_MARKS = (".", "_")
_LIVE = ".live-"
_SILENT = ("_meta.json", "_SUCCESS", "_spark_metadata", "_delta_log")


@unique
class Unseen(Enum):
    """What such a file is."""

    ROWS = "a live file: rows that are missing from the analysis"
    NOTE = "a note beside a trace, or Spark's own"
    OTHER = "a file of somebody's"


def is_unseen(name: str, folder: str) -> bool:
    """Whether Spark passes over a file of this name, in a folder of that name."""
    return name.startswith(_MARKS) or folder.startswith(_MARKS)


def unseen(name: str, size: int, beside: Iterable[str]) -> Unseen:
    """What the file is; a live file whose part is `beside` it is a note."""
    if name.startswith(_LIVE):
        part = f"part-{name.removeprefix(_LIVE).removesuffix('.jsonl')}."
        return Unseen.ROWS if size and not any(each.startswith(part) for each in beside) else Unseen.NOTE
    noted = name in _SILENT or name.endswith(".crc")
    return Unseen.NOTE if noted else Unseen.OTHER
