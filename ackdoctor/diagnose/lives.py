"""Lives of workers, from one launch to the next, and detection of repeated reports of one event."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePath

from ackdoctor.diagnose.findings import Occurrence, Sign, fatal
from ackdoctor.diagnose.log_lines import Moment, moment_of

__all__ = ["Lives", "without_announcements", "without_echoes_of_supervisors"]
_LAUNCHED = re.compile(r"Launching worker for |Starting worker |Launching virtual worker")
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


@dataclass(slots=True)
class Lives:
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
        """Read a line that may begin or end a life."""
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
        if self._is_copy(occurrence):
            return occurrence
        near = [each for each in reversed(self._recent) if _seconds_between(each, occurrence) <= _NEAR]
        if echo or (occurrence.thrown is None and occurrence.symptom.generic):
            # the last death, or the last exception, which was that of the death
            return next(
                (each for each in near if each.fatal), next((each for each in near if each.thrown), None)
            )
        if occurrence.kind == "supervisor" and occurrence.subject:
            return next((each for each in near if self._is_of_one_worker(each, occurrence)), None)
        if occurrence.thrown is None:
            return None
        return next((each for each in near if _is_repeat(each, occurrence)), None)

    def _is_copy(self, occurrence: Occurrence) -> bool:
        """Whether another file of this worker has the same line."""
        if occurrence.at is None:
            return False
        key = (self.worker, occurrence.text, occurrence.at.seconds, occurrence.component)
        if len(self._seen) < _MOST_SEEN:
            return self._seen.setdefault(key, self._file) != self._file
        return self._seen.get(key, self._file) != self._file

    def _is_of_one_worker(self, one: Occurrence, other: Occurrence) -> bool:
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
        return any(each.worker == line.worker and _seconds_between(each, line) <= _NEAR for each in explained)

    for sign in signs:
        if sign.symptom.generic:
            sign.occurrences = [each for each in sign.occurrences if each.thrown or not is_explained(each)]
    return [sign for sign in signs if sign.occurrences]


def without_echoes_of_supervisors(signs: Iterable[Sign], ports: dict[str, str]) -> list[Sign]:
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

    for sign in signs:
        sign.occurrences = [each for each in sign.occurrences if not is_echo(each)]
    return [sign for sign in signs if sign.occurrences]


def _seconds_between(one: Occurrence, other: Occurrence) -> float:
    """Seconds between two occurrences; 0 if the log has no times."""
    if one.at is None or other.at is None:
        return 0.0
    return abs(one.at.seconds - other.at.seconds)


def _is_repeat(one: Occurrence, other: Occurrence) -> bool:
    """Whether both report the same exception with different text around it."""
    if one.thrown is None or other.thrown is None or "" in other.contexts:
        return False
    known = one.component and other.component and one.component != other.component
    return not known and _text(one) == _text(other) and one.contexts.isdisjoint(other.contexts)


def _text(occurrence: Occurrence) -> str:
    return occurrence.thrown.text.removesuffix(": null") if occurrence.thrown else occurrence.text
