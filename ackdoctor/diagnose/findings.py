"""What a diagnosis finds: occurrences of symptoms, the signs that gather them, and the deaths of workers among them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ackdoctor.diagnose.exceptions import Thrown
from ackdoctor.diagnose.log_lines import Moment
from ackdoctor.diagnose.symptoms import Symptom

__all__ = ["DAEMONS", "Death", "Diagnosis", "Occurrence", "Sign", "fatal"]

DAEMONS = frozenset({"nimbus", "supervisor", "drpc", "ui"})
_SEEN_BY_SUPERVISORS = frozenset({"supervisor", "worker"})
_MOST_CAUSES = 20  # different ones of a symptom


@dataclass(slots=True, eq=False, kw_only=True)
class Occurrence:
    """One time that something happened, as often as the log tells of it.

    `worker` is the log's folder and name without its rotation; `ended` if the log says that an executor or a worker ended with it.
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
    tellings: set[str] = field(default_factory=set)  # the log's own words around it, each once

    @property
    def fatal(self) -> bool:
        """Whether a worker ended with it."""
        return self.ended or self.symptom.fatal


@dataclass(slots=True, eq=False)
class Sign:
    """A symptom, and each time that it occurred, in the order of the lines; `more` are those beyond what is kept."""

    symptom: Symptom
    occurrences: list[Occurrence]
    more: int = 0

    @property
    def line(self) -> int:
        """Where it was said first."""
        return self.occurrences[0].line

    @property
    def text(self) -> str:
        """The line that said it first."""
        return self.occurrences[0].text

    @property
    def subject(self) -> str:
        """The id that it names, if any."""
        return self.occurrences[0].subject

    @property
    def count(self) -> int:
        """How often it occurred."""
        return len(self.occurrences) + self.more

    @property
    def fatal(self) -> bool:
        """Whether a worker ended with it."""
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
        """The innermost of its exceptions, each once."""
        thrown = [each.thrown for each in self.occurrences if each.thrown is not None and each.thrown.text]
        first = {each.text: each for each in reversed(thrown)}
        return list(reversed(first.values()))[:_MOST_CAUSES]

    @property
    def moments(self) -> Sequence[Moment]:
        """When it occurred, in the order of time."""
        known = [each.at for each in self.occurrences if each.at is not None]
        return sorted(known, key=lambda moment: moment.seconds)


@dataclass(slots=True, frozen=True, kw_only=True)
class Death:
    """One death of a worker: when, of which worker, and why.

    `time` is '' where the log has none, `component` and `tuple_id` where it does not name them; `cause` is the innermost
    exception's text, or the log's line; `frames` are its own, the user's first.  `line` counts in `file`.
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
    """What was found, in the order in which it was said; `innermost` is the cause of the first exception that matters.

    What the worker survives comes last.  Where no symptom is part of an exception, `innermost` is the first one.
    `other` says what the text is if it is no log, `note` what was looked at where nothing was found.
    """

    signs: tuple[Sign, ...]
    first: Thrown | None = None
    lines: int = 0
    other: str = ""
    note: str = ""

    @property
    def innermost(self) -> str:
        """Its text, '' if there is none."""
        return self.first.text if self.first else ""

    @property
    def innermost_line(self) -> int:
        """Its line, 0 if there is none."""
        return self.first.line if self.first else 0


def fatal(signs: Iterable[Sign]) -> list[Occurrence]:
    """The occurrences with which a worker ended, in the order of the lines."""
    found = [
        each
        for sign in signs
        if "dump" not in sign.symptom.logs
        for each in sign.occurrences
        if each.fatal and _is_of_a_worker(each)
    ]
    return sorted(found, key=lambda each: each.line)


def _is_of_a_worker(occurrence: Occurrence) -> bool:
    """Whether it is a worker that ended, in its own log or as its supervisor saw it, and not a daemon."""
    if occurrence.kind not in DAEMONS:
        return True
    return (
        occurrence.kind == "supervisor"
        and bool(occurrence.symptom.logs)
        and occurrence.symptom.logs <= _SEEN_BY_SUPERVISORS
    )
