"""Lives of workers in logs: a life lasts from one launch to the next."""

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


_NEAR = 60.0  # seconds in which a death is told to its end


_WORTH_READING = ("aunching", "hut", "Starting worker", "kill", "Deactivating", "Begin to")
_SUPERVISOR_BEFORE, _SUPERVISOR_AFTER = 120.0, 15.0  # seconds in which a supervisor sees a death


_MOST_RECENT = 8


_MOST_SEEN = 200_000


@dataclass(slots=True)
class Lives:
    """Follows the logs of workers, one behind the other; `worker` is that of the log that is read."""

    worker: str = ""
    stopping: bool = False  # an orderly stop is under way
    stopped: Moment | None = None  # when the last stop or death was told
    ports: dict[str, str] = field(default_factory=dict)  # of a worker's id, as a supervisor tells
    _file: int = 0
    _recent: list[Occurrence] = field(default_factory=list)
    _seen: dict[tuple[str, str, float, str], int] = field(default_factory=dict)  # in which file

    def begin(self, name: str) -> None:
        """Another file begins."""
        path = PurePath(name)
        worker = str(PurePath(path.parent.name, _ROTATED.sub("", path.name))) if name else ""
        if worker != self.worker:
            self._recent = []
        self.worker, self.stopping, self.stopped = worker, False, None
        self._file += 1

    def read(self, line: str) -> None:
        """A line that may begin or end a life."""
        if not any(map(line.__contains__, _WORTH_READING)):
            return
        if _LAUNCHED.search(line):
            self.stopping, self.stopped, self._recent = False, None, []
        elif found := _SLOT.search(line):
            self.ports[found["id"]] = found["port"]
        elif _STOPS.search(line):
            self.stopping, self.stopped = True, moment_of(line)

    def note(self, told: Occurrence) -> None:
        """Something has happened."""
        self._recent = [*self._recent[-_MOST_RECENT:], told]
        if told.fatal:
            self.stopped = told.at

    def earlier(self, told: Occurrence, *, echo: bool) -> Occurrence | None:
        """The occurrence that is told of once more, None for a new one."""
        if self._is_copy(told):
            return told
        near = [each for each in reversed(self._recent) if _apart(each, told) <= _NEAR]
        if echo or (told.thrown is None and told.symptom.generic):
            # the last death, or the last exception, which was that of the death
            return next(
                (each for each in near if each.fatal), next((each for each in near if each.thrown), None)
            )
        if told.kind == "supervisor" and told.subject:
            return next((each for each in near if self._is_of_one_worker(each, told)), None)
        if told.thrown is None:
            return None
        return next((each for each in near if _is_told_again(each, told)), None)

    def _is_copy(self, told: Occurrence) -> bool:
        """Whether another file of this worker has told the very same."""
        if told.at is None:
            return False
        key = (self.worker, told.text, told.at.seconds, told.component)
        if len(self._seen) < _MOST_SEEN:
            return self._seen.setdefault(key, self._file) != self._file
        return self._seen.get(key, self._file) != self._file

    def _is_of_one_worker(self, one: Occurrence, other: Occurrence) -> bool:
        ids = [self.ports.get(each.subject, each.subject) for each in (one, other)]
        # a slot's number and the id of the worker in it, which no line has tied together
        untied = ids[0].isdecimal() != ids[1].isdecimal()
        return one.kind == "supervisor" and (
            ids[0] == ids[1] or (untied and _apart(one, other) <= _SUPERVISOR_AFTER)
        )


def without_announcements(signs: Iterable[Sign]) -> list[Sign]:
    """The signs without lines that only say that something died, where an exception nearby says what."""
    signs = list(signs)
    told = [each for each in fatal(signs) if each.thrown is not None]

    def is_explained(line: Occurrence) -> bool:
        return any(each.worker == line.worker and _apart(each, line) <= _NEAR for each in told)

    for sign in signs:
        if sign.symptom.generic:
            sign.occurrences = [each for each in sign.occurrences if each.thrown or not is_explained(each)]
    return [sign for sign in signs if sign.occurrences]


def without_echoes_of_supervisors(signs: Iterable[Sign], ports: dict[str, str]) -> list[Sign]:
    """The signs without what a supervisor says of deaths that the workers' own logs explain."""
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


def _apart(one: Occurrence, other: Occurrence) -> float:
    """Seconds between them; 0 where the log has no times."""
    if one.at is None or other.at is None:
        return 0.0
    return abs(one.at.seconds - other.at.seconds)


def _is_told_again(one: Occurrence, other: Occurrence) -> bool:
    """Whether it is one exception, in other words around it."""
    if one.thrown is None or other.thrown is None or "" in other.tellings:
        return False
    known = one.component and other.component and one.component != other.component
    return not known and _said(one) == _said(other) and one.tellings.isdisjoint(other.tellings)


def _said(told: Occurrence) -> str:
    return told.thrown.text.removesuffix(": null") if told.thrown else told.text
