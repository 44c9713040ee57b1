"""The table of symptoms (`symptoms.toml`): patterns, meaning, likely causes in order, and next steps."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ackdoctor.diagnose.exceptions import Part, is_own
from ackdoctor.model.trace import Cause

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Symptom", "Table", "table"]

_PLAIN = re.compile(r"(?:[\w #':-](?![?*{]))*")


@dataclass(slots=True, kw_only=True, eq=False)
class Symptom:
    """One row of the table; the head of `symptoms.toml` explains the fields."""

    name: str
    meaning: str
    causes: tuple[Cause, ...]
    next: tuple[str, ...]
    source: str
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
    known: bool = False
    executor: bool = False
    own: bool = False
    counted: bool = False

    @property
    def starts(self) -> Sequence[str]:
        """The plain-text beginnings of its patterns; a matching line contains one of them."""
        return [_PLAIN.match(each.pattern)[0] for each in self.words]  # type: ignore[index]

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
        found = next(filter(None, (each.search(part.text) for each in self.words)), None)
        return found if found is not None and self._agrees(part.frames) else None

    def _agrees(self, frames: Sequence[str]) -> bool:
        if not frames:
            return not self.vague
        if self.top is not None and not self.top.search(frames[0]):
            return False
        stack = "\n".join(frames)
        if self.unless is not None and self.unless.search(stack):
            return False
        if self.own and not any(map(is_own, frames)):
            return False
        return not self.frame or any(each.search(stack) for each in self.frame)


@dataclass(slots=True, kw_only=True)
class Table:
    """All symptoms, most specific first, and the words with which a log reports the end of a worker."""

    symptoms: tuple[Symptom, ...]
    ends: tuple[str, ...]
    echoes: tuple[str, ...]

    def called(self, name: str) -> Symptom:
        """Return the symptom of that name."""
        return next(each for each in self.symptoms if each.name == name)


@cache
def table() -> Table:
    """Return the table of this package."""
    with Path(__file__).with_name("symptoms.toml").open("rb") as file:
        read = tomllib.load(file)
    return parsed(read)


def parsed(read: Mapping[str, Any]) -> Table:
    """Build a table from parsed TOML; substitute the named patterns."""
    patterns: Mapping[str, str] = read.get("patterns", {})

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
            Cause(text=each["text"], law=each.get("law", ""), rules=tuple(each.get("rules", ())))
            for each in row["causes"]
        )
        fields["next"] = tuple(row["next"])
        fields["logs"] = frozenset(row.get("logs", ()))
        return Symptom(**fields)

    return Table(
        symptoms=tuple(map(symptom, read["symptom"])), ends=tuple(read["ends"]), echoes=tuple(read["echoes"])
    )
