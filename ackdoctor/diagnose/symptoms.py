"""Symptoms: the table of symptoms.toml, and what was found of them."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ackdoctor.diagnose.log_lines import Moment, is_chatter
from ackdoctor.diagnose.stacks import Part, Thrown, is_own
from ackdoctor.model.trace import Cause

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


DAEMONS = frozenset({"nimbus", "supervisor", "drpc", "ui"})
_SEEN_BY_SUPERVISORS = frozenset({"supervisor", "worker"})
_ENOUGH_DUMPS = 3  # with the same frames: the thread hangs
_MOST_CAUSES = 20  # distinct causes of a symptom
_PLAIN = re.compile(r"(?:[\w #':-](?![?*{]))*")


@dataclass(slots=True, kw_only=True, eq=False)
class Symptom:
    """One row of the table; the head of `symptoms.toml` explains the fields."""

    name: str
    meaning: str
    causes: tuple[Cause, ...]
    next: tuple[str, ...]
    source: str
    check: str = ""
    passing: str = ""
    words: tuple[re.Pattern[str], ...] = ()
    frame: tuple[re.Pattern[str], ...] = ()
    top: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None
    logs: frozenset[str] = frozenset()
    vague: bool = False
    fatal: bool = True
    generic: bool = False
    stops: bool = False
    yields: bool = False
    python: bool = False
    known: bool = False
    executor: bool = False
    own: bool = False
    counted: bool = False

    @property
    def of_lines(self) -> bool:
        """Whether a single log line can match, without a stack."""
        return not (self.vague or self.counted or self.logs == {"dump"})

    def is_read_in(self, kind: str) -> bool:
        """Return whether the symptom applies to this kind of log; '' is an unknown kind."""
        if not kind:
            return not self.known and self.logs != {"dump"}
        return not self.logs or kind in self.logs

    def match(self, part: Part) -> re.Match[str] | None:
        """Match its patterns against a line and the stack below it."""
        if part.python and not self.python:
            return None
        found = next(filter(None, (each.search(part.text) for each in self.words)), None)
        if found is None:
            return None
        if part.entry or not part.frames:
            said = f"{part.entry} {part.text}" if part.entry else part.text
            if is_chatter(said, len(said) - len(part.text) + found.start()):
                return None
        if not part.frames:
            return None if self.vague else found
        stack = "\n".join(part.frames)
        differs = (
            (self.top is not None and not self.top.search(part.frames[0]))
            or (self.unless is not None and self.unless.search(stack))
            or (self.own and not any(map(is_own, part.frames)))
            or (self.frame and not any(each.search(stack) for each in self.frame))
        )
        return None if differs else found


@dataclass(slots=True, kw_only=True)
class Table:
    """All symptoms, most specific first, and the words with which a log reports the end of a worker."""

    symptoms: tuple[Symptom, ...]
    ends: tuple[str, ...]
    echoes: tuple[str, ...]
    starts: frozenset[str]  # plain-text beginnings of patterns; a matching line contains one of them

    def called(self, name: str) -> Symptom:
        """Return the symptom of that name."""
        return next(each for each in self.symptoms if each.name == name)


@cache
def table() -> Table:
    """Return the table of this package."""
    read = tomllib.loads(Path(__file__).with_name("symptoms.toml").read_text(encoding="utf-8"))
    patterns: Mapping[str, str] = read["patterns"]

    def compiled(pattern: str) -> re.Pattern[str]:
        for name, meaning in patterns.items():
            pattern = pattern.replace(f"{{{name}}}", meaning)
        return re.compile(pattern)

    def symptom(row: Mapping[str, Any]) -> Symptom:
        fields = dict(row)
        for name in ("words", "frame"):
            fields[name] = tuple(map(compiled, row.get(name, ())))
        for name in {"top", "unless"} & row.keys():
            fields[name] = compiled(row[name])
        fields["causes"] = tuple(
            Cause(**{**each, "rules": tuple(each.get("rules", ()))}) for each in row["causes"]
        )
        fields["next"] = tuple(row["next"])
        fields["logs"] = frozenset(row.get("logs", ()))
        return Symptom(**fields)

    symptoms = tuple(map(symptom, read["symptom"]))
    words = (each.pattern for row in symptoms if row.of_lines for each in row.words)
    starts = frozenset(found[0] for word in words if (found := _PLAIN.match(word)))
    return Table(symptoms=symptoms, ends=tuple(read["ends"]), echoes=tuple(read["echoes"]), starts=starts)


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
    def first(self) -> Occurrence:
        """Its first occurrence."""
        return self.occurrences[0]

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
    def same_dumps(self) -> int:
        """The most dumps in which one thread has the same frames; 0 for a symptom of a log."""
        threads = Counter((each.text, each.thrown.evidence) for each in self.occurrences if each.thrown)
        return max(threads.values(), default=0) if "dump" in self.symptom.logs else 0

    @property
    def likely_causes(self) -> list[Cause]:
        """The likely causes in order; three equal dumps exclude one that passes."""
        symptom = self.symptom
        passes = symptom.passing and self.same_dumps < _ENOUGH_DUMPS
        return [*symptom.causes, Cause(text=symptom.passing)] if passes else [*symptom.causes]

    @property
    def steps(self) -> list[str]:
        """The next steps; three equal dumps need no further ones."""
        checked = self.same_dumps >= _ENOUGH_DUMPS or not self.symptom.check
        return [*self.symptom.next] if checked else [self.symptom.check, *self.symptom.next]

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


def fatal(signs: Iterable[Sign]) -> list[Occurrence]:
    """Return the occurrences that ended a worker, not a daemon, in the order of lines.

    The worker's own log or its supervisor's reports them.
    """
    found = [
        each
        for sign in signs
        if "dump" not in sign.symptom.logs
        for each in sign.occurrences
        if each.fatal
        and (
            each.kind not in DAEMONS
            or (each.kind == "supervisor" and set() < each.symptom.logs <= _SEEN_BY_SUPERVISORS)
        )
    ]
    return sorted(found, key=lambda each: each.line)
