"""Storm's FeederSpout: emits what a test feeds it, and keeps what it hears."""

from collections import deque
from collections.abc import Hashable, Sequence

from ackdoctor.lab.component import Spout

__all__ = ["Feed", "Feeder"]


class Feed:
    """The test's end.  It outlives the spout, so a feeder that was killed goes on with it.

    `acked` and `failed` hold message ids in the order in which they were heard.
    """

    def __init__(self) -> None:
        self.acked: list[Hashable] = []
        self.failed: list[Hashable] = []
        self.waiting: deque[tuple[Sequence[object], Hashable]] = deque()

    def __call__(self) -> "Feeder":
        """The factory of the spout."""
        return Feeder(self)

    def put(self, *values: object, msg_id: Hashable = None) -> None:
        """One tuple to be emitted; without a message id nobody hears of it."""
        self.waiting.append((values, msg_id))


class Feeder(Spout):
    """One tuple of the feed at a time."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed

    def next_tuple(self) -> None:
        """Emit what waits longest."""
        if self.feed.waiting:
            values, msg_id = self.feed.waiting.popleft()
            self.collector.emit(values, msg_id=msg_id)

    def ack(self, msg_id: Hashable) -> None:
        """Write it down."""
        self.feed.acked.append(msg_id)

    def fail(self, msg_id: Hashable) -> None:
        """Write it down."""
        self.feed.failed.append(msg_id)
