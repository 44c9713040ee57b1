"""The bounded pipe from the pump to the observer.

A copy of each chunk goes into a pipe that never blocks the pump. Chunks that do not fit are dropped and counted.
"""

import fcntl
import os
import select
import time
from collections.abc import Iterator
from contextlib import suppress
from enum import IntEnum, unique
from struct import Struct
from typing import NamedTuple

__all__ = ["Chunk", "Direction", "Tap", "chunks"]

_HEAD = Struct("<BIIq")  # direction, messages missed before, length, time_ns
_ROOM = 1 << 20  # bytes asked of the kernel
_DRAIN_S = 2.0  # seconds for the last chunks, when the component has ended already


@unique
class Direction(IntEnum):
    """The direction of a chunk."""

    TO_COMPONENT = 0
    FROM_COMPONENT = 1
    ENDED = 2  # the exit code, as text
    CUT = 3  # the same, of a component whose input had not ended


class Chunk(NamedTuple):
    """Some bytes of the pipe; about `missed` messages before them are in no chunk."""

    direction: Direction
    missed: int
    time_ns: int
    data: bytes


class Tap:
    """The pump's end. `missed` counts the messages in dropped chunks, for each direction."""

    def __init__(self, descriptor: int) -> None:
        self._fd = descriptor
        self._rest = memoryview(b"")
        self.missed = dict.fromkeys(Direction, 0)
        os.set_blocking(descriptor, False)
        with suppress(AttributeError, OSError):  # not Linux, or more than this user may have
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _ROOM)

    @property
    def alive(self) -> bool:
        """Whether the observer still reads."""
        return self._fd >= 0

    def offer(self, direction: Direction, data: bytes) -> None:
        """Pass a chunk on, if there is room; never blocks, never raises."""
        if self.alive and self._flush():
            head = _HEAD.pack(direction, self.missed[direction], len(data), time.time_ns())
            self.missed[direction] = 0
            self._rest = memoryview(head + data)
            if self._flush() or self.alive:
                return
        self.missed[direction] += max(data.count(b"\nend\n"), 1)

    def _flush(self) -> bool:
        """Write the rest of the chunk before; False if some is left."""
        try:
            while self._rest:
                self._rest = self._rest[os.write(self._fd, self._rest) :]
        except BlockingIOError:
            return False
        except OSError:  # the observer is gone
            self._shut()
            return False
        return True

    def close(self, status: str, how: Direction = Direction.ENDED) -> None:
        """The component has ended; `how` is ENDED or CUT."""
        deadline = time.monotonic() + _DRAIN_S
        self._wait(deadline)
        for direction in (Direction.TO_COMPONENT, Direction.FROM_COMPONENT):
            if self.missed[direction]:
                self.offer(direction, b"")
                self._wait(deadline)
        self.offer(how, status.encode())
        self._wait(deadline)
        self._shut()

    def _wait(self, deadline: float) -> None:
        while self.alive and not self._flush() and (left := deadline - time.monotonic()) > 0:
            select.select((), (self._fd,), (), left)

    def _shut(self) -> None:
        if self.alive:
            os.close(self._fd)
            self._fd, self._rest = -1, memoryview(b"")


def chunks(descriptor: int) -> Iterator[Chunk]:
    """The observer's end: the chunks, until the pump closes its end."""
    with os.fdopen(descriptor, "rb") as pipe:
        while len(head := pipe.read(_HEAD.size)) == _HEAD.size:
            direction, missed, length, time_ns = _HEAD.unpack(head)
            data = pipe.read(length)
            if len(data) < length:
                return
            yield Chunk(Direction(direction), missed, time_ns, data)
