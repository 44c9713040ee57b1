"""The processes of workers, from one launch to the next: repeated reports of one death, and silence before the end of a log."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath

from ackdoctor.diagnose.log_lines import Moment, component_of, kind_of_name, moment_of
from ackdoctor.diagnose.symptoms import Occurrence, Sign, fatal, table

_LAUNCHING = "Launching worker for "
_LAUNCHED = re.compile(rf"{_LAUNCHING}|Starting worker |Launching virtual worker")
_STOPS = re.compile(
    r"ShutdownHook|Shutting down worker |Shutting down executor|Got shutdown signal|Begin to shutdown|received kill|Deactivating spout"
)
_SLOT = re.compile(r"Launching worker with assignment .* on port (?P<port>\d+) with id (?P<id>\S+)")
_ROTATED = re.compile(r"(?:\.\d+)?(?:\.(?:gz|zip))?$|(?<=\.log)\.\d{4}-\d\d-\d\d\S*$")
_NEAR = 60.0  # seconds between the first and the last line about one death
_RELEVANT = ("aunching", "hut", "Starting worker", "kill", "Deactivating", "Begin to")
_SUPERVISOR_BEFORE, _SUPERVISOR_AFTER = 120.0, 15.0  # a supervisor reports a death within these seconds
_MOST_RECENT = 8
_MOST_SEEN = 200_000
# ---- silence ----
_BEAT = re.compile(
    r"BOLT - current time : (?P<now>\d{1,15}), last heartbeat : (?P<last>\d{1,15}), worker timeout"
)
_LATE_MS = 10_000  # milliseconds; ShellBolt sends a heartbeat each second
_LOGGER = re.compile(r"^\S+ \S+ (?P<logger>(?:\w+\.)+[A-Z]\w*) ")
_STORM_LOGGERS = re.compile(
    r"^(?:o\.|b\.s\.|s\.k\.|s\.t\.|k\.|c\.l\.|i\.n\.|n\.|j\.|org\.|backtype|storm|kafka|java|io\.netty)"
)
_STARTS = 120.0  # seconds after a launch with one-time messages of components
_SHORTEST = 120.0
_TIMES = 10
_FEWEST = 4  # lines of components that prove regular logging
_FEWEST_AFTER = 3  # lines of the worker itself after that
_LOG_SHORTEST = 300.0


@dataclass(slots=True)
class Processes:
    """Follows the logs of workers, one after the other; `worker` is the worker of the current log."""

    worker: str = ""
    stopping: bool = False  # an orderly stop is under way
    stopped: Moment | None = None  # time of the last stop or death
    ports: dict[str, str] = field(default_factory=dict)  # worker id -> port, from a supervisor's log
    _file: int = 0
    _recent: list[Occurrence] = field(default_factory=list)
    _seen: dict[tuple[str, str, float, str], int] = field(default_factory=dict)  # -> file number

    def begin(self, name: str) -> None:
        """Begin another file."""
        path = PurePath(name)
        worker = str(PurePath(path.parent.name, _ROTATED.sub("", path.name))) if name else ""
        if worker != self.worker:
            self._recent = []
        self.worker, self.stopping, self.stopped = worker, False, None
        self._file += 1

    def read(self, line: str) -> None:
        """Read a line that may begin or end a process."""
        if not any(map(line.__contains__, _RELEVANT)):
            return
        if _LAUNCHED.search(line):
            self.stopping, self.stopped, self._recent = False, None, []
        elif found := _SLOT.search(line):
            self.ports[found["id"]] = found["port"]
        elif _STOPS.search(line):
            self.stopping, self.stopped = True, moment_of(line)

    def note(self, occurrence: Occurrence) -> None:
        """Record an occurrence."""
        self._recent = [*self._recent[-_MOST_RECENT:], occurrence]
        if occurrence.fatal:
            self.stopped = occurrence.at

    def earlier(self, occurrence: Occurrence, *, echo: bool) -> Occurrence | None:
        """Return the earlier occurrence that this one repeats; None for a new one."""
        if occurrence.at is not None:
            key = (self.worker, occurrence.text, occurrence.at.seconds, occurrence.component)
            if len(self._seen) < _MOST_SEEN:
                self._seen.setdefault(key, self._file)
            if self._seen.get(key, self._file) != self._file:
                return occurrence  # another file of this worker has the same line
        near = [each for each in reversed(self._recent) if _seconds_between(each, occurrence) <= _NEAR]
        if echo or (occurrence.thrown is None and occurrence.symptom.generic):
            # the last death, or the last exception, which was that of the death
            last = [each for each in near if each.fatal] or [each for each in near if each.thrown]
            return next(iter(last), None)
        if occurrence.kind == "supervisor" and occurrence.subject:
            return next((each for each in near if self._are_of_one_worker(each, occurrence)), None)
        return next((each for each in near if _are_equal(each, occurrence)), None)

    def _are_of_one_worker(self, one: Occurrence, other: Occurrence) -> bool:
        ids = [self.ports.get(each.subject, each.subject) for each in (one, other)]
        # one id is a slot's port, the other a worker id, and no line links them
        unlinked = ids[0].isdecimal() != ids[1].isdecimal()
        return one.kind == "supervisor" and (
            ids[0] == ids[1] or (unlinked and _seconds_between(one, other) <= _SUPERVISOR_AFTER)
        )


def without_announcements(signs: Iterable[Sign]) -> list[Sign]:
    """Drop lines that only announce a death when an exception nearby explains it."""
    signs = list(signs)
    explained = [each for each in fatal(signs) if each.thrown is not None]

    def is_explained(line: Occurrence) -> bool:
        return (
            line.symptom.generic
            and line.thrown is None
            and any(
                each.worker == line.worker and _seconds_between(each, line) <= _NEAR for each in explained
            )
        )

    return _without(signs, is_explained)


def without_echoes(signs: Iterable[Sign], ports: dict[str, str]) -> list[Sign]:
    """Drop a supervisor's reports of deaths that the workers' own logs explain."""
    signs = list(signs)
    explained = [
        each for each in fatal(signs) if each.kind not in {"supervisor", "nimbus"} and each.at is not None
    ]

    def is_echo(seen: Occurrence) -> bool:
        if seen.kind != "supervisor" or seen.at is None:
            return False
        port = ports.get(seen.subject, seen.subject)
        for death in explained:
            assert death.at is not None
            slot = PurePath(death.worker).parent.name
            other = slot.isdecimal() and port.isdecimal() and slot != port
            if not other and -_SUPERVISOR_AFTER <= seen.at.seconds - death.at.seconds <= _SUPERVISOR_BEFORE:
                return True
        return False

    return _without(signs, is_echo)


def _without(signs: Iterable[Sign], is_dropped: Callable[[Occurrence], bool]) -> list[Sign]:
    """Drop occurrences, and signs without occurrences."""
    for sign in signs:
        sign.occurrences = [each for each in sign.occurrences if not is_dropped(each)]
    return [sign for sign in signs if sign.occurrences]


def _seconds_between(one: Occurrence, other: Occurrence) -> float:
    """Seconds between two occurrences; 0 if the log has no times."""
    if one.at is None or other.at is None:
        return 0.0
    return abs(one.at.seconds - other.at.seconds)


def _are_equal(one: Occurrence, other: Occurrence) -> bool:
    """Whether both report the same exception with different text around it."""
    if one.thrown is None or other.thrown is None or "" in other.contexts:
        return False
    differ = one.component and other.component and one.component != other.component
    texts = {each.text.removesuffix(": null") for each in (one.thrown, other.thrown)}
    return not differ and len(texts) == 1 and one.contexts.isdisjoint(other.contexts)


@dataclass(slots=True)
class Silence:
    """Times and pauses of one log.

    A pause is too long if it exceeds ten times the longest earlier pause of the log's components.
    """

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
    _delay: tuple[int, int, int] = (0, 0, 0)  # line, current and first delay in milliseconds

    def read_line(self, number: int, line: str, *, component: bool = False) -> None:
        """Read a line of the log; `component`: a component is known to have caused it."""
        if "last heartbeat" in line and (beat := _BEAT.search(line)):
            late = int(beat["now"]) - int(beat["last"])
            first = self._delay[2] if late > _LATE_MS else 0
            self._delay = (number, late, first or late)
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
        if _LAUNCHING in line:
            self._launched = self.last.seconds
            self._component_lines, self._component_first, self._component_last = 0, None, None
        name = component_of(line)
        if name.startswith("__"):
            return
        logger = _LOGGER.match(line[:300])
        is_users = logger is not None and _STORM_LOGGERS.match(logger["logger"]) is None
        now = self.last
        if not (component or name or is_users):
            self._worker_lines += 1
            return
        if self._launched is not None and now.seconds - self._launched < _STARTS:
            return
        if self._component_last is not None:
            self._component_pause = max(self._component_pause, now.seconds - self._component_last.seconds)
        self._component_first = self._component_first or now
        self._component_lines += 1
        self._component_last, self._component_last_line, self._worker_lines = now, number, 0
        self._component = name

    def occurrences(self, stopped: Moment | None) -> Iterator[Occurrence]:
        """Yield a child and components that are silent at the end of the log; `stopped` is the last stop or death."""
        line, late, first = self._delay
        if late > max(_LATE_MS, first):  # it grows until the log ends
            yield Occurrence(
                symptom=table().called("a child that answers no heartbeat"),
                line=line,
                text=f"no answer for {late / 1000:,.0f} s at the last heartbeat",
                at=self.last,
            )
        if self.last is not None:
            self.ended = stopped is not None and stopped.seconds >= self.last.seconds - _LOG_SHORTEST
        begin, end = self._component_first, self._component_last
        if begin is None or end is None or self.last is None:
            return
        silent = self.last.seconds - end.seconds
        if (
            self._component_lines >= _FEWEST
            and self._worker_lines >= _FEWEST_AFTER
            and end.seconds - begin.seconds >= 1
            and silent >= max(_SHORTEST, _TIMES * self._component_pause)
            and (stopped is None or stopped.seconds < end.seconds)
        ):
            yield Occurrence(
                symptom=table().called("components that have fallen silent"),
                line=self._component_last_line,
                text=f"last line of a component at {end.text}, then {silent:,.0f} s of the worker's own lines; before that at most {self._component_pause:,.0f} s without one",
                component=self._component,
                at=end,
            )


def silent_logs(logs: Iterable[Silence]) -> Iterator[Occurrence]:
    """Yield worker logs that end long before others without a stop or a death."""
    newest: dict[PurePath, tuple[Moment, Moment, Silence]] = {}  # worker directory -> the log that ends last
    for log in logs:
        if log.first is not None and log.last is not None and kind_of_name(log.name) == "worker":
            folder = PurePath(log.name).parent
            if folder not in newest or log.last.seconds > newest[folder][1].seconds:
                newest[folder] = (log.first, log.last, log)
    for _, last, log in newest.values():
        ends = [other.seconds for begin, other, _ in newest.values() if begin.seconds < last.seconds]
        longer = max(ends, default=0.0) - last.seconds
        if not log.ended and longer > max(_LOG_SHORTEST, _TIMES * log.pause):
            yield Occurrence(
                symptom=table().called("a log that ends before the others"),
                line=log.line,
                text=f"last line at {last.text}; another worker wrote {longer:,.0f} s longer",
                at=last,
            )
