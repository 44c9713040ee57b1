"""From the full name of a class to the file that holds it.

A class stands in a file of its name, in a package that the file states.  In a source tree the folders say
the package, too, so that most files need not be opened; where they do not, the file is asked.  Of several
files the one that shares most folders with the importing file is meant.  What the run did not list is
looked for on disk: under the source root of the importing file, and under those of its neighbours
(`src/main/java` beside `src/test/java`, other modules of the build).
"""

import os
from collections.abc import Callable, Iterable, Iterator

from ackdoctor.lint.languages.nearby import shared
from ackdoctor.lint.languages.outline import Outline

__all__ = ["Packages"]

_SUFFIX = ".java"
_HEIGHT = 4  # folders above a source root in which other modules of its build are looked for
_NEIGHBOURS = 200  # folders looked at in each
_LAYOUTS = (("src", "main", "java"), ("src", "jvm"), ("src",))
_ASKED = 20  # files of one name that are opened to learn their package

Place = tuple[tuple[str, ...], str]  # the folders on the way, and the path


class Packages:
    """The Java files of a run and their neighbours on disk, by class."""

    def __init__(self, paths: Iterable[str], root: str, outline_of: Callable[[str], Outline]) -> None:
        self._root = root
        self._listed: dict[str, frozenset[str]] = {}
        self._outline_of = outline_of
        self._paths = tuple(paths)
        self._by_class: dict[str, list[Place]] | None = None  # most runs never ask
        self._builds: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._found: dict[tuple[str, str, str], str | None] = {}

    def locate(self, origin: str, qualified: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Files that a qualified name may lead to, and the class's own name in each; longest package first."""
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
            fitting = [place for place in known[:_ASKED] if self._outline_of(place[1]).package == package]
        if fitting:
            return max(fitting, key=lambda place: (shared(place[0], here), place[1]))[1]
        return self._on_disk(origin, here, wanted, cls)

    def _known(self, cls: str) -> list[Place]:
        if self._by_class is None:
            self._by_class = {}
            for path in self._paths:
                folder, _, name = path.rpartition(os.sep)
                place = (tuple(folder.split(os.sep)), path)
                self._by_class.setdefault(name.removesuffix(_SUFFIX), []).append(place)
        return self._by_class.get(cls, [])

    def _on_disk(self, origin: str, here: tuple[str, ...], wanted: tuple[str, ...], cls: str) -> str | None:
        package = self._outline_of(origin).package
        own = tuple(package.split(".")) if package else ()
        if own == wanted:
            return self._within(os.sep.join(here), cls)
        if here[len(here) - len(own) :] != own:
            return None
        for root in self._roots(here[: len(here) - len(own)]):
            folder = self._below(root, wanted)
            path = self._within(folder, cls) if folder else None
            if path is not None:
                return path
        return None

    def _roots(self, source: tuple[str, ...]) -> tuple[str, ...]:
        """A source root and the others of its build, the module's own first."""
        if source not in self._builds:
            layouts = ((*layout[:1], "*", *layout[2:]) for layout in _LAYOUTS)
            lengths = [len(layout) for layout in layouts if _fits(source, layout)]
            module = source[: len(source) - max(lengths, default=0)]
            found = [os.sep.join(source), *self._sources(module)]
            for height in range(1, _HEIGHT + 1):
                above = module[: len(module) - height]
                if not os.sep.join(above).startswith(self._root):
                    break
                for name in sorted(self._names(os.sep.join(above)))[:_NEIGHBOURS]:
                    found += self._sources((*above, name))
            self._builds[source] = tuple(dict.fromkeys(found))
        return self._builds[source]

    def _sources(self, module: tuple[str, ...]) -> Iterator[str]:
        """The source roots that a module has."""
        for layout in _LAYOUTS:
            folder = self._below(os.sep.join(module), layout)
            if folder:
                yield folder

    def _below(self, folder: str, names: Iterable[str]) -> str | None:
        """The folder so deep below another one, if there is one."""
        for name in names:
            if name not in self._names(folder):
                return None
            folder = os.path.join(folder, name)
        return folder

    def _names(self, folder: str) -> frozenset[str]:
        """What the folder holds; nothing where it cannot be listed."""
        if folder not in self._listed:
            try:
                self._listed[folder] = frozenset(os.listdir(folder))
            except OSError:
                self._listed[folder] = frozenset()
        return self._listed[folder]

    def _within(self, folder: str, cls: str) -> str | None:
        name = cls + _SUFFIX
        return os.path.join(folder, name) if name in self._names(folder) else None


def _fits(path: tuple[str, ...], layout: tuple[str, ...]) -> bool:
    """Whether a path ends in a layout, where "*" is any name."""
    tail = path[len(path) - len(layout) :]
    return len(tail) == len(layout) and all(
        part in ("*", name) for name, part in zip(tail, layout, strict=True)
    )
