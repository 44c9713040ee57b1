"""Which files are worth lowering, and with which others.

Terms.  A *seed* imports a framework.  A *component file* has a class with a framework's class among its
ancestors; it need not name the framework.  A *cluster* is what must be analysed together: component files
that derive from one another (`own`), and around them the files their code reaches (`context`): bases,
mixins, and helpers they import.  Where there is no seed there is nothing to do, and only a short run looks
further: its files may derive from classes that it was not asked to lint.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ackdoctor.lint.files.hierarchy import ClassKey, Hierarchy
from ackdoctor.lint.files.lexicon import Lexicon
from ackdoctor.lint.files.survey import Survey
from ackdoctor.lint.languages.outline import Outline

__all__ = ["Cluster", "Source", "clusters"]

SHORT_RUN = 200  # files whose bases are looked for on disk even where no file names a framework
HELPER_DEPTH = 3  # imports followed from a component; beyond the first only to files that ack, fail or emit
HELPER_SIZE = 300_000  # bytes; larger files hold tables, not helpers
HELPERS = 40  # per cluster


class Source(NamedTuple):
    """A file to lower: where it is, how findings name it, and its dotted module name."""

    path: str
    shown: str
    module: str
    is_package: bool


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Cluster:
    """Files of one language that are analysed together; only the components of `own` files are diagnosed."""

    language: str
    own: tuple[Source, ...]
    context: tuple[Source, ...]


def clusters(survey: Survey, language: str) -> tuple[Cluster, ...]:
    """The clusters of a run in one language, in the order of their first files."""
    asked = set(survey.files)
    search = _Search(survey, language)
    components = search.components()
    own = (components | search.seeds) & asked
    groups = _Groups(path for path in own if not search.is_frameworks(path))
    for path in sorted(components & asked):
        for base in search.hierarchy.bases.get(path, ()):
            if base in components:
                groups.join(path, base)
    found = [search.cluster(group, components) for group in groups.all()]
    others = (search.odd() | search.shaped()) - components - search.seeds
    found += [search.cluster([path], components) for path in sorted(others)]
    return tuple(sorted(found, key=lambda cluster: cluster.own[0].shown))


class _Search:
    """One run's way from seeds to components to what they reach."""

    def __init__(self, survey: Survey, language: str) -> None:
        self.survey = survey
        self.language = language
        self.asked = tuple(survey.files)
        self.places = survey.reader.places(self.asked, survey.root, survey.outline)
        self.hierarchy = Hierarchy(survey, self.places)
        self._reached: dict[str, frozenset[str]] = {}
        self.seeds = {
            path
            for path, record in list(survey.records.items())
            if record.named and _imports_framework(survey.outline(path), survey.lexicon)
        }

    def odd(self) -> set[str]:
        """Files that are no source text: nobody can say that no component is in them."""
        return {path for path, record in self.survey.records.items() if record.odd}

    def shaped(self) -> set[str]:
        """Files with what looks like a handler of tuples, of a class that may derive from anything."""
        found = {path for path in self.asked if (record := self.survey.records.get(path)) and record.shaped}
        return {path for path in found if not self.is_frameworks(path)}

    def is_frameworks(self, path: str) -> bool:
        """Whether the file is a part of a framework: one of its classes has the full name of a base class."""
        module = self._module(path)[0].split(".")
        tails = [".".join(module[start:]) for start in range(len(module))]
        names = {cls for cls, _ in self.survey.classes(path).classes}
        return any(f"{tail}.{name}" in self.survey.lexicon.theirs for tail in tails for name in names)

    def components(self) -> set[str]:
        """The component files, those that the run was not asked for included."""
        if len(self.asked) <= SHORT_RUN:
            for path in self.asked:
                self._keys(path)
            return self._proven(key for path in self.asked for key in self._keys(path))
        if not self.seeds:
            return set()
        by_base: dict[str, list[ClassKey]] = {}
        for path in self.asked:
            found = self.survey.classes(path)
            renamed = _renamed(found)
            for cls, bases in found.classes:
                for base in bases:
                    for name in {base.rpartition(".")[2], *renamed.get(base.partition(".")[0], ())}:
                        by_base.setdefault(name, []).append(ClassKey(path, cls))
        return self._proven(self._named_after(by_base))

    def _keys(self, path: str) -> list[ClassKey]:
        return [ClassKey(path, cls) for cls, _ in self.survey.classes(path).classes]

    def _proven(self, keys: Iterable[ClassKey]) -> set[str]:
        return {key.path for key in keys if self.hierarchy.is_component(key)}

    def _named_after(self, by_base: dict[str, list[ClassKey]]) -> Iterator[ClassKey]:
        """Classes with a base that is called like a framework's class or like a component."""
        waiting = sorted(self.survey.lexicon.exported)
        seen = set(waiting)
        for path in sorted(self.seeds):
            for key in self._keys(path):
                yield key
                if self.hierarchy.is_component(key) and key.name not in seen:
                    seen.add(key.name)
                    waiting.append(key.name)
        while waiting:
            for key in by_base.get(waiting.pop(), ()):
                yield key
                if key.name not in seen and self.hierarchy.is_component(key):
                    seen.add(key.name)
                    waiting.append(key.name)

    # ---- what a component reaches ----

    def cluster(self, group: list[str], components: set[str]) -> Cluster:
        """The cluster of these own files."""
        live = [path for path in group if path in components]
        lineage = self._lineage(live)
        helpers = self._helpers([*live, *lineage])
        context = sorted((lineage | helpers) - set(group))
        return Cluster(
            language=self.language,
            own=tuple(sorted(map(self._source, group), key=lambda source: source.shown)),
            context=tuple(sorted(map(self._source, context), key=lambda source: source.shown)),
        )

    def _lineage(self, paths: Iterable[str]) -> set[str]:
        waiting = list(paths)
        found: set[str] = set()
        while waiting:
            for base in self.hierarchy.bases.get(waiting.pop(), ()):
                if base not in found:
                    found.add(base)
                    waiting.append(base)
        return found

    def _helpers(self, paths: Iterable[str]) -> set[str]:
        found: set[str] = set()
        ring = sorted(set(paths))
        known = set(ring)
        for depth in range(1, HELPER_DEPTH + 1):
            reached = sorted({path for origin in ring for path in self._from(origin)} - known)
            ring = [path for path in reached if self._helps(path, depth)][: HELPERS - len(found)]
            known.update(reached)
            found.update(ring)
        return found

    def _helps(self, path: str, depth: int) -> bool:
        if not self.survey.add(path) or self.survey.files[path].size > HELPER_SIZE:
            return False
        self.survey.outline(path)
        record = self.survey.records[path]
        return self.survey.reader.helps(depth, named=record.named, acts=record.acts)

    def _from(self, path: str) -> frozenset[str]:
        if path not in self._reached:
            self._reached[path] = frozenset(self._imported(path))
        return self._reached[path]

    def _imported(self, path: str) -> Iterator[str]:
        """Files of the project that an import or a name leads to, re-exports followed."""
        found = self.survey.outline(path)
        lexicon = self.survey.lexicon
        bound = {name for name, qualified in found.imports if not lexicon.is_foreign(qualified)}
        for name in bound.union(found.names):
            for lead in self.hierarchy.leads(path, name):
                yield from lead.way[1:]
        for name in (*found.modules, *found.stars, *(qualified for _, qualified in found.imports)):
            if not lexicon.is_foreign(name) and not lexicon.is_base(name):
                yield from (there for there, rest in self.places.locate(path, name) if not rest)

    def _source(self, path: str) -> Source:
        shown = self.survey.files[path].shown
        module, is_package = self._module(path)
        return Source(path, shown, module, is_package)

    def _module(self, path: str) -> tuple[str, bool]:
        return self.survey.reader.module_name(self.survey.files[path].shown, self.survey.outline(path))


class _Groups:
    """Paths that belong together."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._parent = {path: path for path in paths}

    def join(self, one: str, other: str) -> None:
        if one in self._parent and other in self._parent:
            first, second = sorted((self._top(one), self._top(other)))
            self._parent[second] = first

    def all(self) -> list[list[str]]:
        groups: dict[str, list[str]] = {}
        for path in sorted(self._parent):
            groups.setdefault(self._top(path), []).append(path)
        return list(groups.values())

    def _top(self, path: str) -> str:
        while self._parent[path] != path:
            path = self._parent[path]
        return path


def _imports_framework(found: Outline, lexicon: Lexicon) -> bool:
    names = (*found.modules, *found.stars, *(qualified for _, qualified in found.imports))
    return any(lexicon.is_base(name) or lexicon.is_module(name) for name in names)


def _renamed(found: Outline) -> dict[str, set[str]]:
    """What each name that an import or an alias binds may really be called."""
    renamed: dict[str, set[str]] = {}
    for bound, real in (*found.imports, *found.aliases):
        renamed.setdefault(bound, set()).add(real.rpartition(".")[2])
    return renamed
