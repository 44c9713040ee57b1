"""The one door to guppy3: how many objects of which type a process has.

Only objects that can be reached are counted, and no baseline is set: one would hide containers that are
older than it, however much they have grown.
"""

import gc
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Census", "census", "missing"]

_INSTALL = "pip install 'ackdoctor[heap]'"


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Census:
    """All objects, and of each type how many and how many bytes: {"int": (201435, 6444132)}."""

    objects: int
    size: int
    types: Mapping[str, tuple[int, int]]


def missing() -> str:
    """Why no heap can be looked into here, and what to do about it; '' where one can."""
    try:
        import guppy  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "guppy":
            return f"guppy3 cannot be loaded: {error}"
        return f"heap snapshots need guppy3, which is not installed: {_INSTALL}"
    except ImportError as error:  # PyPy, or an interpreter without a lock of its own
        return f"guppy3 cannot be loaded: {error}"
    return ""


def census() -> Census:
    """What is alive now; takes about 1 us an object, in which no other thread runs."""
    counted = _counted()
    gc.collect()  # guppy3's set of all objects would keep them alive until the next collection
    return counted


def _counted() -> Census:
    from guppy import hpy

    heap = hpy().heap()
    types = {row.name: (row.count, row.size) for row in heap.stat.get_rows()}
    return Census(objects=heap.count, size=heap.size, types=types)
