"""The snapshots of one run: at its start, whenever twice as much is pending as before, and at its end."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from ackdoctor.heap.python.guppy import Census, census
from ackdoctor.heap.python.holders import Holder
from ackdoctor.heap.python.snapshot import Snapshot, take

__all__ = ["LAST", "Album"]

LAST = "end"  # the label of the last; a process that is killed has none
_FIRST_MARK = 1_000  # pending; each further mark is twice the one before


class Album:
    """`known` finds the holders anew for each snapshot: components come and go, and none is kept alive here.

    `count` counts the whole heap.
    """

    def __init__(
        self,
        known: Callable[[], Iterable[Holder]],
        first_mark: int = _FIRST_MARK,
        count: Callable[[], Census] = census,
    ) -> None:
        self.snapshots: list[Snapshot] = []
        self._known = known
        self._count = count
        self._mark = first_mark
        self._busy = False

    def take(self, label: str, count: Callable[[], Census | None] | None = None) -> Snapshot:
        """Take one now; `count` in place of the album's own."""
        self._busy = True
        try:
            snapshot = take(label, self._known(), count or self._count)
        finally:
            self._busy = False
        self.snapshots.append(snapshot)
        return snapshot

    def count(self, count: Callable[[], Census | None]) -> None:
        """Count the whole heap for the last snapshot, which has been taken without."""
        self.snapshots[-1] = replace(self.snapshots[-1], census=count())

    def look(self, pending: int) -> Snapshot | None:
        """One if so much was never pending before; cheap if not."""
        if pending < self._mark or self._busy:
            return None
        while self._mark <= pending:
            self._mark *= 2
        return self.take(f"{pending:,} pending")
