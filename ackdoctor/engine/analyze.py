"""One lint run: files in, `Report` out.

    discover -> survey (bytes) -> index (clusters) -> cache, or examine (lower, solve, check) -> select

Each language is surveyed and indexed for itself, since no class of one derives from one of another; from the
clusters on it is one run.

The report is a function of the files and the settings: not of the order of paths, of the number of jobs, nor
of what was cached.
"""

import gc
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.config import Settings
from ackdoctor.engine.discover import LIMIT, Candidate, discover, refusal, shown
from ackdoctor.engine.index import Cluster, clusters
from ackdoctor.engine.languages import LANGUAGES, Language, language_of, reader
from ackdoctor.engine.lexicon import Lexicon, lexicon
from ackdoctor.engine.outcome import Outcome, Terms
from ackdoctor.engine.pool import Progress, processors, run
from ackdoctor.engine.select import select
from ackdoctor.engine.survey import Survey
from ackdoctor.model.finding import Report, Unreadable

if TYPE_CHECKING:
    from ackdoctor.engine.cache import Cache

__all__ = ["lint"]

_SHOWN = 3  # unread files that a note names


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
        surveys = _surveys((*files.values(), *found.foreign), memory, settings, top, given.overlay)
        terms = Terms(dict(settings.dialect_version), dict(settings.extra_bases), dict(given.overlay))
        outcomes = _outcomes(surveys, memory, terms, jobs if jobs > 0 else processors(), progress)
    if memory:
        memory.save(surveys, top)
    refused = [u for outcome in outcomes for u in outcome.unreadable]
    refused += [u for name, survey in surveys.items() if LANGUAGES[name].read for u in survey.unreadable]
    unreadable = _unique([*found.unreadable, *given.refused, *refused])
    asked = sorted(file.shown for file in files.values())
    findings = (finding for outcome in outcomes for finding in outcome.findings)
    sources = _marked(surveys, files, {item.path for item in unreadable if not item.partial})
    partial = {item.path for item in unreadable if item.partial}
    choice = select(findings, sources, frozenset(asked), settings, top, partial=partial)
    return Report(
        findings=choice.findings,
        unreadable=unreadable,
        files=tuple(asked),
        components=sum(outcome.components for outcome in outcomes),
        suppressed=choice.suppressed,
        notes=(*choice.notes, *_foreign(surveys)),
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
        return cls((Candidate(path, where, 0, len(data), named=True),), {path: data})


def _surveys(
    files: Iterable[Candidate],
    memory: "Cache | None",
    settings: Settings,
    root: str,
    overlay: Mapping[str, bytes],
) -> dict[str, Survey]:
    """The files of each language, looked at."""
    groups: dict[str, list[Candidate]] = {}
    for file in files:
        groups.setdefault(language_of(file.path).name, []).append(file)
    return {
        name: Survey(
            group,
            _lexicon(memory, settings, LANGUAGES[name]),
            root,
            reader(name) if LANGUAGES[name].read else None,
            remember=memory.record if memory else _nothing,
            overlay=overlay,
        )
        for name, group in sorted(groups.items())
    }


def _outcomes(
    surveys: Mapping[str, Survey],
    memory: "Cache | None",
    terms: Terms,
    jobs: int,
    progress: Progress | None,
) -> list[Outcome]:
    """The outcome of every cluster, remembered or new."""
    read = [name for name in surveys if LANGUAGES[name].read]
    groups = [group for name in read for group in clusters(surveys[name], name)]
    known = [memory.outcome(group, surveys[group.language]) if memory else None for group in groups]
    missing = [number for number, outcome in enumerate(known) if outcome is None]
    if missing:
        work = [groups[number] for number in missing]
        sizes = [_size(group, surveys[group.language]) for group in work]
        for number, outcome in zip(missing, run(work, terms, sizes, jobs, progress), strict=True):
            known[number] = outcome
            if memory:
                memory.remember(groups[number], surveys[groups[number].language], outcome)
    return [outcome for outcome in known if outcome is not None]


def _memory(folder: Path | None, settings: Settings) -> "Cache | None":
    if folder is None:
        return None
    from ackdoctor.engine.cache import Cache, run_key  # a run without a cache does not pay for one

    return Cache(folder, run_key(settings))


def _lexicon(memory: "Cache | None", settings: Settings, language: Language) -> Lexicon:
    known = memory.lexicon(language.name) if memory else None
    if known is not None:
        return known
    from ackdoctor import dialects  # an unchanged run does not read them

    return lexicon(dialects.load(settings.dialect_version), settings.extra_bases, language)


def _nothing(_shown: str) -> None:
    """What a run without a cache remembers of a file."""


def _size(group: Cluster, survey: Survey) -> int:
    return sum(survey.files[source.path].size for source in (*group.own, *group.context))


def _marked(surveys: Mapping[str, Survey], files: Iterable[str], unread: set[str]) -> Mapping[str, bytes]:
    """The files asked for that may hold comments of ours, by shown path."""
    found: dict[str, bytes] = {}
    for path in files:
        survey = surveys[language_of(path).name]
        record = survey.records.get(path)
        if record is not None and record.marked and survey.files[path].shown not in unread:
            found[survey.files[path].shown] = survey.read(path)
    return found


def _foreign(surveys: Mapping[str, Survey]) -> Iterator[str]:
    """One line about the files that name a framework in a language that nobody here reads."""
    unread = {name: survey for name, survey in surveys.items() if not LANGUAGES[name].read}
    places = [
        (name, survey.files[path].shown)
        for name, survey in unread.items()
        for path, record in survey.records.items()
        if record.named
    ]
    if places:
        counts = Counter(LANGUAGES[name].title for name, _ in places)
        kinds = " and ".join(f"{count} {title}" for title, count in sorted(counts.items()))
        named = ", ".join(place for _, place in places[:_SHOWN])
        more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        noun = "file that uses" if len(places) == 1 else "files that use"
        yield f"not read: {kinds} {noun} a Storm framework: {named}{more}"


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
