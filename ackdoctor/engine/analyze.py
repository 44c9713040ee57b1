"""One lint run: files in, `Report` out.

    discover -> survey (bytes) -> index (clusters) -> cache, or examine (lower, solve, check) -> select

The report is a function of the files and the settings: not of the order of paths, of the number of jobs, nor
of what was cached.
"""

import gc
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.config import Settings
from ackdoctor.engine.discover import LIMIT, Candidate, discover, shown
from ackdoctor.engine.index import Cluster, clusters
from ackdoctor.engine.lexicon import Lexicon, lexicon
from ackdoctor.engine.outcome import Outcome, Terms
from ackdoctor.engine.pool import Progress, processors, run
from ackdoctor.engine.select import select
from ackdoctor.engine.survey import Survey
from ackdoctor.model.finding import Report, Unreadable

if TYPE_CHECKING:
    from ackdoctor.engine.cache import Cache

__all__ = ["lint"]


def lint(
    paths: Sequence[Path],
    settings: Settings,
    *,
    root: Path,
    stdin: tuple[str, bytes] | None = None,
    jobs: int = 1,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Report:
    """Lints files, folders, and perhaps one text under a name (`stdin`) as if it stood there.

    Paths in the report are relative to `root`.  `jobs` below 1 means as many as there are processors;
    `cache` is the cache's folder; `progress` is called with the clusters done and all clusters.  Findings
    carry no fingerprint yet.  UsageError for a path that does not exist, ConfigError for a version that no
    dialect has.
    """
    top = os.path.abspath(root)
    found = discover(paths, settings, root)
    given = _Given.of(stdin, top)
    files = {file.path: file for file in (*found.files, *given.files)}
    memory = _memory(cache, settings)
    with _collector_off():
        survey = Survey(
            files.values(),
            _lexicon(memory, settings),
            top,
            remember=memory.record if memory else _nothing,
            overlay=given.overlay,
        )
        terms = Terms(dict(settings.dialect_version), dict(settings.extra_bases), dict(given.overlay))
        outcomes = _outcomes(survey, memory, terms, jobs if jobs > 0 else processors(), progress)
    if memory:
        memory.save(survey, top)
    refused = (u for outcome in outcomes for u in outcome.unreadable)
    unreadable = _unique([*found.unreadable, *given.refused, *survey.unreadable, *refused])
    asked = sorted(file.shown for file in files.values())
    findings = (finding for outcome in outcomes for finding in outcome.findings)
    sources = _marked(survey, files, {item.path for item in unreadable})
    choice = select(findings, sources, frozenset(asked), settings, top)
    return Report(
        findings=choice.findings,
        unreadable=unreadable,
        files=tuple(asked),
        components=sum(outcome.components for outcome in outcomes),
        suppressed=choice.suppressed,
        notes=choice.notes,
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
        if len(data) > LIMIT:
            why = f"larger than {LIMIT // 1_000_000} MB ({len(data):,} bytes)"
            return cls(refused=(Unreadable(path=where, line=0, column=0, reason=why),))
        return cls((Candidate(path, where, 0, len(data), named=True),), {path: data})


def _outcomes(
    survey: Survey, memory: "Cache | None", terms: Terms, jobs: int, progress: Progress | None
) -> list[Outcome]:
    """The outcome of every cluster, remembered or new."""
    groups = clusters(survey)
    known: list[Outcome | None] = memory.outcomes(groups, survey) if memory else [None for _ in groups]
    missing = [number for number, outcome in enumerate(known) if outcome is None]
    if missing:
        work = [groups[number] for number in missing]
        sizes = [_size(group, survey) for group in work]
        for number, outcome in zip(missing, run(work, terms, sizes, jobs, progress), strict=True):
            known[number] = outcome
            if memory:
                memory.remember(groups[number], survey, outcome)
    return [outcome for outcome in known if outcome is not None]


def _memory(folder: Path | None, settings: Settings) -> "Cache | None":
    if folder is None:
        return None
    from ackdoctor.engine.cache import Cache, run_key  # a run without a cache does not pay for one

    return Cache(folder, run_key(settings))


def _lexicon(memory: "Cache | None", settings: Settings) -> Lexicon:
    known = memory.lexicon() if memory else None
    if known is not None:
        return known
    from ackdoctor import dialects  # an unchanged run does not read them

    return lexicon(dialects.load(settings.dialect_version), settings.extra_bases)


def _nothing(_shown: str) -> None:
    """What a run without a cache remembers of a file."""


def _size(group: Cluster, survey: Survey) -> int:
    return sum(survey.files[source.path].size for source in (*group.own, *group.context))


def _marked(survey: Survey, files: Iterable[str], unread: set[str]) -> Mapping[str, bytes]:
    """The files asked for that may hold comments of ours, by shown path."""
    marked = (path for path in files if path in survey.records and survey.records[path].marked)
    return {
        survey.files[path].shown: survey.read(path)
        for path in marked
        if survey.files[path].shown not in unread
    }


def _unique(items: Iterable[Unreadable]) -> tuple[Unreadable, ...]:
    return tuple(sorted(set(items), key=lambda item: (item.path, item.line, item.column, item.reason)))


@contextmanager
def _collector_off() -> Iterator[None]:
    """Trees die by reference count; looking for cycles among them costs up to twice their making."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
