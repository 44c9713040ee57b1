"""Results of a diagnosis: occurrences of symptoms, signs that group them, and deaths of workers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ackdoctor.diagnose.exceptions import Thrown
from ackdoctor.diagnose.log_lines import Moment
from ackdoctor.diagnose.symptoms import Symptom

__all__ = ["DAEMONS", "Death", "Diagnosis", "Occurrence", "Sign", "fatal"]

DAEMONS = frozenset({"nimbus", "supervisor", "drpc", "ui"})
_SEEN_BY_SUPERVISORS = frozenset({"supervisor", "worker"})
_MOST_CAUSES = 20  # distinct causes of a symptom


@dataclass(slots=True, eq=False, kw_only=True)
class Occurrence:
    """One event, however many lines report it.

    `worker` is the log's directory and name without the rotation suffix.  `ended`: the log reports that an executor or
    a worker ended with it.
    """

    symptom: Symptom
    line: int
    text: str
    subject: str = ""
    thrown: Thrown | None = None
    component: str = ""
    command: str = ""
    at: Moment | None = None
    kind: str = ""
    worker: str = ""
    ended: bool = False
    contexts: set[str] = field(default_factory=set)  # distinct log texts around the exception

    @property
    def fatal(self) -> bool:
        """Whether a worker died of it."""
        return self.ended or self.symptom.fatal


@dataclass(slots=True, eq=False)
class Sign:
    """A symptom with its occurrences in the order of lines; `more` counts those beyond the limit."""

    symptom: Symptom
    occurrences: list[Occurrence]
    more: int = 0

    @property
    def line(self) -> int:
        """The line number of its first occurrence."""
        return self.occurrences[0].line

    @property
    def text(self) -> str:
        """The text of its first occurrence."""
        return self.occurrences[0].text

    @property
    def subject(self) -> str:
        """The id in its first occurrence, if any."""
        return self.occurrences[0].subject

    @property
    def count(self) -> int:
        """The number of occurrences."""
        return len(self.occurrences) + self.more

    @property
    def fatal(self) -> bool:
        """Whether a worker died of it."""
        return any(each.fatal for each in self.occurrences)

    @property
    def components(self) -> list[str]:
        """The components, as far as the log names them."""
        return list(dict.fromkeys(each.component for each in self.occurrences if each.component))

    @property
    def command(self) -> str:
        """The command of the component's process, if the log names it."""
        return next((each.command for each in self.occurrences if each.command), "")

    @property
    def causes(self) -> list[Thrown]:
        """The innermost causes of its exceptions, each once."""
        thrown = [each.thrown for each in self.occurrences if each.thrown is not None and each.thrown.text]
        first = {each.text: each for each in reversed(thrown)}
        return list(reversed(first.values()))[:_MOST_CAUSES]

    @property
    def moments(self) -> Sequence[Moment]:
        """The times of its occurrences, sorted."""
        known = [each.at for each in self.occurrences if each.at is not None]
        return sorted(known, key=lambda moment: moment.seconds)


@dataclass(slots=True, frozen=True, kw_only=True)
class Death:
    """One death of a worker.

    `time`, `component` and `tuple_id` are '' if the log lacks them.  `cause` is the text of the innermost exception, or
    the log line.  `frames` are the frames of that exception, the user's first.  `line` is a line of `file`.
    """

    time: str
    worker: str
    symptom: str
    says: str
    component: str
    tuple_id: str
    cause: str
    file: str
    line: int
    frames: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Diagnosis:
    """The signs in the order of their first occurrences, those that a worker survives last.

    `first` is the innermost cause of the first exception with a symptom, else the first exception.  `other` names
    the file format if the text is not a log; `note` summarises a thread dump without symptoms.
    """

    signs: tuple[Sign, ...]
    first: Thrown | None = None
    lines: int = 0
    other: str = ""
    note: str = ""

    @property
    def innermost(self) -> str:
        """The text of the innermost cause, '' if there is none."""
        return self.first.text if self.first else ""

    @property
    def innermost_line(self) -> int:
        """The line of the innermost cause, 0 if there is none."""
        return self.first.line if self.first else 0


def fatal(signs: Iterable[Sign]) -> list[Occurrence]:
    """Return the occurrences that ended a worker, in the order of lines."""
    found = [
        each
        for sign in signs
        if "dump" not in sign.symptom.logs
        for each in sign.occurrences
        if each.fatal and _is_of_a_worker(each)
    ]
    return sorted(found, key=lambda each: each.line)


def _is_of_a_worker(occurrence: Occurrence) -> bool:
    """Return whether a worker ended, not a daemon; its own log or its supervisor's reports it."""
    if occurrence.kind not in DAEMONS:
        return True
    return (
        occurrence.kind == "supervisor"
        and bool(occurrence.symptom.logs)
        and occurrence.symptom.logs <= _SEEN_BY_SUPERVISORS
    )
