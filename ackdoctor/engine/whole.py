"""All clusters of a run: survey (bytes) -> index -> cache, or examine (lower, solve, check).

Each language is surveyed and indexed for itself, since no class of one derives from one of another; from the
clusters on it is one run.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ackdoctor.config import Settings
from ackdoctor.engine.clusters.outcome import Outcome, Task, Terms, Whole
from ackdoctor.engine.clusters.pool import Progress, processors, run
from ackdoctor.engine.disk.surroundings import Seen
from ackdoctor.engine.files.discover import Candidate
from ackdoctor.engine.files.index import Cluster, clusters
from ackdoctor.engine.files.lexicon import Lexicon, lexicon
from ackdoctor.engine.files.survey import Survey
from ackdoctor.engine.languages.reader import LANGUAGES, Language, language_of, reader

if TYPE_CHECKING:
    from ackdoctor.engine.stored.cache import Cache

__all__ = ["whole"]

_SHOWN = 3  # unread files that a note names


def whole(task: Task, folder: Path | None, key: str) -> tuple[Whole, dict[str, Seen]]:
    """What came of all clusters, and what was looked at beside the files.  `folder` is the cache's, `key` its key."""
    memory = _memory(folder, key)
    surveys = _surveys(task, memory)
    terms = Terms(dict(task.settings.dialect_version), dict(task.settings.extra_bases), dict(task.overlay))
    jobs = task.jobs if task.jobs > 0 else processors()
    outcomes = _outcomes(surveys, memory, terms, jobs, task.progress)
    if memory:
        memory.save(surveys, task.root)
    refused = [u for outcome in outcomes for u in outcome.unreadable]
    refused += [u for name, survey in surveys.items() if LANGUAGES[name].read for u in survey.unreadable]
    together = Outcome(
        findings=tuple(finding for outcome in outcomes for finding in outcome.findings),
        unreadable=tuple(refused),
        unknown_bases=tuple(item for outcome in outcomes for item in outcome.unknown_bases),
        components=sum(outcome.components for outcome in outcomes),
        lasting=all(o.lasting for o in outcomes) and not any(s.unreadable for s in surveys.values()),
    )
    looks = {path: seen for survey in surveys.values() for path, seen in survey.around.looks.items()}
    return Whole(together, _marked(surveys, task.files), tuple(_foreign(surveys))), looks


def _surveys(task: Task, memory: "Cache | None") -> dict[str, Survey]:
    """The files of each language, looked at."""
    groups: dict[str, list[Candidate]] = {}
    for file in task.files:
        groups.setdefault(language_of(file.path).name, []).append(file)
    return {
        name: Survey(
            group,
            _lexicon(memory, task.settings, LANGUAGES[name]),
            task.root,
            reader(name) if LANGUAGES[name].read else None,
            remember=memory.record if memory else _nothing,
            overlay=task.overlay,
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


def _memory(folder: Path | None, key: str) -> "Cache | None":
    if folder is None:
        return None
    from ackdoctor.engine.stored.cache import Cache  # a run without a cache does not pay for one

    return Cache(folder, key)


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
