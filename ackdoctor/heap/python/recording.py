"""Snapshots of a process that runs below `ackdoctor trace run --heap`: taken by itself, written beside its trace."""

import os
import sys
from functools import partial
from pathlib import Path

from ackdoctor.heap.python.album import LAST, Album
from ackdoctor.heap.python.guppy import missing
from ackdoctor.heap.python.session import components
from ackdoctor.heap.python.storing import name_of, save
from ackdoctor.tracer.ledger.ledger import Ledger
from ackdoctor.tracer.trace.write import at_exit

__all__ = ["attach"]


def attach(ledger: Ledger, folder: Path) -> None:
    """From its first component on; where guppy3 is not installed for the process, it says so and runs without."""
    if why := missing():
        sys.stderr.write(f"ackdoctor: {sys.executable} (pid {os.getpid()}): {why}\n")
        return
    snapshots = _Snapshots(ledger, folder)
    ledger.growing = snapshots.look
    at_exit(snapshots.end)


class _Snapshots:
    """The first at the first look, which comes with the first component."""

    def __init__(self, ledger: Ledger, folder: Path) -> None:
        self._ledger = ledger
        self._folder = folder
        self._album = Album(partial(components, ledger))

    def look(self, pending: int) -> None:
        """Pending has changed."""
        if not self._album.snapshots:
            self._album.take("start")
        elif self._album.look(pending) is None:
            return
        self._save()

    def end(self) -> None:
        """The process ends; one that has run no component has nothing to show."""
        if self._ledger.books:
            self._ledger.growing = None
            self._album.take(LAST)
            self._save()

    def _save(self) -> None:
        try:
            save(self._album.snapshots, self._folder / name_of(os.getpid()))
        except OSError as error:
            sys.stderr.write(f"ackdoctor: no heap snapshots: {error}\n")
