"""Two pipes joined: every byte in order, no more of them in memory than one read, ends and breaks passed on.

One loop serves both directions, so what is offered to the tap stands in the order in which it passed:
a tuple before the ack that answers it.  It has no thread beside it and parses nothing.
"""

import os
import select
from collections.abc import Callable
from dataclasses import dataclass, field

from ackdoctor.tracer.process.tap import Direction, Tap

__all__ = ["Lane", "pump"]

_CHUNK = 65_536
_IN, _OUT = select.POLLIN, select.POLLOUT


@dataclass(slots=True)
class Lane:
    """One direction: what is read from `source` is written to `sink`.

    `step` is the most that a write may take: a pipe that is ready takes `PIPE_BUF` bytes without blocking,
    one that was made non-blocking any number.  `shut` closes a descriptor for whoever is at its other end.
    `exhausted` is whether it was the source that ended, not the sink.
    """

    direction: Direction
    source: int
    sink: int
    step: int = select.PIPE_BUF
    shut: Callable[[int], None] = os.close
    rest: memoryview = field(default_factory=lambda: memoryview(b""))
    open: bool = True
    exhausted: bool = False

    def read(self, tap: Tap) -> None:
        """One read; an end is passed on."""
        try:
            data = os.read(self.source, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.exhausted = True
            self.end()
            return
        self.rest = memoryview(data)
        self.write()
        tap.offer(self.direction, data)

    def write(self) -> None:
        """As much as the sink takes now; a break is passed on to the writer."""
        try:
            self.rest = self.rest[os.write(self.sink, self.rest[: self.step]) :]
        except BlockingIOError:
            return
        except OSError:
            self.end()

    def end(self) -> None:
        """Nothing more comes, or nobody listens any more."""
        self.open, self.rest = False, memoryview(b"")
        self.shut(self.sink)
        self.shut(self.source)


def pump(lanes: tuple[Lane, Lane], tap: Tap, *, ended: Callable[[], bool], wake: int) -> None:
    """Serve the lanes until the component has ended and what it wrote has been passed on.

    `wake` becomes readable when it may have ended.  The last lane is the component's own words.
    """
    words = lanes[-1]
    while True:
        over = ended()
        if over and not words.open:
            return
        poll = select.poll()
        poll.register(wake, _IN)
        for lane in lanes:
            if lane.open:
                _watch(poll, lane)
        ready = dict(poll.poll(0 if over and not words.rest else None))
        if wake in ready:
            os.read(wake, _CHUNK)
        if over and not words.rest and words.source not in ready:
            return
        for lane in lanes:
            if lane.open:
                _serve(lane, ready, tap)


def _watch(poll: "select.poll", lane: Lane) -> None:
    """A sink with nothing to take is watched for the break alone."""
    poll.register(lane.sink, _OUT if lane.rest else 0)
    if not lane.rest:
        poll.register(lane.source, _IN)


def _serve(lane: Lane, ready: dict[int, int], tap: Tap) -> None:
    if lane.rest:
        if lane.sink in ready:
            lane.write()
    elif ready.get(lane.sink, 0) & (select.POLLERR | select.POLLNVAL):
        lane.end()
    elif lane.source in ready:
        lane.read(tap)
