"""All clusters of a run: survey (bytes) -> index -> cache, or examine (lower, solve, check).

Each language is surveyed and indexed for itself, since no class of one derives from one of another; from the
clusters on it is one run.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ackdoctor import dialects
from ackdoctor.cache_folder import CacheFolder, NoCacheError
from ackdoctor.lint.clusters.outcome import Outcome, Task, Terms, Whole
from ackdoctor.lint.clusters.pool import processors, run
from ackdoctor.lint.files.discover import Candidate
from ackdoctor.lint.files.index import Cluster, clusters
from ackdoctor.lint.files.lexicon import lexicon
from ackdoctor.lint.files.survey import Survey
from ackdoctor.lint.languages.reader import LANGUAGES, language_of, reader

if TYPE_CHECKING:
    from ackdoctor.lint.cache import Cache

__all__ = ["whole"]

_SHOWN = 3  # unread files that a note names


def whole(task: Task, folder: CacheFolder | None) -> Whole:
    """What came of all clusters; `folder` holds the results of earlier runs."""
    surveys = _surveys(task)
    settings = task.settings
    terms = Terms(dict(settings.dialect_version), dict(settings.extra_bases), dict(task.overlay))
    cache = _cache(folder, terms)
    outcomes = _outcomes(surveys, cache, terms, task)
    if cache:
        cache.close()
    refused = [u for outcome in outcomes for u in outcome.unreadable]
    refused += [u for name, survey in surveys.items() if LANGUAGES[name].read for u in survey.unreadable]
    together = Outcome(
        findings=tuple(finding for outcome in outcomes for finding in outcome.findings),
        unreadable=tuple(refused),
        unknown_bases=tuple(item for outcome in outcomes for item in outcome.unknown_bases),
        components=sum(outcome.components for outcome in outcomes),
    )
    read = tuple(file.shown for survey in surveys.values() for file in survey.files.values())
    return Whole(together, _marked(surveys, task.files), tuple(_foreign(surveys)), read)


def _surveys(task: Task) -> dict[str, Survey]:
    """The files of each language, looked at."""
    groups: dict[str, list[Candidate]] = {}
    for file in task.files:
        groups.setdefault(language_of(file.path).name, []).append(file)
    known = dialects.load(task.settings.dialect_version)
    return {
        name: Survey(
            group,
            lexicon(known, task.settings.extra_bases, LANGUAGES[name]),
            task.root,
            reader(name) if LANGUAGES[name].read else None,
            overlay=task.overlay,
        )
        for name, group in sorted(groups.items())
    }


def _outcomes(
    surveys: Mapping[str, Survey], cache: "Cache | None", terms: Terms, task: Task
) -> list[Outcome]:
    """The outcome of every cluster, cached or new."""
    groups = [
        group for name, survey in surveys.items() if LANGUAGES[name].read for group in clusters(survey, name)
    ]
    digests = _digests(surveys, groups) if cache else {}
    known = [cache.get(group, digests) if cache else None for group in groups]
    missing = [number for number, outcome in enumerate(known) if outcome is None]
    if missing:
        work = [groups[number] for number in missing]
        sizes = [_size(group, surveys[group.language]) for group in work]
        jobs = task.jobs if task.jobs > 0 else processors()
        found = run(work, terms._replace(digests=digests), sizes, jobs, task.progress)
        for number, outcome in zip(missing, found, strict=True):
            known[number] = outcome
            if cache:
                cache.put(groups[number], digests, outcome)
    return [outcome for outcome in known if outcome is not None]


def _cache(folder: CacheFolder | None, terms: Terms) -> "Cache | None":
    if folder is None:
        return None
    from ackdoctor.lint.cache import Cache  # a run without a cache does not pay for one

    try:
        return Cache(folder, terms)
    except NoCacheError:
        return None


def _digests(surveys: Mapping[str, Survey], groups: Iterable[Cluster]) -> dict[str, str]:
    """The digest of every file of the clusters, by path."""
    return {
        source.path: surveys[group.language].digest(source.path)
        for group in groups
        for source in (*group.own, *group.context)
    }


def _size(group: Cluster, survey: Survey) -> int:
    return sum(survey.files[source.path].size for source in (*group.own, *group.context))


def _marked(surveys: Mapping[str, Survey], files: Iterable[Candidate]) -> tuple[str, ...]:
    """The paths of the files that may hold comments of ours."""
    records = {path: record for survey in surveys.values() for path, record in survey.records.items()}
    return tuple(file.path for file in files if file.path in records and records[file.path].marked)


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
