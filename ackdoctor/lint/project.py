"""Which files a run parses, and which of them together.

A *user file* imports a framework.  A *component file* has a class with a framework class among its ancestors; it need
not name the framework.  A *cluster* is what must be analysed together: component files that derive from one another
(`own`), and the files that their code reaches (`context`): bases, mixins and helpers that they import.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ackdoctor.lint.files import Declarations, Files, capital_names, meanings
from ackdoctor.model.finding import Finding, UnknownBase, Unreadable

__all__ = [
    "Cluster",
    "Inputs",
    "JavaImporter",
    "Project",
    "PythonImporter",
    "Result",
    "Source",
    "module_name",
]


class Source(NamedTuple):
    """A file to parse: its path, its path in findings, and its dotted module name."""

    path: str
    display_path: str
    module: str
    is_package: bool


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Cluster:
    """Files of one language that are analysed together; only the components of `own` files are diagnosed."""

    language: str
    own: tuple[Source, ...]
    context: tuple[Source, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """All its files."""
        return (*self.own, *self.context)


class Inputs(NamedTuple):
    """What all clusters of a run share: dialect versions, hints for unknown bases, contents that are not on disk.

    `digests` are those of the files by path; a run without a cache has none.
    """

    versions: Mapping[str, str]
    extra_bases: Mapping[str, str]
    overlay: Mapping[str, bytes]
    digests: Mapping[str, str] | None = None


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Result:
    """What the analysis of a cluster found, before any rule is selected.

    It is `repeatable` if the same files give the same again: no crash, no refusal by the system, no file that changed
    after its digest was taken.
    """

    findings: tuple[Finding, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    components: int = 0
    unknown_bases: tuple[UnknownBase, ...] = ()
    repeatable: bool = True


_Folders = tuple[str, ...]


def _shared(one: _Folders, other: _Folders) -> int:
    """Return how many leading folders two paths share."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


# ---- Python ----

_SIBLINGS = ("", "src")  # folders with code, relative to a folder above the importing file
_HEIGHT = 8  # folders searched above a file that is outside the root
_PACKAGE = "__init__"


def module_name(display_path: str) -> tuple[str, bool]:
    """Return the dotted name of a Python file, as long as its display path, and whether it is a package's own file."""
    parts = display_path.removesuffix(".py").split("/")
    is_package = parts[-1] == _PACKAGE and len(parts) > 1
    if is_package:
        parts.pop()
    names = [part.replace(".", "_") for part in parts if part not in ("", ".", "..")]
    return ".".join(names) or "__main__", is_package


class PythonImporter:
    """Finds Python files by module: `bolts.base` fits every file whose path ends in `bolts/base.py`."""

    def __init__(self, paths: Iterable[str], root: str) -> None:
        self._root = root
        self._paths = frozenset(paths)
        self._by_last: dict[str, list[tuple[_Folders, str]]] | None = None
        self._found: dict[tuple[str, tuple[str, ...]], str | None] = {}

    def locate(self, origin: str, qualified: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the files that a name may lead to, each with the rest of the name; the longest module comes first."""
        name = qualified.lstrip(".")
        parts = tuple(name.split(".")) if name else ()
        level = len(qualified) - len(name)
        folder = os.path.dirname(origin)
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        for length in range(len(parts), 0 if level == 0 else -1, -1):
            path = self._within(folder, parts[:length]) if level else self._absolute(origin, parts[:length])
            if path is not None and path != origin:
                yield path, parts[length:]

    def _absolute(self, origin: str, parts: tuple[str, ...]) -> str | None:
        folder = os.path.dirname(origin)
        key = (folder, parts)
        if key not in self._found:
            self._found[key] = self._search(origin, folder, parts)
        return self._found[key]

    def _search(self, origin: str, folder: str, parts: tuple[str, ...]) -> str | None:
        if (
            parts[0] in sys.stdlib_module_names
        ):  # only a file beside the importing one hides the standard library
            return self._within(folder, parts)
        here = _module_path(origin)
        fitting = [
            (_shared(theirs, here), -len(theirs), path)
            for theirs, path in self._ending(parts[-1])
            if theirs[-len(parts) :] == parts
        ]
        if fitting:
            return max(fitting)[2]
        found = (self._within(base, parts) for base in self._bases(folder))
        return next((path for path in found if path is not None), None)

    def _ending(self, last: str) -> Sequence[tuple[_Folders, str]]:
        """Return the run's modules whose last name is `last`."""
        if self._by_last is None:
            self._by_last = {}
            for path in self._paths:
                parts = _module_path(path)
                self._by_last.setdefault(parts[-1], []).append((parts, path))
        return self._by_last.get(last, ())

    def _bases(self, folder: str) -> Iterator[str]:
        """Yield the folders from which an absolute import may start, the nearest first."""
        for _ in range(_HEIGHT if not folder.startswith(self._root) else len(folder)):
            for sibling in _SIBLINGS:
                yield os.path.join(folder, sibling) if sibling else folder
            if folder in (self._root, os.path.dirname(folder)):
                return
            folder = os.path.dirname(folder)

    def _within(self, folder: str, parts: tuple[str, ...]) -> str | None:
        """Return the file of that module in a folder."""
        stem = os.path.join(folder, *parts)
        for path in (f"{stem}.py", os.path.join(stem, f"{_PACKAGE}.py")):
            if path in self._paths or os.path.isfile(path):
                return path
        return None


def _module_path(path: str) -> _Folders:
    """Return the folders and the name of a module; a package's own file counts as its folder."""
    parts = path.removesuffix(".py").split(os.sep)
    return tuple(parts[:-1] if parts[-1] == _PACKAGE else parts)


# ---- Java ----

_SUFFIX = ".java"
_ABOVE = 4  # folders above a source root in which other modules of its build are searched
_NEIGHBOURS = 200  # folders searched in each
_LAYOUTS = (("src", "main", "java"), ("src", "jvm"), ("src",))
_OPENED = 20  # files of one name that are read to learn their package


class JavaImporter:
    """Finds Java files by class.

    A class is in a file of its name.  The folders usually name the package; where they do not, the file states it.
    On disk the source root of the importing file is searched, and those of its neighbours: `src/main/java` beside
    `src/test/java`, and the other modules of the build.
    """

    def __init__(self, paths: Iterable[str], root: str, package_of: Callable[[str], str]) -> None:
        self._root = root
        self._paths = tuple(paths)
        self._package_of = package_of
        self._listed: dict[str, frozenset[str]] = {}
        self._by_class: dict[str, list[tuple[_Folders, str]]] | None = None
        self._roots: dict[_Folders, tuple[str, ...]] = {}
        self._found: dict[tuple[str, str, str], str | None] = {}

    def locate(self, origin: str, qualified: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the files that a name may lead to, each with the class's own name; the longest package comes first."""
        parts = qualified.split(".")
        folder = os.path.dirname(origin)
        capitals = [split for split, part in enumerate(parts) if not part[:1].islower()]
        for split in reversed(capitals or [len(parts) - 1]):
            key = (folder, ".".join(parts[:split]), parts[split])
            if key not in self._found:
                self._found[key] = self._search(origin, *key)
            path = self._found[key]
            if path is not None and path != origin:
                yield path, tuple(parts[split:])

    def _search(self, origin: str, folder: str, package: str, cls: str) -> str | None:
        here = tuple(folder.split(os.sep))
        wanted = tuple(package.split(".")) if package else ()
        known = self._known(cls)
        if not wanted:
            return next((path for folders, path in known if folders == here), self._within(folder, cls))
        fitting = [place for place in known if place[0][-len(wanted) :] == wanted]
        if not fitting:
            fitting = [place for place in known[:_OPENED] if self._package_of(place[1]) == package]
        if fitting:
            return max(fitting, key=lambda place: (_shared(place[0], here), place[1]))[1]
        return self._on_disk(origin, here, wanted, cls)

    def _known(self, cls: str) -> list[tuple[_Folders, str]]:
        if self._by_class is None:
            self._by_class = {}
            for path in self._paths:
                folder, _, name = path.rpartition(os.sep)
                place = (tuple(folder.split(os.sep)), path)
                self._by_class.setdefault(name.removesuffix(_SUFFIX), []).append(place)
        return self._by_class.get(cls, [])

    def _on_disk(self, origin: str, here: _Folders, wanted: _Folders, cls: str) -> str | None:
        package = self._package_of(origin)
        own = tuple(package.split(".")) if package else ()
        if own == wanted:
            return self._within(os.sep.join(here), cls)
        if here[len(here) - len(own) :] != own:
            return None
        folders = (self._below(root, wanted) for root in self._source_roots(here[: len(here) - len(own)]))
        found = (self._within(folder, cls) for folder in folders if folder)
        return next((path for path in found if path is not None), None)

    def _source_roots(self, source: _Folders) -> tuple[str, ...]:
        """Return a source root and the others of its build, those of its own module first."""
        if source not in self._roots:
            layouts = ((*layout[:1], "*", *layout[2:]) for layout in _LAYOUTS)
            lengths = [len(layout) for layout in layouts if _ends_in(source, layout)]
            module = source[: len(source) - max(lengths, default=0)]
            found = [os.sep.join(source), *self._sources(module)]
            for height in range(1, _ABOVE + 1):
                above = module[: len(module) - height]
                if not os.sep.join(above).startswith(self._root):
                    break
                for name in sorted(self._names(os.sep.join(above)))[:_NEIGHBOURS]:
                    found += self._sources((*above, name))
            self._roots[source] = tuple(dict.fromkeys(found))
        return self._roots[source]

    def _sources(self, module: _Folders) -> Iterator[str]:
        """Yield the source roots of a module."""
        for layout in _LAYOUTS:
            folder = self._below(os.sep.join(module), layout)
            if folder:
                yield folder

    def _below(self, folder: str, names: Iterable[str]) -> str | None:
        """Return the folder at the end of these names, if it exists."""
        for name in names:
            if name not in self._names(folder):
                return None
            folder = os.path.join(folder, name)
        return folder

    def _names(self, folder: str) -> frozenset[str]:
        """Return the names in a folder; none where it cannot be listed."""
        if folder not in self._listed:
            try:
                self._listed[folder] = frozenset(os.listdir(folder))
            except OSError:
                self._listed[folder] = frozenset()
        return self._listed[folder]

    def _within(self, folder: str, cls: str) -> str | None:
        name = cls + _SUFFIX
        return os.path.join(folder, name) if name in self._names(folder) else None


def _ends_in(path: _Folders, layout: _Folders) -> bool:
    """Whether a path ends in a layout, in which "*" is any name."""
    tail = path[len(path) - len(layout) :]
    return len(tail) == len(layout) and all(
        part in ("*", name) for name, part in zip(tail, layout, strict=True)
    )


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

        A Java file that takes a tuple or a collector names the framework; a Python file need not.  One that the
        component uses directly may hide a failure from it.
        """
        if not self._files.add(path) or self._files.by_path[path].size > HELPER_SIZE:
            return False
        if self._java and not self._files.facts[path].names_framework:
            return depth == 1 and self._files.catches_all(path)
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
