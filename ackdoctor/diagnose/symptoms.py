"""The table of symptoms (`symptoms.toml`): what is said, what it means, its likely causes in order, what to do next."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ackdoctor.diagnose.exceptions import Part, is_own
from ackdoctor.model.verdict import Cause

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Symptom", "Table", "table"]

_PLAIN = re.compile(r"(?:[\w #':-](?![?*{]))*")


@dataclass(slots=True, kw_only=True, eq=False)
class Symptom:
    """One row of the table; its fields are explained at the head of the file."""

    name: str
    says: str
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
        """What its words begin with, as plain text: a line without any of these is none of its own."""
        return [_PLAIN.match(each.pattern)[0] for each in self.words]  # type: ignore[index]

    @property
    def of_lines(self) -> bool:
        """Whether a line of a log says it, without the stack of an exception or a thread."""
        return not (self.vague or self.counted or self.logs == {"dump"})

    def is_read_in(self, kind: str) -> bool:
        """Whether it is looked for in that kind of log; '' is a log or a text of an unknown kind."""
        if not kind:
            return not self.known and self.logs != {"dump"}
        return not self.logs or kind in self.logs

    def match(self, part: Part) -> re.Match[str] | None:
        """Its words in a line of a log or of an exception, if the stack below agrees."""
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
    """All symptoms, the most telling first, and the words by which a log says that a worker ends."""

    symptoms: tuple[Symptom, ...]
    ends: tuple[str, ...]
    echoes: tuple[str, ...]

    def called(self, name: str) -> Symptom:
        """The one of that name."""
        return next(each for each in self.symptoms if each.name == name)


@cache
def table() -> Table:
    """The table of this package."""
    with Path(__file__).with_name("symptoms.toml").open("rb") as file:
        read = tomllib.load(file)
    return parsed(read)


def parsed(read: Mapping[str, Any]) -> Table:
    """A table as TOML gives it; the names of its patterns are filled in."""
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
