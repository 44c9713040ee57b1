"""Object counts by type, from guppy3; no other module imports it.

The census counts only reachable objects.  It sets no baseline, because a baseline would hide the growth of older
containers.
"""

import gc
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Census", "census", "missing"]

_INSTALL = "pip install 'ackdoctor[heap]'"


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Census:
    """All objects, with (count, bytes) of each type: {"int": (201435, 6444132)}."""

    objects: int
    size: int
    types: Mapping[str, tuple[int, int]]


def missing() -> str:
    """Return the reason why heap snapshots are impossible here, with the remedy; '' if they work."""
    try:
        import guppy  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "guppy":
            return f"guppy3 cannot be loaded: {error}"
        return f"heap snapshots need guppy3, which is not installed: {_INSTALL}"
    except ImportError as error:  # PyPy, or a subinterpreter without its own lock
        return f"guppy3 cannot be loaded: {error}"
    return ""


def census() -> Census:
    """Count the live objects; takes about 1 us per object and blocks all other threads."""
    counted = _counted()
    gc.collect()  # guppy3's set of all objects would keep them alive until the next collection
    return counted


def _counted() -> Census:
    from guppy import hpy

    heap = hpy().heap()
    types = {row.name: (row.count, row.size) for row in heap.stat.get_rows()}
    return Census(objects=heap.count, size=heap.size, types=types)
