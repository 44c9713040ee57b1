"""Lowers the files of one cluster and asks the checks about its components.

Runs in the main process or in a worker.  Whatever goes wrong with one file or one component becomes an
`Unreadable` for it, and the rest goes on.
"""

from collections.abc import Iterable, Iterator

from ackdoctor import checks, dialects
from ackdoctor.flow.program import Program, unknown_bases
from ackdoctor.flow.symbols import MAX_ANCESTORS
from ackdoctor.lint.clusters.outcome import Outcome, Terms
from ackdoctor.lint.disk.reading import digest_of, read_file
from ackdoctor.lint.files.discover import LIMIT, reason
from ackdoctor.lint.files.index import Cluster, Source
from ackdoctor.lint.languages.reader import LANGUAGES, Lowered, reader
from ackdoctor.model.component import ClassInfo, Component
from ackdoctor.model.finding import Finding, UnknownBase, Unreadable

__all__ = ["Examiner", "prepare"]


class Examiner:
    """Examines clusters one after the other; what several of them reach is lowered once."""

    def __init__(self, terms: Terms, group: Iterable[Cluster]) -> None:
        self._terms = terms
        self._dialects = dialects.load(terms.versions)
        self._lowered: dict[str, Lowered] = {}
        seen: set[str] = set()
        self._shared: set[str] = set()
        self._changed: set[str] = set()
        for cluster in group:
            for path in self._paths(cluster):
                (self._shared if path in seen else seen).add(path)

    def examine(self, cluster: Cluster) -> Outcome:
        """The outcome of one cluster."""
        troubles: list[Unreadable] = []  # not of the files' own making
        lowered = [
            self._lower(source, cluster.language, troubles) for source in (*cluster.own, *cluster.context)
        ]
        units = [item.unit for item in lowered if item.unit is not None]
        own = {source.shown for source in cluster.own}
        findings: list[Finding] = []
        unknown: list[UnknownBase] = []
        count = 0
        try:
            program = Program(units, self._dialects, self._terms.extra_bases)
            for component in program.components:
                if component.cls.path in own:
                    count += 1
                    findings += self._diagnose(program, component, troubles)
            troubles += _too_many_ancestors(program, own)
            spoken = LANGUAGES[cluster.language].dialects
            unknown = [u for u in unknown_bases(program, self._dialects, spoken) if u.path in own]
        except Exception as error:  # noqa: BLE001  # the other clusters go on
            troubles += (Unreadable.crash(source.shown, error) for source in cluster.own)
        unreadable = [place for item in lowered for place in item.unreadable]
        return Outcome(
            findings=tuple(findings),
            unreadable=(*unreadable, *troubles),
            components=count,
            unknown_bases=tuple(unknown),
            lasting=not troubles and self._changed.isdisjoint(self._paths(cluster)),
        )

    def _paths(self, cluster: Cluster) -> list[str]:
        return [source.path for source in (*cluster.own, *cluster.context)]

    def _diagnose(self, program: Program, component: Component, troubles: list[Unreadable]) -> list[Finding]:
        def failed(code: str, error: Exception) -> None:
            if isinstance(error, RecursionError):
                troubles.append(_too_deep(component, code))
                return
            where = f"{component.name}, {code}" if code else component.name
            line = component.cls.head.line
            troubles.append(Unreadable.crash(component.cls.path, error, line=line, where=where, partial=True))

        try:
            return list(checks.check_component(program, component, failed))
        except Exception as error:  # noqa: BLE001  # the other components go on
            failed("", error)
            return []

    def _lower(self, source: Source, language: str, troubles: list[Unreadable]) -> Lowered:
        if source.path in self._lowered:
            return self._lowered[source.path]
        try:
            data = self._terms.overlay.get(source.path)
            if data is None:
                data = read_file(source.path, LIMIT)
            if self._terms.digests and digest_of(data) != self._terms.digests[source.path]:
                self._changed.add(source.path)
            lower = reader(language).lower
            lowered = lower(source.shown, source.module, data, is_package=source.is_package)
        except OSError as error:
            troubles.append(Unreadable(path=source.shown, line=0, column=0, reason=reason(error)))
            return Lowered(None, ())
        except Exception as error:  # noqa: BLE001  # the other files go on
            troubles.append(Unreadable.crash(source.shown, error))
            return Lowered(None, ())
        if source.path in self._shared:
            self._lowered[source.path] = lowered
        return lowered


def _too_deep(component: Component, code: str) -> Unreadable:
    """Say that the calls of a component exceed the interpreter's stack."""
    by = f" by {code}" if code else ""
    what = "calls nested too deeply"
    return Unreadable(
        path=component.cls.path,
        line=component.cls.head.line,
        column=0,
        reason=f"{what}; `{component.name}` is not judged{by}",
        partial=True,
        internal=f"RecursionError: {what}",  # a component is not judged: no finding elsewhere hides that
    )


def _too_many_ancestors(program: Program, own: set[str]) -> Iterator[Unreadable]:
    """Name the classes with too many ancestors, in one line for each file."""
    skipped: dict[str, list[ClassInfo]] = {}
    for cls in program.skipped:
        if cls.path in own:
            skipped.setdefault(cls.path, []).append(cls)
    for path, classes in skipped.items():
        first = min(classes, key=lambda cls: cls.head.line)
        more = f" and {len(classes) - 1} more classes are" if len(classes) > 1 else " is"
        reason = f"more than {MAX_ANCESTORS} base classes; `{first.name}`{more} not judged"
        yield Unreadable(path=path, line=first.head.line, column=0, reason=reason, partial=True)


def prepare(languages: Iterable[str]) -> None:
    """Imports the parsers of these languages."""
    for language in languages:
        reader(language).lower("", "", b"", is_package=False)
