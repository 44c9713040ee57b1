"""One lint run: files in, `Report` out.

    discover -> filter bytes (files) -> find clusters (project) -> cache, or analyze -> select

The report depends on the files and the settings: not on the order of paths, the number of jobs, or the cache.
Each language is filtered and clustered by itself, since no class of one derives from a class of another.
"""

import os
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ackdoctor import dialects
from ackdoctor.config import Settings
from ackdoctor.lint.discover import (
    LANGUAGES,
    LIMIT,
    Candidate,
    Discovery,
    discover,
    display_path,
    is_text,
    language_of,
    refusal,
    with_new,
)
from ackdoctor.lint.files import MARK, Files, framework_names
from ackdoctor.lint.project import Cluster, Inputs, Project, Result, Source
from ackdoctor.lint.select import select, silenced
from ackdoctor.lint.wiring import Wiring, judge_topologies
from ackdoctor.model.finding import Finding, Report, Unreadable
from ackdoctor.model.source import read_file
from ackdoctor.topology.texts import may_wire

if TYPE_CHECKING:
    from ackdoctor.cache_folder import CacheFolder
    from ackdoctor.lint.memory import Memory
    from ackdoctor.lint.result_cache import ResultCache

Progress: TypeAlias = Callable[[int, int], None]
_NAMED = 3  # files that a note names


def lint(
    paths: Sequence[Path],
    settings: Settings,
    *,
    root: Path,
    stdin: tuple[str, bytes] | None = None,
    edited: Mapping[str, bytes] | None = None,
    jobs: int = 1,
    cache: "CacheFolder | None" = None,
    progress: Progress | None = None,
    memory: "Memory | None" = None,
) -> Report:
    """Lint files, folders, and perhaps one text (`stdin`) as if it were in the file of its name.

    Paths in the report are relative to `root`; `edited` replaces the contents of files by these paths.  `jobs` below 1
    means as many as there are processors; `cache` holds the results of earlier runs; `progress` is called with the
    number of finished clusters and of all, and before, while there is no number yet, with (0, 0); `memory` serves the next run of this process.  Findings have no fingerprint
    yet.  UsageError for a path that does not exist, ConfigError for a version that no dialect has.
    """
    top = os.path.abspath(root)
    overlay = {os.path.normpath(os.path.join(top, path)): data for path, data in (edited or {}).items()}
    look = partial(discover, paths, settings, root)
    found = look() if memory is None else with_new(memory.look(look), overlay, top)
    files = {file.path: file for file in found.files}
    refused = list(found.unreadable)
    overlay = {**(_take_text(stdin, top, files, refused) if stdin else {}), **overlay}
    tick = partial(progress, 0, 0) if progress else None
    languages = _by_language((*files.values(), *found.foreign), settings, top, overlay, memory, tick)
    read = [each for each in languages if each.language.is_read]
    by_text = any(may_wire(text.path) for text in found.texts)
    inputs = Inputs(dict(settings.dialect_version), dict(settings.extra_bases), overlay, wired=by_text)
    results = _results(read, inputs, cache, jobs, progress, memory)
    refused += (fault for result in results for fault in result.unreadable)
    refused += (fault for each in read for fault in (*each.unreadable, *(() if memory else _broken(each))))
    findings = [finding for result in results for finding in result.findings]
    sources = _sources(read, files, findings, refused, overlay, top)
    ignored = partial(silenced, findings, sources)
    wiring = judge_topologies(found.texts, results, settings.topology.best_effort_streams, ignored, overlay)
    unreadable = _unique([*refused, *wiring.unreadable])
    asked = {file.display_path for file in files.values()}
    findings = _adjusted(findings, wiring)
    # Heirs and callers of the code in a named file may be anywhere; a walked folder has them.
    partly = memory is not None and memory.is_partial
    unsure = {file.display_path for file in files.values() if file.named or partly}
    unsure |= {item.path for item in unreadable if item.partial}
    sources |= {path: data for path, data in wiring.texts.items() if MARK in data}
    choice = select(findings, sources, asked | set(wiring.texts), settings, top, unsure=unsure)
    beside = {file.display_path for each in languages for file in each.by_path.values()} | set(found.lists)
    unknown = [item for result in results for item in result.unknown_bases]
    return Report(
        findings=choice.findings,
        unreadable=_unique([*unreadable, *choice.unread]),
        files=tuple(sorted(asked | wiring.used)),
        beside=tuple(sorted(beside - asked)),
        components=sum(result.components for result in results),
        suppressed=choice.suppressed,
        unknown_bases=tuple(sorted(unknown, key=lambda item: (item.path, item.line, item.name))),
        topologies=wiring.judged,
        notes=(*choice.notes, *_notes(languages, found, wiring.used.union(item.path for item in unreadable))),
    )


def _adjusted(findings: list[Finding], wiring: Wiring) -> list[Finding]:
    """Return the findings in the code as the topologies show them, and the findings in the topologies."""
    if not wiring.judged:
        return findings
    from ackdoctor.topology.adjust import adjust  # a run without topologies does not need it

    return [*adjust(findings, wiring.judged), *wiring.findings]


def _take_text(
    stdin: tuple[str, bytes], root: str, files: dict[str, Candidate], refused: list[Unreadable]
) -> Mapping[str, bytes]:
    """Add the text from standard input to the files, or to the refused ones; return its content by path."""
    path, data = os.path.normpath(os.path.join(root, stdin[0])), stdin[1]
    where = display_path(path, root)
    large = len(data) > LIMIT
    why = f"larger than {LIMIT // 1_000_000} MB ({len(data):,} bytes)" if large else refusal(path)
    if not why and is_text(path):
        why = "a topology is read from a file, not from standard input"
    if why:
        refused.append(Unreadable(path=where, line=0, column=0, reason=why))
        return {}
    files[path] = Candidate(path, where, len(data), named=True)
    return {path: data}


def _by_language(
    candidates: Iterable[Candidate],
    settings: Settings,
    root: str,
    overlay: Mapping[str, bytes],
    memory: "Memory | None",
    tick: Callable[[], None] | None,
) -> list[Files]:
    """Return the files of each language."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(language_of(candidate.path).name, []).append(candidate)
    known = dialects.load(settings.dialect_version)
    found = []
    for name, group in sorted(groups.items()):
        names = framework_names(known, settings.extra_bases, LANGUAGES[name])
        known_files = memory.files(name) if memory else None
        found.append(Files(group, LANGUAGES[name], names, root, overlay, known_files, tick))
    return found


def _broken(files: Files) -> Iterator[Unreadable]:
    """Yield the syntax errors of files that the user names and that name no framework, so that no cluster need have them."""
    for path, candidate in files.by_path.items():
        facts = files.facts.get(path)
        if not candidate.named or facts is None or facts.names_framework:
            continue
        data = files.read(path)
        if data is not None and not (files.language.name == "python" and _is_python(data)):
            from ackdoctor.lint.analysis import lower  # imports no parser yet

            yield from lower(
                files.language.name, Source(path, candidate.display_path, "", is_package=False), data
            ).unreadable


def _is_python(data: bytes) -> bool:
    """Whether this Python parses the text, which is faster than our parser; False says nothing."""
    import ast  # most runs need no check

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _sources(
    languages: Iterable[Files],
    files: Mapping[str, Candidate],
    findings: Iterable[Finding],
    unreadable: Iterable[Unreadable],
    overlay: Mapping[str, bytes],
    root: str,
) -> dict[str, bytes]:
    """Return the contents of the files whose suppression comments count, by display path.

    They are the files of the run, and others that hold findings of its components.
    """
    unread = {item.path for item in unreadable if not item.partial}
    marked = {path for each in languages for path, facts in each.facts.items() if facts.has_mark}
    paths = {
        file.display_path: path
        for path, file in files.items()
        if path in marked and file.display_path not in unread
    }
    asked = {file.display_path for file in files.values()}
    for finding in findings:
        place = finding.site.path
        if finding.home in asked and place not in asked:
            paths[place] = os.path.normpath(os.path.join(root, place))
    found: dict[str, bytes] = {}
    for where, path in paths.items():
        with suppress(OSError):  # it was removed during the run
            found[where] = overlay[path] if path in overlay else read_file(path, LIMIT)
    return found


def _notes(languages: Iterable[Files], found: Discovery, known: Collection[str]) -> Iterator[str]:
    """Yield a line about files of unread languages that name a framework, one about unused settings, and more.

    Each named text that is not `known` to belong to a topology has a line.
    """
    other_settings = found.other_settings
    places = [
        (each.language.title, each.by_path[path].display_path)
        for each in languages
        if not each.language.is_read
        for path, facts in each.facts.items()
        if facts.names_framework
    ]
    if places:
        counts = Counter(title for title, _ in places)
        kinds = " and ".join(f"{count} {title}" for title, count in sorted(counts.items()))
        noun = "file that uses" if len(places) == 1 else "files that use"
        yield f"not read: {kinds} {noun} a Storm framework: {_listed([place for _, place in places])}"
    if other_settings:
        verb, those = (
            ("is", "its directory") if len(other_settings) == 1 else ("are", "each of their directories")
        )
        yield (
            f"{_listed(other_settings)} {verb} not used, since a run has the settings of the directory that its paths "
            f"share: lint {those} by itself"
        )
    for text in found.texts:
        if text.named and text.display_path not in known:
            yield f"{text.display_path}: holds neither code nor a topology"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _unique(items: Iterable[Unreadable]) -> tuple[Unreadable, ...]:
    return tuple(sorted(set(items), key=lambda item: (item.path, item.line, item.column, item.reason)))


def _results(
    languages: Sequence[Files],
    inputs: Inputs,
    folder: "CacheFolder | None",
    jobs: int,
    progress: Progress | None,
    memory: "Memory | None",
) -> list[Result]:
    """Return the results of all clusters: remembered, cached or new."""
    found = ((files, memory.clusters(files) if memory else Project(files).clusters()) for files in languages)
    clusters = [(cluster, files) for files, group in found for cluster in group]
    wired = inputs.wired or memory is not None or any(cluster.wires for cluster, _ in clusters)
    inputs = inputs._replace(wired=wired)
    digests: Mapping[str, str] = {}
    if (folder or memory) and clusters:
        digests = {
            source.path: files.digest(source.path) for each, files in clusters for source in each.sources
        }
        inputs = inputs._replace(digests=digests)
    results = [memory.result(cluster, digests) if memory else None for cluster, _ in clusters]
    cache = _open_cache(folder, inputs, clusters, results, memory)
    if cache:
        results = [
            cache.get(each[0]) if result is None else result
            for each, result in zip(clusters, results, strict=True)
        ]
    missing = [
        number
        for number, result in enumerate(results)
        if result is None and (memory is None or memory.wants(clusters[number][0]))
    ]

    def done(number: int, result: Result) -> None:
        cluster = clusters[missing[number]][0]
        results[missing[number]] = result
        if cache and (memory is None or _is_on_disk(cluster, inputs)):
            cache.put(cluster, result)
        if memory is not None:
            memory.keep(cluster, digests, result)
            memory.stop()
        if progress is not None:
            progress(sum(results[each] is not None for each in missing), len(missing))

    if missing:
        from ackdoctor.lint.analysis import analyze  # flow and checks, which an unchanged run does not need

        work = [clusters[number] for number in missing]
        size = sum(files.by_path[source.path].size for each, files in work for source in each.sources)
        analyze([cluster for cluster, _ in work], inputs, size, jobs, done, memory)
    if cache:
        cache.close()
    if memory is None:
        return [result for result in results if result is not None]
    return [memory.keep(each[0], digests, result) for each, result in zip(clusters, results, strict=True)]


def _open_cache(
    folder: "CacheFolder | None",
    inputs: Inputs,
    clusters: Sequence[tuple[Cluster, Files]],
    results: Sequence[Result | None],
    memory: "Memory | None",
) -> "ResultCache | None":
    """Open the cache if a result that is not remembered may be in it; None without one."""
    if folder is None or not any(
        result is None and (memory is None or _is_on_disk(cluster, inputs))
        for (cluster, _), result in zip(clusters, results, strict=True)
    ):
        return None
    from ackdoctor.cache_folder import NoCacheError  # a run without a cache needs neither
    from ackdoctor.lint.result_cache import ResultCache

    try:
        return ResultCache(folder, inputs)
    except NoCacheError:
        return None


def _is_on_disk(cluster: Cluster, inputs: Inputs) -> bool:
    """Whether all files of a cluster have the contents that they have on disk."""
    return all(source.path not in inputs.overlay for source in cluster.sources)
