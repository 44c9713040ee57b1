"""What a process that lints one tree again and again keeps between its runs, as the language server does.

Nothing here changes a report: files are known by size and time, results by the contents of all files of their cluster.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

from ackdoctor.lint.discover import Discovery
from ackdoctor.lint.files import Files, digest_of
from ackdoctor.lint.project import Cluster, Lowered, Project, Result
from ackdoctor.model.cfg import Function, Unit
from ackdoctor.model.finding import Finding
from ackdoctor.model.source import Span

V = TypeVar("V")


class Stopped(BaseException):  # no error, so that no handler of errors stops it
    """The end of a run whose report is not wanted any more."""


_MOST_UNITS = 300  # parsed files
_MORE_RESULTS = 100  # beside one for each cluster


def _nothing() -> None:
    """Stop no run."""


@dataclass(slots=True, eq=False)
class Memory:
    """The memory of runs with the same paths, root and settings; those that select rules may differ.

    With a `focus`, the path of a file, a run analyses the components of that file only, and takes over the results of
    the others from earlier runs; `is_partial` says that it did.  `stop` is called often; it raises to end the run.
    """

    focus: str = ""
    stop: Callable[[], None] = _nothing
    is_partial: bool = False
    found: Discovery | None = None  # None: look at the disk
    units: dict[str, tuple[str, Lowered]] = field(default_factory=dict)  # path -> digest, unit
    _files: dict[str, Files] = field(default_factory=dict)
    _clusters: dict[str, tuple[Cluster, ...]] = field(default_factory=dict)
    _results: dict[str, Result] = field(default_factory=dict)
    _latest: dict[tuple[str, ...], Result] = field(default_factory=dict)  # by the own files of a cluster

    def look(self, discover: Callable[[], Discovery]) -> Discovery:
        """Return the files on disk, as an earlier run found them unless `found` was reset."""
        self.is_partial = False
        if self.found is None:
            self.found = discover()
        return self.found

    def files(self, language: str) -> Files | None:
        """Return the files of the latest run in a language."""
        return self._files.get(language)

    def clusters(self, files: Files) -> tuple[Cluster, ...]:
        """Return the clusters of the files."""
        name = files.language.name
        known = self._files.get(name)
        if known is None or not files.leads_as(known):
            self._clusters[name] = Project(files).clusters()
            own = {_own(cluster) for group in self._clusters.values() for cluster in group}
            self._latest = {key: result for key, result in self._latest.items() if key in own}
        self._files[name] = files
        return self._clusters[name]

    def unit(self, path: str, digest: str, lower: Callable[[], Lowered]) -> Lowered:
        """Return the unit of a file with these contents."""
        known = self.units.pop(path, None)
        if known is None or known[0] != digest:
            lowered = lower()
            if known is not None and known[1].unit is not None and lowered.unit is not None:
                _keep_functions(known[1].unit, lowered.unit)
            known = (digest, lowered)
        _put(self.units, path, known, _MOST_UNITS)
        return known[1]

    # ---- results ----

    def result(self, cluster: Cluster, digests: Mapping[str, str]) -> Result | None:
        """Return the result of a cluster with these contents."""
        key = _key(cluster, digests)
        result = self._results.pop(key, None)
        if result is not None:
            self._results[key] = result
            self._latest[_own(cluster)] = result
        return result

    def wants(self, cluster: Cluster) -> bool:
        """Whether a run analyses a cluster without a result."""
        return not self.focus or self.focus in _own(cluster)

    def keep(self, cluster: Cluster, digests: Mapping[str, str], result: Result | None) -> Result:
        """Keep the result of a cluster with these contents; return it, completed by those of earlier runs."""
        own = _own(cluster)
        key = _key(cluster, digests)
        if key in self._results:
            return self._results[key]
        if result is None or (self.focus in own and len(own) > 1):
            self.is_partial = True
            earlier = self._latest.get(own, Result())
            if result is None:
                return earlier
            where = next(source.display_path for source in cluster.own if source.path == self.focus)
            result = _merged(earlier, result, where)
        elif result.repeatable:
            _put(self._results, key, result, len(self._latest) + _MORE_RESULTS)
        self._latest[own] = result
        return result


# ---- functions ----


def _keep_functions(old: Unit, new: Unit) -> None:
    """Keep the functions of a file that are as before, with what is memoized about them."""
    _keep_same(old.functions, new.functions)
    for qualname, cls in new.classes.items():
        if qualname in old.classes and not cls.overloads:
            _keep_same(old.classes[qualname].methods, cls.methods)


def _keep_same(old: Mapping[str, Function], new: dict[str, Function]) -> None:
    new.update((name, old[name]) for name in new.keys() & old.keys() if _is_same(old[name], new[name]))


def _is_same(one: Any, other: Any) -> bool:
    """Whether two functions, or parts of them, are equal in all but what is memoized; 1 and True are not."""
    pairs = [(one, other)]
    while pairs:
        one, other = pairs.pop()
        if one is other:
            continue
        kind = type(one)
        if kind is not type(other):
            return False
        parts = _PARTS[kind] if kind in _PARTS else _parts_of(kind)
        if parts is None:
            if one != other:
                return False
            continue
        first, second = parts(one), parts(other)
        if len(first) != len(second):
            return False
        pairs.extend(zip(first, second, strict=True))
    return True


_Parts: TypeAlias = Callable[[Any], Sequence[Any]]
_PARTS: dict[type, _Parts | None] = {
    Span: None
}  # how to get the parts of an object; None: compare it as a whole


def _parts_of(kind: type) -> _Parts | None:
    found: _Parts | None = None
    if is_dataclass(kind):
        names = [each.name for each in fields(kind) if each.name != "memo"]
        found = attrgetter(*names, "__class__")  # of one name alone, it would return no tuple
    elif issubclass(kind, dict):
        found = _entries
    elif issubclass(kind, (list, tuple)):
        found = tuple
    return _PARTS.setdefault(kind, found)


def _entries(mapping: Mapping[Any, Any]) -> Sequence[Any]:
    return (*mapping, *mapping.values())


# ---- results ----


def _merged(earlier: Result, focused: Result, path: str) -> Result:
    """Return an earlier result with what the focused file adds now; findings of other components in it are dropped."""

    def elsewhere(items: Sequence[V], place: Callable[[V], str]) -> tuple[V, ...]:
        return tuple(item for item in items if place(item) != path)

    def stays(finding: Finding) -> bool:
        return path not in (finding.site.path, finding.home)

    return replace(
        focused,
        findings=(*filter(stays, earlier.findings), *focused.findings),
        unreadable=(*elsewhere(earlier.unreadable, lambda item: item.path), *focused.unreadable),
        facts=(*elsewhere(earlier.facts, lambda item: item.place.path), *focused.facts),
        topologies=(*elsewhere(earlier.topologies, lambda item: item.place.path), *focused.topologies),
        unknown_bases=(*elsewhere(earlier.unknown_bases, lambda item: item.path), *focused.unknown_bases),
    )


def _own(cluster: Cluster) -> tuple[str, ...]:
    return tuple(source.path for source in cluster.own)


def _key(cluster: Cluster, digests: Mapping[str, str]) -> str:
    parts = [(*source, digests.get(source.path, "")) for source in cluster.sources]
    content = repr((cluster.language, len(cluster.own), cluster.wires, parts))
    return digest_of(content.encode())


def _put(kept: dict[str, V], key: str, value: V, most: int) -> None:
    """Add a value as the newest one, and drop the oldest of more than `most`."""
    kept[key] = value
    while len(kept) > most:
        del kept[next(iter(kept))]
