"""The folder in which `ackdoctor watch` keeps what it has read and told.

It lies beside the traces that were watched, and some of its files are called like parts; none holds a row of a trace.
"""

import os.path
from pathlib import Path

__all__ = ["LOCK", "TERMS", "is_checkpoint"]

LOCK, TERMS = "lock", "terms.json"


def is_checkpoint(folder: Path) -> bool:
    """Whether a watch has begun this folder; one that may not be looked into is none."""
    return all(os.path.isfile(folder / name) for name in (TERMS, LOCK))  # noqa: PTH113 - no error where it may not look
