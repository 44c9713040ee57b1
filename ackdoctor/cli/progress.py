"""How far a long run is, on a terminal's last line."""

import time
from typing import TextIO

__all__ = ["Progress"]

_PATIENCE = 0.6  # seconds before anything is shown
_PAUSE = 0.1  # seconds between two updates


class Progress:
    """Counts on one line, and leaves no trace of it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._next = time.monotonic() + _PATIENCE
        self._shown = False

    def show(self, done: int, total: int) -> None:
        """To be called as often as anything is done."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _PAUSE
            self._shown = True
            self._stream.write(f"\rackdoctor: {done:,} of {total:,}")
            self._stream.flush()

    def clear(self) -> None:
        """The line is empty again."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
