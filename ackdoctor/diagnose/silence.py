"""Detect silence: components that stop logging, a child that misses heartbeats, a log that ends before the others.

A pause is too long if it exceeds ten times the longest earlier pause of the log's components.
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
_LATE_MS = 10_000  # milliseconds; ShellBolt sends a heartbeat each second
_LOGGER = re.compile(r"^\S+ \S+ (?P<logger>(?:\w+\.)+[A-Z]\w*) ")
_STORM_LOGGERS = re.compile(
    r"^(?:o\.|b\.s\.|s\.k\.|s\.t\.|k\.|c\.l\.|i\.n\.|n\.|j\.|org\.|backtype|storm|kafka|java|io\.netty)"
)
_LAUNCHED = "Launching worker for "
_STARTS = 120.0  # seconds after a launch with one-time messages of components
_SHORTEST = 120.0
_TIMES = 10
_FEWEST = 4  # lines of components that prove regular logging
_FEWEST_AFTER = 3  # lines of the worker itself after that
_LOG_SHORTEST = 300.0


@dataclass(slots=True)
class Silence:
    """Times and pauses of one log."""

    name: str
    first: Moment | None = None
    last: Moment | None = None
    line: int = 0  # line of `last`
    pause: float = 0.0  # longest pause in seconds
    ended: bool = False  # a stop or a death ends the log
    _launched: float | None = None
    _second: str = ""
    _component_lines: int = 0
    _component_first: Moment | None = None  # first line of a component
    _component_last: Moment | None = None  # last line of a component
    _component_last_line: int = 0
    _component: str = ""
    _component_pause: float = 0.0
    _worker_lines: int = 0  # lines of the worker since then
    _beats: int = 0
    _delay: tuple[int, int, int] = (0, 0, 0)  # line, current and first delay in milliseconds

    def read_line(self, number: int, line: str, *, component: bool = False) -> None:
        """Read a line of the log; `component`: a component is known to have caused it."""
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
            self._component_lines, self._component_first, self._component_last = 0, None, None
        component_name = component_of(line)
        if component_name.startswith("__"):
            return
        if component or component_name or _is_user_logger(line):
            self._read_component_line(number, component_name)
        else:
            self._worker_lines += 1

    def _read_component_line(self, number: int, component_name: str) -> None:
        assert self.last is not None
        if self._launched is not None and self.last.seconds - self._launched < _STARTS:
            return
        if self._component_last is not None:
            self._component_pause = max(
                self._component_pause, self.last.seconds - self._component_last.seconds
            )
        self._component_first = self._component_first or self.last
        self._component_lines += 1
        self._component_last, self._component_last_line, self._worker_lines = self.last, number, 0
        self._component = component_name

    def _beat(self, number: int, late: int) -> None:
        self._beats += 1
        first = self._delay[2] if late > _LATE_MS else 0
        self._delay = (number, late, first or late)

    def missed_heartbeats(self, rows: Table) -> Occurrence | None:
        """Report a child whose heartbeat delay grows until the log ends."""
        line, late, first = self._delay
        if not late > max(_LATE_MS, first):
            return None
        return Occurrence(
            symptom=rows.called("a child that answers no heartbeat"),
            line=line,
            text=f"no answer for {late / 1000:,.0f} s at the last heartbeat",
            at=self.last,
        )

    def silent_components(self, rows: Table, stopped: Moment | None) -> Occurrence | None:
        """Report components that stopped logging before the log ends, unless a stop or a death follows."""
        if self.last is not None:
            self.ended = stopped is not None and stopped.seconds >= self.last.seconds - _LOG_SHORTEST
        if self._component_last is None or self._component_first is None or self.last is None:
            return None
        silent = self.last.seconds - self._component_last.seconds
        if (
            self._component_lines < _FEWEST
            or self._worker_lines < _FEWEST_AFTER
            or self._component_last.seconds - self._component_first.seconds < 1
            or silent < max(_SHORTEST, _TIMES * self._component_pause)
            or (stopped is not None and stopped.seconds >= self._component_last.seconds)
        ):
            return None
        return Occurrence(
            symptom=rows.called("components that have fallen silent"),
            line=self._component_last_line,
            text=f"last line of a component at {self._component_last.text}, then {silent:,.0f} s of the worker's own lines; before that at most {self._component_pause:,.0f} s without one",
            component=self._component,
            at=self._component_last,
        )


def silent_logs(logs: Sequence[Silence], rows: Table) -> list[Occurrence]:
    """Report worker logs that end long before others without a stop or a death."""
    newest: dict[str, Silence] = {}  # worker directory -> the log that ends last
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


def _is_user_logger(line: str) -> bool:
    """Return whether the logger is a class of the user."""
    found = _LOGGER.match(line[:300])
    return found is not None and _STORM_LOGGERS.match(found["logger"]) is None
