"""A sink that records what arrives, as the store behind a topology would see it.

    records = Records()
    builder.set_bolt("sink", lambda: Sink(records)).shuffle_grouping("bolt")
    records.times_seen()    {1: 998, 2: 2}: two values arrived twice

The records outlive the sink.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterator
from random import Random
from typing import NamedTuple

from ackdoctor.lab.component import Bolt, Tup


class Delivery(NamedTuple):
    """One write; `attempt` is the attempt of the spout that emitted the value, 0 if it is unknown."""

    value: Hashable
    time_ms: int
    attempt: int


class Records:
    """All writes, in order."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []

    def counts(self) -> Counter[Hashable]:
        """Return how often each value arrived."""
        return Counter(delivery.value for delivery in self.deliveries)

    def times_seen(self) -> dict[int, int]:
        """Return how many values arrived once, how many twice, and so on."""
        return dict(sorted(Counter(self.counts().values()).items()))

    def repeated(self) -> int:
        """Return how many values arrived more than once; one that arrived three times counts once."""
        return sum(count for times, count in self.times_seen().items() if times > 1)

    def extra(self) -> int:
        """Return how many deliveries there are beyond the first of each value."""
        return len(self.deliveries) - len(self.counts())

    def missing(self, values: Collection[Hashable]) -> list[Hashable]:
        """Return the values that never arrived, in order."""
        counts = self.counts()
        return [value for value in values if value not in counts]


class Sink(Bolt):
    """Records the first value of each tuple, and its second value as attempt; acks.

    The write takes `seconds`.  With probability `resend`, the confirmation of a write is lost, and the producer
    writes again: the value arrives twice although Storm delivers it once.
    """

    def __init__(
        self, records: Records, *, seconds: float = 0, resend: float = 0, random: Random | None = None
    ) -> None:
        self._records = records
        self._seconds = seconds
        self._resend = resend
        self._random = random or Random(0)  # noqa: S311 - it decides a simulated fault

    def execute(self, tup: Tup) -> Iterator[float]:
        """Write, at the end of the time that it takes, and ack."""
        if self._seconds:
            yield self._seconds
        value, *rest = tup.values
        assert isinstance(value, Hashable), "a value is counted"
        attempt = rest[0] if rest and isinstance(rest[0], int) else 0
        delivery = Delivery(value, self.context.now_ms(), attempt)
        self._records.deliveries.append(delivery)
        while self._resend and self._random.random() < self._resend:
            self._records.deliveries.append(delivery)
        self.collector.ack(tup)
