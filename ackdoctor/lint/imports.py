"""From a qualified name in a file to the files that may hold what it names.

There is no import path to ask.  Among several files of one name, the one that shares most folders with the importing
file is meant.  Files that the run does not list are looked for on disk.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["JavaImporter", "PythonImporter", "module_name"]

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
