"""One lint run: files in, `Report` out.

    discover -> whole (survey, index, examine) -> select

The report is a function of the files and the settings: not of the order of paths, of the number of jobs, nor
of what was cached.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.cache_folder import CacheFolder
from ackdoctor.config import Settings
from ackdoctor.lint.clusters.outcome import Task
from ackdoctor.lint.disk.reading import read_file
from ackdoctor.lint.files.discover import LIMIT, Candidate, discover, refusal, shown
from ackdoctor.lint.shown.select import select
from ackdoctor.lint.whole import whole
from ackdoctor.model.finding import Finding, Report, Unreadable

if TYPE_CHECKING:
    from ackdoctor.lint.clusters.pool import Progress

__all__ = ["lint"]

_SHOWN = 3  # settings that a note names


def lint(
    paths: Sequence[Path],
    settings: Settings,
    *,
    root: Path,
    stdin: tuple[str, bytes] | None = None,
    jobs: int = 1,
    cache: CacheFolder | None = None,
    progress: "Progress | None" = None,
) -> Report:
    """Lints files, folders, and perhaps one text under a name (`stdin`) as if it stood there.

    Paths in the report are relative to `root`.  `jobs` below 1 means as many as there are processors;
    `cache` holds the results of earlier runs; `progress` is called with the clusters done and all clusters.
    Findings carry no fingerprint yet.  UsageError for a path that does not exist, ConfigError for a version that
    no dialect has.
    """
    top = os.path.abspath(root)
    found = discover(paths, settings, root)
    given = _Given.of(stdin, top)
    files = {file.path: file for file in (*found.files, *given.files)}
    task = Task((*files.values(), *found.foreign), settings, top, given.overlay, jobs, progress)
    result = whole(task, cache)
    unreadable = _unique([*found.unreadable, *given.refused, *result.outcome.unreadable])
    unread = {item.path for item in unreadable if not item.partial}
    asked = {file.shown for file in files.values()}
    marked = [path for path in result.marked if path in files and files[path].shown not in unread]
    # Heirs and callers of what a named file holds may stand anywhere: only where a folder was walked are they there.
    unsure = {item.path for item in unreadable if item.partial}
    unsure |= {file.shown for file in files.values() if file.named}
    places = {files[path].shown: path for path in marked}
    places |= _beside(result.outcome.findings, asked, top)
    sources = _read(places, given)
    choice = select(result.outcome.findings, sources, asked, settings, top, unsure=unsure)
    return Report(
        findings=choice.findings,
        unreadable=_unique([*unreadable, *choice.unread]),
        files=tuple(sorted(asked)),
        beside=tuple(sorted({*result.read, *found.lists} - asked)),
        components=result.outcome.components,
        suppressed=choice.suppressed,
        unknown_bases=tuple(
            sorted(result.outcome.unknown_bases, key=lambda item: (item.path, item.line, item.name))
        ),
        notes=(*choice.notes, *result.notes, *_passed_over(found.passed_over)),
    )


class _Given(NamedTuple):
    """What came by standard input."""

    files: tuple[Candidate, ...] = ()
    overlay: Mapping[str, bytes] = MappingProxyType({})
    refused: tuple[Unreadable, ...] = ()

    @classmethod
    def of(cls, stdin: tuple[str, bytes] | None, root: str) -> "_Given":
        """One text under its name, or nothing."""
        if stdin is None:
            return cls()
        name, data = stdin
        path = os.path.normpath(os.path.join(root, name))
        where = shown(path, root)
        why = refusal(path)
        if len(data) > LIMIT:
            why = f"larger than {LIMIT // 1_000_000} MB ({len(data):,} bytes)"
        if why:
            return cls(refused=(Unreadable(path=where, line=0, column=0, reason=why),))
        return cls((Candidate(path, where, len(data), named=True),), {path: data})


def _beside(findings: Iterable[Finding], asked: Collection[str], root: str) -> Mapping[str, str]:
    """The files that were not asked for in which findings of components that were stand, by shown path."""
    return {
        finding.site.path: os.path.normpath(os.path.join(root, finding.site.path))
        for finding in findings
        if finding.home in asked and finding.site.path not in asked
    }


def _passed_over(files: Sequence[str]) -> Iterator[str]:
    """One line about settings that some of the files have by themselves and not in this run."""
    if files:
        named = ", ".join(files[:_SHOWN]) + (
            f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
        )
        verb, those = ("is", "its folder") if len(files) == 1 else ("are", "each of their folders")
        yield f"{named} {verb} not used, since a run has the settings of the folder that its paths share: lint {those} by itself"


def _read(places: Mapping[str, str], given: _Given) -> Mapping[str, bytes]:
    """The contents of these files, by shown path."""
    found: dict[str, bytes] = {}
    for where, path in places.items():
        with suppress(OSError):  # it went away since it was looked at
            found[where] = given.overlay[path] if path in given.overlay else read_file(path, LIMIT)
    return found


def _unique(items: Iterable[Unreadable]) -> tuple[Unreadable, ...]:
    return tuple(sorted(set(items), key=lambda item: (item.path, item.line, item.column, item.reason)))
