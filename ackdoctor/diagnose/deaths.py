"""Find the deaths of workers in log files."""

import zlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ackdoctor.diagnose.diagnosis import diagnose
from ackdoctor.diagnose.findings import Death, Diagnosis, fatal
from ackdoctor.diagnose.log_lines import lines_in

__all__ = ["Places", "Report", "deaths", "deaths_of"]


@dataclass(slots=True)
class Places:
    """Files that were read as one text, and the number of lines before each; maps a line back to its file."""

    files: tuple[str, ...] = ()
    begins: list[int] = field(default_factory=list)

    def of(self, line: int) -> tuple[str | None, int]:
        """Return the file (None if there is none) and the line in it."""
        at = bisect_left(self.begins, line) - 1
        return (self.files[at], line - self.begins[at]) if at >= 0 else (None, line)


@dataclass(slots=True, frozen=True)
class Report:
    """Deaths in the order of files and lines, and files that could not be read to their end."""

    deaths: tuple[Death, ...]
    faults: tuple[str, ...] = ()


def deaths(paths: Sequence[Path]) -> Report:
    """Find the deaths in these logs, each once; the rotated files of a worker come oldest first."""
    places = Places(tuple(map(str, paths)))
    faults: list[str] = []
    found = diagnose(_lines(paths, places, faults), places.files, begins=places.begins)
    return Report(deaths_of(found, places), tuple(faults))


def deaths_of(found: Diagnosis, places: Places) -> tuple[Death, ...]:
    """Return the deaths of a diagnosis."""
    result = []
    for each in fatal(found.signs):
        file, line = places.of(each.line)
        thrown = each.thrown
        result.append(
            Death(
                time=each.at.text if each.at else "",
                worker=each.worker,
                symptom=each.symptom.name,
                says=each.symptom.meaning,
                component=each.component,
                tuple_id=each.subject,
                cause=thrown.text if thrown and thrown.text else each.text,
                file=file or "",
                line=line,
                frames=tuple(frame.text for frame in thrown.evidence) if thrown else (),
            )
        )
    return tuple(result)


def _lines(paths: Sequence[Path], places: Places, faults: list[str]) -> Iterator[str]:
    number = 0
    for path in paths:
        places.begins.append(number)
        try:
            with path.open("rb") as raw:
                for line in lines_in(raw):
                    number += 1
                    yield line
        except (OSError, EOFError, zlib.error) as error:
            faults.append(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")
