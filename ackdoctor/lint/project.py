"""Which files a run parses, and which of them together.

A *user file* imports a framework.  A *component file* has a class with a framework's class among its ancestors; it need
not name the framework.  A *cluster* is what must be analysed together: component files that derive from one another
(`own`), and the files that their code reaches (`context`): bases, mixins and helpers that they import.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ackdoctor.lint.cluster import Cluster, Source
from ackdoctor.lint.declarations import Declarations, capital_names, meanings
from ackdoctor.lint.files import Files
from ackdoctor.lint.imports import JavaImporter, PythonImporter, module_name

__all__ = ["Project"]

SHORT_RUN = 200  # files; in a longer run without a user file no bases are looked up on disk
HELPER_DEPTH = 3  # imports followed from a component; beyond the first only to files that ack, fail or emit
HELPER_SIZE = 300_000  # bytes; larger files hold tables, not helpers
HELPERS = 40  # per cluster
_HOPS = 12  # re-exports followed


class _Class(NamedTuple):
    """A class of the project: its file and its bare name."""

    path: str
    name: str


class _Lead(NamedTuple):
    """Where a name may lead: a class (None: a framework's), and the files on the way, the first one included."""

    cls: _Class | None
    way: tuple[str, ...]


class Project:
    """The files of a run in one language, and how their classes and imports lead from one to another."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._names = files.names
        self._java = files.language.name == "java"
        self._listed = tuple(files.by_path)
        self._importer = (
            JavaImporter(self._listed, files.root, self._package_of)
            if self._java
            else PythonImporter(self._listed, files.root)
        )
        self._is_component: dict[_Class, bool] = {}
        # Of each file, the files in which its classes have bases, re-exports included:
        self._bases: dict[str, set[str]] = {}
        self._reached: dict[str, frozenset[str]] = {}

    def clusters(self) -> tuple[Cluster, ...]:
        """Return the clusters of the run, in the order of their first files."""
        facts = self._files.facts
        users = {
            path
            for path in self._listed
            if path in facts and facts[path].names_framework and self._is_user(path)
        }
        components = self._component_files(users)
        own = {path for path in (components | users) & set(self._listed) if not self._is_framework(path)}
        found = [self._cluster(sorted(group), components) for group in self._groups(own, components)]
        doubtful = (path for path in facts if facts[path].not_text)
        handlers = (path for path in self._listed if path in facts and facts[path].has_handler)
        others = {*doubtful, *(path for path in handlers if not self._is_framework(path))}
        found += [self._cluster([path], components) for path in sorted(others - components - users)]
        return tuple(sorted(found, key=lambda cluster: cluster.own[0].display_path))

    def _groups(self, own: set[str], components: set[str]) -> list[set[str]]:
        """Group the own files so that a component file is with the files of its bases."""
        groups = {path: {path} for path in own}
        for path in sorted(components & own):
            for base in self._bases.get(path, set()) & components & own:
                if groups[base] is not groups[path]:
                    group = groups[path]
                    groups[base] |= group
                    groups.update(dict.fromkeys(group, groups[base]))
        return [group for path, group in groups.items() if path == min(group)]

    def _is_user(self, path: str) -> bool:
        """Whether the file imports a framework."""
        found = self._files.declarations(path)
        names = (*found.modules, *found.stars, *(qualified for _, qualified in found.imports))
        return any(self._names.is_base(name) or self._names.is_module(name) for name in names)

    def _is_framework(self, path: str) -> bool:
        """Whether the file is a part of a framework: one of its classes has the full name of a base class."""
        module = self._module(path)[0].split(".")
        tails = [".".join(module[start:]) for start in range(len(module))]
        classes = {name for name, _ in self._files.declarations(path).classes}
        return any(f"{tail}.{name}" in self._names.own_classes for tail in tails for name in classes)

    def _module(self, path: str) -> tuple[str, bool]:
        if self._java:
            return self._package_of(path), False
        return module_name(self._files.by_path[path].display_path)

    def _package_of(self, path: str) -> str:
        return self._files.declarations(path).package

    # ---- component files ----

    def _component_files(self, users: set[str]) -> set[str]:
        """Return the component files, those outside the run included."""
        if len(self._listed) <= SHORT_RUN:
            candidates: Iterable[_Class] = [cls for path in self._listed for cls in self._classes(path)]
        elif users:
            candidates = self._named_after_components(users)
        else:
            return set()
        return {cls.path for cls in candidates if self._derives_from_framework(cls)}

    def _classes(self, path: str) -> list[_Class]:
        return [_Class(path, name) for name, _ in self._files.declarations(path).classes]

    def _named_after_components(self, users: set[str]) -> Iterator[_Class]:
        """Yield the classes with a base that has the name of a framework's class or of a component."""
        by_base: dict[str, list[_Class]] = {}
        for path in self._listed:
            found = self._files.declarations(path)
            renamed: dict[str, set[str]] = {}
            for bound, real in (*found.imports, *found.aliases):
                renamed.setdefault(bound, set()).add(real.rpartition(".")[2])
            for name, bases in found.classes:
                for base in bases:
                    for called in {base.rpartition(".")[2], *renamed.get(base.partition(".")[0], ())}:
                        by_base.setdefault(called, []).append(_Class(path, name))
        waiting = sorted({name.rpartition(".")[2] for name in self._names.bases})
        seen = set(waiting)
        candidates = [cls for path in sorted(users) for cls in self._classes(path)]
        while candidates or waiting:
            for cls in candidates:
                yield cls
                if cls.name not in seen and self._derives_from_framework(cls):
                    seen.add(cls.name)
                    waiting.append(cls.name)
            candidates = by_base.get(waiting.pop(), []) if waiting else []

    def _derives_from_framework(self, cls: _Class) -> bool:
        """Whether a framework's class is among the ancestors, as far as names lead.  A cycle of bases leads nowhere."""
        waiting = [cls]
        heirs: dict[_Class, set[_Class]] = {}
        while waiting:
            each = waiting.pop()
            if each in self._is_component:
                continue
            self._is_component[each] = False
            for base in self._bases_of(each):
                if base is None or self._is_component.get(base):
                    self._mark(each, heirs)
                else:
                    heirs.setdefault(base, set()).add(each)
                    waiting.append(base)
        return self._is_component[cls]

    def _mark(self, cls: _Class, heirs: dict[_Class, set[_Class]]) -> None:
        """Mark a class and its heirs as components."""
        waiting = [cls]
        while waiting:
            each = waiting.pop()
            if not self._is_component.get(each):
                self._is_component[each] = True
                waiting += heirs.get(each, ())

    def _bases_of(self, cls: _Class) -> Iterator[_Class | None]:
        """Yield the bases of a class; None is a framework's class."""
        for name, bases in self._files.declarations(cls.path).classes:
            if name == cls.name:
                for base in bases:
                    for lead in self._leads(cls.path, base):
                        self._bases.setdefault(cls.path, set()).update(lead.way)
                        yield lead.cls

    def _leads(self, path: str, dotted: str) -> Iterator[_Lead]:
        """Yield where a dotted name in a file may lead, through imports, renamings, re-exports and star imports."""
        seen: set[tuple[str, str]] = set()
        waiting: list[tuple[tuple[str, ...], str]] = [((path,), dotted)]
        while waiting:
            way, name = waiting.pop()
            here = way[-1]
            if len(way) > _HOPS or (here, name) in seen:
                continue
            seen.add((here, name))
            found = self._files.declarations(here)
            last = name.rpartition(".")[2]
            if here != path or any(cls == last for cls, _ in found.classes):
                yield _Lead(_Class(here, last), way)
            for meaning in meanings(found, name, java=self._java):
                if self._names.is_base(meaning):
                    yield _Lead(None, way)
                elif meaning.startswith("="):
                    waiting.append((way, meaning[1:]))
                else:
                    waiting += [((*way, there), rest) for there, rest in self._file_of(here, meaning)]

    def _file_of(self, origin: str, qualified: str) -> Iterator[tuple[str, str]]:
        """Yield the file of the longest module in the name, with the rest of the name; none for a framework's module."""
        for path, rest in self._importer.locate(origin, qualified):
            parts = qualified.split(".")
            if self._names.is_module(".".join(parts[: -len(rest)] if rest else parts)):
                return
            if rest and self._files.add(path):
                yield path, ".".join(rest)
                return

    # ---- what a component reaches ----

    def _cluster(self, group: list[str], components: set[str]) -> Cluster:
        """Return the cluster of these own files."""
        with_components = [path for path in group if path in components]
        bases = self._base_files(with_components)
        helpers = self._helpers({*with_components, *bases})
        context = sorted((bases | helpers) - set(group))
        return Cluster(
            language=self._files.language.name,
            own=tuple(sorted(map(self._source, group), key=lambda source: source.display_path)),
            context=tuple(sorted(map(self._source, context), key=lambda source: source.display_path)),
        )

    def _base_files(self, paths: Iterable[str]) -> set[str]:
        """Return the files of all ancestors of the classes in these files."""
        waiting = list(paths)
        found: set[str] = set()
        while waiting:
            new = self._bases.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found

    def _helpers(self, paths: set[str]) -> set[str]:
        """Return the files that these import and that may ack, fail or emit for them."""
        found: set[str] = set()
        known = set(paths)
        ring = sorted(paths)
        for depth in range(1, HELPER_DEPTH + 1):
            reached = sorted({path for origin in ring for path in self._imported(origin)} - known)
            ring = [path for path in reached if self._helps(path, depth)][: HELPERS - len(found)]
            known.update(reached)
            found.update(ring)
        return found

    def _helps(self, path: str, depth: int) -> bool:
        """Whether to parse a file that is so many imports away from a component.

        A Java file that takes a tuple or a collector names the framework; a Python file need not.
        """
        if not self._files.add(path) or self._files.by_path[path].size > HELPER_SIZE:
            return False
        if self._java and not self._files.facts[path].names_framework:
            return False
        return depth == 1 or self._files.acts(path)

    def _imported(self, path: str) -> frozenset[str]:
        """Return the files of the project that an import or a name leads to, those on the way included."""
        if path not in self._reached:
            found = self._files.declarations(path)
            bound = {name for name, qualified in found.imports if not self._names.is_in_framework(qualified)}
            if self._java:
                bound |= capital_names(self._files.read(path), found)
            by_name = {each for name in bound for lead in self._leads(path, name) for each in lead.way[1:]}
            self._reached[path] = frozenset(by_name | set(self._imported_modules(path, found)))
        return self._reached[path]

    def _imported_modules(self, path: str, found: Declarations) -> Iterator[str]:
        for name in (*found.modules, *found.stars, *(qualified for _, qualified in found.imports)):
            if not self._names.is_in_framework(name) and not self._names.is_base(name):
                yield from (there for there, rest in self._importer.locate(path, name) if not rest)

    def _source(self, path: str) -> Source:
        return Source(path, self._files.by_path[path].display_path, *self._module(path))
