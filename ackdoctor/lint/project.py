"""Which files a run parses, and which of them together.

A *user file* imports a framework.  A *component file* has a class with a framework class among its ancestors; it need
not name the framework.  A *cluster* is what must be analysed together: component files that derive from one another
(`own`), and the files that their code reaches (`context`): bases, mixins and helpers that they import.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from ackdoctor.lint.files import Files, capital_names
from ackdoctor.model.cfg import Unit
from ackdoctor.model.finding import Finding, UnknownBase, Unreadable
from ackdoctor.model.topology import ComponentFacts, Topology

SHORT_RUN = 200  # files; in a longer run without a user file no bases are looked up on disk
HELPER_SIZE = 300_000  # bytes; larger files hold tables, not helpers
_HELPER_DEPTH = 3  # imports followed from a component; beyond the first only to files that ack, fail or emit
_HELPERS = 40  # per cluster
_STATES = b"StateFactory"
_HOPS = 12  # re-exports followed


class Source(NamedTuple):
    """A file to parse: its path, its path in findings, and its dotted module name."""

    path: str
    display_path: str
    module: str
    is_package: bool


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Cluster:
    """Files of one language that are analysed together; only the components of `own` files are diagnosed.

    `wires`: one of them may build a topology.
    """

    language: str
    own: tuple[Source, ...]
    context: tuple[Source, ...]
    wires: bool = False

    @property
    def sources(self) -> tuple[Source, ...]:
        """All its files."""
        return (*self.own, *self.context)


class Inputs(NamedTuple):
    """What all clusters of a run share: dialect versions, hints for unknown bases, contents that are not on disk.

    `digests` are those of the files by path; a run without a cache has none.  A run in which no file may wire a topology
    is not `wired`: it needs no facts of its components.
    """

    versions: Mapping[str, str]
    extra_bases: Mapping[str, str]
    overlay: Mapping[str, bytes]
    digests: Mapping[str, str] | None = None
    wired: bool = True


class Lowered(NamedTuple):
    """A file's unit, or None, and the places that the parser could not read."""

    unit: Unit | None
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Result:
    """What the analysis of a cluster found, before any rule is selected; `topologies` are those that its code wires.

    It is `repeatable` if the same files give the same again: no crash, no refusal by the system, no file that changed
    after its digest was taken.
    """

    findings: tuple[Finding, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    components: int = 0
    facts: tuple[ComponentFacts, ...] = ()
    topologies: tuple[Topology, ...] = ()
    unknown_bases: tuple[UnknownBase, ...] = ()
    repeatable: bool = True


# ---- from a qualified name in a file to the files that may hold what it names ----
# There is no import path to ask.  Among several files of one name, the one that shares most folders with the importing
# file is meant.  Files that the run does not list are looked for on disk.

_Folders = tuple[str, ...]
_PACKAGE = "__init__"
_HEIGHT = 8  # folders searched above a Python file that is outside the root
_ABOVE = 4  # folders above a source root in which other modules of its build are searched
_NEIGHBOURS = 200  # folders searched in each
_LAYOUTS = (("src", "main", "java"), ("src", "jvm"), ("src",))
_OPENED = 20  # Java files of one name that are read to learn their package


def _shared(one: _Folders, other: _Folders) -> int:
    """Return how many leading folders two paths share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _module_name(display_path: str) -> tuple[str, bool]:
    """Return the dotted name of a Python file, as long as its display path, and whether it is a package's own file."""
    parts = display_path.removesuffix(".py").split("/")
    is_package = parts[-1] == _PACKAGE and len(parts) > 1
    if is_package:
        parts.pop()
    names = [part.replace(".", "_") for part in parts if part not in ("", ".", "..")]
    return ".".join(names) or "__main__", is_package


class _PythonImporter:
    """Finds Python files by module: `bolts.base` fits every file whose path ends in `bolts/base.py`."""

    def __init__(self, paths: Iterable[str], root: str) -> None:
        self._root = root
        self._paths = frozenset(paths)
        self._found: dict[tuple[str, _Folders], str | None] = {}

    def locate(self, origin: str, qualified: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the files that a name may lead to, each with the rest of the name; the longest module comes first."""
        name = qualified.lstrip(".")
        parts = tuple(name.split(".")) if name else ()
        level = len(qualified) - len(name)
        folder = os.path.dirname(origin)
        base = folder
        for _ in range(level - 1):
            base = os.path.dirname(base)
        for length in range(len(parts), 0 if level == 0 else -1, -1):
            key = (folder, parts[:length])
            if level:
                path = self._within(base, parts[:length])
            elif key in self._found:
                path = self._found[key]
            else:
                path = self._found[key] = self._search(origin, *key)
            if path is not None and path != origin:
                yield path, parts[length:]

    def _search(self, origin: str, folder: str, parts: _Folders) -> str | None:
        """Return the file of an absolute import."""
        if (
            parts[0] in sys.stdlib_module_names
        ):  # only a file beside the importing one hides the standard library
            return self._within(folder, parts)
        here = _module_path(origin)
        fitting = [
            (_shared(theirs, here), -len(theirs), path)
            for theirs, path in self._by_last.get(parts[-1], ())
            if theirs[-len(parts) :] == parts
        ]
        if fitting:
            return max(fitting)[2]
        for _ in range(_HEIGHT if not folder.startswith(self._root) else len(folder)):
            for base in (folder, os.path.join(folder, "src")):
                if path := self._within(base, parts):
                    return path
            if folder in (self._root, os.path.dirname(folder)):
                break
            folder = os.path.dirname(folder)
        return None

    @cached_property
    def _by_last(self) -> Mapping[str, list[tuple[_Folders, str]]]:
        """The run's modules by their last names."""
        found: dict[str, list[tuple[_Folders, str]]] = {}
        for path in self._paths:
            parts = _module_path(path)
            found.setdefault(parts[-1], []).append((parts, path))
        return found

    def _within(self, folder: str, parts: _Folders) -> str | None:
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


class _JavaImporter:
    """Finds Java files by class.

    A class is in a file of its name.  The folders usually name the package; where they do not, the file states it.
    On disk the source root of the importing file is searched, and those of its neighbours: `src/main/java` beside
    `src/test/java`, and the other modules of the build.
    """

    def __init__(self, paths: Iterable[str], root: str, package_of: Callable[[str], str]) -> None:
        self._root = root
        self._paths = tuple(paths)
        self._package_of = package_of
        self._roots: dict[str, tuple[str, ...]] = {}
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
        known = self._by_class.get(cls, [])
        beside = os.path.join(folder, f"{cls}.java")
        if not package:
            listed = (path for folders, path in known if folders == here)
            return next(listed, beside if os.path.isfile(beside) else None)
        wanted = tuple(package.split("."))
        fitting = [place for place in known if place[0][-len(wanted) :] == wanted]
        if not fitting:
            fitting = [place for place in known[:_OPENED] if self._package_of(place[1]) == package]
        if fitting:
            return max(fitting, key=lambda place: (_shared(place[0], here), place[1]))[1]
        own = self._package_of(origin)
        tail = "".join(f"{os.sep}{name}" for name in own.split(".")) if own else ""
        if own == package:
            on_disk = [beside]
        elif folder.endswith(tail):
            roots = self._source_roots(folder.removesuffix(tail))
            on_disk = [os.path.join(root, *wanted, f"{cls}.java") for root in roots]
        else:
            return None
        return next(filter(os.path.isfile, on_disk), None)

    @cached_property
    def _by_class(self) -> Mapping[str, list[tuple[_Folders, str]]]:
        """The run's files, each with its folders, by the class of their names."""
        found: dict[str, list[tuple[_Folders, str]]] = {}
        for path in self._paths:
            folder, _, name = path.rpartition(os.sep)
            found.setdefault(name.removesuffix(".java"), []).append((tuple(folder.split(os.sep)), path))
        return found

    def _source_roots(self, source: str) -> tuple[str, ...]:
        """Return a source root and the others of its build, those of its own module first."""
        if source not in self._roots:
            parts = source.split(os.sep)  # .../src/main/java, .../src/test/java, .../src/jvm
            inside = (
                3 if parts[-3:-2] == ["src"] and parts[-1] == "java" else 2 if parts[-2:-1] == ["src"] else 0
            )
            modules = [os.sep.join(parts[: len(parts) - inside])]
            above = modules[0]
            for _ in range(_ABOVE):
                above = os.path.dirname(above)
                if not above.startswith(self._root):
                    break
                modules += (os.path.join(above, name) for name in _names_in(above)[:_NEIGHBOURS])
            roots = (os.path.join(module, *layout) for module in modules for layout in _LAYOUTS)
            self._roots[source] = tuple(dict.fromkeys((source, *filter(os.path.isdir, roots))))
        return self._roots[source]


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


# ---- clusters ----


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
        self._importer: _JavaImporter | _PythonImporter
        if self._java:
            self._importer = _JavaImporter(self._listed, files.root, self._package_of)
        else:
            self._importer = _PythonImporter(self._listed, files.root)
        self._is_component: dict[_Class, bool] = {}
        # Of each file, the files in which its classes have bases, re-exports included:
        self._bases: dict[str, set[str]] = {}
        self._reached: dict[str, frozenset[str]] = {}
        self._used: dict[str, frozenset[str]] = {}  # of each such program, the files that wire for it

    def clusters(self) -> tuple[Cluster, ...]:
        """Return the clusters of the run, in the order of their first files."""
        facts = self._files.facts
        users = {path for path in self._listed if path in facts and self._is_user(path)}
        components = self._component_files(users)
        wiring = {path for path in self._listed if path in facts and self._wires(path)}
        wiring |= self._programs(wiring)
        candidates = (components | users | wiring) & set(self._listed)
        own = {path for path in candidates if not self._is_framework(path)}
        others = {
            path
            for path in self._listed
            if path in facts
            and (facts[path].not_text or (facts[path].has_handler and not self._is_framework(path)))
        }
        groups = [*self._groups(own, components), *({path} for path in others - components - users - wiring)]
        found = [self._cluster(group, components) for group in groups]
        return tuple(sorted(found, key=lambda cluster: cluster.own[0].display_path))

    def _programs(self, wiring: set[str]) -> set[str]:
        """Return the Java programs that only use the project's own code to build a topology."""
        facts = self._files.facts
        for path in self._listed if wiring else ():
            if path in facts and facts[path].starts and path not in wiring:
                used = frozenset(self._imported(path) & wiring)
                if used:
                    self._used[path] = used
        return set(self._used)

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
        return self._files.facts[path].names_framework and any(
            self._names.is_base(name) or self._names.is_module(name)
            for name in self._files.declarations(path).imported()
        )

    def _is_framework(self, path: str) -> bool:
        """Whether the file is a part of a framework: one of its classes has the full name of a base class."""
        module = self._module(path)[0].split(".")
        tails = [".".join(module[start:]) for start in range(len(module))]
        classes = {name for name, _ in self._files.declarations(path).classes}
        return any(f"{tail}.{name}" in self._names.own_classes for tail in tails for name in classes)

    def _module(self, path: str) -> tuple[str, bool]:
        if self._java:
            return self._package_of(path), False
        return _module_name(self._files.by_path[path].display_path)

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
            for meaning in found.meanings(name, java=self._java):
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

    def _cluster(self, group: set[str], components: set[str]) -> Cluster:
        """Return the cluster of these own files."""
        bases: set[str] = set()  # the files of all ancestors
        waiting = list(group & components)
        while waiting:
            new = self._bases.get(waiting.pop(), set()) - bases
            bases |= new
            waiting += new
        helpers = self._helpers((group & components) | bases)
        wiring = {path for path in group if self._wires(path) or path in self._used}
        helpers |= self._wired(wiring.union(*(self._used.get(path, ()) for path in wiring)))
        return Cluster(
            language=self._files.language.name,
            own=self._sources(group),
            context=self._sources((bases | helpers) - group),
            wires=bool(wiring),
        )

    def _wires(self, path: str) -> bool:
        """Whether a file may build a topology; the builders of a framework do not."""
        return self._files.facts[path].wires and not self._names.holds_modules(self._module(path)[0])

    def _wired(self, paths: set[str]) -> set[str]:
        """Return the files with the constants and helpers that wiring code names: those that it imports, and theirs.

        A component's file may hold the constants of its ids; what it imports itself does not wire anything.
        """
        found = set(paths)
        ring = paths
        while ring:
            reached = {path for origin in sorted(ring) for path in self._imported(origin)} - found
            near = [path for path in sorted(reached) if self._wires_or_names(path)]
            new = near[: _HELPERS - len(found - paths)]
            found.update(new)
            ring = {path for path in new if self._leads_on(path)} if ring is paths else set()
        return found

    def _leads_on(self, path: str) -> bool:
        """Whether what a file imports matters to wiring: it holds constants, or makes a Trident state."""
        return not self._files.facts[path].names_framework or _STATES in (self._files.read(path) or b"")

    def _wires_or_names(self, path: str) -> bool:
        """Whether a file is the project's own, and small enough to hold constants rather than tables."""
        return self._is_small(path) and not self._names.holds_modules(self._module(path)[0])

    def _sources(self, paths: set[str]) -> tuple[Source, ...]:
        sources = (
            Source(path, self._files.by_path[path].display_path, *self._module(path)) for path in paths
        )
        return tuple(sorted(sources, key=lambda source: (source.display_path, source.path)))

    def _helpers(self, paths: set[str]) -> set[str]:
        """Return the files that these import and that may ack, fail or emit for them, hide a failure, or have an enum."""
        found: set[str] = set()
        known = set(paths)
        ring = near = sorted(paths)
        for depth in range(1, _HELPER_DEPTH + 1):
            reached = sorted({path for origin in ring for path in self._imported(origin)} - known)
            ring = [path for path in reached if self._helps(path, depth)][: _HELPERS - len(found)]
            near = reached if depth == 1 else near
            known.update(reached)
            found.update(ring)
        return found | self._hiding(near, paths, _HELPERS - len(found))

    def _hiding(self, near: Iterable[str], paths: set[str], limit: int) -> set[str]:
        """Return the files behind the nearest ones that may hide a failure or have an enum, and the files between them.

        A service uses a store; a result has a status.
        """
        found: set[str] = set()
        for path in near:
            if len(found) >= limit:
                break
            if self._is_small(path):
                behind = self._imported(path) - paths
                hiding = {each for each in behind if self._is_small(each) and self._files.informs(each)}
                found |= {path, *hiding} if hiding else hiding
        return found

    def _is_small(self, path: str) -> bool:
        return self._files.add(path) and self._files.by_path[path].size <= HELPER_SIZE

    def _helps(self, path: str, depth: int) -> bool:
        """Whether to parse a file that is so many imports away from a component.

        A Java file that takes a tuple or a collector names the framework; a Python file need not.  One that the
        component uses directly may hide a failure from it, or have the enum of its `switch`.
        """
        if not self._is_small(path):
            return False
        if self._java and not self._files.facts[path].names_framework:
            return depth == 1 and self._files.informs(path)
        return depth == 1 or self._files.acts(path)

    def _imported(self, path: str) -> frozenset[str]:
        """Return the files of the project that an import or a name leads to, those on the way included."""
        if path not in self._reached:
            found = self._files.declarations(path)
            bound = {name for name, qualified in found.imports if not self._names.is_in_framework(qualified)}
            if self._java:
                bound |= capital_names(self._files.read(path) or b"", found)
            reached = {each for name in bound for lead in self._leads(path, name) for each in lead.way[1:]}
            for name in found.imported():
                if not self._names.is_in_framework(name) and not self._names.is_base(name):
                    reached.update(there for there, rest in self._importer.locate(path, name) if not rest)
            self._reached[path] = frozenset(reached)
        return self._reached[path]
