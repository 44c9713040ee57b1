"""Progress of a long run: one line on the terminal, after a second, gone at the end."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from ackdoctor.cli.output import can_clear

if TYPE_CHECKING:
    from rich.progress import Progress as Line

_DELAY_S = 1.0  # before the line is shown
_INTERVAL_S = 0.1  # between two updates of the line
_BAR = 20  # columns
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


class Progress:
    """The line: call it with the work that is done and in total; without a total, 0, the bar moves to and fro.

    It has no thread of its own: lint forks only in a process without other threads.
    """

    def __init__(self, what: str, *, in_bytes: bool = False) -> None:
        self.what = what
        self._in_bytes = in_bytes
        self._due = time.monotonic() + _DELAY_S
        self._line: Line | None = None

    def __call__(self, done: int, total: int) -> None:
        """Show the state, unless the last one was shown just now."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + _INTERVAL_S
        line = self._line or self._begin()
        text = f"{self.what}: {self._amount(done, total)}" if done or total else self.what
        task = line.tasks[0]
        task.total = total or None  # `update` takes None for no change
        line.update(task.id, description=text, completed=done, refresh=True)

    def within(self, paths: Iterable[Path]) -> Mapping[Path, Callable[[int], None]]:
        """Return a function for each file, in the order in which they are read; it takes the position in the file."""
        sizes = {path: path.stat().st_size if path.is_file() else 0 for path in paths}
        begins = accumulate(sizes.values(), initial=0)
        return {
            path: partial(self._at, begin, sum(sizes.values()))
            for path, begin in zip(sizes, begins, strict=False)
        }

    def _at(self, begin: int, total: int, position: int) -> None:
        self(begin + position, total)

    def end(self) -> None:
        """Clear the line."""
        if self._line is not None:
            self._line.stop()

    def _begin(self) -> "Line":
        from rich.console import Console  # most runs are shorter than a second
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Line
        from rich.table import Column

        text = TextColumn(
            "{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")
        )
        self._line = Line(
            text,
            BarColumn(_BAR),
            console=Console(file=sys.stderr),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._line.add_task(self.what)
        self._line.start()
        return self._line

    def _amount(self, done: int, total: int) -> str:
        if not self._in_bytes:
            return f"{done:,} of {total:,}" if total else f"{done:,}"
        size, unit = next((each for each in _UNITS if max(done, total) >= each[0]), _UNITS[-1])
        of = f" of {total / size:,.1f}" if total else ""
        return f"{done / size:,.1f}{of} {unit}"


@contextmanager
def progress(what: str, *, quiet: bool = False, in_bytes: bool = False) -> Iterator[Progress | None]:
    """Yield the line for standard error; None if that is no terminal, or one that cannot clear a line."""
    if quiet or not can_clear(sys.stderr):
        yield None
        return
    line = Progress(what, in_bytes=in_bytes)
    try:
        yield line
    finally:
        line.end()
