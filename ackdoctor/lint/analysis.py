"""Parse and diagnose clusters, in this process or in workers.

A fault in one file or component becomes an `Unreadable` for it, and the rest goes on.  The results do not depend on
the number of workers: clusters know nothing of each other.
"""

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor import checks, dialects
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.program import Program
from ackdoctor.flow.symbols import MAX_ANCESTORS
from ackdoctor.lint.discover import LANGUAGES, LIMIT, reason
from ackdoctor.lint.files import digest_of
from ackdoctor.lint.project import Cluster, Inputs, Lowered, Result, Source
from ackdoctor.lint.unknown_bases import unknown_bases
from ackdoctor.model.cfg import ClassInfo, Component
from ackdoctor.model.finding import Finding, UnknownBase, Unreadable
from ackdoctor.model.source import read_file
from ackdoctor.model.topology import ComponentFacts, Topology

if TYPE_CHECKING:
    from ackdoctor.lint.memory import Memory

_WORTH_WORKERS = 60_000  # bytes of source from which two processes beat one


def analyze(
    clusters: Sequence[Cluster],
    inputs: Inputs,
    size: int,
    jobs: int,
    done: Callable[[int, Result], None],
    memory: "Memory | None" = None,
) -> None:
    """Call `done` with the number and the result of each cluster; `size` is the number of bytes that they read.

    `jobs` below 1 means as many as there are processors.  A cluster whose worker died is analysed once more, alone.
    `memory` serves the analysis in this process only.
    """
    method = _start_method()
    wanted = min(jobs if jobs > 0 else _processors(), len(clusters))
    workers = wanted if method and size >= _WORTH_WORKERS else 1
    analyzer = Analyzer(inputs, clusters, memory if workers <= 1 else None)
    if workers <= 1:
        for number, cluster in enumerate(clusters):
            done(number, analyzer.analyze(cluster))
        return
    for language in {cluster.language for cluster in clusters}:
        # import the parser once, before a fork
        lower(language, Source("", "", "", is_package=False), b"")
    waiting = dict(enumerate(clusters))
    for group in (waiting, *({number: cluster} for number, cluster in waiting.items())):
        left = {number: cluster for number, cluster in group.items() if number in waiting}
        for number, result in _analyze_in_workers(analyzer, left, workers, method) if left else ():
            del waiting[number]
            done(number, result)
    for number, cluster in waiting.items():
        what = "the process that analysed it died"
        lost = tuple(Unreadable.crash(source.display_path, what) for source in cluster.own)
        done(number, Result(unreadable=lost, repeatable=False))


def _processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# ---- workers ----


def _analyze_in_workers(
    analyzer: "Analyzer", clusters: Mapping[int, Cluster], workers: int, method: str
) -> Iterator[tuple[int, Result]]:
    """Yield the results as they come.  If a worker dies, those of the unfinished clusters are missing."""
    from concurrent.futures import ProcessPoolExecutor, as_completed  # 50 ms, which a short run does not need
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    futures = {}
    context = get_context(method)
    with _safe_path(), ProcessPoolExecutor(workers, context, _start_worker, (analyzer,)) as pool:
        with suppress(BrokenProcessPool):
            for number, cluster in clusters.items():
                futures[pool.submit(_analyze, cluster)] = number
        for future in as_completed(futures):
            with suppress(BrokenProcessPool):
                yield futures[future], future.result()


_of_worker: "list[Analyzer]" = []  # in a worker, its analyzer


def _start_worker(analyzer: "Analyzer") -> None:
    _of_worker[:] = [analyzer]


def _analyze(cluster: Cluster) -> Result:
    return _of_worker[0].analyze(cluster)


def _start_method() -> str:
    """Return how workers start; "" where none may.

    A forked worker has everything imported, but a fork beside other threads is not safe.  A spawned worker is a
    `python -c`, which before 3.11 always imports modules from the current folder first.
    """
    if sys.platform == "linux" and threading.active_count() == 1:
        return "fork"
    return "spawn" if sys.version_info >= (3, 11) else ""


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep the interpreters that start meanwhile from importing modules out of the current folder."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


# ---- one cluster ----


def lower(language: str, source: Source, data: bytes) -> Lowered:
    """Parse and lower one file; never raises for bad input.  The parser is imported here, for the first file."""
    if language == "java":
        from ackdoctor.frontends import java

        found = java.lower_source(path=source.display_path, data=data)
        if isinstance(found, Unreadable):
            return Lowered(None, (found,))
        return Lowered(found.unit, tuple(replace(place, partial=True) for place in found.broken))
    from ackdoctor.frontends import python

    path, module, is_package = source[1:]
    unit = python.lower_source(path=path, module=module, is_package=is_package, data=data)
    return Lowered(None, (unit,)) if isinstance(unit, Unreadable) else Lowered(unit)


class Analyzer:
    """Analyses clusters one after the other; a file of several clusters is parsed once."""

    def __init__(self, inputs: Inputs, clusters: Sequence[Cluster], memory: "Memory | None" = None) -> None:
        self._inputs = inputs
        self._memory = memory
        self._dialects = dialects.load(inputs.versions)
        self._lowered: dict[str, Lowered] = {}
        self._changed: set[str] = set()
        uses = Counter(source.path for cluster in clusters for source in cluster.sources)
        self._shared = {path for path, count in uses.items() if count > 1}

    def analyze(self, cluster: Cluster) -> Result:
        """Return the result of one cluster."""
        faults: list[Unreadable] = []  # which the files do not cause
        lowered = [self._lower(source, cluster.language, faults) for source in cluster.sources]
        units = [item.unit for item in lowered if item.unit is not None]
        focus = self._memory.focus if self._memory else ""
        own = {source.display_path for source in cluster.own if focus in ("", source.path)}
        findings: list[Finding] = []
        facts: list[ComponentFacts] = []
        topologies: tuple[Topology, ...] = ()
        unknown: list[UnknownBase] = []
        count = 0
        try:
            program = Program(units, self._dialects, self._inputs.extra_bases)
            for component in program.components:
                if component.cls.path in own:
                    if self._memory:
                        self._memory.stop()
                    count += 1
                    diagnosis = _diagnose(program, component, faults, wired=self._inputs.wired)
                    findings += diagnosis.findings
                    facts += diagnosis.facts
            if cluster.wires:
                from ackdoctor.topology.readers.code import from_program
                from ackdoctor.topology.trident_facts import trident_facts

                topologies = from_program(program, own)
                facts += (each for each in trident_facts(program) if not focus or each.place.path in own)
            faults += _too_many_ancestors(program, own)
            language = LANGUAGES[cluster.language].dialects
            unknown = [each for each in unknown_bases(program, self._dialects, language) if each.path in own]
        except Exception as error:  # noqa: BLE001  # the other clusters go on
            faults += (Unreadable.crash(source.display_path, error) for source in cluster.own)
        return Result(
            findings=tuple(findings),
            unreadable=(*(place for item in lowered for place in item.unreadable), *faults),
            components=count,
            facts=tuple(facts),
            topologies=topologies,
            unknown_bases=tuple(unknown),
            repeatable=not faults and self._changed.isdisjoint(source.path for source in cluster.sources),
        )

    def _lower(self, source: Source, language: str, faults: list[Unreadable]) -> Lowered:
        if source.path in self._lowered:
            return self._lowered[source.path]
        try:
            data = self._inputs.overlay.get(source.path)
            if data is None:
                data = read_file(source.path, LIMIT)
            digest = digest_of(data) if self._inputs.digests else ""
            if self._inputs.digests and digest != self._inputs.digests[source.path]:
                self._changed.add(source.path)
            if self._memory:
                lowered = self._memory.unit(source.path, digest, partial(lower, language, source, data))
            else:
                lowered = lower(language, source, data)
        except OSError as error:
            faults.append(Unreadable(path=source.display_path, line=0, column=0, reason=reason(error)))
            return Lowered(None)
        except Exception as error:  # noqa: BLE001  # the other files go on
            faults.append(Unreadable.crash(source.display_path, error))
            return Lowered(None)
        if source.path in self._shared:
            self._lowered[source.path] = lowered
        return lowered


class _Diagnosis(NamedTuple):
    """The findings of all rules about a component, and what its code shows to a topology."""

    findings: tuple[Finding, ...] = ()
    facts: tuple[ComponentFacts, ...] = ()


def _diagnose(program: Program, component: Component, faults: list[Unreadable], *, wired: bool) -> _Diagnosis:
    """Diagnose one component; what fails becomes a fault."""
    path, line = component.cls.path, component.cls.head.line

    def fail(code: str, error: Exception) -> None:
        if isinstance(error, RecursionError):
            what, by = "calls nested too deeply", f" by {code}" if code else ""
            why = f"{what}; `{component.name}` is not judged{by}"
            internal = (
                f"RecursionError: {what}"  # for exit code 2: no other finding hides an unjudged component
            )
            fault = Unreadable(path=path, line=line, column=0, reason=why, partial=True, internal=internal)
        else:
            where = f"{component.name}, {code}" if code else component.name
            fault = Unreadable.crash(path, error, line=line, where=where, partial=True)
        faults.append(fault)

    try:
        context = RuleContext.of(program, component)
        findings = tuple(checks.check_component(context, fail))
    except Exception as error:  # noqa: BLE001  # the other components go on
        fail("", error)
        return _Diagnosis()
    if not wired:
        return _Diagnosis(findings)
    from ackdoctor.topology.facts import component_facts  # a run without topologies needs none

    try:
        return _Diagnosis(findings, (component_facts(context, findings),))
    except Exception as error:  # noqa: BLE001  # the findings stay
        fail("", error)
        return _Diagnosis(findings)


def _too_many_ancestors(program: Program, own: set[str]) -> Iterator[Unreadable]:
    """Report the classes with too many ancestors, in one line for each file."""
    skipped: dict[str, list[ClassInfo]] = {}
    for cls in program.skipped:
        if cls.path in own:
            skipped.setdefault(cls.path, []).append(cls)
    for path, classes in skipped.items():
        first = min(classes, key=lambda cls: cls.head.line)
        more = f" and {len(classes) - 1} more classes are" if len(classes) > 1 else " is"
        why = f"more than {MAX_ANCESTORS} base classes; `{first.name}`{more} not judged"
        yield Unreadable(path=path, line=first.head.line, column=0, reason=why, partial=True)
