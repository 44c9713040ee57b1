"""Silence: components that write no more while their worker does, a child that answers no heartbeat, a log that ends before the others.

How long is too long is measured by the log itself: ten times the longest pause that its components have made before.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ackdoctor.diagnose.findings import Occurrence
from ackdoctor.diagnose.log_lines import Moment, component_of, kind_of_name, moment_of
from ackdoctor.diagnose.symptoms import Table

__all__ = ["Silence", "silent_logs"]

_BEAT = re.compile(
    r"BOLT - current time : (?P<now>\d{1,15}), last heartbeat : (?P<last>\d{1,15}), worker timeout"
)
_LATE = 10_000  # milliseconds; a child is asked each second
_LOGGER = re.compile(r"^\S+ \S+ (?P<logger>(?:\w+\.)+[A-Z]\w*) ")
_STORMS = re.compile(
    r"^(?:o\.|b\.s\.|s\.k\.|s\.t\.|k\.|c\.l\.|i\.n\.|n\.|j\.|org\.|backtype|storm|kafka|java|io\.netty)"
)
_LAUNCHED = "Launching worker for "
_STARTS = 120.0  # seconds in which components write what they write only once
_SHORTEST = 120.0
_TIMES = 10
_FEWEST = 4  # lines of components
_FEWEST_AFTER = 3  # lines of the worker's own
_LOG_SHORTEST = 300.0


@dataclass(slots=True)
class Silence:
    """The times of one log."""

    name: str
    first: Moment | None = None
    last: Moment | None = None
    line: int = 0  # of the last time
    pause: float = 0.0  # the longest
    ended: bool = False  # by a stop or a death
    _launched: float | None = None
    _second: str = ""
    _heard: int = 0
    _begun: Moment | None = None  # the components' first line
    _until: Moment | None = None  # and their last,
    _until_line: int = 0
    _component: str = ""
    _pause: float = 0.0
    _after: int = 0  # lines of the worker since then
    _beats: int = 0
    _late: tuple[int, int, int] = (0, 0, 0)  # line, milliseconds, and those at first

    def hear(self, number: int, line: str, *, component: bool = False) -> None:
        """One line of the log."""
        if "last heartbeat" in line and (beat := _BEAT.search(line)):
            self._beat(number, int(beat["now"]) - int(beat["last"]))
        if line[:19] != self._second:
            moment = moment_of(line)
            if moment is None:
                return
            self._second = line[:19]
            if self.last is not None:
                self.pause = max(self.pause, moment.seconds - self.last.seconds)
            self.first, self.last = self.first or moment, moment
        self.line = number
        if self.last is None:
            return
        if _LAUNCHED in line:
            self._launched = self.last.seconds
            self._heard, self._begun, self._until = 0, None, None
        whose = component_of(line)
        if whose.startswith("__"):
            return
        if component or whose or _is_users(line):
            self._component_speaks(number, whose)
        else:
            self._after += 1

    def _component_speaks(self, number: int, whose: str) -> None:
        assert self.last is not None
        if self._launched is not None and self.last.seconds - self._launched < _STARTS:
            return
        if self._until is not None:
            self._pause = max(self._pause, self.last.seconds - self._until.seconds)
        self._begun = self._begun or self.last
        self._heard += 1
        self._until, self._until_line, self._after = self.last, number, 0
        self._component = whose

    def _beat(self, number: int, late: int) -> None:
        self._beats += 1
        first = self._late[2] if late > _LATE else 0
        self._late = (number, late, first or late)

    def lag(self, rows: Table) -> Occurrence | None:
        """A child that has answered no heartbeat for longer and longer until the log ends."""
        line, late, first = self._late
        if not late > max(_LATE, first):
            return None
        return Occurrence(
            symptom=rows.called("a child that answers no heartbeat"),
            line=line,
            text=f"no answer for {late / 1000:,.0f} s at the last look",
            at=self.last,
        )

    def fallen(self, rows: Table, stopped: Moment | None) -> Occurrence | None:
        """Components that fell silent before the log ends, unless the log tells of a stop or a death after that."""
        if self.last is not None:
            self.ended = stopped is not None and stopped.seconds >= self.last.seconds - _LOG_SHORTEST
        if self._until is None or self._begun is None or self.last is None:
            return None
        silent = self.last.seconds - self._until.seconds
        if (
            self._heard < _FEWEST
            or self._after < _FEWEST_AFTER
            or self._until.seconds - self._begun.seconds < 1
            or silent < max(_SHORTEST, _TIMES * self._pause)
            or (stopped is not None and stopped.seconds >= self._until.seconds)
        ):
            return None
        return Occurrence(
            symptom=rows.called("components that have fallen silent"),
            line=self._until_line,
            text=f"last line of a component at {self._until.text}, then {silent:,.0f} s of the worker's own lines; before that at most {self._pause:,.0f} s without one",
            component=self._component,
            at=self._until,
        )


def silent_logs(logs: Sequence[Silence], rows: Table) -> list[Occurrence]:
    """The logs of workers that end long before others, though neither a stop nor a death ends them."""
    newest: dict[str, Silence] = {}  # of each worker, the file that ends last
    for log in logs:
        if log.last is None or kind_of_name(log.name) != "worker":
            continue
        folder = str(PurePath(log.name).parent)
        known = newest.get(folder)
        if known is None or known.last is None or log.last.seconds > known.last.seconds:
            newest[folder] = log
    found = []
    for log in newest.values():
        assert log.last is not None
        others = [each for each in newest.values() if each is not log and each.first and each.last]
        until = max(
            (
                each.last.seconds
                for each in others
                if each.first and each.last and each.first.seconds < log.last.seconds
            ),
            default=0.0,
        )
        if not log.ended and until - log.last.seconds > max(_LOG_SHORTEST, _TIMES * log.pause):
            found.append(
                Occurrence(
                    symptom=rows.called("a log that ends before the others"),
                    line=log.line,
                    text=f"last line at {log.last.text}; another worker wrote {until - log.last.seconds:,.0f} s longer",
                    at=log.last,
                )
            )
    return found


def _is_users(line: str) -> bool:
    """Whether the logger is a class of the user's."""
    found = _LOGGER.match(line[:300])
    return found is not None and _STORMS.match(found["logger"]) is None
